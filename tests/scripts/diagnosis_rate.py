"""How often the diagnosis names a planted fault first: all of the catalogue, every function that a fault makes wrong.

    python tests/scripts/diagnosis_rate.py [numpy|torch] [DTYPE] [FAULT ...]

What is missed is printed with what was named instead.
"""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

from posref_conformance.backend import describe
from posref_conformance.cases import CASES, checks
from posref_conformance.diagnosis import diagnose
from posref_conformance.faults import FAULTS
from posref_conformance.faults._fault import library
from posref_conformance.verdict import FAILED, PASSED, run


def named(fault_id: str, function: str, arrays: str, dtype: str) -> tuple[list[str], float] | None:
    """What is named for one function, and in how many seconds; None where no check of the type fails."""
    wrong = FAULTS[fault_id].functions(library(arrays))[function]
    backend = describe(fault_id, SimpleNamespace(**{function: wrong}, arrays=arrays, dtypes=[dtype]))
    asked = checks(backend, [c for c in CASES if c.function == function])
    results = [(check, run(backend, *check).status) for check in asked]
    failed, passed = ([check for check, status in results if status == s] for s in (FAILED, PASSED))
    if not failed:
        return None
    start = time.process_time()  # of CPU: what else the machine does is not counted
    wrong = FAULTS[fault_id].functions(library(arrays))[function]  # as in a new process: it remembers nothing
    anew = describe(fault_id, SimpleNamespace(**{function: wrong}, arrays=arrays, dtypes=[dtype]))
    return [e.id for e in diagnose(lambda _: anew, failed, passed)], time.process_time() - start


def main() -> int:
    arrays, dtype, *chosen = [*sys.argv[1:], *["numpy", "float32"][len(sys.argv) - 1 :]]
    first = among = asked = 0
    slowest = 0.0
    for fault in FAULTS.values():
        if fault.needs not in (None, arrays) or (chosen and fault.id not in chosen):
            continue
        for function in fault.functions(library(arrays)):
            found = named(fault.id, function, arrays, dtype)
            if found is None:
                continue
            ids, seconds = found
            asked, first, among = asked + 1, first + (ids[:1] == [fault.id]), among + (fault.id in ids)
            slowest = max(slowest, seconds)
            if ids[:1] != [fault.id]:
                print(f"{fault.id:36} {function:22} {', '.join(ids) or '-'}", flush=True)
    print(f"first {first} of {asked} ({first / asked:.1%}), among the three {among}; the slowest took {slowest:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
