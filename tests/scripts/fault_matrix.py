"""The matrix of faults and checks: which checks catch which fault.

    python tests/scripts/fault_matrix.py [numpy|torch] [FAULT ...]

One line per fault: how many of the checks of its functions fail, and which cases these are, all types together.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

from posref_conformance.backend import describe
from posref_conformance.cases import CASES, checks
from posref_conformance.faults import FAULTS
from posref_conformance.faults._fault import library
from posref_conformance.verdict import FAILED, NOT_IMPLEMENTED, run


def line(fault_id: str, arrays: str) -> str:
    """One row of the matrix."""
    functions = FAULTS[fault_id].functions(library(arrays))
    backend = describe(fault_id, SimpleNamespace(**functions, arrays=arrays))
    asked = checks(backend, [c for c in CASES if c.function in functions])
    results = [r for r in (run(backend, *check) for check in asked) if r.status != NOT_IMPLEMENTED]
    failed = [r.id for r in results if r.status == FAILED]
    cases = dict.fromkeys(check.rpartition("/")[0] for check in failed)
    return f"| {fault_id} | {len(failed)} of {len(results)} | {', '.join(cases)} |"


def main() -> int:
    arrays, *chosen = sys.argv[1:] or ["numpy"]
    print(f"| fault, on {arrays} | fail | cases |\n| --- | --- | --- |")
    for fault in FAULTS.values():
        if fault.needs in (None, arrays) and (not chosen or fault.id in chosen):
            print(line(fault.id, arrays), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
