"""The ladder of frequencies: its base, its exponent, its unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import angles, arguments, frequencies, numbers, without
from posref_conformance.faults._fault import Fault, Functions

WITH_BASE = (
    "rope_inv_freq",
    "rope_table",
    "rope",
    "rope_axes_inv_freq",
    "rope_axes_table",
    "pope_apply",
    "sinusoidal",
    "sinusoidal_axes",
    "sandwich_bias",
)


def _of_plain(change: Callable[[Any, Any, int, float], Any]) -> Any:
    """``change(xp, w, dim, base)`` of the plain ladder w; a scaling's quotient to it is kept."""

    def changed(right: Any, xp: Any, dim: int, *, base: float = 10000.0, **scaled: Any) -> Any:
        plain = right.rope_inv_freq(dim, base=base)
        wrong = change(xp, plain, dim, base)
        return (
            wrong if scaled.get("scaling") is None else wrong * (right.rope_inv_freq(dim, base=base, **scaled) / plain)
        )

    return frequencies(changed)


def _ladder(exponent: Callable[[int, int], float]) -> Any:
    """Base ** -exponent(k, dim) for pair k."""
    return _of_plain(lambda xp, w, dim, base: numbers(xp, [base ** -exponent(k, dim) for k in range(dim // 2)]) + 0 * w)


def _base_too(right: Any, xp: Any) -> Functions:
    return {**without(WITH_BASE, "base")(right, xp), **without(("timestep_embedding",), "max_period")(right, xp)}


def _degrees(right: Any, xp: Any) -> Functions:
    by_frequency = angles(lambda xp, p, w: p[..., None] * w * (180 / math.pi))(right, xp)
    return {**by_frequency, **arguments({"rope_mixed_cos_sin": (1,)}, lambda xp, w: w * (180 / math.pi))(right, xp)}


FAULTS = (
    Fault(
        "base-ignored",
        "You use base 10000 whatever base is given.",
        "Pass the model's rope_theta (or max_period) on to where the frequencies are made.",
        "NVIDIA/TransformerEngine issue #849; huggingface/diffusers issue #10111; huggingface/diffusers PR #10115; "
        "google/gemma.cpp issue #986; IDEA-Research/DAB-DETR issue #21",
        _base_too,
    ),
    Fault(
        "exponent-k-over-dim",
        "Your exponent is k/dim for pair k: the frequencies fall half as fast as they should.",
        "Use base ** (-2k/dim), k = 0 .. dim/2 - 1.",
        "pie-project/pie issue #602",
        _ladder(lambda k, dim: k / dim),
    ),
    Fault(
        "exponent-4k-over-dim",
        "Your exponent is 4k/dim for pair k: the frequencies fall twice as fast as they should.",
        "Use base ** (-2k/dim): halve the index of a channel before you double it.",
        "BrianPulfer/PapersReimplementations issue #9",
        _ladder(lambda k, dim: 4 * k / dim),
    ),
    Fault(
        "exponent-by-integers",
        "You divide 2k by dim as integers: all exponents are 0, and all frequencies 1.",
        "Divide as floats.",
        "Kyubyong/transformer PR #81",
        _ladder(lambda k, dim: 2 * k // dim),
    ),
    Fault(
        "exponent-from-1",
        "Your first pair has base ** (-2/dim); it is 1.",
        "Count the pairs from 0.",
        "tutorials",
        _ladder(lambda k, dim: 2 * (k + 1) / dim),
    ),
    Fault(
        "exponent-to-the-end",
        "Your last frequency is exactly 1/base.",
        "Divide 2k by dim, not by dim - 2.",
        "wenet-e2e/wenet PR #2141",
        _ladder(lambda k, dim: k / max(dim // 2 - 1, 1)),
    ),
    Fault(
        "exponent-without-minus",
        "Your frequencies grow: the minus of the exponent is missing.",
        "Use base ** (-2k/dim).",
        "labmlai/annotated_deep_learning_paper_implementations issue #313",
        _ladder(lambda k, dim: -2 * k / dim),
    ),
    Fault(
        "frequencies-reversed",
        "Your frequencies come in the opposite order: the slowest pair first.",
        "Pair 0 turns by one radian per position.",
        "tutorials",
        _of_plain(lambda xp, w, dim, base: xp.flip(w, axis=0)),
    ),
    Fault(
        "frequencies-zero",
        "Your frequencies are 0: a buffer was never filled.",
        "Compute them again after the weights are loaded; a checkpoint does not hold them.",
        "huggingface/transformers issue #45902; pytorch/torchtitan issue #4783",
        _of_plain(lambda xp, w, dim, base: 0 * w),
    ),
    Fault(
        "frequencies-nan",
        "Your frequencies are NaN: a buffer was never filled.",
        "Compute them again after the weights are loaded; a checkpoint does not hold them.",
        "huggingface/transformers issue #45902; pytorch/torchtitan issue #4783",
        _of_plain(lambda xp, w, dim, base: w * math.nan),
    ),
    Fault(
        "wavelengths-for-frequencies",
        "You take wavelengths for frequencies.",
        "The angle is position / base ** (2k/dim), in radians; the wavelength is 2 pi over the frequency.",
        "ml-explore/mlx-examples PR #907",
        _of_plain(lambda xp, w, dim, base: 2 * math.pi / w),
    ),
    Fault(
        "a-turn-too-much",
        "You multiply the angles by 2 pi.",
        "Frequencies are radians per position.",
        "tutorials",
        _of_plain(lambda xp, w, dim, base: 2 * math.pi * w),
    ),
    Fault(
        "degrees-for-radians",
        "You take cos and sin of degrees, or convert radians once too often.",
        "Angles are radians.",
        "tutorials",
        _degrees,
    ),
    Fault(
        "ladder-of-128-channels",
        "You make the frequencies of 128 channels and take the first of them.",
        "Divide by the channels that rotate.",
        "tutorials",
        _ladder(lambda k, dim: 2 * k / 128),
    ),
)
