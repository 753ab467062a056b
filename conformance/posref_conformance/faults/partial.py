"""Partial rotary encodings: how many channels rotate, and which."""

from __future__ import annotations

from typing import Any

from posref_conformance.faults._change import ROTATIONS, members, rotation, without
from posref_conformance.faults._fault import Fault, Functions


def _exponent_over_head(right: Any, xp: Any) -> Functions:
    def rope(x: Any, positions: Any, *, dim: int | None = None, offset: int = 0, **kwargs: Any) -> Any:
        rotated = dim or x.shape[-1] - offset
        table = {k: v for k, v in kwargs.items() if k in ("base", "scaling", "seq_len")}
        cos, sin = right.rope_table(positions, x.shape[-1] // 2 * 2, **table)
        rest = {k: v for k, v in kwargs.items() if k not in table}
        return right.rope_apply(x, cos[..., : rotated // 2], sin[..., : rotated // 2], offset=offset, **rest)

    return {"rope": rope}


def _pairs_over_head(right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, offset: int = 0, inverse: bool = False) -> Any:
    pairs, half = cos.shape[-1], (x.shape[-1] - offset) // 2
    padding = [xp.ones_like(x[..., : half - pairs]), xp.zeros_like(x[..., : half - pairs])]
    shape = (*x.shape[:-1], pairs)
    cos, sin = (
        xp.concat([xp.broadcast_to(xp.astype(t, x.dtype), shape), p], axis=-1)
        for t, p in zip((cos, sin), padding, strict=True)
    )
    return right.rope_apply(x, cos, sin, offset=offset, inverse=inverse)


def _rest_zeroed(
    right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0, inverse: bool = False
) -> Any:
    y = right.rope_apply(x, cos, sin, layout=layout, offset=offset, inverse=inverse)
    end = offset + 2 * cos.shape[-1]
    return xp.concat([xp.zeros_like(y[..., :offset]), y[..., offset:end], xp.zeros_like(y[..., end:])], axis=-1)


def _rest_dropped(
    right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0, inverse: bool = False
) -> Any:
    y = right.rope_apply(x, cos, sin, layout=layout, offset=offset, inverse=inverse)
    return y[..., offset : offset + 2 * cos.shape[-1]]


def _rest_scaled(
    right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0, inverse: bool = False
) -> Any:
    y = xp.asarray(right.rope_apply(x, cos, sin, layout=layout, offset=offset, inverse=inverse), copy=True)
    end = offset + 2 * cos.shape[-1]
    y[..., end:] = y[..., end:] * xp.astype(cos[..., :1], y.dtype)
    return y


def _tail_for_head(
    right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0, inverse: bool = False
) -> Any:
    other = x.shape[-1] - offset - 2 * cos.shape[-1]
    return right.rope_apply(x, cos, sin, layout=layout, offset=other, inverse=inverse)


def _rows_of_a_head(right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0) -> Any:
    def strided(t: Any) -> Any:
        if t.ndim != 2 or not t.shape[0]:
            return t
        n = t.shape[0] * t.shape[1]
        at = xp.arange(t.shape[0])[:, None] * (x.shape[-1] // 2) + xp.arange(t.shape[1])
        return xp.reshape(xp.take(xp.reshape(t, (-1,)), xp.reshape(xp.remainder(at, n), (-1,)), axis=0), t.shape)

    return right.rope_apply(x, strided(cos), strided(sin), layout=layout, offset=offset)


def _table_of_whole_head(right: Any, xp: Any) -> Functions:
    def rope(x: Any, positions: Any, *, dim: int | None = None, offset: int = 0, layout: str = "half") -> Any:
        first, second = members((dim or x.shape[-1] - offset) // 2, layout, offset)
        cos, _ = right.rope_table(positions, x.shape[-1] // 2 * 2)
        return x[..., first] * xp.astype(cos, x.dtype) + x[..., second]  # dim / 2 channels against a head's columns

    return {"rope": rope}


FAULTS = (
    Fault(
        "exponent-over-the-whole-head",
        "You divide the exponent by the whole head, not by the channels that rotate.",
        "Use base ** (-2k/rotary_dim).",
        "pie-project/pie issue #602; pie-project/pie PR #603",
        _exponent_over_head,
    ),
    Fault(
        "pairs-over-the-whole-head",
        "You pair channel i with i + head_dim / 2, though fewer channels rotate.",
        "Pair i with i + rotary_dim / 2.",
        "pie-project/pie issue #602; pie-project/pie PR #603",
        rotation(_pairs_over_head),
    ),
    Fault(
        "partial-ignored",
        "You rotate all channels, though only dim of them are to rotate.",
        "Leave the channels beyond dim as they are.",
        "AI-Hypercomputer/maxtext PR #4615",
        without(("rope",), "dim"),
    ),
    Fault(
        "table-of-the-whole-head",
        "You make the table for the whole head, and it does not fit the channels that rotate.",
        "Make rotary_dim / 2 frequencies.",
        "huggingface/transformers PR #48652; huggingface/transformers issue #48630",
        _table_of_whole_head,
    ),
    Fault(
        "rows-of-the-whole-head",
        "You step through the table by head_dim / 2; its rows are rotary_dim / 2 long.",
        "Step by the table's own width.",
        "XPU-Forces/mojo_opset PR #253",
        rotation(_rows_of_a_head),
    ),
    Fault(
        "offset-ignored",
        "You rotate the first channels whatever offset is given.",
        "Rotate the block that starts at offset.",
        "vllm-project/vllm PR #17091",
        without(ROTATIONS, "offset"),
    ),
    Fault(
        "tail-for-head",
        "You rotate the last channels for the first, or the first for the last.",
        "The block starts at offset; the rest passes through.",
        "tutorials",
        rotation(_tail_for_head),
    ),
    Fault(
        "rest-zeroed",
        "You return zeros for the channels that do not rotate.",
        "Copy them.",
        "AI-Hypercomputer/maxtext PR #4615",
        rotation(_rest_zeroed),
    ),
    Fault(
        "rest-dropped",
        "You return the rotated channels alone.",
        "Put the rest beside them.",
        "AI-Hypercomputer/maxtext PR #4615",
        rotation(_rest_dropped),
    ),
    Fault(
        "rest-multiplied",
        "You multiply the channels that do not rotate with a column of cos.",
        "Copy them, to the bit.",
        "AI-Hypercomputer/maxtext PR #4615",
        rotation(_rest_scaled),
    ),
)
