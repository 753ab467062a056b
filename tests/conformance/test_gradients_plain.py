"""The adjoints against torch's own derivative of plain formulas, which share no code with ours."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import posref
from posref_conformance.adjoints import gradient
from posref_conformance.case import Case
from posref_conformance.cases import CASES


def _relative_scores(
    q: Any, k: Any, table: Any, index: Any, content_bias: Any = 0, position_bias: Any = 0, key_term: bool = False
) -> Any:
    rows = table[index]  # (q, k, d)
    per_head = content_bias[:, None] if torch.is_tensor(content_bias) else 0
    y = torch.einsum("bhqd,bhkd->bhqk", q + per_head, k.expand(2, 3, -1, -1))
    y = y + torch.einsum("bhqd,qkd->bhqk", q + position_bias, rows)
    if key_term:
        y = y + torch.einsum("bhkd,qkd->bhqk", k, rows)
    return y / q.shape[-1] ** 0.5


def _untied_scores(q: Any, k: Any, pos_q: Any, pos_k: Any) -> Any:
    """One product of twice the channels."""
    queries, keys = (
        torch.cat([q, pos_q.expand(q.shape)], -1),
        torch.cat([k.expand(2, 3, -1, -1), pos_k.expand(2, -1, -1, -1)], -1),
    )
    return torch.einsum("bhqd,bhkd->bhqk", queries, keys) / queries.shape[-1] ** 0.5


def _bias_gate(projection: Any, const: Any) -> Any:
    a, b = projection.unflatten(-1, (2, 4)).sum(-1).sigmoid().unbind(-1)
    return a * (b * const[:, None] - 1) + 2


def _cope_scores(q: Any, k: Any, table: Any, mask: Any) -> Any:
    """The line between two rows as a sum of tents."""
    s = q.shape[-1] ** -0.5
    gates = torch.sigmoid(s * q @ k.mT) * mask
    position = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=len(table) - 1)
    tents = (1 - (position[..., None] - torch.arange(len(table))).abs()).clamp(min=0)
    return s * (q @ k.mT + torch.einsum("bhqkn,bhqn->bhqk", tents, q @ table.T))


def _path_scores(q: Any, k: Any, w: Any, beta: Any, log_forget: Any) -> Any:
    """With the matrices themselves."""
    n, d = q.shape[-2:]
    outer = w[..., :, None] * w[..., None, :]
    h = torch.eye(d, dtype=q.dtype) - beta[..., None, None] * outer  # (..., n, d, d)
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            if j > i:
                row.append(torch.zeros_like(q[..., 0, 0]))
                continue
            key = k[..., j, :, None]
            for between in range(j + 1, i + 1):
                key = h[..., between, :, :] @ key
            row.append((q[..., i, None, :] @ key)[..., 0, 0] / d**0.5 + log_forget[..., j + 1 : i + 1].sum(-1))
        rows.append(torch.stack(row, -1))
    return torch.stack(rows, -2)


PLAIN: dict[str, Callable[..., Any]] = {
    "relative_scores": _relative_scores,
    "untied_scores": _untied_scores,
    "bias_gate": _bias_gate,
    "cope_scores": _cope_scores,
    "path_scores": _path_scores,
}
ASKED = [
    c
    for c in CASES
    if c.function in PLAIN
    and c.name.startswith("gradient-by-")
    and set(c.calls("float64")[0].kwargs) <= set(inspect.signature(PLAIN[c.function]).parameters)
]


@pytest.mark.parametrize("case", ASKED, ids=lambda c: f"{c.function}/{c.name}")
def test_an_adjoint_is_what_autograd_makes_of_a_plain_formula(case: Case) -> None:
    (call,) = case.calls("float64")
    given = inspect.signature(getattr(posref, case.function)).bind(*call.args, **call.kwargs).arguments
    tensors = {name: torch.tensor(v) if isinstance(v, np.ndarray) else v for name, v in given.items()}
    leaf = tensors[call.by].requires_grad_()
    (expected,) = torch.autograd.grad(PLAIN[case.function](**tensors), leaf, torch.tensor(call.cotangent))
    # sums of at most some hundred terms of order 1 in float64, on both sides: 2 * 300 * 2^-53
    np.testing.assert_allclose(gradient(case.function, call), expected.numpy(), rtol=0, atol=1e-12)
    assert float(expected.abs().max()) > 0.01


def test_all_arguments_are_among_them() -> None:
    assert len(ASKED) == 5 + 4 + 2 + 3 + 5
