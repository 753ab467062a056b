"""The numbers of an encoding at given positions: one function per kind of encoding, name -> array.

Tables are float64 here. What is learned has no numbers in a config: there the rows or buckets are told that each position takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref.additive.sinusoids import sinusoidal
from posref.bias.alibi import alibi_bias
from posref.bias.offsets import log_offset
from posref.bias.t5 import t5_bucket
from posref.bias.windows import relative_position_index
from posref.logits import llama4_scale, log_n_scale
from posref.models._reading import Untold
from posref.models.records import (
    AlibiEncoding,
    DebertaEncoding,
    Encoding,
    LearnedEncoding,
    QueryScaleEncoding,
    RelativeEncoding,
    RopeEncoding,
    SinusoidalEncoding,
    T5Encoding,
)
from posref.relative.disentangled import deberta_bucket
from posref.relative.rows import relative_index
from posref.rotary.grids import grid_positions
from posref.rotary.tables import rope_cos_sin

MOST_ENTRIES = 2**28  # of one array: 2 GiB while it is float64

Positions = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]


def arrays_of(encoding: Encoding, positions: Positions) -> Arrays:
    """What an encoding is at these positions.

    Raises
    ------
    Untold
        The file leaves out what the numbers depend on, or they are all learned.
    ValueError
        More numbers than a file should have; positions below 0 where an encoding has none.
    """
    return KINDS[type(encoding)](encoding, positions)


def _rope(encoding: RopeEncoding, positions: Positions) -> Arrays:
    """Cos and sin from the float64 frequencies beside them; with axes, of each pair at that position on its own axis."""
    if encoding.inv_freq is None or encoding.attention_factor is None:
        raise Untold("the frequencies or their factor are not known")
    w, axes = np.asarray(encoding.inv_freq), encoding.axes
    factors = {key: np.float64(getattr(encoding, key)) for key in ("attention_factor", "softmax_factor")}
    told: Arrays = {"inv_freq": w, **{key: np.asarray(value) for key, value in factors.items()}}
    if axes is not None:
        axis_map = np.asarray(axes.map, dtype=np.int64)
        told["axis_map"] = axis_map
        w = np.tile(w, len(axis_map) // len(w))  # one per channel where the axes are those of channels
        if "none" in axes.names:
            w = np.where(axis_map == axes.names.index("none"), 0.0, w)
    _sized(len(positions), len(w))
    cos, sin = rope_cos_sin(positions, w, attention_factor=encoding.attention_factor)
    return {"cos": cos, "sin": sin, **told}


def _alibi(encoding: AlibiEncoding, positions: Positions) -> Arrays:
    """The bias of a key by its position (form "key"), or by how far it is behind its query (the other forms)."""
    if encoding.slopes is None or encoding.scale is None:
        raise Untold("the slopes or their scale are not known")
    _sized(len(encoding.slopes), len(positions))
    slopes, here = np.asarray(encoding.slopes), np.zeros(1, dtype=np.int64)
    if encoding.form == "key":
        bias = alibi_bias(slopes, here, positions, form="key")[:, 0, :]
    else:
        bias = alibi_bias(slopes, positions, here, form=encoding.form)[:, :, 0]
    return {"bias": bias * encoding.scale, "slopes": slopes}


def _t5(encoding: T5Encoding, positions: Positions) -> Arrays:
    """The bucket of each relative position k - q."""
    rule = {key: getattr(encoding, key) for key in ("bidirectional", "num_buckets", "max_distance")}
    return {"bucket": np.asarray(t5_bucket(positions, **rule), dtype=np.int64)}


def _learned(encoding: LearnedEncoding, positions: Positions) -> Arrays:
    """The row of each position; -1 where the table has none."""
    if encoding.rows is None:
        raise Untold("the number of rows is not known")
    row = positions + encoding.offset
    return {"row": np.where((positions >= 0) & (row < encoding.rows), row, -1)}


def _sinusoidal(encoding: SinusoidalEncoding, positions: Positions) -> Arrays:
    if encoding.dim is None:
        raise Untold("the width of the table is not known")
    if encoding.encoding == "sinusoidal-axes":
        raise Untold("a position has several axes: posref.sinusoidal_axes")
    _sized(len(positions), encoding.dim)
    how: dict[str, Any] = {key: getattr(encoding, key) for key in ("base", "endpoint", "layout", "order")}
    return {"table": sinusoidal(positions + encoding.offset, encoding.dim, **how)}


def _query_scale(encoding: QueryScaleEncoding, positions: Positions) -> Arrays:
    if encoding.rule == "log-n":  # log_n_scale counts from 1 by itself
        return {"scale": log_n_scale(positions + (encoding.shift - 1), encoding.length)}
    if encoding.beta is None:
        raise Untold("beta is not known")
    return {
        "scale": llama4_scale(positions, attn_scale=encoding.beta, floor_scale=encoding.length, shift=encoding.shift)
    }


def _deberta(encoding: DebertaEncoding, positions: Positions) -> Arrays:
    """The row of each relative position k - q in the table, as transformers has it: its buckets grow on, its rows are clipped."""
    if encoding.rows is None or encoding.max_relative_positions is None:
        raise Untold("the number of rows is not known")
    apart, span = -positions, encoding.rows // 2
    if (buckets := encoding.position_buckets) is not None:
        apart = deberta_bucket(apart, num_buckets=buckets, max_distance=encoding.max_relative_positions, beyond="grow")
    return {"row": relative_index(apart, span, span - 1)}


def _relative(encoding: RelativeEncoding, positions: Positions) -> Arrays:
    """The row of each relative position k - q, or of each pair of cells of a window; sinusoids of the offset q - k."""
    if encoding.clip is not None:
        first, last = encoding.clip
        sign = 1 if encoding.offset == "key_minus_query" else -1
        return {"row": relative_index(sign * positions, -first, last)}
    if encoding.encoding == "window-bias" and encoding.window is not None:
        cells = encoding.window[0] * encoding.window[1] + encoding.class_token
        _sized(cells, cells)
        return {"row": relative_position_index(encoding.window, class_token=encoding.class_token)}
    if encoding.encoding == "swin-v2" and encoding.window is not None:
        return {"offset": _swin_v2_offsets(encoding.window, encoding.pretrained_window or encoding.window)}
    if encoding.layout is not None and encoding.dim is not None:
        _sized(len(positions), encoding.dim)
        return {"table": sinusoidal(positions, encoding.dim, endpoint=False, layout=encoding.layout)}
    raise Untold("all of its numbers are learned")


def _swin_v2_offsets(window: tuple[int, int], measure: tuple[int, int]) -> NDArray[np.float64]:
    """What Swin v2's network takes, for each offset of two cells: in rows and in columns."""
    sizes = tuple(2 * side - 1 for side in window)
    _sized(*sizes)
    offsets = grid_positions(sizes, start=tuple(1 - side for side in window))
    return np.stack([log_offset(axis, extent=side - 1) for axis, side in zip(offsets, measure, strict=True)], axis=-1)


def _sized(*lengths: int) -> None:
    if (entries := lengths[0] * lengths[1]) > MOST_ENTRIES:
        raise ValueError(f"positions must leave at most 2^28 numbers in an array, got {entries}")


KINDS: dict[type[Encoding], Callable[..., Arrays]] = {
    RopeEncoding: _rope,
    AlibiEncoding: _alibi,
    T5Encoding: _t5,
    LearnedEncoding: _learned,
    SinusoidalEncoding: _sinusoidal,
    QueryScaleEncoding: _query_scale,
    RelativeEncoding: _relative,
    DebertaEncoding: _deberta,
}
