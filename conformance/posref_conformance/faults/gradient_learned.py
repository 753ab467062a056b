"""Right values, and a wrong derivative by what is learned; torch alone."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from posref_conformance.faults._fault import Fault, Functions, Wrong

LEARNED = {  # a learned argument of each
    "learned": "table",
    "hierarchical_table": "table",
    "resample_table": "table",
    "indexed_bias": "table",
    "t5_bias": "table",
    "alibi_bias": "slopes",
    "kerple_bias": "r1",
    "cosine_scale": "log_scale",
    "position_mlp": "w1",
    "cape_positions": "shift",
    "ssmax_scale": "s",
    "fourier_features": "frequencies",
    "fope_cos_sin": "cos_coef",
    "pope_apply": "bias",
    "relative_bias": "table",
    "relative_values": "table",
    "relative_scores": "position_bias",
    "disentangled_scores": "pos_q",
    "untied_scores": "pos_q",
    "decomposed_bias": "width_table",
    "cope_scores": "table",
    "bias_gate": "const",
    "reset_cls": "to_cls",
    "forget_bias": "log_forget",
    "path_scores": "beta",
}
SHARED = {  # what a batch may share
    "attention": "bias",
    "relative_bias": "table",
    "relative_values": "table",
    "relative_scores": "table",
    "disentangled_scores": "pos_q",
    "untied_scores": "pos_k",
    "path_scores": "w",
}


def _seen_otherwise(where: Mapping[str, str], change: Callable[[Any, Any], Any]) -> Wrong:
    """Functions that see ``change(argument, first argument)``: the same values, with another derivative."""

    def wrong(right: Any, xp: Any) -> Functions:
        def make(name: str, by: str) -> Callable[..., Any]:
            f = getattr(right, name)
            place = list(inspect.signature(f).parameters).index(by)

            def function(*args: Any, **kwargs: Any) -> Any:
                given = kwargs.get(by) if place >= len(args) else args[place]
                if given is None or not given.requires_grad:
                    return f(*args, **kwargs)
                seen = change(given, args[0])
                if place >= len(args):
                    return f(*args, **{**kwargs, by: seen})
                return f(*args[:place], seen, *args[place + 1 :], **kwargs)

            return function

        return {name: make(name, by) for name, by in where.items()}

    return wrong


def _without_gradient(t: Any, first: Any) -> Any:
    return t.detach() + 0 * t


def _first_of_the_batch(t: Any, first: Any) -> Any:
    """The derivative of the copy that the first row of the batch has."""
    import torch

    if first.ndim < 3:
        return t
    copies = t.expand(*first.shape[:-2], *t.shape[-2:])
    return torch.cat([copies[:1], copies[1:].detach()])


def _overwritten(right: Any, xp: Any) -> Functions:
    """Rows that are written back, not added: of equal ones the last stays."""
    import torch

    def looked_up(f: Callable[[Any], Any], table: Any, rows: Any, rows_first: Callable[[Any], Any]) -> Any:
        class LookUp(torch.autograd.Function):
            @staticmethod
            def forward(context: Any, table: Any) -> Any:
                return f(table)

            @staticmethod
            def backward(context: Any, g: Any) -> Any:
                there, result = rows >= 0, torch.zeros_like(table)
                result[rows[there].long()] = rows_first(g)[there].to(table.dtype)
                return result

        return LookUp.apply(table)  # type: ignore[no-untyped-call]

    def learned(table: Any, positions: Any, *, offset: int = 0) -> Any:
        f = functools.partial(right.learned, positions=positions, offset=offset)
        return looked_up(f, table, positions + offset, lambda g: g)

    def indexed_bias(table: Any, index: Any, *, layout: str = "rows_first") -> Any:
        f = functools.partial(right.indexed_bias, index=index, layout=layout)
        if layout != "rows_first":
            return f(table)
        return looked_up(f, table, index, lambda g: g.movedim(-3, -1))

    return {"learned": learned, "indexed_bias": indexed_bias}


FAULTS = (
    Fault(
        "gradient-of-what-is-learned-lost",
        "You compute with a copy of what is learned, so that it gets no gradient.",
        "Read the parameter itself in every call: no .data, no detach, nothing that is gathered once when the model is built.",
        "google-research/maxvit issue #7; d2l-ai/d2l-en PR #2121",
        _seen_otherwise(LEARNED, _without_gradient),
        needs="torch",
    ),
    Fault(
        "gradient-of-one-row-of-the-batch",
        "You give what a batch shares the gradient of its first row alone.",
        "What was broadcast in the forward pass is summed in the backward pass, over every axis along which it was repeated.",
        "HKUSTDial/flash-sparse-attention PR #193",
        _seen_otherwise(SHARED, _first_of_the_batch),
        needs="torch",
    ),
    Fault(
        "gradient-overwritten",
        "You write the gradient of a row of the table where you should add it: the last of its places wins.",
        "Add, atomically or by a sum over the places, and in float32: a row gets what all its places ask of it.",
        "HKUSTDial/flash-sparse-attention PR #194",
        _overwritten,
        needs="torch",
    ),
)
