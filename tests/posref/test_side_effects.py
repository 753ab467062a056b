"""What a call leaves behind: nothing. Results are arrays of their own; how inputs lie in memory does not matter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import posref

Args = dict[str, Any]

DRAW = np.random.default_rng(17)
POSITIONS = np.array([3, 0, 900, 41, 41])
X = DRAW.standard_normal((2, 3, 5, 8))  # (batch, heads, sequence, channels)

CALLS: dict[str, Args] = {
    "alibi_bias": {"slopes": DRAW.random(3), "q_positions": POSITIONS, "k_positions": POSITIONS[:4]},
    "attention": {
        "q": X,
        "k": DRAW.standard_normal((2, 3, 7, 8)),
        "v": DRAW.standard_normal((2, 3, 7, 6)),
        "bias": DRAW.standard_normal((3, 5, 7)),
        "mask": DRAW.random((5, 7)) < 0.5,
    },
    "indexed_bias": {"table": DRAW.standard_normal((901, 3)), "index": np.array([[3, -1, 900], [0, 0, 1]])},
    "log_offset": {"relative_position": POSITIONS, "extent": np.array([3, 7, 7, 1, 90])},
    "cosine_scale": {"log_scale": DRAW.standard_normal((3, 1)) * 4},
    "position_mlp": {
        "features": DRAW.standard_normal((5, 2)),
        "w1": DRAW.standard_normal((4, 2)),
        "b1": DRAW.standard_normal(4),
        "w2": DRAW.standard_normal((3, 4)),
        "b2": DRAW.standard_normal(3),
    },
    "kerple_bias": {
        "r1": DRAW.random(3),
        "r2": DRAW.random(3),
        "q_positions": POSITIONS,
        "k_positions": POSITIONS[:4],
    },
    "sandwich_bias": {"num_heads": 3, "q_positions": POSITIONS, "k_positions": POSITIONS[:4]},
    "fire_distance": {"q_positions": POSITIONS, "k_positions": POSITIONS[:4], "c": 0.1, "length": 30.0},
    "cape_positions": {"positions": POSITIONS, "shift": DRAW.standard_normal(5), "log_scale": DRAW.standard_normal(1)},
    "long_t5_blocks": {"mask": np.arange(9) < 7, "block_size": 3},
    "learned": {"table": DRAW.standard_normal((901, 4)), "positions": POSITIONS},
    "rope": {"x": X, "positions": POSITIONS},
    "rope_apply": {"x": X, "cos": DRAW.standard_normal((5, 3)), "sin": DRAW.standard_normal((5, 3))},
    "rope_apply_channels": {"x": X, "cos": DRAW.standard_normal((5, 6)), "sin": DRAW.standard_normal((5, 6))},
    "rope_axes_cos_sin": {
        "positions": POSITIONS.reshape(5, 1) // 3,
        "inv_freq": DRAW.random(4),
        "axis_map": np.array([0, 4, 1, 1]),
    },
    "rope_axes_inv_freq": {"axis_map": np.array([0, 1, 2, 0, 1])},
    "rope_axes_table": {"positions": POSITIONS.reshape(5, 1) // 3, "axis_map": np.array([0, 4, 1, 1])},
    "rope_cos_sin": {"positions": POSITIONS, "inv_freq": DRAW.random(4)},
    "rope_mixed_cos_sin": {"positions": POSITIONS[None] / 4, "frequencies": DRAW.standard_normal((1, 2, 3))},
    "rope_table": {"positions": POSITIONS, "dim": 8},
    "sinusoidal": {"positions": POSITIONS, "dim": 8},
    "t5_bias": {"table": DRAW.standard_normal((32, 3)), "q_positions": POSITIONS, "k_positions": POSITIONS[:4]},
    "t5_bucket": {"relative_position": POSITIONS},
    "timestep_embedding": {"timesteps": POSITIONS, "dim": 8},
    "sinusoidal_axes": {"positions": np.stack([POSITIONS, POSITIONS[::-1]]), "dim": 11},
    "fourier_features": {"coordinates": DRAW.random((2, 5)), "frequencies": DRAW.random(3), "include_input": True},
    "resample_table": {"table": DRAW.standard_normal((16, 3)), "sizes": (3, 5), "new_sizes": (4, 5), "prefix": 1},
    "hierarchical_table": {"table": DRAW.standard_normal((5, 3)), "rows": 12},
    "mask_positions": {"mask": DRAW.random((2, 5)) < 0.5},
    "mask_coordinates": {"mask": DRAW.random((2, 3, 5)) < 0.5, "scale": 1.0},
    "log_n_scale": {"positions": POSITIONS, "length": 40},
    "ssmax_scale": {"positions": POSITIONS, "s": DRAW.standard_normal(3), "bias": DRAW.standard_normal(3)},
    "llama4_scale": {"positions": POSITIONS, "floor_scale": 40},
    "rerope_distance": {"q_positions": POSITIONS, "k_positions": POSITIONS[:4], "window": 8, "factor": 2.7},
    "self_extend_distance": {"q_positions": POSITIONS, "k_positions": POSITIONS[:4], "group_size": 3, "window": 8},
    "dual_chunk_distance": {"q_positions": POSITIONS, "k_positions": POSITIONS[:4], "chunk_size": 8, "local_size": 2},
    "rope_scores": {
        "q": X,
        "k": DRAW.standard_normal((2, 3, 7, 8)),
        "distances": DRAW.integers(0, 99, (5, 7)),
        "inv_freq": DRAW.random(3),
    },
    "xpos_scale": {"positions": POSITIONS, "dim": 8, "length": 901},
    "fope_cos_sin": {
        "positions": POSITIONS,
        "inv_freq": DRAW.random(4),
        "cos_coef": DRAW.standard_normal((3, 4, 2)),
        "sin_coef": DRAW.standard_normal((3, 4, 2)),
        "pairs": 5,
    },
    "pope_apply": {"x": X, "positions": POSITIONS, "bias": -DRAW.random(8)},
    "rope_permute_weight": {"weight": DRAW.standard_normal((12, 5)), "num_heads": 2},
    "cu_seqlens_positions": {"cu_seqlens": np.array([0, 3, 3, 9]), "starts": np.array([5, 0, -2])},
    "relative_index": {"relative_position": POSITIONS, "left": 40, "right": 8},
    "relative_shift": {"x": X, "num_keys": 7},
    "relative_bias": {"x": X, "table": DRAW.standard_normal((3, 9, 8)), "index": DRAW.integers(-1, 9, (5, 7))},
    "relative_values": {
        "weights": DRAW.random((2, 3, 5, 7)),
        "table": DRAW.standard_normal((3, 9, 8)),
        "index": DRAW.integers(-1, 9, (5, 7)),
    },
    "relative_scores": {
        "q": X,
        "k": DRAW.standard_normal((2, 3, 7, 8)),
        "table": DRAW.standard_normal((9, 8)),
        "index": DRAW.integers(-1, 9, (5, 7)),
        "content_bias": DRAW.standard_normal((3, 8)),
    },
    "deberta_bucket": {"relative_position": POSITIONS},
    "permuted_channels": {"permutation": np.array([[2, 0, 1], [1, 0, 2]]), "positions": POSITIONS},
    "disentangled_scores": {
        "q": X,
        "k": DRAW.standard_normal((2, 3, 7, 8)),
        "relative": DRAW.integers(-9, 9, (5, 7)),
        "pos_k": DRAW.standard_normal((3, 10, 8)),
        "pos_q": DRAW.standard_normal((3, 10, 8)),
    },
    "untied_scores": {
        "q": X,
        "k": DRAW.standard_normal((2, 3, 7, 8)),
        "pos_q": DRAW.standard_normal((3, 5, 8)),
        "pos_k": DRAW.standard_normal((3, 7, 8)),
    },
    "decomposed_bias": {
        "q": X[..., :4, :],
        "height_table": DRAW.standard_normal((3, 8)),
        "width_table": DRAW.standard_normal((5, 8)),
        "q_size": (2, 2),
        "k_size": (2, 3),
    },
    "bias_gate": {"projection": X, "const": DRAW.standard_normal(3)},
    "reset_cls": {"bias": X, "from_cls": DRAW.standard_normal(3), "to_cls": DRAW.standard_normal(3)},
    "forget_bias": {"log_forget": -DRAW.random((3, 5)), "backward": -DRAW.random((3, 5)), "num_queries": 2},
    "cope_scores": {
        "q": X,
        "k": DRAW.standard_normal((2, 3, 7, 8)),
        "table": DRAW.standard_normal((4, 8)),
        "mask": DRAW.random((5, 7)) < 0.5,
    },
    "path_scores": {
        "q": X,
        "k": DRAW.standard_normal((2, 3, 5, 8)),
        "w": DRAW.standard_normal((5, 8)) / 3,
        "beta": DRAW.random((3, 5)),
        "log_forget": -DRAW.random((3, 5)),
    },
    "inkling_scale": {"positions": POSITIONS, "length": 40},
    "linear_attention": {
        "q": X,
        "k": DRAW.standard_normal((2, 3, 7, 8)),
        "v": DRAW.standard_normal((2, 3, 7, 6)),
        "q_positions": POSITIONS,
        "k_positions": np.arange(7),
        "inv_freq": DRAW.random(3),
        "mask": DRAW.random((5, 7)) < 0.5,
    },
}


def call(function: str, args: Args) -> NDArray[Any]:
    return np.asarray(getattr(posref, function)(**args))


def each(change: Callable[[NDArray[Any]], Any], args: Args) -> Args:
    return {name: change(value) if isinstance(value, np.ndarray) else value for name, value in args.items()}


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    frozen: NDArray[Any] = array.copy()
    frozen.flags.writeable = False
    return frozen


def column_major(array: NDArray[Any]) -> Any:
    return np.asfortranarray(array)


def strided(array: NDArray[Any]) -> NDArray[Any]:
    """Backwards along every axis, with gaps along the last."""
    view = np.flip(np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype))[..., ::2]
    view[...] = array
    return view


def byte_swapped(array: NDArray[Any]) -> NDArray[Any]:
    swapped: NDArray[Any] = array.astype(array.dtype.newbyteorder())
    return swapped


def a_subclass(array: NDArray[Any]) -> Any:
    class Labelled(np.ndarray[Any, Any]):
        """An array that somebody subclassed."""

    return array.copy().view(Labelled)


def as_lists(array: NDArray[Any]) -> Any:
    return array.tolist()


@pytest.mark.parametrize("change", [read_only, column_major, strided, byte_swapped, a_subclass, as_lists])
@pytest.mark.parametrize("function", CALLS)
def test_how_the_input_lies_in_memory_does_not_matter(function: str, change: Callable[[NDArray[Any]], Any]) -> None:
    plain, changed = call(function, CALLS[function]), call(function, each(change, CALLS[function]))
    assert type(getattr(posref, function)(**each(change, CALLS[function]))) in (np.ndarray, tuple)
    by_blas = (
        "attention",
        "position_mlp",
        "linear_attention",
        "fope_cos_sin",
        "rope_scores",
        "relative_bias",
        "relative_scores",
        "disentangled_scores",
        "untied_scores",
        "decomposed_bias",
        "cope_scores",
        "path_scores",
    )
    if function in by_blas:  # which sums in another order: see test_golden.py for the bound; times 10
        np.testing.assert_allclose(changed, plain, rtol=0, atol=1e-13)
    else:
        assert np.array_equal(changed, plain)


def untouched(function: Callable[..., Any], args: Args) -> bool:
    """Whether inputs that can be written are as they were, and nothing of the result lies in them."""
    before, args = each(np.copy, args), each(np.copy, args)
    result = function(**args)
    results = result if isinstance(result, tuple) else (result,)
    arrays = [value for value in args.values() if isinstance(value, np.ndarray)]
    kept = all(np.array_equal(value, before[name]) for name, value in args.items())
    return kept and not any(np.shares_memory(r, a) for r in results for a in arrays)


@pytest.mark.parametrize("function", CALLS)
def test_inputs_are_untouched(function: str) -> None:
    assert untouched(getattr(posref, function), CALLS[function])


@pytest.mark.parametrize("function", CALLS)
def test_results_can_be_written(function: str) -> None:
    result = getattr(posref, function)(**CALLS[function])
    for array in result if isinstance(result, tuple) else (result,):
        assert array.flags.writeable
        before = array.copy()
        array[(0,) * array.ndim] += 1
        assert np.count_nonzero(array != before) == 1  # no entry stands for several


def test_faults_are_noticed() -> None:
    def in_place(x: Any, positions: Any) -> Any:
        x[...] = posref.rope(x, positions)
        return x.copy()

    def a_view(x: Any, positions: Any) -> Any:
        return x[...]

    assert not untouched(in_place, CALLS["rope"])
    assert not untouched(a_view, CALLS["rope"])
    with pytest.raises(ValueError, match="read-only"):
        in_place(**each(read_only, CALLS["rope"]))


def test_every_function_of_arrays_is_here() -> None:
    def takes_arrays(function: Callable[..., Any]) -> bool:
        return any("ArrayLike" in str(p.annotation) for p in inspect.signature(function).parameters.values())

    functions = {name: getattr(posref, name) for name in posref.__all__ if inspect.isroutine(getattr(posref, name))}
    assert {name for name, function in functions.items() if takes_arrays(function)} == set(CALLS)


@pytest.mark.parametrize("name", ["alibi_slopes", "rope_inv_freq", "sinusoidal", "rope_table"])
def test_a_result_that_is_damaged_does_not_come_back(name: str) -> None:
    """Nothing is cached that a caller could write to."""
    args: Args = {"alibi_slopes": {"num_heads": 6}, "rope_inv_freq": {"dim": 8}}.get(name) or {
        "positions": [1, 2],
        "dim": 8,
    }
    first = getattr(posref, name)(**args)
    array = first[0] if isinstance(first, tuple) else first
    kept = array.copy()
    array[...] = 0
    again = getattr(posref, name)(**args)
    assert np.array_equal(again[0] if isinstance(again, tuple) else again, kept)
