"""Which channels make a pair, and in which order they come back."""

from __future__ import annotations

from typing import Any

from posref_conformance.faults._change import (
    LAYOUTS,
    ROTATIONS,
    always,
    keywords,
    members,
    replaced,
    rotation,
    tables,
    without,
)
from posref_conformance.faults._fault import Fault

OTHER = {"half": "interleaved", "interleaved": "half"}


def _swapped(k: dict[str, Any]) -> dict[str, Any]:
    swapped = {**k, "layout": OTHER[k.get("layout", "half")]}
    if k.get("output_layout"):
        swapped["output_layout"] = OTHER[k["output_layout"]]
    return swapped


def _halves_in_interleaved_out(k: dict[str, Any]) -> dict[str, Any]:
    return k if "output_layout" in k or k.get("layout") == "interleaved" else {**k, "output_layout": "interleaved"}


def _table_of_other_layout(
    right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0
) -> Any:
    def widened(t: Any) -> Any:
        return xp.repeat(t, 2, axis=-1) if layout == "half" else xp.concat([t, t], axis=-1)

    return right.rope_apply_channels(x, widened(cos), widened(sin), layout=layout, offset=offset)


def _chunked(xp: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    packed = xp.reshape(xp.stack([sin, cos], axis=-1), (*cos.shape[:-1], 2 * cos.shape[-1]))
    return packed[..., cos.shape[-1] :], packed[..., : cos.shape[-1]]


def _first_half_for_both(right: Any, xp: Any) -> Any:
    def rope_apply_channels(x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0) -> Any:
        first, _ = members(cos.shape[-1] // 2, layout)
        return right.rope_apply(x, cos[..., first], sin[..., first], layout=layout, offset=offset)

    return rope_apply_channels


def _mirrored(right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, offset: int = 0, inverse: bool = False) -> Any:
    second = slice(offset + cos.shape[-1], offset + 2 * cos.shape[-1])

    def turned_round(y: Any) -> Any:
        y = xp.asarray(y, copy=True)
        y[..., second] = xp.flip(y[..., second], axis=-1)
        return y

    return turned_round(right.rope_apply(turned_round(x), cos, sin, offset=offset, inverse=inverse))


def _exchanged(
    right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0, inverse: bool = False
) -> Any:
    y = right.rope_apply(x, cos, sin, layout=layout, offset=offset, inverse=inverse)
    first, second = members(cos.shape[-1], layout, offset)
    z = xp.asarray(y, copy=True)
    z[..., first], z[..., second] = y[..., second], y[..., first]
    return z


FAULTS = (
    Fault(
        "layout-always-half",
        "You pair channel i with i + pairs where neighbouring channels are pairs.",
        "Follow the layout of the weights: pair 2i with 2i + 1 for 'interleaved'.",
        "vllm-project/vllm PR #49323; vllm-project/vllm issue #49290; vllm-project/vllm-ascend PR #12820; "
        "sgl-project/sglang PR #13495; xLLM-AI/xllm PR #853",
        always(LAYOUTS, layout="half"),
    ),
    Fault(
        "layout-always-interleaved",
        "You pair neighbouring channels where channel i belongs to i + pairs.",
        "Follow the layout of the weights: pair i with i + pairs for 'half'.",
        "huggingface/candle issue #3410; ml-explore/mlx-examples issue #170",
        always(LAYOUTS, layout="interleaved"),
    ),
    Fault(
        "layouts-exchanged",
        "You rotate halves where pairs are interleaved, and interleaved pairs where they are halves.",
        "Negate the flag: 'half' is NeoX (rotate_half), 'interleaved' is GPT-J and RoFormer.",
        "ml-explore/mlx-examples issue #170",
        keywords(LAYOUTS, _swapped),
    ),
    Fault(
        "halves-in-interleaved-out",
        "You rotate the halves and return the pairs interleaved.",
        "Put each pair back where it came from.",
        "vllm-project/vllm-metal PR #44",
        keywords(ROTATIONS, _halves_in_interleaved_out),
    ),
    Fault(
        "output-layout-ignored",
        "You write the pairs in the layout that they came in, though another one was asked for.",
        "Write the pairs in output_layout.",
        "vllm-project/vllm-metal PR #44",
        without(ROTATIONS, "output_layout"),
    ),
    Fault(
        "table-of-the-other-layout",
        "You repeat cos and sin for one layout of the pairs and rotate in the other.",
        "Repeat each column over both halves for 'half', twice side by side for 'interleaved'.",
        "raiyanyahya/how-to-train-your-gpt issue #6; raiyanyahya/how-to-train-your-gpt PR #7",
        rotation(_table_of_other_layout),
    ),
    Fault(
        "table-split-in-halves",
        "You take an alternating table of sin and cos apart in halves.",
        "Take its even and its odd columns.",
        "NVIDIA/ngpt issue #10",
        tables(_chunked),
    ),
    Fault(
        "first-half-of-the-table-for-both",
        "You read one half of cos and sin and use it for both members of the pairs.",
        "Read the column of each channel: here the members of a pair have angles of their own.",
        "Tencent/ncnn issue #6833",
        replaced(rope_apply_channels=_first_half_for_both),
    ),
    Fault(
        "pairs-mirrored",
        "You pair the first channel with the last, the second with the last but one.",
        "Pair i with i + pairs.",
        "ml-explore/mlx-examples issue #170",
        rotation(_mirrored),
    ),
    Fault(
        "members-exchanged",
        "You return the second members of the pairs in the places of the first.",
        "Return (a cos - b sin, a sin + b cos), in this order.",
        "vllm-project/vllm-metal PR #44",
        rotation(_exchanged),
    ),
)
