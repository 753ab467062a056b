"""The built site is whole, and what says so can find each kind of damage."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from posref.catalogue import CATALOGUE
from posref_conformance.faults.textbook import TEXTBOOK

ROOT = Path(__file__).resolve().parents[2]
Script = Callable[[str], ModuleType]
KATEX = "assets/katex/"
HEAD = (
    '<link rel="stylesheet" href="assets/katex/katex.min.css"><script src="assets/katex/katex.min.js"></script>'
    '<script src="assets/formulas.js"></script>'
)
SOUND = {
    "index.html": f'{HEAD}<p id="top">See <a href="textbook.html#wrong-sign">this</a> and <a href="#top">that</a>.</p>'
    '<p><span class="arithmatex">\\(a|b|\\)</span>, not <code>:math:`x` $HOME</code>; <a href="https://arxiv.org">paper</a></p>',
    "textbook.html": '<h2 id="wrong-sign">Wrong sign</h2><a href="encodings/rope.html">RoPE</a>',
    "encodings/rope.html": '<img src="../assets/one.svg"><pre>.. math:: a\n:func:`f`</pre><a href="../">home</a>',
    "assets/one.svg": "<svg/>",
    "assets/formulas.js": "",
    "assets/site.css": "a { background: url(one.svg) }",
    f"{KATEX}katex.min.js": "",
    f"{KATEX}katex.min.css": "src:url(fonts/A.woff2) format('woff2'),url(fonts/A.ttf)",
    f"{KATEX}fonts/A.woff2": "",
    f"{KATEX}LICENSE": "MIT",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def problems(script: Script, site: Path, encodings: Sequence[str], faults: Sequence[str]) -> list[str]:
    found: list[str] = script("check_site").Site(site).problems(encodings, faults)
    return found


def test_sound_site_has_no_problems(tmp_path: Path, script: Script) -> None:
    assert problems(script, write(tmp_path, SOUND), ["rope"], ["wrong-sign"]) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("encodings/rope.html", None, None, "no page for the encoding rope"),
        ("textbook.html", 'id="wrong-sign"', "", "textbook.html does not name wrong-sign"),
        ("textbook.html", "Wrong sign", ".. math:: a", "textbook.html: left as it was: '.. math::'"),
        ("textbook.html", "Wrong sign", ":math:<code>a</code>", "textbook.html: left as it was: ':math:'"),
        ("textbook.html", "Wrong sign", ":func:<code>a</code>", "textbook.html: left as it was: ':func:'"),
        ("textbook.html", "Wrong sign", "$a", "textbook.html: left as it was: '$'"),
        ("textbook.html", "Wrong sign", "<!-- make: x -->", "textbook.html: left as it was: '<!-- make:'"),
        ("textbook.html", "Wrong sign", "[a][posref.a]", "textbook.html: left as it was: '][posref.'"),
        ("index.html", "\\(a|b|\\)", "a|b|", "index.html: 'a|b|' is no formula"),
        (
            "index.html",
            "assets/formulas.js",
            "assets/katex/katex.min.js",
            "index.html: has formulas without formulas.js",
        ),
        ("index.html", HEAD, "", "index.html: has formulas without katex.min.css"),
        (
            "index.html",
            "assets/formulas.js",
            "https://cdn.example/formulas.js",
            "index.html: fetches https://cdn.example/formulas.js",
        ),
        (
            "index.html",
            "assets/katex/katex.min.css",
            "//fonts.example/katex.min.css",
            "index.html: fetches //fonts.example/katex.min.css",
        ),
        (
            "encodings/rope.html",
            "../assets/one.svg",
            "http://a.example/b.png",
            "encodings/rope.html: fetches http://a.example/b.png",
        ),
        ("encodings/rope.html", "../assets/one.svg", "../two.svg", "encodings/rope.html: no file for ../two.svg"),
        (
            "assets/site.css",
            "one.svg",
            "https://a.example/b.woff2",
            "assets/site.css: fetches https://a.example/b.woff2",
        ),
        ("index.html", "textbook.html#wrong-sign", "textbok.html", "index.html: no page for the link textbok.html"),
        ("index.html", "#wrong-sign", "#right-sign", "index.html: no place for the link textbook.html#right-sign"),
        ("index.html", "#top", "#bottom", "index.html: no place for the link #bottom"),
        (f"{KATEX}fonts/A.woff2", None, None, f"no file {KATEX}fonts/A.woff2"),
        (f"{KATEX}LICENSE", None, None, f"no file {KATEX}LICENSE"),
        (f"{KATEX}katex.min.css", "woff2", "eot", "KaTeX's style names no fonts"),
    ],
)
def test_damage_is_found(tmp_path: Path, script: Script, file: str, old: str | None, new: str, expected: str) -> None:
    write(tmp_path, SOUND)
    if old is None:
        (tmp_path / file).unlink()
    else:
        assert old in SOUND[file]
        (tmp_path / file).write_text(SOUND[file].replace(old, new), encoding="utf-8")
    assert expected in problems(script, tmp_path, ["rope"], ["wrong-sign"])


RENDER = """
const katex = require(process.argv[1])
const formulas = JSON.parse(require("fs").readFileSync(0, "utf8"))
const bad = []
for (const [page, text] of formulas) {
  try { katex.renderToString(text.slice(2, -2), { displayMode: text.startsWith("\\\\["), throwOnError: true, strict: "error" }) }
  catch (error) { bad.push(`${page}: ${error.message}`) }
}
console.log(JSON.stringify(bad))
"""


def rendering_errors(formulas: Sequence[tuple[str, str]]) -> list[str]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: formulas cannot be typeset outside of a browser")
    katex = ROOT / "docs" / KATEX / "katex.min.js"
    done = subprocess.run(
        [node, "-e", RENDER, str(katex)], input=json.dumps(formulas), capture_output=True, encoding="utf-8", timeout=60
    )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


def test_formula_that_cannot_be_typeset_is_found() -> None:
    (error,) = rendering_errors([("a.html", r"\(\frac{1}{2}\)"), ("b.html", r"\[\frak{1}{2\]")])
    assert error.startswith("b.html: ")


def test_site_is_whole(site: Path, script: Script) -> None:
    """One test for all that is asked of the real site: parallel workers would each build it."""
    assert problems(script, site, [e.id for e in CATALOGUE], [*(f.id for f in TEXTBOOK), "cosine-only-falls"]) == []
    assert "Changelog" in (site / "changelog.html").read_text(encoding="utf-8")
    formulas = list(script("check_site").Site(site).formulas())
    with_formulas = {page for page, _ in formulas}
    assert {f"encodings/{e.id}.html" for e in CATALOGUE} | {"index.html", "tolerances.html"} <= with_formulas
    assert rendering_errors(formulas) == []
