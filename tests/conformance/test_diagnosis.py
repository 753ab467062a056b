"""Failed checks are traced to the mistake behind them, planted or made in code that shares nothing with the catalogue."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posref_array.on_numpy import backend as right
from posref_conformance.backend import Backend, describe
from posref_conformance.cases import CASES, checks
from posref_conformance.diagnosis import Explanation, diagnose
from posref_conformance.diagnosis.results import diagnosed
from posref_conformance.faults import FAULTS, Fault, both
from posref_conformance.faults._fault import library
from posref_conformance.runner import Runner
from posref_conformance.verdict import FAILED, PASSED, Result, run

pytestmark = pytest.mark.usefixtures("reference_once")


def _named(backend: Backend, function: str, anew: Backend | None = None) -> list[Explanation]:
    """What is said of one function of a backend; if it remembers what it was asked, ``anew`` is the same one that does not."""
    asked = list(checks(backend, [c for c in CASES if c.function == function]))
    results = [(check, run(backend, *check).status) for check in asked]
    failed, passed = ([check for check, status in results if status == s] for s in (FAILED, PASSED))
    assert failed
    return diagnose(lambda _: anew or backend, failed, passed)


def _planted(fault: Fault, function: str, arrays: str, dtype: str = "float32") -> Backend:
    wrong = fault.functions(library(arrays))[function]
    return describe(fault.id, SimpleNamespace(**{function: wrong}, arrays=arrays, dtypes=[dtype]))


# --- planted faults -------------------------------------------------------------------------------------------------

UNSEEN = ("positions-in-float32",)  # which float64 alone shows
SAMPLE = [f for n, f in enumerate(FAULTS.values()) if n % 4 == 0 and not f.needs and f.id not in UNSEEN]


def test_the_first_named_is_the_planted_one() -> None:
    """For a quarter of the catalogue, one function each; all of it: ``tests/scripts/diagnosis_rate.py``."""
    missed, slowest = {}, 0.0
    for n, fault in enumerate(SAMPLE):
        functions = sorted(fault.functions(library("numpy")))
        function = functions[n % len(functions)]
        start = time.perf_counter()
        planted, anew = (_planted(fault, function, "numpy") for _ in range(2))
        named = [e.id for e in _named(planted, function, anew)]
        slowest = max(slowest, time.perf_counter() - start)
        if named[:1] != [fault.id]:
            missed[fault.id, function] = named
    print(f"{len(SAMPLE) - len(missed)} of {len(SAMPLE)}, the slowest in {slowest:.1f} s; missed: {missed}")
    assert len(missed) <= 0.05 * len(SAMPLE), missed


@pytest.mark.parametrize(
    ("fault", "function"),
    [
        ("turns-backwards", "rope"),
        ("layout-always-half", "rope_apply"),
        ("positions-in-bfloat16", "rope"),
        ("alibi-slopes-one-sequence", "alibi_slopes"),
        ("t5-log-in-bfloat16", "t5_bucket"),
        ("gradient-turns-forward", "rope_apply"),
        ("gradient-in-the-other-layout", "rope_apply"),
        ("written-over-the-input", "rope_apply"),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_it_is_named_on_torch_too(fault: str, function: str, dtype: str) -> None:
    pytest.importorskip("torch", reason="needs the torch extra")
    assert _named(_planted(FAULTS[fault], function, "torch", dtype), function)[0].id == fault


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("layout-always-half", "turns-backwards"),
        ("layout-always-interleaved", "turns-backwards"),
        ("layouts-exchanged", "positions-from-1"),
        ("turns-backwards", "positions-from-1"),
        ("turns-backwards", "base-ignored"),
        ("layouts-exchanged", "scaling-ignored"),
    ],
)
def test_two_at_once_are_named_together(first: str, second: str) -> None:
    pair = both(FAULTS[first], FAULTS[second])
    assert _named(_planted(pair, "rope", "numpy"), "rope")[0].id == pair.id


# --- code that shares nothing with the catalogue --------------------------------------------------------------------


def _rotate(x: Any, angle: Any) -> Any:
    a, b = np.split(x.astype(np.float64), 2, axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1).astype(x.dtype)


def _ladder(dim: int, base: float = 10000.0) -> Any:
    return 1.0 / base ** (np.arange(0, dim, 2, dtype=np.float64) / dim)


def _rope_from_1(x: Any, positions: Any) -> Any:
    return _rotate(x, (positions[..., None] + 1.0) * _ladder(x.shape[-1]))


def _rope_three_ahead(x: Any, positions: Any) -> Any:
    return _rotate(x, (positions[..., None] + 3.0) * _ladder(x.shape[-1]))


def _rope_base_10(x: Any, positions: Any, *, base: float = 10000.0) -> Any:
    return _rotate(x, positions[..., None] * _ladder(x.shape[-1], 500000.0))


def _rope_bf16_positions(x: Any, positions: Any) -> Any:
    p = positions.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    return _rotate(x, p[..., None] * _ladder(x.shape[-1]))


def _rope_half_precision_frequencies(x: Any, positions: Any) -> Any:
    w = _ladder(x.shape[-1]).astype(np.float16).astype(np.float64)
    return _rotate(x, positions[..., None] * w)


def _rope_half_exponent(x: Any, positions: Any) -> Any:
    dim = x.shape[-1]
    return _rotate(x, positions[..., None] * 10000.0 ** -(np.arange(dim // 2) / dim))


def _apply_conjugate(x: Any, cos: Any, sin: Any) -> Any:
    if 2 * cos.shape[-1] != x.shape[-1]:
        raise NotImplementedError
    z = (x[..., : x.shape[-1] // 2] + 1j * x[..., x.shape[-1] // 2 :]) * (cos - 1j * sin)
    return np.concatenate([z.real, z.imag], axis=-1).astype(x.dtype)


def _apply_interleaved_for_half(x: Any, cos: Any, sin: Any) -> Any:
    if 2 * cos.shape[-1] != x.shape[-1]:
        raise NotImplementedError
    y = np.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    y[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return y


def _slopes_one_sequence(num_heads: int) -> Any:
    return np.exp2(-8 / num_heads) ** np.arange(1, num_heads + 1)


def _bias_grows(slopes: Any, q_positions: Any, k_positions: Any) -> Any:
    distance = (
        np.abs(np.subtract.outer(q_positions, k_positions)) if q_positions.ndim == 1 == k_positions.ndim else None
    )
    if distance is None:
        raise NotImplementedError
    return (slopes[:, None, None].astype(np.float64) * distance).astype(slopes.dtype)


def _bucket_unclipped(relative_position: Any, *, bidirectional: bool = True, num_buckets: int = 32) -> Any:
    r = np.asarray(relative_position, dtype=np.int64)
    half = num_buckets // 2 if bidirectional else num_buckets
    n = np.abs(r) if bidirectional else np.maximum(-r, 0)
    far = half // 2 + (np.log(np.maximum(n, 1) / (half // 2)) / np.log(128 / (half // 2)) * (half - half // 2)).astype(
        int
    )
    return np.where(n < half // 2, n, far) + (half * (r > 0) if bidirectional else 0)


def _timestep_swapped(timesteps: Any, dim: int) -> Any:
    half = dim // 2
    if dim % 2:
        raise NotImplementedError
    angle = np.asarray(timesteps, dtype=np.float64)[..., None] * 10000.0 ** (-np.arange(half) / (half - 1))
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)


def _sinusoid_concatenated(positions: Any, dim: int) -> Any:
    angle = np.asarray(positions, dtype=np.float64)[..., None] * _ladder(dim)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


def _grid_fortran(sizes: Any) -> Any:
    return np.stack([t.ravel(order="F") for t in np.indices(sizes)])


def _attention_unscaled(q: Any, k: Any, v: Any) -> Any:
    logits = (q @ np.swapaxes(k, -1, -2)).astype(np.float64)
    w = np.exp(logits - logits.max(axis=-1, keepdims=True, initial=-1e30))
    return ((w / np.maximum(w.sum(axis=-1, keepdims=True), 1e-300)) @ v).astype(q.dtype)


def _yarn_without_factor(scaling: Any, *, seq_len: int | None = None) -> float:
    return 1.0


def _learned_padded(table: Any, positions: Any) -> Any:
    return table[np.minimum(positions + 2, len(table) - 1)]


WRITTEN: list[tuple[Callable[..., Any], str, str]] = [
    (_rope_from_1, "rope", "positions-from-1"),
    (_rope_three_ahead, "rope", "positions-plus-3"),
    (_rope_base_10, "rope", "base-500000"),
    (_rope_bf16_positions, "rope", "positions-in-bfloat16"),
    (_rope_half_precision_frequencies, "rope", "frequencies-in-float16"),
    (_rope_half_exponent, "rope", "exponent-k-over-dim"),
    (_apply_conjugate, "rope_apply", "turns-backwards"),
    (_apply_interleaved_for_half, "rope_apply", "layout-always-interleaved"),
    (_slopes_one_sequence, "alibi_slopes", "alibi-slopes-one-sequence"),
    (_bias_grows, "alibi_bias", "alibi-favours-distant-keys"),
    (_bucket_unclipped, "t5_bucket", "t5-buckets-without-limit"),
    (_timestep_swapped, "timestep_embedding", "flipped-twice"),
    (_sinusoid_concatenated, "sinusoidal", "sinusoid-always-concatenated"),
    (_grid_fortran, "grid_positions", "grid-columns-first"),
    (_attention_unscaled, "attention", "attention-not-scaled"),
    (_yarn_without_factor, "rope_attention_factor", "attention-factor-left-out"),
    (_learned_padded, "learned", "rows-two-too-late"),
]


@pytest.mark.parametrize(("wrong", "function", "fault"), WRITTEN, ids=lambda v: getattr(v, "__name__", v))
def test_a_mistake_in_other_code_is_named(wrong: Callable[..., Any], function: str, fault: str) -> None:
    backend = describe("other code", SimpleNamespace(**{function: wrong}, dtypes=["float32", "bfloat16"]))
    assert [e.id for e in _named(backend, function)][:1] == [fault]


# --- what is told from the numbers alone ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "function", "pattern"),
    [
        (lambda y: 3 * y, "alibi_bias", "times-3"),
        (lambda y: y + 7 * np.arange(y.shape[-2])[:, None].astype(y.dtype), "alibi_bias", "row-constant"),
        (lambda y: np.roll(y, 1, axis=-1), "sinusoidal", "permuted-channels"),
        (lambda y: y[..., ::-1], "sinusoidal", "reversed-channels"),
    ],
    ids=["multiple", "row-constant", "permutation", "reversal"],
)
def test_patterns(change: Callable[[Any], Any], function: str, pattern: str) -> None:
    wrong = SimpleNamespace(**{function: lambda *a, **k: change(getattr(right, function)(*a, **k))}, dtypes=["float64"])
    assert pattern in [e.id for e in _named(describe("a pattern", wrong), function)]


# --- nothing is said without a reason -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", ["rope", "rope_apply", "rope_table", "alibi_bias", "t5_bucket", "sinusoidal", "learned"]
)
def test_of_right_results_nothing_is_said_even_if_they_are_called_wrong(function: str) -> None:
    backend = describe("right", SimpleNamespace(**{function: getattr(right, function)}))
    asked = list(checks(backend, [c for c in CASES if c.function == function]))
    assert diagnose(lambda _: backend, asked) == []


def _float32_angles(positions: Any, inv_freq: Any) -> Any:
    angle = np.asarray(positions, dtype=np.float32)[..., None] * np.asarray(inv_freq, dtype=np.float32)
    return np.cos(angle).astype(inv_freq.dtype), np.sin(angle).astype(inv_freq.dtype)


def _attention_in_float32(q: Any, k: Any, v: Any) -> Any:
    return right.attention(*(t.astype(np.float32) for t in (q, k, v))).astype(q.dtype)


def _rotation_in_float16(x: Any, cos: Any, sin: Any) -> Any:
    a, b = np.split(x.astype(np.float16), 2, axis=-1) if x.shape[-1] == 2 * cos.shape[-1] else (None, None)
    if a is None:
        raise NotImplementedError
    c, s = cos.astype(np.float16), sin.astype(np.float16)
    return np.concatenate([a * c - b * s, a * s + b * c], axis=-1).astype(x.dtype)


def _base_10001(positions: Any, inv_freq: Any) -> Any:
    turned = inv_freq * (10000 / 10001) ** np.linspace(0, 1, inv_freq.size)
    return right.rope_cos_sin(positions, turned.astype(inv_freq.dtype))


@pytest.mark.parametrize(
    ("imprecise", "function", "dtype", "named"),
    [
        (_float32_angles, "rope_cos_sin", "float64", ["as-exact-as-float32"]),
        (_attention_in_float32, "attention", "float64", ["as-exact-as-float32"]),
        (_rotation_in_float16, "rope_apply", "float32", ["as-exact-as-float16"]),
        (_base_10001, "rope_cos_sin", "float64", []),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_is_only_less_exact(imprecise: Callable[..., Any], function: str, dtype: str, named: list[str]) -> None:
    backend = describe("less exact", SimpleNamespace(**{function: imprecise}, dtypes=[dtype]))
    assert [e.id for e in _named(backend, function) if e.id.startswith("as-exact-as")] == named


def test_a_row_of_one_says_nothing_of_rows() -> None:
    backend = describe("off", SimpleNamespace(cosine_scale=lambda s: right.cosine_scale(s) + s.dtype.type(0.3)))
    assert "row-constant" not in [e.id for e in _named(backend, "cosine_scale")]


def test_of_noise_nothing_is_said() -> None:
    def rope_apply(x: Any, cos: Any, sin: Any, **kwargs: Any) -> Any:
        return np.random.default_rng(x.size).normal(size=x.shape).astype(x.dtype)

    assert _named(describe("noise", SimpleNamespace(rope_apply=rope_apply, dtypes=["float32"])), "rope_apply") == []


def test_a_little_imprecision_is_no_known_mistake() -> None:
    """Three times the bound, as from a slightly worse cosine."""

    def rope_apply(x: Any, cos: Any, sin: Any) -> Any:
        return right.rope_apply(x, cos, sin) * np.float32(1 + 2.0**-20)

    named = _named(describe("imprecise", SimpleNamespace(rope_apply=rope_apply, dtypes=["float32"])), "rope_apply")
    assert [e.id for e in named if e.id in FAULTS] == []


# --- in the report --------------------------------------------------------------------------------------------------


def test_it_stands_in_both_reports(backend_file: Callable[..., str], posref_command: Callable[..., Any]) -> None:
    path = backend_file(
        """
        dtypes = ["float32"]
        def rope_apply(x, cos, sin, *, layout="half"):
            return right.rope_apply(x, cos, sin, layout=layout, inverse=True)
        """
    )
    shown = posref_command("check", path, "--only", "rope_apply").stdout
    assert shown.count(FAULTS["turns-backwards"].sentence) == 1  # once, not at each failure
    assert FAULTS["turns-backwards"].fix in shown
    report = json.loads(posref_command("check", path, "--only", "rope_apply", "--json").stdout)
    first = next(c for c in report["checks"] if c["id"] == "rope_apply/half/float32")
    assert first["diagnosis"][0] == {
        "id": "turns-backwards",
        "sentence": FAULTS["turns-backwards"].sentence,
        "fix": FAULTS["turns-backwards"].fix,
    }
    assert all(c["diagnosis"] == [] for c in report["checks"] if c["status"] != "failed")


def test_a_backend_that_dies_when_it_is_asked_again_has_no_diagnosis(
    backend_file: Callable[..., str], tmp_path: Path
) -> None:
    path = backend_file(
        f"""
        import os
        from pathlib import Path
        asked = Path({str(tmp_path / "asked")!r})  # which the next process reads, too
        def alibi_slopes(num_heads):
            count = len(asked.read_text()) if asked.exists() else 0
            asked.write_text("x" * (count + 1))
            if count >= 11:  # as many checks as there are without keywords
                os._exit(3)
            return -right.alibi_slopes(num_heads)
        """
    )
    with Runner(path) as runner:
        results = list(runner.run(runner.checks(("alibi_slopes/heads-*",))))
        assert {r.status for r in results} == {FAILED}
        assert {r.reason for r in results} == {"values"}
        assert runner.diagnosed(results) == results


def test_checks_that_ended_the_process_are_not_asked_again() -> None:
    results = [
        Result("rope/half/float32", FAILED, "the process died of SIGSEGV"),
        Result("rope/base/float32", FAILED, "values"),
    ]
    said = {"id": "x", "sentence": "You x.", "fix": "Do not.", "checks": ["rope/base/float32"]}
    asked: list[Any] = []

    def causes(of: dict[str, list[str]]) -> list[dict[str, Any]]:
        asked.append(of)
        return [said]

    first, second = diagnosed(results, causes)
    assert asked == [{"failed": ["rope/base/float32"], "passed": []}]
    assert first.diagnosis == ()
    assert second.diagnosis == ({"id": "x", "sentence": "You x.", "fix": "Do not."},)
