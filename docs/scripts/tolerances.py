"""The numbers of the page on tolerances: measured when the site is built, by the budgets themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref
from posref_conformance.budgets import bounds
from posref_conformance.case import Call
from posref_conformance.roundings import ROUNDOFF

DIM = 128
LENGTHS = (64, 4096, 131072)
Table = NDArray[np.float64]


def roundoff() -> str:
    """Unit roundoffs of the types."""
    rows = [f"| {name} | $2^{{{int(np.log2(u))}}}$ | {u:.3g} |" for name, u in ROUNDOFF.items()]
    return "| Type | $u$ | |\n| --- | --- | --- |\n" + "\n".join(rows)


def separation() -> str:
    """How far right and wrong code are from the bound."""
    rows = []
    for length in LENGTHS:
        right, wrong, error = _multiple(length, 10000.0), _multiple(length, 10001.0), _error(length, 10000.0)
        rows.append(f"| {length} | {right:.2f} | {wrong:.0f} | {error:.1e} |")
    head = "| Positions below | Right float32 code, error / bound | Base 10001, error / bound | Right code's largest error |\n"
    return head + "| --- | --- | --- | --- |\n" + "\n".join(rows)


def fixed_tolerances() -> str:
    """What one pair (rtol, atol) for all positions makes of the same tables."""
    rows = []
    for rtol, atol in ((1.3e-6, 1e-5), (1e-4, 1e-4), (1e-3, 1e-3), (1e-2, 1e-2)):
        rows.append(f"| {rtol:g}, {atol:g} | " + " | ".join(_told(n, rtol, atol) for n in LENGTHS) + " |")
    head = "| rtol, atol | " + " | ".join(f"positions below {n}" for n in LENGTHS) + " |\n"
    return head + "| --- | --- | --- | --- |\n" + "\n".join(rows)


def _positions(length: int) -> NDArray[np.int64]:
    return np.unique(np.geomspace(1, length - 1, 400).astype(np.int64))


def _float32_table(length: int, base: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """What most models do: frequency, angle, cos and sin in float32."""
    w = np.float32(1) / np.float32(base) ** (np.arange(0, DIM, 2, dtype=np.float32) / np.float32(DIM))
    angle = _positions(length).astype(np.float32)[:, None] * w
    return np.cos(angle), np.sin(angle)


def _difference(length: int, base: float) -> list[Table]:
    exact = posref.rope_table(_positions(length), DIM)
    return [np.abs(got.astype(np.float64) - e) for got, e in zip(_float32_table(length, base), exact, strict=True)]


def _error(length: int, base: float) -> float:
    return float(max(d.max() for d in _difference(length, base)))


def _multiple(length: int, base: float) -> float:
    """The worst error over its bound."""
    exact = list(posref.rope_table(_positions(length), DIM))
    ((bound_cos, bound_sin),) = bounds(
        "rope_table", Call((_positions(length), DIM)), exact, ["float32", "float32"]
    ).values()
    worst = zip(_difference(length, base), (bound_cos, bound_sin), strict=True)
    return float(max((d / b).max() for d, b in worst))


def _told(length: int, rtol: float, atol: float) -> str:
    right, wrong = _fits(length, 10000.0, rtol, atol), _fits(length, 10001.0, rtol, atol)
    if right and not wrong:
        return "tells them apart"
    return " and ".join(["**rejects right**"] * (not right) + ["**accepts 10001**"] * wrong)


def _fits(length: int, base: float, rtol: float, atol: float) -> bool:
    got, exact = _float32_table(length, base), posref.rope_table(_positions(length), DIM)
    return all(np.allclose(g, e, rtol=rtol, atol=atol) for g, e in zip(got, exact, strict=True))
