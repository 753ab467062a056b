"""Cases in which a backend is differentiated, if its library can: by data, and by what is learned."""

from __future__ import annotations

from typing import Any

import numpy as np

import posref
from posref_conformance.case import FLOATS, Array, Call, Case, Inputs, one
from posref_conformance.cases.rotation import EVERYTHING

SHAPE = (2, 3, 7, 10)  # (batch, heads, sequence, channels)
REAL = ("float64", "float32")
KEYS = np.arange(7)
PER_ROW = np.array([[[3, 4, 5, 6, 7, 8, 9]], [[0, 0, 1, 2, 3, 4, 4]]])  # (batch, 1, sequence)
CAUSAL = np.arange(7)[None] <= np.arange(5)[:, None] + 2


def _like(i: Inputs, results: Any) -> Array | tuple[Array, ...]:
    """A cotangent for each result, in the type under test."""
    return tuple(i.data(*y.shape) for y in results) if isinstance(results, tuple) else i.data(*np.shape(results))


def differentiated(i: Inputs, function: str, name: str, *args: Any, **options: Any) -> Call:
    """A call that is differentiated by one argument."""
    return Call(args, options, cotangent=_like(i, getattr(posref, function)(*args, **options)), by=name)


def _apply(i: Inputs, *, pairs: int = 5, twice: bool = False, **options: Any) -> Call:
    """Tables off the circle, so that the inverse is not the transpose."""
    args = i.data(*SHAPE), *i.table(SHAPE[-2], pairs)
    call = differentiated(i, "rope_apply", "x", *args, **options)
    return Call(call.args, call.kwargs, call.cotangent, call.by, again=i.data(*SHAPE) if twice else None)


def _by_table(i: Inputs, by: str, *, pairs: int = 5, **options: Any) -> Call:
    """Tables that batch and heads share."""
    return differentiated(i, "rope_apply", by, i.data(*SHAPE), *i.table(SHAPE[-2], pairs), **options)


def _channels(i: Inputs, by: str, **options: Any) -> Call:
    return differentiated(i, "rope_apply_channels", by, i.data(2, 3, 7, 11), *i.table(7, 6), **options)


def _rope(i: Inputs, *, positions: Any = None, twice: bool = False, **options: Any) -> Call:
    args = i.data(*SHAPE), np.arange(7) + 2 if positions is None else positions
    call = differentiated(i, "rope", "x", *args, **options)
    return Call(call.args, call.kwargs, call.cotangent, call.by, again=i.data(*SHAPE) if twice else None)


def _frequencies(i: Inputs, dim: int) -> Array:
    return posref.rope_inv_freq(dim).astype(np.float64 if i.dtype == "float64" else np.float32)


def _pope(i: Inputs, by: str, **options: Any) -> Call:
    """A bias for each head and channel, some of it beyond its bounds: no gradient there."""
    bias = (4 * i.rng.normal(size=(3, 1, 7)) - 3).astype(i.data(0).dtype)
    return differentiated(i, "pope_apply", by, i.data(2, 3, 5, 7), np.arange(5), bias=bias, **options)


def _features(i: Inputs, *shape: int, **options: Any) -> Call:
    """Frequencies of bands, or learned ones that sum over two axes."""
    coordinates, how = i.rng.uniform(-1, 1, (2, 7)), {"layout": "band_wave_axis", "include_input": True}
    return differentiated(i, "fourier_features", "frequencies", coordinates, i.data(*shape), **how, **options)


def _fope(i: Inputs, by: str, heads: bool = True) -> Call:
    shape = (2, 3, 3) if heads else (3, 3)
    return differentiated(
        i, "fope_cos_sin", by, np.arange(7) * 3, _frequencies(i, 6), i.data(*shape), i.data(*shape), 5
    )


def _scores(i: Inputs, by: str, **options: Any) -> Call:
    distances = np.arange(3)[:, None] + 2 - np.arange(5)
    q, k = i.data(2, 3, 3, 10), i.data(2, 1, 5, 10)  # keys that all heads share
    return differentiated(i, "rope_scores", by, q, k, distances, _frequencies(i, 8), **options)


def _attention(i: Inputs, by: str) -> Call:
    options = {"bias": i.data(3, 5, 7), "mask": CAUSAL, "scale": 0.25}
    return differentiated(i, "attention", by, i.data(2, 3, 5, 8), i.data(2, 3, 7, 8), i.data(2, 3, 7, 6), **options)


def _linear(i: Inputs, by: str) -> Call:
    turn = {"q_positions": np.arange(5) + 2, "k_positions": KEYS, "inv_freq": _frequencies(i, 6)}
    return differentiated(
        i, "linear_attention", by, i.data(2, 5, 8), i.data(2, 7, 8), i.data(2, 7, 3), mask=CAUSAL, **turn
    )


def _bias(i: Inputs, function: str, by: str, learned: Array, q: Any, k: Any, **options: Any) -> Call:
    return differentiated(i, function, by, learned, np.asarray(q), np.asarray(k), **options)


def _two_sided(i: Inputs, by: str) -> Call:
    slopes, later = np.abs(i.data(3)), i.data(3)
    return differentiated(i, "alibi_bias", by, slopes, np.arange(5) + 2, KEYS, future_slopes=later)


def _kerple(i: Inputs, by: str) -> Call:
    r1, r2 = (np.abs(i.data(3)) + i.typed(0.125) for _ in range(2))
    return differentiated(i, "kerple_bias", by, r1, r2, np.array([[5, 6], [2, 3]]), KEYS)


def _mlp(i: Inputs, by: str, **options: Any) -> Call:
    arrays = i.data(4, 2), i.data(5, 2), i.data(5), i.data(3, 5)
    return differentiated(i, "position_mlp", by, *arrays, b2=i.data(3), **options)


def _ssmax(i: Inputs, by: str) -> Call:
    return differentiated(i, "ssmax_scale", by, np.array([0, 1, 5, 4095]), i.data(3), bias=i.data(3))


def _cos_sin(i: Inputs, positions: Any, **options: Any) -> Call:
    return differentiated(i, "rope_cos_sin", "inv_freq", np.asarray(positions), np.abs(i.data(5)), **options)


def _mixed(i: Inputs, *heads: int) -> Call:
    positions = np.array([[0, 1, 2, 2, 2, 3, 3], [0, 1, 2, 3, 4, 2, 3]])
    return differentiated(i, "rope_mixed_cos_sin", "frequencies", positions, i.data(2, *heads, 5))


def _axes(i: Inputs) -> Call:
    positions, axes = np.array([[0, 1, 2, 2], [0, 1, 2, 3], [0, 5, 2, 4]]), np.array([0, 1, 2, 1, 0])
    return differentiated(i, "rope_axes_cos_sin", "inv_freq", positions, np.abs(i.data(5)), axes)


def gradient_case(function: str, name: str, build: Any, dtypes: tuple[str, ...] = FLOATS) -> Case:
    """A case of one such call; its name begins with ``gradient``."""
    return one(function, f"gradient{name and '-'}{name}", build, dtypes=dtypes)


APPLY, ROPE = "rope_apply", "rope"

CASES: tuple[Case, ...] = (
    gradient_case(APPLY, "", lambda i: _apply(i)),
    gradient_case(APPLY, "to-half", lambda i: _apply(i, layout="interleaved", output_layout="half", pairs=3)),
    gradient_case(APPLY, "interleaved", lambda i: _apply(i, layout="interleaved")),
    gradient_case(APPLY, "tail", lambda i: _apply(i, pairs=3, offset=4)),
    gradient_case(APPLY, "inverse-to-interleaved", lambda i: _apply(i, output_layout="interleaved", inverse=True)),
    gradient_case(APPLY, "twice", lambda i: _apply(i, pairs=3, offset=2, twice=True)),
    gradient_case(APPLY, "twice-to-half", lambda i: _apply(i, layout="interleaved", output_layout="half", twice=True)),
    gradient_case(APPLY, "by-cos", lambda i: _by_table(i, "cos")),
    gradient_case(APPLY, "by-sin", lambda i: _by_table(i, "sin", layout="interleaved")),
    gradient_case(
        APPLY,
        "turned-by-sin",
        lambda i: _by_table(i, "sin", pairs=3, output_layout="interleaved", offset=4, inverse=True),
    ),
    gradient_case(ROPE, "", lambda i: _rope(i)),
    gradient_case(ROPE, "interleaved", lambda i: _rope(i, layout="interleaved", dim=6)),
    gradient_case(ROPE, "to-interleaved", lambda i: _rope(i, output_layout="interleaved", inverse=True)),
    gradient_case(ROPE, "per-row", lambda i: _rope(i, positions=PER_ROW)),
    gradient_case(ROPE, "everything", lambda i: _rope(i, **EVERYTHING)),
    gradient_case(ROPE, "twice", lambda i: _rope(i, layout="interleaved", twice=True)),
    gradient_case(
        "rope_apply_channels",
        "",
        lambda i: differentiated(
            i, "rope_apply_channels", "x", i.data(2, 3, 7, 11), *i.table(7, 6), layout="interleaved", offset=3
        ),
    ),
    gradient_case(
        "rope_permute_weight",
        "",
        lambda i: differentiated(i, "rope_permute_weight", "weight", i.data(20, 5), 2, rotary_dim=6, offset=2),
    ),
    gradient_case("rope_cos_sin", "", lambda i: _cos_sin(i, [[0, 3, 4095], [1, -7, 2]]), REAL),
    gradient_case("rope_cos_sin", "factor", lambda i: _cos_sin(i, [0, 1, 5], attention_factor=1.25), REAL),
    gradient_case("rope_axes_cos_sin", "", _axes, REAL),
    gradient_case("rope_mixed_cos_sin", "", lambda i: _mixed(i), REAL),
    gradient_case("rope_mixed_cos_sin", "heads", lambda i: _mixed(i, 3), REAL),
    gradient_case("fope_cos_sin", "by-cos", lambda i: _fope(i, "cos_coef")),
    gradient_case("fope_cos_sin", "by-sin", lambda i: _fope(i, "sin_coef", heads=False)),
    gradient_case("pope_apply", "", lambda i: _pope(i, "x")),
    gradient_case("pope_apply", "by-bias", lambda i: _pope(i, "bias")),
    gradient_case("rope_apply_channels", "by-cos", lambda i: _channels(i, "cos", offset=3)),
    gradient_case("rope_apply_channels", "by-sin", lambda i: _channels(i, "sin", layout="interleaved")),
    gradient_case("fope_cos_sin", "by-frequencies", lambda i: _fope(i, "inv_freq"), REAL),
    gradient_case("rope_scores", "by-frequencies", lambda i: _scores(i, "inv_freq"), REAL),
    gradient_case("rope_scores", "by-q", lambda i: _scores(i, "q")),
    gradient_case("rope_scores", "by-k", lambda i: _scores(i, "k", layout="interleaved")),
    gradient_case("attention", "by-q", lambda i: _attention(i, "q")),
    gradient_case("attention", "by-k", lambda i: _attention(i, "k")),
    gradient_case("attention", "by-v", lambda i: _attention(i, "v")),
    gradient_case("attention", "by-bias", lambda i: _attention(i, "bias")),
    gradient_case("linear_attention", "by-q", lambda i: _linear(i, "q")),
    gradient_case("linear_attention", "by-k", lambda i: _linear(i, "k")),
    gradient_case("linear_attention", "by-v", lambda i: _linear(i, "v")),
    gradient_case(
        "learned", "", lambda i: differentiated(i, "learned", "table", i.data(11, 6), np.array([[5, 0, 1], [2, 2, 5]]))
    ),
    gradient_case(
        "learned",
        "offset",
        lambda i: differentiated(i, "learned", "table", i.data(11, 6), np.array([[-2, 0, 1], [8, 2, -2]]), offset=2),
    ),
    gradient_case(
        "resample_table",
        "",
        lambda i: differentiated(i, "resample_table", "table", i.data(16, 3), (3, 5), (5, 4), prefix=1),
    ),
    gradient_case(
        "resample_table",
        "antialias",
        lambda i: differentiated(
            i, "resample_table", "table", i.data(35, 3), (5, 7), (2, 3), kernel="linear", antialias=True
        ),
    ),
    gradient_case(
        "hierarchical_table", "", lambda i: differentiated(i, "hierarchical_table", "table", i.data(5, 3), 23)
    ),
    gradient_case("fourier_features", "", lambda i: _features(i, 3), REAL),
    gradient_case("fourier_features", "matrix", lambda i: _features(i, 2, 3, order="cos_sin", gain=0.5), REAL),
    gradient_case(
        "alibi_bias", "", lambda i: _bias(i, "alibi_bias", "slopes", np.abs(i.data(3)), np.arange(5) + 2, KEYS)
    ),
    gradient_case(
        "alibi_bias",
        "signed",
        lambda i: _bias(i, "alibi_bias", "slopes", np.abs(i.data(3)), [[5, 6], [2, 3]], KEYS, form="signed"),
    ),
    gradient_case("t5_bias", "", lambda i: _bias(i, "t5_bias", "table", i.data(32, 3), np.arange(40), np.arange(53))),
    gradient_case(
        "t5_bias",
        "decoder",
        lambda i: _bias(i, "t5_bias", "table", i.data(32, 3), [[5, 6], [2, 3]], KEYS, bidirectional=False),
    ),
    gradient_case("alibi_bias", "by-past-of-two", lambda i: _two_sided(i, "slopes")),
    gradient_case("alibi_bias", "by-future", lambda i: _two_sided(i, "future_slopes")),
    gradient_case(
        "indexed_bias",
        "",
        lambda i: differentiated(i, "indexed_bias", "table", i.data(6, 3), np.array([[4, 0, 4], [-1, 5, 4]])),
    ),
    gradient_case("kerple_bias", "by-r1", lambda i: _kerple(i, "r1")),
    gradient_case("kerple_bias", "by-r2", lambda i: _kerple(i, "r2")),
    gradient_case(
        "cosine_scale",
        "",
        lambda i: differentiated(i, "cosine_scale", "log_scale", i.typed([[-1.5], [0.25], [4.0], [5.0], [9.0]])),
    ),
    *(
        gradient_case("position_mlp", f"by-{by}", lambda i, by=by: _mlp(i, by, activation="silu", ceiling=2.0))
        for by in ("features", "w1", "b1", "w2", "b2")
    ),
    gradient_case("position_mlp", "relu", lambda i: _mlp(i, "w1")),
    gradient_case("ssmax_scale", "", lambda i: _ssmax(i, "s")),
    gradient_case("ssmax_scale", "by-bias", lambda i: _ssmax(i, "bias")),
)
