"""Hard cases for range reduction: positions whose angle is within 2^-60 of a multiple of pi/2: cos or sin nearly vanishes.

    python tests/scripts/hard_cases.py            search again, and print what is found
    python tests/scripts/hard_cases.py --check    exit status 1 if that is not what is listed here

An angle p w is near k pi/2 where k / p is near r = w / (pi/2), and the best such fractions are the convergents of r's
continued fraction (Kahan; Muller et al., Handbook of Floating-Point Arithmetic, 10.3). For positions m 2^e with 53 bits in m
the same holds for r 2^e, and only its fractional part matters. Uses mpmath alone; golden_cases.py takes the lists.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mpmath import mp, mpf

CLOSE = -60  # distance to a multiple of pi/2, as a power of two
KEPT = 8  # of each kind, the closest
GIVEN = (1.0, 0.1, 0.01, 1e-5)  # float64 frequencies, for positions of any size
BASES = (10000.0, 50000.0, 150000.0, 500000.0, 1000000.0, 10000000.0, 1e9, 1e12)
DIMS = range(16, 130, 16)

# Distance as a power of two, position, float64 frequency as given. 5.3e255 = 6381956970095103 2^797 is the worst of
# all float64 numbers (Muller et al., 10.3).
GIVEN_FREQUENCIES = [
    (-61.51, 2.7254001971542922e237, 1e-05),
    (-61.34, 1.457969414168969e239, 0.1),
    (-61.01, 5.892244945629551e143, 0.01),
    (-60.89, 5.319372648326541e255, 1.0),
    (-60.62, 1.4908943358061217e93, 0.1),
    (-60.51, 5.4508003943085845e237, 1e-05),
    (-60.34, 2.915938828337938e239, 0.1),
    (-60.1, 2.7780041195404537e276, 1e-05),
    (-65.38, 5759356127225432, 6.454559419519864e-06),
    (-60.08, 2689265348730124, 1.6915734908013784e-05),
]

# Distance, position, base, dim: near for one of the real frequencies base ** (-2 i / dim).
REAL_FREQUENCIES = [
    (-61.69, 8575106794311611, 10000.0, 112),
    (-61.42, 8732632113768280, 50000.0, 128),
    (-61.15, 7252436179928985, 10000.0, 64),
    (-60.15, 1450487235985797, 10000.0, 64),
]


def convergents(x: Any, largest: int) -> Iterator[int]:
    """Denominators of the convergents of x, up to the largest."""
    before, q = 0, 1
    while q <= largest:
        yield q
        x -= mp.floor(x)
        if not x:
            return
        x = 1 / x
        before, q = q, int(mp.floor(x)) * q + before


def close(frequency: Any, exponent: int = 0) -> Iterator[tuple[float, float]]:
    """Positions m 2^exponent, m < 2^53, with angles near a multiple of pi/2 other than 0: distance and position."""
    ratio = frequency * mpf(2) ** exponent / (mp.pi / 2)
    for m in convergents(ratio, 2**53 - 1):
        distance = abs(m * ratio - mp.nint(m * ratio)) * (mp.pi / 2)
        if distance < mpf(2) ** CLOSE and m * ratio > mpf(1) / 2:
            yield round(float(mp.log(distance, 2)), 2), math.ldexp(m, exponent) if exponent else m


def closest(found: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The first few, one of each distance: positions repeat times a power of two, and ladders share frequencies."""
    return sorted({case[0]: case for case in sorted(found, reverse=True)}.values())[:KEPT]


def ladder() -> Iterator[tuple[float, int, Any]]:
    """Bases, widths and their real frequencies."""
    for base in BASES:
        for dim in DIMS:
            for i in range(1, dim // 2, 2):  # an even i is in the ladder of half the width
                yield base, dim, mpf(base) ** (-mpf(2 * i) / dim)


def in_any_position() -> Iterator[tuple[Any, ...]]:
    with mp.workdps(400):  # 2^970 has 292 digits
        for w in GIVEN:
            for exponent in range(1, 971):
                yield from ((d, p, w) for d, p in close(mpf(w), exponent))


def in_integer_positions() -> Iterator[tuple[Any, ...]]:
    with mp.workdps(60):
        for w in {float(w) for _, _, w in ladder()}:
            yield from ((d, p, w) for d, p in close(mpf(w)))


def of_real_frequencies() -> Iterator[tuple[Any, ...]]:
    with mp.workdps(60):
        for base, dim, w in ladder():
            yield from ((d, p, base, dim) for d, p in close(w))


def main(arguments: Sequence[str]) -> int:
    found = {"GIVEN_FREQUENCIES": closest(in_any_position()) + closest(in_integer_positions())}
    found["REAL_FREQUENCIES"] = closest(of_real_frequencies())
    if "--check" in arguments:
        return 0 if all(globals()[name] == cases for name, cases in found.items()) else 1
    for name, cases in found.items():
        print(f"{name} = [", *(f"    {case}," for case in cases), "]", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
