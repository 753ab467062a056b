"""Types that are too narrow: for positions, frequencies, angles, tables, sums."""

from __future__ import annotations

from typing import Any

from posref_conformance.faults._change import (
    ABSOLUTE,
    ROTATIONS,
    angles,
    arguments,
    frequencies,
    narrow,
    positions,
    rotation,
    tables,
)
from posref_conformance.faults._fault import Fault, Functions

INTO_16 = {n: i for n, i in ABSOLUTE.items() if n not in ("ssmax_scale", "fope_cos_sin")}  # whose positions are large


def _frequencies_in(dtype: str) -> Any:
    def wrong(right: Any, xp: Any) -> Functions:
        own = frequencies(lambda right, xp, dim, **k: narrow(xp, right.rope_inv_freq(dim, **k), dtype))(right, xp)
        given = ("rope_cos_sin", "rope_axes_cos_sin", "rope_mixed_cos_sin")
        return {**own, **arguments(dict.fromkeys(given, (1,)), lambda xp, w: narrow(xp, w, dtype))(right, xp)}

    return wrong


def _angles_in(dtype: str, *, of_narrow: bool = False) -> Any:
    def angle(xp: Any, p: Any, w: Any) -> Any:
        if of_narrow:
            p, w = narrow(xp, p, dtype), narrow(xp, w, dtype)
        return narrow(xp, p[..., None] * w, dtype)

    return angles(angle)


def _rotation_in(dtype: str) -> Any:
    def change(
        right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0, inverse: bool = False
    ) -> Any:
        x, cos, sin = (narrow(xp, t, dtype) for t in (x, cos, sin))
        return narrow(xp, right.rope_apply(x, cos, sin, layout=layout, offset=offset, inverse=inverse), dtype)

    return rotation(change)


def _results_in(dtype: str, *names: str) -> Any:
    def wrong(right: Any, xp: Any) -> Functions:
        def make(name: str) -> Any:
            f = getattr(right, name)
            return lambda *args, **kwargs: narrow(xp, f(*args, **kwargs), dtype)

        return {name: make(name) for name in names}

    return wrong


def _another_type(xp: Any) -> Any:
    return lambda y: xp.astype(y, xp.float16 if y.dtype != xp.float16 else xp.float32)


def _type_of_result(right: Any, xp: Any) -> Functions:
    def make(name: str) -> Any:
        f = getattr(right, name)

        def function(x: Any, *args: Any, **kwargs: Any) -> Any:
            y = f(x, *args, **kwargs)
            return xp.astype(y, xp.float32 if x.dtype != xp.float32 else xp.float64)

        return function

    return {name: make(name) for name in (*ROTATIONS, "attention")}


ROUND = "Compute positions, frequencies and angles in float32 or wider; round after cos and sin."
FAULTS = (
    Fault(
        "positions-in-bfloat16",
        "You keep positions in bfloat16: 257 is 256 there.",
        "Keep them as integers or in float32, and keep autocast away from them.",
        "EleutherAI/gpt-neox PR #1016; nkalyanv99/UNI-D2 PR #6; pytorch/pytorch issue #137774; huggingface/diffusers issue "
        "#13920; huggingface/diffusers PR #13922",
        positions(lambda xp, p: narrow(xp, p, "bfloat16"), INTO_16),
    ),
    Fault(
        "bias-positions-in-bfloat16",
        "You keep the positions of queries and keys in bfloat16: 257 is 256 there.",
        "Subtract them as integers or in float32; round the bias, not the distance.",
        "EleutherAI/gpt-neox PR #1016",
        positions(lambda xp, p: narrow(xp, p, "bfloat16"), {"alibi_bias": (1, 2), "t5_bias": (1, 2)}),
    ),
    Fault(
        "positions-in-float16",
        "You keep positions in float16: 2049 is 2048 there.",
        "Keep them as integers or in float32.",
        "EleutherAI/gpt-neox PR #1016",
        positions(lambda xp, p: narrow(xp, p, "float16"), INTO_16),
    ),
    Fault(
        "positions-in-float32",
        "You keep positions in float32 where more was given: 16777217 is 16777216 there.",
        "Keep integers as integers until they meet a float64 frequency.",
        "pytorch/pytorch issue #137774",
        positions(lambda xp, p: narrow(xp, p, "float32"), {"rope_cos_sin": (0,), "llama4_scale": (0,)}),
    ),
    Fault(
        "frequencies-in-bfloat16",
        "Your frequencies went through bfloat16.",
        ROUND,
        "sgl-project/sglang-jax issue #1472; Modalities/modalities PR #462; huggingface/transformers issue #28685",
        _frequencies_in("bfloat16"),
    ),
    Fault(
        "frequencies-in-float16",
        "Your frequencies went through float16.",
        ROUND,
        "sgl-project/sglang-jax issue #1472",
        _frequencies_in("float16"),
    ),
    Fault(
        "angles-in-bfloat16",
        "Your angles are rounded to bfloat16.",
        ROUND,
        "huggingface/transformers PR #29285",
        _angles_in("bfloat16"),
    ),
    Fault(
        "angles-in-float16",
        "Your angles are rounded to float16.",
        ROUND,
        "huggingface/transformers PR #29285",
        _angles_in("float16"),
    ),
    Fault(
        "angles-under-autocast",
        "You let autocast make positions, frequencies and their product bfloat16.",
        "Switch autocast off around it, or multiply elementwise in float32.",
        "huggingface/transformers PR #29285; huggingface/diffusers issue #13920; huggingface/diffusers PR #13922",
        _angles_in("bfloat16", of_narrow=True),
    ),
    Fault(
        "tables-in-bfloat16",
        "Your cos and sin went through bfloat16.",
        "Keep tables in float32, also where x is bfloat16.",
        "Dao-AILab/flash-attention issue #823",
        tables(lambda xp, cos, sin: (narrow(xp, cos, "bfloat16"), narrow(xp, sin, "bfloat16"))),
    ),
    Fault(
        "tables-in-float16",
        "Your cos and sin went through float16.",
        "Keep tables in float32.",
        "Dao-AILab/flash-attention issue #823",
        tables(lambda xp, cos, sin: (narrow(xp, cos, "float16"), narrow(xp, sin, "float16"))),
    ),
    Fault(
        "rotation-in-bfloat16",
        "You rotate in bfloat16, though x is wider.",
        "Rotate in x's type or wider.",
        "Dao-AILab/flash-attention issue #823",
        _rotation_in("bfloat16"),
    ),
    Fault(
        "bias-in-bfloat16",
        "Your bias went through bfloat16, though the slopes or the table are wider.",
        "Compute it in the type of slopes and table or wider.",
        "mindspore-lab/mindone PR #670",
        _results_in("bfloat16", "alibi_bias", "t5_bias"),
    ),
    Fault(
        "slopes-in-bfloat16",
        "Your slopes went through bfloat16.",
        "Keep them in float32: beyond powers of two they have no short form.",
        "mindspore-lab/mindone PR #670",
        _results_in("bfloat16", "alibi_slopes"),
    ),
    Fault(
        "scales-in-bfloat16",
        "Your factor on the logits went through bfloat16.",
        "Compute it in float32 or wider.",
        "mindspore-lab/mindone PR #670",
        _results_in("bfloat16", "log_n_scale", "llama4_scale", "xpos_scale"),
    ),
    Fault(
        "embedding-in-bfloat16",
        "Your embedding went through bfloat16.",
        "Compute it in float32; cast it when it is added.",
        "sgl-project/sglang-jax issue #1472",
        _results_in("bfloat16", "sinusoidal", "timestep_embedding"),
    ),
    Fault(
        "another-type-comes-back",
        "Your result has another type than x.",
        "Cast it to x's type.",
        "Dao-AILab/flash-attention issue #823",
        _type_of_result,
    ),
)
