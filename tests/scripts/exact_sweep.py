"""The comparison of tests/posref/test_exact.py on many more entries: cos_sin against ball arithmetic, every path.

    python tests/scripts/exact_sweep.py [MILLIONS]      entries per path, two values each; 1 million take some 6 s a path

Prints the worst error of each path in ulp; exit status 1 if one is above 0.5.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from flint import arb

from posref import exact


def tests() -> Any:
    path = Path(__file__).resolve().parents[1] / "posref" / "test_exact.py"
    spec = importlib.util.spec_from_file_location("test_exact", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(millions: float) -> int:
    test, failed = tests(), False
    for path, (make_positions, make_frequencies, gain) in test.PATHS.items():
        positions = make_positions()
        with exact.real_arithmetic(positions):
            reals, balls = make_frequencies()
            table = exact.cos_sin(positions, reals, exact.real(gain))
        error = test.worst(table, positions, balls, arb(gain), entries=int(millions * 1e6), seed=2)
        print(f"{path:40s} {error:.9f} ulp", flush=True)
        failed |= error > test.LIMIT
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0))
