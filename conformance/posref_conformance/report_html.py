"""A report as one page that needs nothing else: no script, no font, no picture from elsewhere. Made from the report's JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Any

from posref_conformance.along import axis_name
from posref_conformance.plots import Point, errors_over_positions

SHOWN = 3  # failures of one function that are not folded away
STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --dim: #64707d; --line: #d9dfe5; --paper: #fff; --well: #f5f7f9;
  --good: #1a7f4b; --bad: #c0262d; --note: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ed; --dim: #98a4b0; --line: #333d47; --paper: #14191e;
  --well: #1c2329; --good: #4cc38a; --bad: #ff6b6b; --note: #e0b050; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 62rem;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; } h3 { font-size: 1rem; margin: 0; }
.verdict { font-size: 1.15rem; font-weight: 600; margin: .25rem 0 1.5rem; }
.pass { color: var(--good); } .fail, .interrupted { color: var(--bad); } .dim { color: var(--dim); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--dim); } .number { text-align: right; }
code, pre { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
article { background: var(--well); border-left: 3px solid var(--bad); padding: .75rem 1rem; margin: .75rem 0; }
article p { margin: .35rem 0; } summary { cursor: pointer; color: var(--dim); }
.cause { color: var(--note); } .cause b { color: inherit; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1.5rem; }
figure { margin: 0; } figcaption { font-weight: 600; } svg { width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--dim); } .end { text-anchor: end; }
.middle, .title { text-anchor: middle; } svg .title { font-size: 12px; }
.turned { transform-box: fill-box; transform-origin: center; transform: rotate(-90deg); }
.grid { stroke: var(--line); } .bound { stroke: var(--bad); stroke-dasharray: 4 3; }
circle.passed { fill: var(--good); opacity: .55; } circle.failed { fill: var(--bad); }
"""


def page(report: dict[str, Any]) -> str:
    """The page. Whatever a backend said is text in it, never markup."""
    title = f"posref: {report['backend']}"
    run = report["run"]
    made = f"posref {run['posref']}, Python {run['python']}, {run['platform']}, {run['time']}"
    body = [
        f"<h1>{escape(report['backend'])}</h1>",
        f'<p class="verdict {escape(report["verdict"])}">{escape(report["summary"])}</p>',
        *_table(report["functions"]),
        *_failures(report["checks"]),
        *_plots(report),
        *_warnings(report["checks"]),
        f'<p class="dim">{escape(made)}</p>',
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>'
        + "\n".join(body)
        + "</body></html>\n"
    )


def _table(functions: list[dict[str, Any]]) -> Iterator[str]:
    yield '<div class="scroll"><table><tr><th>function</th><th class="number">passed</th><th class="number">not implemented</th>'
    yield '<th class="number">worst error / bound</th><th>precision</th></tr>'
    for line in functions:
        if not (ran := line["checks"] - line["not_implemented"]):
            continue
        kind = "fail" if line["failed"] else "pass"
        precision = "fails" if line["failed"] else line["profile"] or "within bound"
        cells = (f"{line['passed']} of {ran}", str(line["not_implemented"] or "-"), times(line["worst"]))
        numbers = "".join(f'<td class="number">{escape(cell)}</td>' for cell in cells)
        yield f'<tr><td class="{kind}">{escape(line["function"])}</td>{numbers}<td>{escape(precision)}</td></tr>'
    yield "</table></div>"
    if none := [line["function"] for line in functions if line["checks"] == line["not_implemented"]]:
        yield f'<p class="dim">Not implemented: {escape(", ".join(none))}.</p>'


def _failures(checks: list[dict[str, Any]]) -> Iterator[str]:
    failed = [c for c in checks if c["status"] in ("failed", "unexpected pass")]
    if failed:
        yield f"<h2>What failed ({len(failed)})</h2>"
    for _, group in groupby(failed, key=lambda c: c["id"].partition("/")[0]):
        shown = [_failure(check) for check in group]
        yield from shown[:SHOWN]
        if rest := shown[SHOWN:]:
            yield f"<details><summary>{len(rest)} more</summary>{''.join(rest)}</details>"


def _failure(check: dict[str, Any]) -> str:
    reason = "values are wrong" if check["reason"] == "values" else check["reason"]
    parts = [f"<article><h3>{escape(check['id'])}</h3><p>{escape(reason)}</p>"]
    if check["where"]:
        words = ", ".join(f"{name} {check[name]}" for name in ("got", "expected", "bound"))
        at = f"at {check['where']}: {words} ({times(check['worst'])} x bound)"
        parts.append(f"<p>{escape(at)}</p>")
    for cause in check["diagnosis"]:
        parts.append(f'<p class="cause"><b>{escape(cause["sentence"])}</b> {escape(cause["fix"])}</p>')
    return "".join([*parts, f"<pre>{escape(check['again'])}</pre></article>"])


def _plots(report: dict[str, Any]) -> Iterator[str]:
    yield '<h2>Error over positions</h2><p class="dim">The worst error of each check in each octave, as a multiple of its bound:'
    yield "below the dashed line is right.</p>"
    yield '<div class="plots">'
    for line in report["functions"]:
        if points := _points(line["function"], report["checks"]):
            plot = errors_over_positions(points, axis_name(line["function"]))
            yield f"<figure><figcaption>{escape(line['function'])}</figcaption>{plot}</figure>"
    yield "</div>"


def _points(function: str, checks: list[dict[str, Any]]) -> list[Point]:
    own = [c for c in checks if c["id"].partition("/")[0] == function]
    return [(p, float(e), float(e) <= 1) for c in own for p, e in c["by_position"]]


def _warnings(checks: list[dict[str, Any]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for check in checks:
        for warning in check["warnings"]:
            first.setdefault(warning, check["id"])
    if first:
        yield "<h2>Warnings</h2><ul>"
        yield from (f"<li>{escape(w)} <span class=dim>in {escape(check)}</span></li>" for w, check in first.items())
        yield "</ul>"


def times(worst: Any) -> str:
    """An error as a multiple of its bound; JSON has its infinities as words."""
    if worst is None:
        return "-"
    number = float(worst)
    return f"{number:.2f}" if number < 1000 else f"{number:.1e}" if math.isfinite(number) else "no number"
