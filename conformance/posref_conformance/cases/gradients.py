"""Cases in which a backend is differentiated, if its library can: by data, and by what is learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
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


def _by(i: Inputs, function: str, by: str, *args: Any, **options: Any) -> Call:
    return Call(args, options, cotangent=_like(i, getattr(posref, function)(*args, **options)), by=by)


def _apply(i: Inputs, *, pairs: int = 5, twice: bool = False, **options: Any) -> Call:
    """Tables off the circle, so that the inverse is not the transpose."""
    args = i.data(*SHAPE), *i.table(SHAPE[-2], pairs)
    call = _by(i, "rope_apply", "x", *args, **options)
    return Call(call.args, call.kwargs, call.cotangent, call.by, again=i.data(*SHAPE) if twice else None)


def _rope(i: Inputs, *, positions: Any = None, twice: bool = False, **options: Any) -> Call:
    args = i.data(*SHAPE), np.arange(7) + 2 if positions is None else positions
    call = _by(i, "rope", "x", *args, **options)
    return Call(call.args, call.kwargs, call.cotangent, call.by, again=i.data(*SHAPE) if twice else None)


def _frequencies(i: Inputs, dim: int) -> Array:
    return posref.rope_inv_freq(dim).astype(np.float64 if i.dtype == "float64" else np.float32)


def _pope(i: Inputs, by: str, **options: Any) -> Call:
    """A bias for each head and channel, some of it beyond its bounds: no gradient there."""
    bias = (4 * i.rng.normal(size=(3, 1, 7)) - 3).astype(i.data(0).dtype)
    return _by(i, "pope_apply", by, i.data(2, 3, 5, 7), np.arange(5), bias=bias, **options)


def _features(i: Inputs, *shape: int, **options: Any) -> Call:
    """Frequencies of bands, or learned ones that sum over two axes."""
    coordinates, how = i.rng.uniform(-1, 1, (2, 7)), {"layout": "band_wave_axis", "include_input": True}
    return _by(i, "fourier_features", "frequencies", coordinates, i.data(*shape), **how, **options)


def _fope(i: Inputs, by: str, heads: bool = True) -> Call:
    shape = (2, 3, 3) if heads else (3, 3)
    return _by(i, "fope_cos_sin", by, np.arange(7) * 3, _frequencies(i, 6), i.data(*shape), i.data(*shape), 5)


def _scores(i: Inputs, by: str, **options: Any) -> Call:
    distances = np.arange(3)[:, None] + 2 - np.arange(5)
    q, k = i.data(2, 3, 3, 10), i.data(2, 1, 5, 10)  # keys that all heads share
    return _by(i, "rope_scores", by, q, k, distances, _frequencies(i, 8), **options)


def _attention(i: Inputs, by: str) -> Call:
    options = {"bias": i.data(3, 5, 7), "mask": CAUSAL, "scale": 0.25}
    return _by(i, "attention", by, i.data(2, 3, 5, 8), i.data(2, 3, 7, 8), i.data(2, 3, 7, 6), **options)


def _linear(i: Inputs, by: str) -> Call:
    turn = {"q_positions": np.arange(5) + 2, "k_positions": KEYS, "inv_freq": _frequencies(i, 6)}
    return _by(i, "linear_attention", by, i.data(2, 5, 8), i.data(2, 7, 8), i.data(2, 7, 3), mask=CAUSAL, **turn)


def _bias(i: Inputs, function: str, by: str, learned: Array, q: Any, k: Any, **options: Any) -> Call:
    return _by(i, function, by, learned, np.asarray(q), np.asarray(k), **options)


def _two_sided(i: Inputs, by: str) -> Call:
    slopes, later = np.abs(i.data(3)), i.data(3)
    return _by(i, "alibi_bias", by, slopes, np.arange(5) + 2, KEYS, future_slopes=later)


def _kerple(i: Inputs, by: str) -> Call:
    r1, r2 = (np.abs(i.data(3)) + i.typed(0.125) for _ in range(2))
    return _by(i, "kerple_bias", by, r1, r2, np.array([[5, 6], [2, 3]]), KEYS)


def _mlp(i: Inputs, by: str, **options: Any) -> Call:
    arrays = i.data(4, 2), i.data(5, 2), i.data(5), i.data(3, 5)
    return _by(i, "position_mlp", by, *arrays, b2=i.data(3), **options)


def _ssmax(i: Inputs, by: str) -> Call:
    return _by(i, "ssmax_scale", by, np.array([0, 1, 5, 4095]), i.data(3), bias=i.data(3))


def _cos_sin(i: Inputs, positions: Any, **options: Any) -> Call:
    return _by(i, "rope_cos_sin", "inv_freq", np.asarray(positions), np.abs(i.data(5)), **options)


def _mixed(i: Inputs, *heads: int) -> Call:
    positions = np.array([[0, 1, 2, 2, 2, 3, 3], [0, 1, 2, 3, 4, 2, 3]])
    return _by(i, "rope_mixed_cos_sin", "frequencies", positions, i.data(2, *heads, 5))


def _axes(i: Inputs) -> Call:
    positions, axes = np.array([[0, 1, 2, 2], [0, 1, 2, 3], [0, 5, 2, 4]]), np.array([0, 1, 2, 1, 0])
    return _by(i, "rope_axes_cos_sin", "inv_freq", positions, np.abs(i.data(5)), axes)


def _relative(function: str, i: Inputs, by: str, **options: Any) -> Call:
    """Two heads, three queries, four keys, five rows, of which some are asked for twice and one pair has none."""
    index, columns = np.array([[2, 3, 4, -1], [1, 2, 3, 4], [0, 1, 2, 2]]), 4 if function == "relative_values" else 6
    keys = (i.data(2, 4, 6),) if function == "relative_scores" else ()
    return _by(i, function, by, i.data(2, 3, columns), *keys, i.data(5, 6), index, **options)


def _scored(i: Inputs, by: str) -> Call:
    biases = {name: i.data(2, 6) for name in ("content_bias", "position_bias")}
    return _relative("relative_scores", i, by, key_term=True, **biases)


def _disentangled(i: Inputs, by: str) -> Call:
    apart = np.arange(3)[:, None] - np.arange(4)
    tables = {"pos_k": i.data(2, 8, 6), "pos_q": i.data(2, 8, 6)}
    return _by(i, "disentangled_scores", by, i.data(2, 3, 6), i.data(2, 4, 6), apart, **tables)


def _decomposed(i: Inputs, by: str) -> Call:
    return _by(i, "decomposed_bias", by, i.data(2, 6, 5), i.data(3, 5), i.data(5, 5), (2, 3), (1, 2))


def _reset(i: Inputs, by: str) -> Call:
    return _by(i, "reset_cls", by, i.data(2, 3, 4), i.data(2), i.data(2))


def _forget(i: Inputs, by: str) -> Call:
    gates = [i.typed(-np.abs(i.data(2, 6).astype(np.float64))) for _ in range(2)]
    return _by(i, "forget_bias", by, gates[0], backward=gates[1], num_queries=4)


def _path(i: Inputs, by: str) -> Call:
    w = i.data(2, 5, 4).astype(np.float64)
    w = i.typed(w / np.linalg.norm(w, axis=-1, keepdims=True))
    return _by(i, "path_scores", by, i.data(2, 5, 4), i.data(2, 5, 4), w, i.typed(i.rng.uniform(0, 2, (2, 5))))


def _cape(i: Inputs, by: str) -> Call:
    return _by(i, "cape_positions", by, np.array([[3, 0, 1, 7], [5, 5, 2, 0]]), i.data(2, 4), i.data(2, 1), centre=True)


def _gate(i: Inputs, by: str) -> Call:
    return _by(i, "bias_gate", by, i.data(2, 3, 4, 8), i.data(3))


def _built(build: Callable[[Inputs, str], Call], by: str, i: Inputs) -> Call:
    return build(i, by)


def _each(function: str, build: Callable[[Inputs, str], Call], *names: str) -> Iterator[Case]:
    """One case for each argument by which the call is differentiated."""
    for by in names:
        yield _case(function, f"by-{by.replace('_', '-')}", partial(_built, build, by))


def _case(function: str, name: str, build: Any, dtypes: tuple[str, ...] = FLOATS) -> Case:
    return one(function, f"gradient{name and '-'}{name}", build, dtypes=dtypes)


APPLY, ROPE = "rope_apply", "rope"

CASES: tuple[Case, ...] = (
    _case(APPLY, "", lambda i: _apply(i)),
    _case(APPLY, "to-half", lambda i: _apply(i, layout="interleaved", output_layout="half", pairs=3)),
    _case(APPLY, "interleaved", lambda i: _apply(i, layout="interleaved")),
    _case(APPLY, "tail", lambda i: _apply(i, pairs=3, offset=4)),
    _case(APPLY, "inverse-to-interleaved", lambda i: _apply(i, output_layout="interleaved", inverse=True)),
    _case(APPLY, "twice", lambda i: _apply(i, pairs=3, offset=2, twice=True)),
    _case(APPLY, "twice-to-half", lambda i: _apply(i, layout="interleaved", output_layout="half", twice=True)),
    _case(ROPE, "", lambda i: _rope(i)),
    _case(ROPE, "interleaved", lambda i: _rope(i, layout="interleaved", dim=6)),
    _case(ROPE, "to-interleaved", lambda i: _rope(i, output_layout="interleaved", inverse=True)),
    _case(ROPE, "per-row", lambda i: _rope(i, positions=PER_ROW)),
    _case(ROPE, "everything", lambda i: _rope(i, **EVERYTHING)),
    _case(ROPE, "twice", lambda i: _rope(i, layout="interleaved", twice=True)),
    _case(
        "rope_apply_channels",
        "",
        lambda i: _by(
            i, "rope_apply_channels", "x", i.data(2, 3, 7, 11), *i.table(7, 6), layout="interleaved", offset=3
        ),
    ),
    _case(
        "rope_permute_weight",
        "",
        lambda i: _by(i, "rope_permute_weight", "weight", i.data(20, 5), 2, rotary_dim=6, offset=2),
    ),
    _case("rope_cos_sin", "", lambda i: _cos_sin(i, [[0, 3, 4095], [1, -7, 2]]), REAL),
    _case("rope_cos_sin", "factor", lambda i: _cos_sin(i, [0, 1, 5], attention_factor=1.25), REAL),
    _case("rope_axes_cos_sin", "", _axes, REAL),
    _case("rope_mixed_cos_sin", "", lambda i: _mixed(i), REAL),
    _case("rope_mixed_cos_sin", "heads", lambda i: _mixed(i, 3), REAL),
    _case("fope_cos_sin", "by-cos", lambda i: _fope(i, "cos_coef")),
    _case("fope_cos_sin", "by-sin", lambda i: _fope(i, "sin_coef", heads=False)),
    _case("pope_apply", "", lambda i: _pope(i, "x")),
    _case("pope_apply", "by-bias", lambda i: _pope(i, "bias")),
    _case("rope_scores", "by-q", lambda i: _scores(i, "q")),
    _case("rope_scores", "by-k", lambda i: _scores(i, "k", layout="interleaved")),
    _case("attention", "by-q", lambda i: _attention(i, "q")),
    _case("attention", "by-k", lambda i: _attention(i, "k")),
    _case("attention", "by-v", lambda i: _attention(i, "v")),
    _case("attention", "by-bias", lambda i: _attention(i, "bias")),
    _case("linear_attention", "by-q", lambda i: _linear(i, "q")),
    _case("linear_attention", "by-k", lambda i: _linear(i, "k")),
    _case("linear_attention", "by-v", lambda i: _linear(i, "v")),
    _case("learned", "", lambda i: _by(i, "learned", "table", i.data(11, 6), np.array([[5, 0, 1], [2, 2, 5]]))),
    _case(
        "learned",
        "offset",
        lambda i: _by(i, "learned", "table", i.data(11, 6), np.array([[-2, 0, 1], [8, 2, -2]]), offset=2),
    ),
    _case("resample_table", "", lambda i: _by(i, "resample_table", "table", i.data(16, 3), (3, 5), (5, 4), prefix=1)),
    _case(
        "resample_table",
        "antialias",
        lambda i: _by(i, "resample_table", "table", i.data(35, 3), (5, 7), (2, 3), kernel="linear", antialias=True),
    ),
    _case("hierarchical_table", "", lambda i: _by(i, "hierarchical_table", "table", i.data(5, 3), 23)),
    _case("fourier_features", "", lambda i: _features(i, 3), REAL),
    _case("fourier_features", "matrix", lambda i: _features(i, 2, 3, order="cos_sin", gain=0.5), REAL),
    _case("alibi_bias", "", lambda i: _bias(i, "alibi_bias", "slopes", np.abs(i.data(3)), np.arange(5) + 2, KEYS)),
    _case(
        "alibi_bias",
        "signed",
        lambda i: _bias(i, "alibi_bias", "slopes", np.abs(i.data(3)), [[5, 6], [2, 3]], KEYS, form="signed"),
    ),
    _case("t5_bias", "", lambda i: _bias(i, "t5_bias", "table", i.data(32, 3), np.arange(40), np.arange(53))),
    _case(
        "t5_bias",
        "decoder",
        lambda i: _bias(i, "t5_bias", "table", i.data(32, 3), [[5, 6], [2, 3]], KEYS, bidirectional=False),
    ),
    _case("alibi_bias", "by-past-of-two", lambda i: _two_sided(i, "slopes")),
    _case("alibi_bias", "by-future", lambda i: _two_sided(i, "future_slopes")),
    _case(
        "indexed_bias", "", lambda i: _by(i, "indexed_bias", "table", i.data(6, 3), np.array([[4, 0, 4], [-1, 5, 4]]))
    ),
    _case("kerple_bias", "by-r1", lambda i: _kerple(i, "r1")),
    _case("kerple_bias", "by-r2", lambda i: _kerple(i, "r2")),
    _case(
        "cosine_scale",
        "",
        lambda i: _by(i, "cosine_scale", "log_scale", i.typed([[-1.5], [0.25], [4.0], [5.0], [9.0]])),
    ),
    *(
        _case("position_mlp", f"by-{by}", lambda i, by=by: _mlp(i, by, activation="silu", ceiling=2.0))
        for by in ("features", "w1", "b1", "w2", "b2")
    ),
    _case("position_mlp", "relu", lambda i: _mlp(i, "w1")),
    _case("ssmax_scale", "", lambda i: _ssmax(i, "s")),
    _case("ssmax_scale", "by-bias", lambda i: _ssmax(i, "bias")),
    _case("relative_shift", "", lambda i: _by(i, "relative_shift", "x", i.data(2, 4, 7), 4)),
    _case("relative_shift", "zeros", lambda i: _by(i, "relative_shift", "x", i.data(3, 7), 4, outside="zero")),
    *_each("relative_bias", partial(_relative, "relative_bias"), "x", "table"),
    *_each("relative_values", partial(_relative, "relative_values"), "weights", "table"),
    *_each("relative_scores", _scored, "q", "k", "table", "content_bias", "position_bias"),
    *_each("disentangled_scores", _disentangled, "q", "k", "pos_k", "pos_q"),
    *_each("decomposed_bias", _decomposed, "q", "height_table", "width_table"),
    *_each("reset_cls", _reset, "bias", "from_cls", "to_cls"),
    *_each("forget_bias", _forget, "log_forget", "backward"),
    *_each("path_scores", _path, "q", "k"),
    *_each("bias_gate", _gate, "projection", "const"),
    *_each("cape_positions", _cape, "shift", "log_scale"),
)
