"""Right relative and content-dependent attention stays within 0.8 of its bounds. ``pytest -rP`` prints the worst of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posref_conformance.case import Case, one
from posref_conformance.cases import CASES
from posref_conformance.cases.content import _cope, _forget, _gate, _path
from posref_conformance.cases.relative import _bias, _disentangled, _scores, _untied, _values

torch = pytest.importorskip("torch", reason="needs the torch extra")
MOST = 0.8
FAR = np.clip(np.arange(47)[None] - np.arange(33)[:, None], -3, 3)


def worst(measured: dict[str, float]) -> str:
    check = max(measured, key=lambda c: measured[c])
    return f"{measured[check]:.2f} {check}"


def held(ratios: Any, function: str, right: Callable[..., Any], profile: str, *more: Case) -> None:
    measured = ratios({function: right}, profile, [*CASES, *more], arrays="torch")
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        print(f"{function} {profile:8} {worst({c: r for c, r in measured.items() if c.endswith(dtype)})}")
    assert max(measured.values()) <= MOST, worst(measured)


def work(x: Any, profile: str) -> Any:
    """The type to compute in: x's own, or float32 at least."""
    return x.dtype if profile == "native" or x.dtype == torch.float64 else torch.float32


def rows_of(table: Any, index: Any) -> Any:
    """(..., q, k, d): a row for each pair, zeros where there is none."""
    heads = table.shape[:-2]
    leading = torch.broadcast_shapes(heads, index.shape[:-2])
    index = index.expand(*leading, *index.shape[-2:])
    table = table.expand(*leading, *table.shape[-2:])
    flat = index.clamp(min=0).flatten(-2)[..., None].expand(*leading, -1, table.shape[-1])
    picked = table.gather(-2, flat).unflatten(-2, index.shape[-2:])
    return picked.masked_fill((index < 0)[..., None], 0.0)


@pytest.mark.parametrize("profile", ["float32", "native"])
@pytest.mark.parametrize("how", ["rows", "products"])
def test_biases(ratios: Any, how: str, profile: str) -> None:
    def relative_bias(x: Any, table: Any, index: Any, *, side: str = "query") -> Any:
        kind = x.dtype
        x, table = x.to(work(x, profile)), table.to(work(x, profile))
        if how == "rows":
            one_of = x[..., :, None, :] if side == "query" else x[..., None, :, :]
            return (one_of * rows_of(table, index)).sum(dim=-1).to(kind)
        if side == "key":
            raise NotImplementedError("the products of the queries")
        products = x @ table.mT
        index = index.expand(*products.shape[:-2], *index.shape[-2:])
        return products.gather(-1, index.clamp(min=0)).masked_fill(index < 0, 0.0).to(kind)

    def relative_values(weights: Any, table: Any, index: Any) -> Any:
        kind = weights.dtype
        weights, table = weights.to(work(weights, profile)), table.to(work(weights, profile))
        if how == "rows":
            return (weights[..., None] * rows_of(table, index)).sum(dim=-2).to(kind)
        rows = torch.nn.functional.one_hot(index + 1, table.shape[-2] + 1)[..., 1:].to(weights.dtype)
        return ((weights[..., None] * rows).sum(dim=-2) @ table).to(kind)  # first the weights of every row

    held(ratios, "relative_bias", relative_bias, profile, one("relative_bias", "many", lambda i: _bias(i, FAR + 3)))
    held(
        ratios,
        "relative_values",
        relative_values,
        profile,
        one("relative_values", "many", lambda i: _values(i, FAR + 3)),
    )


@pytest.mark.parametrize("profile", ["float32", "native"])
@pytest.mark.parametrize("how", ["the sum scaled", "each term scaled", "the query scaled"])
def test_scores(ratios: Any, how: str, profile: str) -> None:
    def relative_scores(
        q: Any,
        k: Any,
        table: Any,
        index: Any,
        *,
        content_bias: Any = None,
        position_bias: Any = None,
        key_term: bool = False,
        scale: float | None = None,
    ) -> Any:
        kind, own = q.dtype, work(q, profile)
        q, k, table = (t.to(own) for t in (q, k, table))
        s = q.shape[-1] ** -0.5 if scale is None else scale
        if how == "the query scaled" and (key_term or content_bias is not None or position_bias is not None):
            raise NotImplementedError("plain queries alone")
        before = s if how == "the query scaled" else 1.0
        q = q * before
        seen = q if content_bias is None else q + content_bias.to(own)[..., None, :]
        placed = q if position_bias is None else q + position_bias.to(own)[..., None, :]
        terms = [seen @ k.mT, (placed[..., :, None, :] * rows_of(table, index)).sum(dim=-1)]
        if key_term:
            terms.append((k[..., None, :, :] * rows_of(table, index)).sum(dim=-1))
        if how == "each term scaled":
            return sum(term * s for term in terms).to(kind)
        return (sum(terms) * (s if before == 1.0 else 1.0)).to(kind)

    many = one("relative_scores", "many", lambda i: _scores(i, FAR + 3))
    held(ratios, "relative_scores", relative_scores, profile, many)


@pytest.mark.parametrize("profile", ["float32", "native"])
@pytest.mark.parametrize("how", ["the sum scaled", "each term scaled"])
def test_disentangled_scores(ratios: Any, how: str, profile: str) -> None:
    def disentangled_scores(
        q: Any,
        k: Any,
        relative: Any,
        *,
        pos_k: Any = None,
        pos_q: Any = None,
        p2c: str = "code",
        scale: float | None = None,
    ) -> Any:
        kind, own = q.dtype, work(q, profile)
        q, k = q.to(own), k.to(own)
        terms = [q @ k.mT]
        for table, x, r in ((pos_k, q[..., :, None, :], relative),
                            (pos_q, k[..., None, :, :], relative if p2c == "code" else -relative)):  # fmt: skip
            if table is not None:
                span = table.shape[-2] // 2
                terms.append((x * rows_of(table.to(own), (r + span).clamp(0, 2 * span - 1))).sum(dim=-1))
        s = (q.shape[-1] * len(terms)) ** -0.5 if scale is None else scale
        return (sum(term * s for term in terms) if how == "each term scaled" else sum(terms) * s).to(kind)

    far = one("disentangled_scores", "many", lambda i: _disentangled(i, -FAR))
    held(ratios, "disentangled_scores", disentangled_scores, profile, far)


@pytest.mark.parametrize("profile", ["float32", "native"])
@pytest.mark.parametrize("how", ["the sum scaled", "each term scaled", "the queries scaled", "one product"])
def test_untied_scores(ratios: Any, how: str, profile: str) -> None:
    def untied_scores(q: Any, k: Any, *, pos_q: Any = None, pos_k: Any = None, scale: float | None = None) -> Any:
        kind, own = q.dtype, work(q, profile)
        s = (2 * q.shape[-1]) ** -0.5 if scale is None else scale
        pairs = [(x.to(own), y.to(own)) for x, y in ((q, k), (pos_q, pos_k)) if x is not None and y is not None]
        if how == "one product":  # content beside position, as one head of twice the width
            leading = torch.broadcast_shapes(*(x.shape[:-2] for pair in pairs for x in pair))
            left, right = (
                torch.cat([x.expand(*leading, *x.shape[-2:]) for x in side], dim=-1)
                for side in zip(*pairs, strict=True)
            )
            return ((left @ right.mT) * s).to(kind)
        if how == "the queries scaled":  # as the authors have it
            return sum((x * s) @ y.mT for x, y in pairs).to(kind)
        terms = [x @ y.mT for x, y in pairs]
        return (sum(term * s for term in terms) if how == "each term scaled" else sum(terms) * s).to(kind)

    many = one("untied_scores", "many", lambda i: _untied(i, 33, 47, d=64))
    held(ratios, "untied_scores", untied_scores, profile, many)


@pytest.mark.parametrize("profile", ["float32", "native"])
def test_gates(ratios: Any, profile: str) -> None:
    def bias_gate(projection: Any, const: Any) -> Any:
        """As transformers has it."""
        kind, own = projection.dtype, work(projection, profile)
        parts = projection.to(own).unflatten(-1, (2, 4)).sum(dim=-1)
        a, b = torch.sigmoid(parts).unbind(dim=-1)
        return (a * (b * const.to(own)[:, None] - 1.0) + 2.0).to(kind)

    def decomposed_bias(q: Any, height_table: Any, width_table: Any, q_size: Any, k_size: Any) -> Any:
        kind, own = q.dtype, work(q, profile)
        if any(max(a, b) % min(a, b) for a, b in zip(q_size, k_size, strict=True)):
            raise NotImplementedError("rows that are not whole")
        grid, rows = q.to(own).unflatten(-2, q_size), []
        for table, a, b in zip((height_table, width_table), q_size, k_size, strict=True):
            at = torch.arange(a)[:, None] * max(b // a, 1) + torch.arange(b - 1, -1, -1) * max(a // b, 1)
            rows.append(table.to(own)[at])
        tall = torch.einsum("...hwc,hkc->...hwk", grid, rows[0])
        wide = torch.einsum("...hwc,wkc->...hwk", grid, rows[1])
        return (tall[..., :, None] + wide[..., None, :]).flatten(-2).flatten(-3, -2).to(kind)

    many = one("bias_gate", "many", lambda i: _gate(i, 9, q=33))
    held(ratios, "bias_gate", bias_gate, profile, many)
    held(ratios, "decomposed_bias", decomposed_bias, profile)


def test_forget_gates(ratios: Any) -> None:
    def forget_bias(log_forget: Any, *, backward: Any = None, num_queries: int | None = None) -> Any:
        """Prefix sums in float32, as the released kernels have them."""
        if backward is not None:
            raise NotImplementedError("causal")
        sums = log_forget.to(work(log_forget, "float32")).cumsum(dim=-1)
        first = 0 if num_queries is None else log_forget.shape[-1] - num_queries
        return (sums[..., first:, None] - sums[..., None, :]).to(log_forget.dtype)

    held(ratios, "forget_bias", forget_bias, "float32", one("forget_bias", "many", lambda i: _forget(i, 4, 1009)))


@pytest.mark.parametrize("profile", ["float32", "native"])
def test_contextual_positions(ratios: Any, profile: str) -> None:
    def cope_scores(
        q: Any, k: Any, table: Any, *, mask: Any = None, scale: float | None = None, scale_positions: bool = True
    ) -> Any:
        """As the authors have it, the positions counted in float32 at least."""
        kind, own = q.dtype, work(q, profile)
        q, k, table = (t.to(own) for t in (q, k, table))
        s = q.shape[-1] ** -0.5 if scale is None else scale
        content = (q @ k.mT) * s
        gates = torch.sigmoid(content)
        gates = (gates if mask is None else gates * mask).to(work(q, "float32"))
        p = gates.flip(-1).cumsum(dim=-1).flip(-1).clamp(max=len(table) - 1)
        z = q @ table.mT
        low, high = (z.gather(-1, i.long()) for i in (p.floor(), p.ceil()))
        share = (p - p.floor()).to(own)
        placed = high * share + low * (1 - share)
        return (content + (placed * s if scale_positions else placed)).to(kind)

    seen = np.tri(33, 47, 14, dtype=bool)
    many = one("cope_scores", "many", lambda i: _cope(i, q=33, k=47, rows=30, mask=seen))
    held(ratios, "cope_scores", cope_scores, profile, many)


@pytest.mark.parametrize("how", ["keys in turn", "a triangular system"])
def test_path(ratios: Any, how: str) -> None:
    def path_scores(
        q: Any, k: Any, w: Any, beta: Any, *, log_forget: Any = None, gate: str = "plain", scale: float | None = None
    ) -> Any:
        kind, own, n = q.dtype, work(q, "float32"), q.shape[-2]
        if not n:
            raise NotImplementedError("no tokens")
        q, k, w, beta = (t.to(own) for t in (q, k, w, beta))
        if how == "keys in turn":
            scores = torch.zeros(*q.shape[:-1], n, dtype=own)
            carried = k.clone()
            for i in range(n):
                across = beta[..., i, None, None] * (carried[..., :i, :] @ w[..., i, :, None])
                carried[..., :i, :] = carried[..., :i, :] - across * w[..., i : i + 1, :]
                scores[..., i, : i + 1] = (q[..., i, None, :] * carried[..., : i + 1, :]).sum(dim=-1)
        else:  # the products as one: I + the strict lower triangle of beta w w'
            lower = (beta[..., None] * (w @ w.mT)).tril(-1) + torch.eye(n, dtype=own)
            right = (beta[..., None] * (w @ k.mT)).tril(-1)
            solved = torch.linalg.solve_triangular(lower, right, upper=False, unitriangular=True)
            scores = (q @ k.mT).tril() - (q @ w.mT).tril() @ solved
        s = q.shape[-1] ** -0.5 if scale is None else scale
        if log_forget is None:
            return (scores * s).to(kind)
        sums = log_forget.to(own).cumsum(dim=-1)
        added = (sums[..., :, None] - sums[..., None, :]).tril()
        return ((scores + added) * s if gate == "scaled" else scores * s + added).to(kind)

    held(
        ratios, "path_scores", path_scores, "float32", one("path_scores", "many", lambda i: _path(i, 13, leading=(2,)))
    )
