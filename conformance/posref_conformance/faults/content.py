"""What depends on the content: forget gates, contextual positions, reflections, decomposed biases, gates and resets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import arguments, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions


def _forget(change: Callable[..., Any]) -> Any:
    """Forget gates whose sums up to the query are changed: ``change(sums, gate of the key, gate of the query)``."""

    def make(right: Any, xp: Any) -> Any:
        def forget_bias(log_forget: Any, *, backward: Any = None, num_queries: int | None = None) -> Any:
            y = right.forget_bias(log_forget, backward=backward, num_queries=num_queries)
            n, q = y.shape[-1], y.shape[-2]
            token = xp.arange(n)
            own, query = log_forget[..., None, :], log_forget[..., n - q :, None]
            seen = token <= token[n - q :, None]
            return xp.where(seen, xp.astype(change(y, own, query), y.dtype), y)

        return forget_bias

    return replaced(forget_bias=make)


def _first_queries(right: Any, xp: Any) -> Functions:
    def forget_bias(log_forget: Any, *, num_queries: int | None = None, **kwargs: Any) -> Any:
        y = right.forget_bias(log_forget, **kwargs)
        return xp.asarray(y[..., :num_queries, :], copy=True)

    return {"forget_bias": forget_bias}


def _cope(gate: Callable[..., Any], place: Callable[..., Any]) -> Any:
    """CoPE by ``gate(xp, q k, scale)`` and ``place(xp, gates, last row)``, the contextual position."""

    def make(right: Any, xp: Any) -> Any:
        def cope_scores(
            q: Any, k: Any, table: Any, *, mask: Any = None, scale: float | None = None, scale_positions: bool = True
        ) -> Any:
            s = q.shape[-1] ** -0.5 if scale is None else scale
            a, b, rows = (xp.astype(t, xp.float64) for t in (q, k, table))
            products = a @ xp.matrix_transpose(b)
            gates = gate(xp, products, s)
            if mask is not None:
                gates = xp.where(mask, gates, 0.0)
            p = place(xp, gates, table.shape[0] - 1)
            below = xp.astype(xp.floor(p), xp.int64)
            above = xp.clip(below + 1, 0, table.shape[0] - 1)
            z = a @ xp.matrix_transpose(rows)
            start, end = (xp.take_along_axis(z, i, axis=-1) for i in (below, above))
            placed = start + (p - xp.floor(p)) * (end - start)
            return xp.astype(s * products + (s if scale_positions else 1.0) * placed, q.dtype)

        return cope_scores

    return replaced(cope_scores=make)


def _sigmoid(xp: Any, products: Any, scale: float) -> Any:
    return 1 / (1 + xp.exp(-scale * products))


def _from_the_key(xp: Any, gates: Any, last: int) -> Any:
    counted = xp.flip(xp.cumulative_sum(xp.flip(gates, axis=-1), axis=-1), axis=-1)
    return xp.clip(counted, 0.0, float(last))


def _from_the_start(xp: Any, gates: Any, last: int) -> Any:
    return xp.clip(xp.cumulative_sum(gates, axis=-1), 0.0, float(last))


def _own_reflection_too(right: Any, xp: Any) -> Functions:
    def path_scores(q: Any, k: Any, w: Any, beta: Any, **kwargs: Any) -> Any:
        across = beta[..., None] * xp.sum(k * w, axis=-1, keepdims=True)
        return right.path_scores(q, xp.astype(k - across * w, k.dtype), w, beta, **kwargs)

    return {"path_scores": path_scores}


def _ones(xp: Any, a: Any) -> Any:
    return xp.ones_like(a)


def _tables(change: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Any:
    """Decomposed biases of other tables: ``change(xp, height, width)``."""

    def make(right: Any, xp: Any) -> Any:
        def decomposed_bias(q: Any, height: Any, width: Any, q_size: Any, k_size: Any) -> Any:
            return right.decomposed_bias(q, *change(xp, height, width), q_size, k_size)

        return decomposed_bias

    return replaced(decomposed_bias=make)


def _columns_first(right: Any, xp: Any) -> Functions:
    """Queries are read column by column."""

    def decomposed_bias(q: Any, height: Any, width: Any, q_size: Any, k_size: Any) -> Any:
        grid = xp.reshape(q, (*q.shape[:-2], q_size[1], q_size[0], q.shape[-1]))
        turned = xp.reshape(xp.moveaxis(grid, -3, -2), q.shape)
        return right.decomposed_bias(turned, height, width, q_size, k_size)

    return {"decomposed_bias": decomposed_bias}


def _gate_of(change: Callable[[Any, Any], Any]) -> Any:
    """A gate whose eight numbers are in other places."""
    return arguments({"bias_gate": (0,)}, change)


def _even_and_odd(xp: Any, p: Any) -> Any:
    return xp.concat([p[..., ::2], p[..., 1::2]], axis=-1)


def _cls(formula: Callable[..., Any]) -> Any:
    """The class token's biases by ``formula(xp, bias, row, column, from_cls, to_cls)``; row and column tell where it is."""

    def make(right: Any, xp: Any) -> Any:
        def reset_cls(bias: Any, from_cls: Any, to_cls: Any) -> Any:
            row, column = (xp.arange(n) == 0 for n in bias.shape[-2:])
            numbers = (t[:, None, None] for t in (from_cls, to_cls))
            return formula(xp, bias, row[:, None], column, *numbers)

        return reset_cls

    return replaced(reset_cls=make)


FAULTS = (
    Fault(
        "forget-own-gate",
        "You include the gate of the key itself.",
        "Sum the gates after the key, up to the query's.",
        "Forgetting Transformer (2503.02130), eq. 4",
        _forget(lambda y, key, query: y + key),
    ),
    Fault(
        "forget-without-the-query",
        "You leave out the gate of the query.",
        "Sum the gates after the key, up to the query's.",
        "Forgetting Transformer (2503.02130), eq. 4",
        _forget(lambda y, key, query: y - query),
    ),
    Fault(
        "forget-last-gate-alone",
        "You use the query's gate, and do not sum.",
        "Sum the gates after the key, up to the query's.",
        "Forgetting Transformer (2503.02130), eq. 4",
        _forget(lambda y, key, query: 0 * y + query),
    ),
    Fault(
        "forget-favours-the-past",
        "You subtract the logarithms of the gates.",
        "Add them: they are negative.",
        "Forgetting Transformer (2503.02130), eq. 4",
        results(("forget_bias",), lambda xp, y: -y),
    ),
    Fault(
        "forget-backward-ignored",
        "You leave out the gates of the other direction.",
        "Keys after the query have sums of backward.",
        "Forgetting Transformer (2503.02130)",
        without(("forget_bias",), "backward"),
    ),
    Fault(
        "forget-first-queries",
        "You take the first queries where the last are asked for.",
        "With a cache the queries are the last tokens.",
        "tutorials",
        _first_queries,
    ),
    Fault(
        "cope-mask-ignored",
        "You count gates of keys that the query may not see.",
        "Set the gates to 0 where the mask is False.",
        "CoPE (2405.18719), eq. 4",
        without(("cope_scores",), "mask"),
    ),
    Fault(
        "cope-counts-from-the-start",
        "You sum the gates from the first key on.",
        "Sum them from the key to the query: flip, cumsum, flip.",
        "CoPE (2405.18719), eq. 4",
        _cope(_sigmoid, _from_the_start),
    ),
    Fault(
        "cope-not-interpolated",
        "You round contextual positions to whole rows.",
        "Interpolate between the rows below and above.",
        "CoPE (2405.18719), eq. 5",
        _cope(_sigmoid, lambda xp, gates, last: xp.round(_from_the_key(xp, gates, last))),
    ),
    Fault(
        "cope-gates-not-scaled",
        "You make gates of unscaled products.",
        "The gates are of the logits, which are scaled.",
        "CoPE (2405.18719), appendix B",
        _cope(lambda xp, products, scale: _sigmoid(xp, products, 1.0), _from_the_key),
    ),
    Fault(
        "cope-counts-tokens",
        "You count tokens: all gates are 1.",
        "Sum the gates.",
        "CoPE (2405.18719), eq. 3",
        _cope(lambda xp, products, scale: xp.ones_like(products), _from_the_key),
    ),
    Fault(
        "cope-positions-always-scaled",
        "You scale the term of the positions, though only the content is scaled.",
        "Follow scale_positions.",
        "CoPE (2405.18719), appendix B",
        without(("cope_scores",), "scale_positions"),
    ),
    Fault(
        "cope-scale-ignored",
        "You scale by 1/sqrt(d) whatever scale is given.",
        "A given scale takes its place.",
        "CoPE (2405.18719), appendix B",
        without(("cope_scores", "path_scores"), "scale"),
    ),
    Fault(
        "path-own-reflection",
        "You reflect a key at its own token, too.",
        "The product runs from the token after the key to the query's.",
        "PaTH (2505.16381), eq. 2",
        _own_reflection_too,
    ),
    Fault(
        "path-without-reflections",
        "You do not transform the keys.",
        "Each token between key and query applies I - beta w w^T.",
        "PaTH (2505.16381), eq. 2",
        arguments({"path_scores": (3,)}, lambda xp, beta: xp.zeros_like(beta)),
    ),
    Fault(
        "path-strength-ignored",
        "You use beta 1 for all tokens.",
        "Each token has its own.",
        "PaTH (2505.16381), sec. 3",
        arguments({"path_scores": (3,)}, _ones),
    ),
    Fault(
        "path-forget-gates-left-out",
        "You leave out the forget gates.",
        "Add their sums to the logits.",
        "PaTH (2505.16381), sec. 3",
        without(("path_scores",), "log_forget"),
    ),
    Fault(
        "path-gate-ignored",
        "You add the gates to the scaled logits whatever gate says.",
        "Follow gate: in released code they are scaled with the products.",
        "PaTH (2505.16381), sec. 3",
        without(("path_scores",), "gate"),
    ),
    Fault(
        "decomposed-tables-mirrored",
        "You take k - q for q - k: the tables are read from their other ends.",
        "Row q - k + K - 1 belongs to a pair.",
        "tutorials",
        _tables(lambda xp, h, w: (xp.flip(h, axis=0), xp.flip(w, axis=0))),
    ),
    Fault(
        "decomposed-tables-exchanged",
        "You use the table of the height for the width.",
        "The first table is for rows, the second for columns.",
        "Project-MONAI/MONAI PR #8890",
        _tables(lambda xp, h, w: (w, h)),
    ),
    Fault(
        "decomposed-height-alone",
        "You leave out the term of the width.",
        "Add both products.",
        "Project-MONAI/MONAI PR #8890",
        _tables(lambda xp, h, w: (h, xp.zeros_like(w))),
    ),
    Fault(
        "decomposed-columns-first",
        "You read the queries column by column.",
        "Tokens are row by row: the width runs fastest.",
        "Project-MONAI/MONAI PR #8890",
        _columns_first,
    ),
    Fault(
        "decomposed-scaled",
        "You scale the bias by 1/sqrt(d).",
        "The products with the tables are of unscaled queries.",
        "MViTv2 (2112.01526), eq. 4",
        replaced(
            decomposed_bias=lambda right, xp: lambda q, *rest: right.decomposed_bias(q * q.shape[-1] ** -0.5, *rest)
        ),
    ),
    Fault(
        "gate-parts-exchanged",
        "You exchange the two gates.",
        "The first four numbers make the outer one.",
        "WavLM (2110.13900), eq. 2",
        _gate_of(lambda xp, p: xp.roll(p, 4, axis=-1)),
    ),
    Fault(
        "gate-of-every-second",
        "You sum every second number for a gate.",
        "Each gate sums four neighbours.",
        "WavLM (2110.13900), eq. 2",
        _gate_of(_even_and_odd),
    ),
    Fault(
        "gate-constant-ignored",
        "You use 1 for the learned constant.",
        "Multiply the second gate by each head's own.",
        "WavLM (2110.13900), eq. 2",
        arguments({"bias_gate": (1,)}, _ones),
    ),
    Fault(
        "gate-without-two",
        "You leave out the 2 of the gate.",
        "It is g_a (g_b c - 1) + 2.",
        "WavLM (2110.13900), eq. 2",
        results(("bias_gate",), lambda xp, y: y - 2),
    ),
    Fault(
        "cls-numbers-exchanged",
        "You exchange the numbers from and to the class token.",
        "The first row is from_cls, the rest of the first column to_cls.",
        "TUPE (2006.15595), sec. 3.2",
        _cls(lambda xp, bias, row, column, a, b: xp.where(row, b, xp.where(column, a, bias))),
    ),
    Fault(
        "cls-corner-of-the-column",
        "You give the class token's own bias the number to it.",
        "Its own bias is from_cls.",
        "TUPE (2006.15595), sec. 3.2",
        _cls(lambda xp, bias, row, column, a, b: xp.where(column, b, xp.where(row, a, bias))),
    ),
    Fault(
        "cls-added",
        "You add the numbers of the class token to the bias.",
        "They take its place.",
        "TUPE (2006.15595), sec. 3.2",
        _cls(lambda xp, bias, row, column, a, b: xp.where(row, bias + a, xp.where(column, bias + b, bias))),
    ),
    Fault(
        "cls-one-way-alone",
        "You replace the row of the class token and leave its column.",
        "Keys that meet it have to_cls.",
        "TUPE (2006.15595), sec. 3.2",
        _cls(lambda xp, bias, row, column, a, b: xp.where(row, a, bias)),
    ),
)
