"""Hold a built site against what it must be: ``python docs/scripts/check_site.py SITE``. Each problem is one line.

A page for every encoding, every textbook fault on its page, formulas that were recognised and can be typeset without the
internet, nothing fetched from elsewhere, and links that lead somewhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

KATEX = "assets/katex"
FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "use": "href",
}
LINKS = ("stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest")
RAW = re.compile(r"\.\. math::|:(?:math|func|class|meth|mod|ref):|\$|<!-- make:|\]\[posref\.")
IN_CSS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """What is needed of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.formulas: list[str] = []
        self.prose: list[str] = []  # what is neither code nor formula
        self._open: list[tuple[str, str]] = []  # elements, and what their text is
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in FETCHED and given.get(FETCHED[tag]):
            self.fetched.append(given[FETCHED[tag]])
        if tag == "link" and set(given.get("rel", "").split()) & set(LINKS):
            self.fetched.append(given.get("href", ""))
        if tag in VOID:
            return
        kind = self._open[-1][1] if self._open else "prose"
        if tag in ("pre", "code", "script", "style"):
            kind = "code"
        if "arithmatex" in given.get("class", "").split():
            kind = "formula"
            self.formulas.append("")
        self._open.append((tag, kind))

    def handle_endtag(self, tag: str) -> None:
        while any(name == tag for name, _ in self._open):
            if self._open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        kind = self._open[-1][1] if self._open else "prose"
        if kind == "formula":
            self.formulas[-1] += data
        elif kind == "prose":
            self.prose.append(data)

    def handle_comment(self, data: str) -> None:
        self.prose.append(f"<!--{data}")


class Site:
    """A folder of pages."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    @cached_property
    def pages(self) -> dict[Path, Page]:
        return {path: Page(path) for path in sorted(self.root.rglob("*.html"))}

    def problems(self, encodings: Iterable[str], faults: Iterable[str]) -> list[str]:
        """Everything that is wrong."""
        found = [f"no page for the encoding {e}" for e in encodings if not self._file(f"encodings/{e}.html").is_file()]
        textbook = self.pages.get(self._file("textbook.html"))
        found += [f"textbook.html does not name {f}" for f in faults if textbook is None or f not in textbook.ids]
        found += self._katex()
        for page in self.pages.values():
            name = page.path.relative_to(self.root).as_posix()
            found += [f"{name}: {problem}" for problem in self._page(page)]
        for sheet in sorted(self.root.rglob("*.css")):
            urls = (a or b for a, b in IN_CSS.findall(sheet.read_text(encoding="utf-8")))
            found += [f"{sheet.relative_to(self.root)}: fetches {url}" for url in urls if _is_elsewhere(url)]
        return found

    def formulas(self) -> Iterator[tuple[str, str]]:
        r"""Every formula with its page, as it is given to KaTeX: ``\(..\)`` or ``\[..\]``."""
        for path, page in self.pages.items():
            yield from ((path.relative_to(self.root).as_posix(), formula.strip()) for formula in page.formulas)

    def _file(self, name: str) -> Path:
        return self.root / name

    def _page(self, page: Page) -> Iterator[str]:
        yield from (f"left as it was: {found!r}" for found in RAW.findall("".join(page.prose)))
        yield from (f"fetches {url}" for url in page.fetched if _is_elsewhere(url))
        yield from (
            f"no file for {u}" for u in page.fetched if not _is_elsewhere(u) and not self._target(page, u).is_file()
        )
        yield from (f"{found!r} is no formula" for found in page.formulas if not re.match(r"\s*\\[(\[]", found))
        if page.formulas:
            needed = ("katex.min.js", "katex.min.css", "formulas.js")
            yield from (f"has formulas without {n}" for n in needed if not any(u.endswith(n) for u in page.fetched))
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = self._target(page, link)
            if not target.exists():
                yield f"no page for the link {link}"
            elif parts.fragment and target in self.pages and unquote(parts.fragment) not in self.pages[target].ids:
                yield f"no place for the link {link}"

    def _target(self, page: Page, link: str) -> Path:
        path = unquote(urlsplit(link).path)
        if not path:
            return page.path
        base = self.root if path.startswith("/") else page.path.parent  # 404.html knows only the root
        target = (base / path.lstrip("/")).resolve()
        return target / "index.html" if target.is_dir() else target

    def _katex(self) -> list[str]:
        needed = [f"{KATEX}/{name}" for name in ("katex.min.js", "katex.min.css", "LICENSE")]
        style = self._file(f"{KATEX}/katex.min.css")
        fonts = re.findall(r"url\((fonts/[^)]+\.woff2)\)", style.read_text(encoding="utf-8")) if style.is_file() else []
        needed += [f"{KATEX}/{font}" for font in sorted(set(fonts))]
        missing = [f"no file {name}" for name in needed if not self._file(name).is_file()]
        return missing if fonts else [*missing, "KaTeX's style names no fonts"]


def _is_elsewhere(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme in ("http", "https")


def main() -> int:
    from posref.catalogue import CATALOGUE
    from posref_conformance.faults.textbook import TEXTBOOK

    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    problems = Site(Path(sys.argv[1])).problems([e.id for e in CATALOGUE], [f.id for f in TEXTBOOK])
    print("\n".join(problems) or "the site is whole")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
