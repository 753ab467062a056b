"""The direction of the rotation, and the two formulas of a pair."""

from __future__ import annotations

from typing import Any

from posref_conformance.faults._change import ROTATIONS, arguments, keywords, pairwise, rotation, tables, without
from posref_conformance.faults._fault import Fault, Functions


def _backwards(right: Any, xp: Any) -> Functions:
    turned = keywords(ROTATIONS, lambda k: {**k, "inverse": not k.get("inverse", False)})(right, xp)
    of_minus = tables(lambda xp, cos, sin: (cos, -sin))(right, xp)
    of_minus.pop("rope")
    channels = arguments({"rope_apply_channels": (2,)}, lambda xp, sin: -sin)(right, xp)
    scores = arguments({"rope_scores": (2,)}, lambda xp, distances: -distances)(right, xp)
    return {**of_minus, **turned, **channels, **scores}


def _exchanged(right: Any, xp: Any) -> Functions:
    def rope_apply(x: Any, cos: Any, sin: Any, **kwargs: Any) -> Any:
        return right.rope_apply(x, sin, cos, **kwargs)

    return {**tables(lambda xp, cos, sin: (sin, cos))(right, xp), "rope_apply": rope_apply}


def _twice(right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0) -> Any:
    once = right.rope_apply(x, cos, sin, layout=layout, offset=offset)
    return right.rope_apply(once, cos, sin, layout=layout, offset=offset)


def _unrotated(right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0) -> Any:
    return xp.asarray(x, copy=True)


def _undone(right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, inverse: bool = False, **kwargs: Any) -> Any:
    if inverse:
        size = xp.astype(cos, xp.float64) ** 2 + xp.astype(sin, xp.float64) ** 2
        cos, sin = (xp.astype(t / size, cos.dtype) for t in (cos, sin))
    return right.rope_apply(x, cos, sin, inverse=inverse, **kwargs)


FAULTS = (
    Fault(
        "turns-backwards",
        "You rotate by minus the angle.",
        "Negate sin: (a, b) becomes (a cos - b sin, a sin + b cos).",
        "karpathy/nanochat PR #489; trymirai/lalamo PR #268",
        _backwards,
    ),
    Fault(
        "inverse-ignored",
        "You rotate forward where the inverse is asked for.",
        "Negate sin for the inverse.",
        "trymirai/lalamo PR #268",
        without(ROTATIONS, "inverse"),
    ),
    Fault(
        "minus-in-both",
        "You subtract in both formulas of a pair.",
        "The second member is a sin + b cos.",
        "trymirai/lalamo PR #268",
        pairwise(lambda a, b, c, s: (a * c - b * s, b * c - a * s)),
    ),
    Fault(
        "plus-in-both",
        "You add in both formulas of a pair.",
        "The first member is a cos - b sin.",
        "trymirai/lalamo PR #268",
        pairwise(lambda a, b, c, s: (a * c + b * s, a * s + b * c)),
    ),
    Fault(
        "first-member-for-both",
        "You compute both members of a pair from the first one.",
        "The second member is a sin + b cos.",
        "tutorials",
        pairwise(lambda a, b, c, s: (a * c - b * s, a * c + b * s)),
    ),
    Fault(
        "second-member-for-both",
        "You compute both members of a pair from the second one.",
        "The first member is a cos - b sin.",
        "tutorials",
        pairwise(lambda a, b, c, s: (b * c - a * s, b * c + a * s)),
    ),
    Fault(
        "each-with-itself",
        "You multiply each member with cos and sin of its own: the partner is left out.",
        "Bring the partner with rotate_half: (a, b) becomes (-b, a) before it meets sin.",
        "tutorials",
        pairwise(lambda a, b, c, s: (a * c - a * s, b * c + b * s)),
    ),
    Fault(
        "sin-term-left-out",
        "You multiply with cos and leave out the term with sin.",
        "Add rotate_half(x) sin to x cos.",
        "NVIDIA/ngpt issue #10",
        pairwise(lambda a, b, c, s: (a * c, b * c)),
    ),
    Fault(
        "second-from-the-new-first",
        "You compute the second member of a pair from the first one that is already rotated.",
        "Keep the old value of the first member until both are computed.",
        "unslothai/unsloth issue #5001",
        pairwise(lambda a, b, c, s: (a * c - b * s, (a * c - b * s) * s + b * c)),
    ),
    Fault(
        "cos-and-sin-exchanged",
        "You take cos for sin and sin for cos.",
        "Return and unpack the tables in the order cos, sin.",
        "flashinfer-ai/flashinfer PR #3819",
        _exchanged,
    ),
    Fault(
        "rotated-twice",
        "You rotate twice.",
        "Rotate a cached key no second time, and divide out no factor before the kernel does.",
        "ggml-org/ggml issue #835",
        rotation(_twice),
    ),
    Fault(
        "not-rotated",
        "You return x as it is.",
        "Make the tables anew where they are missing, and fail where that cannot be.",
        "sgl-project/sglang PR #33575; huggingface/transformers PR #37344; NVIDIA/TensorRT-LLM PR #3382",
        rotation(_unrotated),
    ),
    Fault(
        "inverse-undoes-the-factor",
        "You divide by cos^2 + sin^2 in the inverse.",
        "The inverse is the transpose: an attention factor stays on it.",
        "tutorials",
        rotation(_undone),
    ),
)
