"""Rotary encodings in three steps: frequencies, cos and sin, rotation. See posref for the formulas."""

from __future__ import annotations

from typing import Any

from posref import Scaling
from posref._arguments import (
    boolean,
    choice,
    even,
    integer,
    number,
    require_positions_of,
    rotary_dim,
    rotated_pairs,
)
from posref_array._frequencies import factor_of, first_part, given, pixel_frequencies, rotary
from posref_array._magnitudes import attention_factor as _attention_factor
from posref_array._magnitudes import softmax_factor
from posref_array._support import (
    Array,
    Namespace,
    default_float,
    namespace,
    require_floating,
    require_real,
    working_type,
)
from posref_array._tables import cos_sin, cos_sin_of

LAYOUTS = ("half", "interleaved")


def rope_inv_freq(
    dim: int,
    *,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    seq_len: int | None = None,
    dtype: Any = None,
    device: Any = None,
    xp: Namespace,
) -> Array:
    """Rotary frequencies, (dim // 2,): :func:`posref.rope_inv_freq`."""
    w = [first_part(w) for w in rotary(dim, base, scaling, seq_len, xp)]
    return xp.asarray(w, dtype=dtype or default_float(xp), device=device)


def rope_pixel_freq(
    dim: int,
    max_freq: float,
    *,
    spacing: str = "linear",
    dtype: Any = None,
    device: Any = None,
    xp: Namespace,
) -> Array:
    """Rotary frequencies for pixels, (dim // 2,): :func:`posref.rope_pixel_freq`."""
    choice(spacing, "spacing", ("linear", "log"))
    frequencies = pixel_frequencies(even(dim) // 2, number(max_freq, "max_freq", above=0), spacing)
    return xp.asarray(frequencies, dtype=dtype or default_float(xp), device=device)


def rope_attention_factor(scaling: Scaling | None, *, seq_len: int | None = None) -> float:
    """The scaling's own factor on cos and sin: :func:`posref.rope_attention_factor`."""
    return float(_attention_factor(scaling, seq_len))


def rope_softmax_factor(scaling: Scaling | None) -> float:
    """DeepSeek's factor on the softmax scale: :func:`posref.rope_softmax_factor`."""
    return softmax_factor(scaling)


def rope_cos_sin(
    positions: Array, inv_freq: Array, *, attention_factor: float = 1.0, xp: Namespace | None = None
) -> tuple[Array, Array]:
    """Cos and sin for given frequencies, positions.shape + (pairs,), of inv_freq's type: :func:`posref.rope_cos_sin`."""
    xp = namespace(xp, inv_freq)
    require_floating("inv_freq", inv_freq)
    if inv_freq.ndim != 1 or not inv_freq.shape[0]:
        raise ValueError(f"inv_freq must be a vector with at least one frequency, got shape {tuple(inv_freq.shape)}")
    return cos_sin_of(positions, inv_freq, number(attention_factor, "attention_factor"), inv_freq.dtype, xp)


def rope_table(
    positions: Array,
    dim: int,
    *,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    seq_len: int | None = None,
    attention_factor: float | None = None,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> tuple[Array, Array]:
    """Cos and sin, positions.shape + (dim // 2,), made in float64 and cast once: :func:`posref.rope_table`."""
    xp = namespace(xp, positions)
    frequencies = rotary(dim, base, scaling, seq_len, xp)
    if attention_factor is None:
        a = factor_of(scaling, xp, seq_len)
    else:
        a = given(number(attention_factor, "attention_factor"), xp)
    return cos_sin(positions, frequencies, a, dtype or default_float(xp), xp)


def rope_apply(
    x: Array,
    cos: Array,
    sin: Array,
    *,
    layout: str = "half",
    output_layout: str | None = None,
    offset: int = 0,
    inverse: bool = False,
    out: Array | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Rotate pairs of channels, computed in float32 or wider and rounded once to x's type: :func:`posref.rope_apply`."""
    xp = namespace(xp, x)
    pairs, output_layout = rotation_arguments(x, cos, sin, layout, output_layout, offset, out)
    work = working_type(xp, x, cos, sin)
    cos, sin = xp.astype(cos, work, copy=False), xp.astype(sin, work, copy=False)
    if boolean(inverse, "inverse"):
        sin = -sin
    end = offset + 2 * pairs
    a, b = _split(xp.astype(x[..., offset:end], work, copy=False), layout)
    block = xp.astype(_join(a * cos - b * sin, a * sin + b * cos, output_layout, xp), x.dtype, copy=False)
    if out is None:
        return xp.concat([x[..., :offset], block, x[..., end:]], axis=-1) if 2 * pairs < x.shape[-1] else block
    out[..., offset:end] = block
    if out is not x:
        out[..., :offset], out[..., end:] = x[..., :offset], x[..., end:]
    return out


def rope(
    x: Array,
    positions: Array,
    *,
    dim: int | None = None,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    seq_len: int | None = None,
    layout: str = "half",
    output_layout: str | None = None,
    offset: int = 0,
    inverse: bool = False,
    out: Array | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Rotary encoding in one call, like x: :func:`posref.rope`."""
    xp = namespace(xp, x)
    cos, sin = table_of_x(x, positions, dim=dim, offset=offset, base=base, scaling=scaling, seq_len=seq_len, xp=xp)
    return rope_apply(
        x, cos, sin, layout=layout, output_layout=output_layout, offset=offset, inverse=inverse, out=out, xp=xp
    )


def table_of_x(
    x: Array,
    positions: Array,
    *,
    dim: int | None,
    offset: int,
    base: float,
    scaling: Scaling | None,
    seq_len: int | None,
    xp: Namespace,
) -> tuple[Array, Array]:
    """Cos and sin for x, in the type that it is rotated in: the first half of :func:`rope` on every library."""
    require_floating("x", x)
    require_real("positions", positions)
    dim = rotary_dim(dim, x.shape, offset)
    require_positions_of(x.shape, positions.shape)
    return rope_table(positions, dim, base=base, scaling=scaling, seq_len=seq_len, dtype=working_type(xp, x), xp=xp)


def rotation_arguments(
    x: Array, cos: Array, sin: Array, layout: str, output_layout: str | None, offset: int, out: Array | None
) -> tuple[int, str]:
    """The number of pairs and the layout to write, once all arguments are known to fit each other."""
    for name, array in (("x", x), ("cos", cos), ("sin", sin)):
        require_floating(name, array)
    choice(layout, "layout", LAYOUTS)
    output_layout = layout if output_layout is None else choice(output_layout, "output_layout", LAYOUTS)
    pairs = rotated_pairs(x.shape, cos.shape, sin.shape, integer(offset, "offset", least=0))
    if out is not None and (tuple(out.shape) != tuple(x.shape) or out.dtype != x.dtype):
        raise ValueError(
            f"out must have x's shape and type, {tuple(x.shape)} {x.dtype}, got {tuple(out.shape)} {out.dtype}"
        )
    return pairs, output_layout


def _split(block: Array, layout: str) -> tuple[Array, Array]:
    """The first and the second members of all pairs."""
    pairs = block.shape[-1] // 2
    if layout == "half":
        return block[..., :pairs], block[..., pairs:]
    return block[..., 0::2], block[..., 1::2]


def _join(first: Array, second: Array, layout: str, xp: Namespace) -> Array:
    if layout == "half":
        return xp.concat([first, second], axis=-1)
    stacked = xp.stack([first, second], axis=-1)  # (..., pairs, 2)
    return xp.reshape(stacked, (*first.shape[:-1], 2 * first.shape[-1]))
