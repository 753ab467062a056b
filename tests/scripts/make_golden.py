"""Golden values for position encodings: made with mpmath at 60 digits, sharing no code with posref.

    python tests/scripts/make_golden.py             write tests/golden/*.json
    python tests/scripts/make_golden.py --check     say whether they are up to date; exit status 1 if one is not

One file per function, one line per case. `expected` is the value rounded once to float64, `expected_lo` what that left over;
their sum is the true value to some 32 digits. A case's id is made of its arguments, so that it stays as long as they do.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import golden_additive
import golden_axes
import golden_bias
import golden_cases
import golden_content
import golden_decays
import golden_disentangled
import golden_distance
import golden_formulas
import golden_frequencies
import golden_logits
import golden_relative
import golden_resampling
import golden_windows
from golden_formulas import each
from golden_rotary_cases import Args, Case

# where a function's cases are; its formula is in the module of the same place. A function may have cases in several.
BOOKS: list[tuple[ModuleType, dict[str, list[Case]]]] = [
    (golden_formulas, golden_cases.CASES),
    (golden_frequencies, golden_frequencies.CASES),
    (golden_axes, golden_axes.CASES),
    (golden_logits, golden_logits.CASES),
    (golden_bias, golden_bias.CASES),
    (golden_windows, golden_windows.CASES),
    (golden_decays, golden_decays.CASES),
    (golden_distance, golden_distance.CASES),
    (golden_relative, golden_relative.CASES),
    (golden_disentangled, golden_disentangled.CASES),
    (golden_content, golden_content.CASES),
    (golden_additive, golden_additive.CASES),
    (golden_resampling, golden_resampling.CASES),
]
FUNCTIONS = sorted({function for _, cases in BOOKS for function in cases})
SOURCE = "mpmath, 60 digits: expected is rounded once to float64, expected_lo is what that left over"


def identity(function: str, args: Args) -> str:
    return f"{function}/{hashlib.sha256(json.dumps(args, sort_keys=True).encode()).hexdigest()[:8]}"


def line(formulas: ModuleType, function: str, case: Case) -> str:
    note, args = case
    exact = getattr(formulas, function)(**args)
    entry = {"id": identity(function, args), "note": note, "args": args, "expected": each(nearest, exact)}
    return json.dumps(entry | {"expected_lo": each(left_over, exact)}, separators=(",", ":"))


def nearest(value: Any) -> float | int:
    return value if isinstance(value, int) else float(value)


def left_over(value: Any) -> float | int:
    return 0 if isinstance(value, int) else float(value - float(value))


def text(function: str) -> str:
    head = f'{{"function":{json.dumps(function)},"source":{json.dumps(SOURCE)},"cases":[\n'
    lines = [line(formulas, function, case) for formulas, cases in BOOKS for case in cases.get(function, [])]
    return head + ",\n".join(lines) + "]}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the golden values, or check that they are up to date.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a file is out of date")
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parents[1] / "golden")
    given = parser.parse_args(arguments)
    stale = []
    for function in FUNCTIONS:
        path: Path = given.folder / f"{function}.json"
        wanted = text(function)
        if given.check and (not path.exists() or path.read_text(encoding="utf-8") != wanted):
            stale.append(path.name)
        elif not given.check:
            path.write_text(wanted, encoding="utf-8")
    strangers = sorted({p.name for p in given.folder.glob("*.json")} - {f"{function}.json" for function in FUNCTIONS})
    for name in stale:
        print(f"{name} is out of date: run python tests/scripts/make_golden.py")
    for name in strangers:
        print(f"{name} is made by nothing here")
    return 1 if given.check and (stale or strangers) else 0


if __name__ == "__main__":
    sys.exit(main())
