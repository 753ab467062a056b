"""The comparisons of tests/posref/test_exact.py and test_functions_are_exact.py on many more entries, and other random ones.

    python tests/scripts/exact_sweep.py [MILLIONS] [NAME]

Entries per path of cos_sin (two values each) and per function, in millions: one takes some 6 s a path and 1 to 3 minutes a
function. With a name, only the functions and paths in whose names it occurs. Prints the worst error of each in ulp; exit
status 1 if one is above the tests' limit.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flint import arb

from posref import exact

TESTS = Path(__file__).resolve().parents[1] / "posref"
sys.path.append(str(TESTS / "helpers"))
from exactness import LIMIT, SUBJECTS, compare  # noqa: E402


def tests() -> Any:
    spec = importlib.util.spec_from_file_location("test_exact", TESTS / "test_exact.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def paths(millions: float, name: str) -> Iterator[tuple[str, float, float]]:
    """Name, worst error and limit of each path of cos_sin."""
    test = tests()
    for path, (make_positions, make_frequencies, gain) in test.PATHS.items():
        if name in path:
            positions = make_positions()
            with exact.real_arithmetic(positions):
                reals, balls = make_frequencies()
                table = exact.cos_sin(positions, reals, exact.real(gain))
            error = test.worst(table, positions, balls, arb(gain), entries=int(millions * 1e6), seed=2)
            yield path, error, test.LIMIT


def functions(millions: float, name: str) -> Iterator[tuple[str, float, float]]:
    """The same of each public function."""
    for subject in SUBJECTS:
        if name in str(subject):
            yield str(subject), compare(subject, int(10 * millions * subject.entries), seed=2).worst, LIMIT


def main(millions: float = 1.0, name: str = "") -> int:
    failed = False
    for sweep in (paths, functions):
        for what, error, limit in sweep(millions, name):
            print(f"{what:45s} {error:.9f} ulp", flush=True)
            failed |= not error <= limit
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*(kind(given) for kind, given in zip((float, str), sys.argv[1:], strict=False))))
