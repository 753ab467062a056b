"""The page of textbook mistakes: each fault's own source beside the right one, and what the suite says of the fault."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import svg
from pictures import DIM, mean_cosine
from right import RIGHT

import posref
from posref_conformance.backend import load
from posref_conformance.cases import checks
from posref_conformance.faults import Fault
from posref_conformance.faults.textbook import TEXTBOOK
from posref_conformance.verdict import FAILED, NOT_IMPLEMENTED, Result, run

WIDTH = 56  # columns of code, two of which stand side by side
SPELLING = {"alibi": "ALiBi", "yarn": "YaRN"}
ASIDE = re.compile(r"^( *)(\S.*?)  (# .*)$", re.M)
TYPES = re.compile(r"(?<=\w): (?:Any|bool|float|int|str)\b(?=[,)= ])| -> \w+(?=:$)", re.M)

INTRO = """---
hide: [toc]
---

# Textbook snippets, wrong and right

Mistakes of widely copied tutorials. Those that are code are backends of the suite: the left column is their own source, types
left out. There `xp` is the array library, and `right` has right functions for it.
The right column is plain NumPy, and it passes the suite. `posref check fault:ID` holds a mistake against the suite; what is told
of that below was so when this page was built."""


def page() -> str:
    """All of them, then what is a sentence and no code."""
    return "\n\n".join([INTRO, *map(_section, TEXTBOOK), cosine()]) + "\n"


def heading(fault: Fault) -> str:
    """``alibi-no-slopes`` -> ALiBi no slopes."""
    words = " ".join(SPELLING.get(w, w) for w in fault.id.split("-"))
    return words[0].upper() + words[1:]


def wrong_source(fault: Fault) -> str:
    """The functions that a fault makes, as they stand in its file, without types."""
    text = textwrap.dedent(inspect.getsource(fault.wrong))
    (factory,) = ast.parse(text).body
    assert isinstance(factory, ast.FunctionDef)
    lines = text.splitlines()
    made = [node for node in factory.body if isinstance(node, ast.FunctionDef)]
    return _narrow("\n\n".join(textwrap.dedent("\n".join(lines[n.lineno - 1 : n.end_lineno])) for n in made))


def right_source(fault: Fault) -> str:
    """The functions that stand in their place."""
    if fault.id not in RIGHT:
        raise KeyError(f"docs/scripts/right.py has no right version of the fault {fault.id}")
    sources = (
        inspect.getsource(f).replace(f"def {f.__name__}(", f"def {name}(") for name, f in RIGHT[fault.id].items()
    )
    return _narrow("\n\n".join(sources))


def verdict(fault: Fault) -> list[Result]:
    """The results of the checks that a fault can be asked."""
    backend = load(f"fault:{fault.id}")
    results = (run(backend, case, dtype) for case, dtype in checks(backend) if backend.function(case.function))
    return [r for r in results if r.status != NOT_IMPLEMENTED]


def cosine() -> str:
    """The sentence that the cosine of the distance only falls."""
    d = np.arange(4097)
    score = mean_cosine(d)
    rises = int((np.diff(score) > 0).sum())
    first = int(np.flatnonzero(np.diff(score) > 0)[0])
    least = int(score.argmin())
    shown = (0, 1, 8, first, first + 1, 200, 256, 1000, 1030, least)
    chart = svg.lines(
        [("base 10000, 128 channels", d[:257].tolist(), score[:257].tolist())],
        "distance",
        "Equal vectors: the score over the distance, by the reference.",
    )
    return f"""## "The cosine of the distance only falls" {{#cosine-only-falls}}

It is said of $PE(p) \\cdot PE(p + r)$, and of rotary scores, that they fall with the distance $r$. The first is a sum of cosines,
one per frequency, and so is the rotary score of a query and a key whose pairs are all alike. As a fraction of what it is at
distance 0, with $d$ channels:

$$ \\frac{{2}}{{d}} \\sum_{{i=0}}^{{d/2 - 1}} \\cos(r\\, w_i) $$

It falls on the whole, but it oscillates: with {DIM} channels and base 10000 it rises in {rises} of the {len(d) - 1} steps
from 0 to {len(d) - 1}, for the first time from {first} to {first + 1}, and at {least} it is below zero. For other queries
and keys each pair has a weight and a phase of its own, $|q_i||k_i| \\cos(r\\, w_i + \\varphi_i)$, and the score may as well
rise.

{chart}

| distance | {" | ".join(map(str, shown))} |
| --- |{" --- |" * len(shown)}
| score | {" | ".join(f"{score[n]:.3f}" for n in shown)} |

**True:** RoFormer (2104.09864), sec. 3.4.3, bounds the size of the score by something that falls on the whole. A bound is not the
score."""


def _section(fault: Fault) -> str:
    results = verdict(fault)
    failed = [r for r in results if r.status == FAILED]
    first = failed[0]
    told = f"at `{first.where}` it is {first.got}, expected {first.expected}" if first.where else f"it {first.reason}"
    lead = f"{fault.sentence} {fault.fix}".replace("**", r"\*\*")
    more = f"\n\n{MORE[fault.id]()}" if fault.id in MORE else ""
    return f"""## {heading(fault)} {{#{fault.id}}}

{lead}

<div class="sides" markdown>
<div class="wrong" markdown>
```python title="Wrong"
{wrong_source(fault)}
```
</div>
<div class="right" markdown>
```python title="Right"
{right_source(fault)}
```
</div>
</div>

`posref check fault:{fault.id}`: {len(failed)} of {len(results)} checks fail. The first is `{first.id}`: {told}.

Seen in: {fault.source}.{more}"""


def _yarn() -> str:
    scaling = posref.YarnScaling(8.0, 4096)
    plain = posref.rope_inv_freq(DIM)
    yarn, ntk = posref.rope_inv_freq(DIM, scaling=scaling), posref.rope_inv_freq(DIM, scaling=posref.NTKScaling(8.0))
    untouched = int((yarn == plain).sum())
    rows = [
        f"| {i} | {plain[i]:.6g} | {ntk[i] / plain[i]:.4f} | {yarn[i] / plain[i]:.4f} |"
        for i in (0, 1, 8, 16, 20, 24, 32, 40, 48, 63)
    ]
    return (
        f'"YaRN applies NTK to the fast pairs" is a sentence too. With {DIM} channels, base 10000, factor 8 and original length '
        f"4096, YaRN leaves {untouched} pairs exactly as they are; NTK changes all but the first. Both end at interpolation, "
        "1/8.\n\n"
        "| pair | plain frequency | NTK / plain | YaRN / plain |\n| --- | --- | --- | --- |\n" + "\n".join(rows)
    )


MORE: dict[str, Callable[[], str]] = {"yarn-scales-fast-pairs": _yarn}


def _narrow(source: str) -> str:
    """Without types, remarks above their lines, and wrapped by ruff where it is there: two columns are narrow."""
    source = ASIDE.sub(r"\1\3\n\1\2", TYPES.sub("", source))
    ruff = shutil.which("ruff", path=os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", ""))))
    if ruff is None:
        return source.strip()
    command: list[Any] = [ruff, "format", "--isolated", "--line-length", str(WIDTH), "-"]
    return subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=True).stdout.strip()
