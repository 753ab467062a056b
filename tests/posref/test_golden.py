"""The reference against values that it did not make: tests/golden/*.json, computed with mpmath."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_bounds import BOUNDS
from numpy.typing import NDArray

import posref

ULPS = 0.51  # closed forms: correctly rounded, but for a hair's breadth of the true value's own rounding
U = 2.0**-53  # unit roundoff of float64

Args = dict[str, Any]
FILES = sorted((Path(__file__).parents[1] / "golden").glob("*.json"))
CASES = [(book["function"], case) for book in map(json.loads, (f.read_text() for f in FILES)) for case in book["cases"]]

# Functions that only move numbers around are held to equality.
EQUAL = (
    "cu_seqlens_positions",
    "deberta_bucket",
    "grid_positions",
    "learned",
    "mask_positions",
    "permuted_channels",
    "relative_index",
    "relative_shift",
    "long_t5_blocks",
    "query_positions",
    "relative_position_index",
    "reset_cls",
    "rope_axis_map",
    "rope_permute_weight",
    "t5_bucket",
)


def scaling(record: Any) -> Any:
    """A scaling, one per axis, or none."""
    if isinstance(record, list):
        return [scaling(r) for r in record]
    return (
        None if record is None else getattr(posref, record["kind"])(**{k: v for k, v in record.items() if k != "kind"})
    )


def call(function: str, args: Args) -> NDArray[Any]:
    """What posref says. Three files describe more than one call."""
    args = dict(args)
    if args.get("scaling") is not None:
        args["scaling"] = scaling(args["scaling"])
    if function == "rope_cos_sin_exact":
        function = "rope_table"
    if function == "rope_apply" and "position" in args:
        table = {name: args.pop(name) for name in ("dim", "base", "attention_factor")}
        args["cos"], args["sin"] = posref.rope_table(args.pop("position"), **table)
    if function == "alibi_bias" and "num_heads" in args:
        args["slopes"] = posref.alibi_slopes(args.pop("num_heads"))
    args |= args.pop("rotation", None) or {}
    return np.asarray(getattr(posref, function)(**args))


def bound(function: str, args: Args, expected: NDArray[Any]) -> Any:
    """How far a value may be from the true one."""
    if function in EQUAL:
        return 0.0
    if function in BOUNDS:
        return BOUNDS[function](args)
    if function in ("rope_apply", "rope"):
        # cos and sin within 0.51 ulp <= 1.02 u g, two products and a sum each within u: (1.02 + 1 + 1) u g (|a| + |b|)
        gain = np.abs([args["cos"], args["sin"]]).max() if "cos" in args else call_factor(args)
        return float(3.1 * U * gain * 2 * np.abs(args["x"]).max())
    if function == "rope_apply_channels":  # the tables as given: two products and a sum
        return float(2.1 * U * np.abs([args["cos"], args["sin"]]).max() * 2 * np.abs(args["x"]).max())
    if function == "attention":
        return attention_bound(args)
    return ULPS * np.spacing(np.abs(expected))


def call_factor(args: Args) -> float:
    return float(call("rope_attention_factor", {"scaling": args.get("scaling")}))


def attention_bound(args: Args) -> float:
    """First-order rounding errors of plain softmax attention.

    A logit errs by (d + 2) roundings of its terms (d products and sums, the scale) and one of the bias; a difference of two
    logits by twice that and one more; exp turns this into a relative error of its weight. The sum over n keys and the product
    with v add 2 n + 4 roundings.
    """
    q, k, v = (np.asarray(args[name]) for name in "qkv")
    scale = 1 / np.sqrt(q.shape[-1]) if args["scale"] is None else abs(args["scale"])
    added = np.zeros(1) if args["bias"] is None else np.asarray(args["bias"])
    bias = np.abs(added[added > -1e6]).max()  # a bias below leaves no weight that could err
    term = scale * (np.abs(q) @ np.abs(k).swapaxes(-1, -2)).max()
    logit = (q.shape[-1] + 2) * term + bias + term
    return float(U * (3 * logit + 2 * k.shape[-2] + 4) * np.abs(v).max())


def excess(function: str, case: Args, got: NDArray[Any]) -> float:
    """The worst error as a multiple of its bound; infinity for another shape."""
    expected, rest = np.asarray(case["expected"]), np.asarray(case["expected_lo"])
    if got.shape != expected.shape or (expected.dtype.kind == "i") != (got.dtype.kind == "i"):
        return np.inf
    error = np.abs((got - expected) - rest)  # expected + rest is the true value; neighbours subtract without rounding
    with np.errstate(all="ignore"):
        ratio = np.where(error == 0, 0.0, error / bound(function, case["args"], expected))
    return float(np.max(ratio, initial=0.0))


@pytest.mark.parametrize(("function", "case"), CASES, ids=[case["id"] for _, case in CASES])
def test_value(function: str, case: Args) -> None:
    worst = excess(function, case, call(function, case["args"]))
    assert worst <= 1.0, f"{case['note']}: off by {worst:.3g} times the bound"


@pytest.mark.parametrize(("function", "case"), CASES, ids=[case["id"] for _, case in CASES])
def test_one_value_that_is_off_is_noticed(function: str, case: Args) -> None:
    got = call(function, case["args"])
    limit = np.broadcast_to(bound(function, case["args"], np.asarray(case["expected"])), got.shape)
    last = (-1,) * got.ndim
    got = got.astype(got.dtype)
    got[last] = (
        got[last] + 1 if got.dtype.kind == "i" else got[last] + max(4 * limit[last], 4 * np.spacing(abs(got[last])))
    )
    assert excess(function, case, got) > 1.0


# One argument of each function a little wrong: as little as a float64 can be, where it is a number.
FAULTS: dict[str, Args] = {
    "alibi_bias": {"form": "distance"},
    "alibi_slopes": {"num_heads": 13},
    "attention": {"mask": None},
    "cu_seqlens_positions": {"cu_seqlens": [0, 2, 4, 11]},
    "bias_gate": {"projection": [[[0.5] * 8] * 3] * 2, "const": [1.0, 0.3]},
    "cope_scores": {"scale": 0.9},
    "decomposed_bias": {"width_table": [[1.0, 2.0, 3.0]] * 5},
    "deberta_bucket": {"max_distance": 600},
    "permuted_channels": {"positions": 1},
    "disentangled_scores": {"scale": 0.3},
    "dual_chunk_distance": {"critical": False, "local_size": 0},
    "fope_cos_sin": {"pad_sin": 0.5},
    "forget_bias": {"backward": None},
    "grid_coordinates": {"normalize": "separate"},
    "grid_positions": {"block": None},
    "inkling_scale": {"alpha": float(np.nextafter(0.1, 1.0))},
    "fourier_features": {"gain": 1 - 2.0**-53},
    "frequency_bands": {"last": 32.00000000000001},
    "hierarchical_table": {"alpha": 0.4000001},
    "learned": {"positions": [4, 0, 1, 2]},
    "long_t5_blocks": {"block_size": 5},
    "cape_positions": {"log_scale": [float(np.nextafter(0.1, 1.0))]},
    "kerple_bias": {"q_positions": [1, 2]},
    "sandwich_bias": {"base": float(np.nextafter(10000.0, 0.0))},
    "fire_distance": {"c": float(np.nextafter(0.1, 1.0))},
    "relative_position_index": {"stride": 3},
    "indexed_bias": {"index": [[0, 0], [0, 0]]},
    "log_offset": {"extent": 7.0000001},
    "cosine_scale": {"largest": 99.9999999},
    "position_mlp": {"activation": "silu", "b2": None},
    "query_positions": {"num_keys": 6},
    "length_scale": {"length": 4095},
    "linear_attention": {"feature": "identity"},
    "llama4_scale": {"attn_scale": float(np.nextafter(0.1, 1.0))},
    "log_n_scale": {"length": 4097},
    "path_scores": {"scale": 0.9},
    "mask_coordinates": {"shift": 0.25},
    "mask_positions": {"padding": 7},
    "pope_apply": {"base": 10000.000001},
    "relative_bias": {"side": "query"},
    "relative_index": {"right": 4},
    "relative_scores": {"scale": 0.5000000001},
    "relative_shift": {"outside": "zero"},
    "relative_values": {"index": [[0] * 5] * 3},
    "rerope_distance": {"window": 6},
    "reset_cls": {"to_cls": [9.0, 9.0]},
    "resample_table": {"cubic_a": -0.7500001},
    "rope": {"base": 10000.000001},
    "rope_apply": {"layout": "half", "output_layout": None},
    "rope_apply_channels": {"layout": "half"},
    "rope_attention_factor": {"scaling": {"kind": "NTKScaling", "factor": 4.0}},
    "rope_axes_cos_sin": {"attention_factor": 1 + 2.0**-52},
    "rope_axes_inv_freq": {"base": float(np.nextafter(10000.0, 10001.0)), "scaling": None},
    "rope_axes_table": {"base": float(np.nextafter(10000.0, 10001.0))},
    "rope_axis_map": {"rule": "chunked", "tail": None},
    "rope_cos_sin": {"attention_factor": 1 + 2.0**-52},
    "rope_cos_sin_exact": {"base": float(np.nextafter(10000.0, 10001.0))},
    "rope_inv_freq": {"base": float(np.nextafter(10000.0, 10001.0))},
    "rope_mixed_cos_sin": {"positions": [[0, 1], [5, -2], [0.5, 13.0000001]]},
    "rope_permute_weight": {"to": "half", "offset": 0},
    "rope_pixel_freq": {"max_freq": float(np.nextafter(10.0, 11.0))},
    "rope_scores": {"layout": "half"},
    "rope_softmax_factor": {"scaling": None},
    "rope_table": {"base": float(np.nextafter(10000.0, 10001.0))},
    "self_extend_distance": {"shift": "floor", "window": 9},
    "sinusoidal": {"base": float(np.nextafter(10000.0, 10001.0))},
    "sinusoidal_axes": {"base": float(np.nextafter(10000.0, 10001.0))},
    "ssmax_scale": {"positions": [1, 2, 3, 4, 5, 6, 7, 8], "s": [0.1, 0.2, 0.3], "bias": None},
    "t5_bias": {"max_distance": 127},
    "t5_bucket": {"max_distance": 8191},
    "timestep_embedding": {"max_period": float(np.nextafter(10000.0, 10001.0))},
    "untied_scores": {"scale": 0.3},
    "xpos_scale": {"scale_base": float(np.nextafter(512.0, 513.0))},
}


@pytest.mark.parametrize("function", sorted({function for function, _ in CASES}))
def test_a_fault_is_noticed(function: str) -> None:
    cases = [case for f, case in CASES if f == function]
    worst = [excess(function, case, call(function, case["args"] | FAULTS[function])) for case in cases]
    assert max(worst) > 1.0


def test_every_function_has_golden_values() -> None:
    functions = {name for name in posref.__all__ if name.islower() and callable(getattr(posref, name))}
    functions.remove("read_config")  # of files
    assert functions <= {function for function, _ in CASES}
