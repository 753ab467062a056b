"""The factor that a scaling puts on cos and sin, and DeepSeek's on the softmax."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import factor, keywords, replaced, results
from posref_conformance.faults._fault import Fault, Functions


def _of_given(change: Callable[[float, float], float]) -> Any:
    """YaRN whose given factor a is replaced by change(a, computed)."""

    def changed(right: Any, scaling: Any, seq_len: int | None) -> float:
        given = getattr(scaling, "attention_factor", None)
        if given is None or type(scaling).__name__ != "YarnScaling":
            return float(right.rope_attention_factor(scaling, seq_len=seq_len))
        computed = right.rope_attention_factor(dataclasses.replace(scaling, attention_factor=None), seq_len=seq_len)
        return change(float(given), float(computed))

    return factor(changed)


def _of_own(change: Callable[[float, Any], float], *kinds: str) -> Any:
    """The scaling's own factor replaced by change(own, scaling)."""

    def changed(right: Any, scaling: Any, seq_len: int | None) -> float:
        own = float(right.rope_attention_factor(scaling, seq_len=seq_len))
        return change(own, scaling) if scaling is not None and (not kinds or type(scaling).__name__ in kinds) else own

    return factor(changed)


def _decimal_logarithm(own: float, s: Any) -> float:
    plain = s.attention_factor is None and s.mscale_all_dim is None
    return 1 + (own - 1) / math.log(10) if plain else own


def _of_the_new_length(own: float, s: Any) -> float:
    if s.attention_factor is not None or s.factor is None or s.factor <= 1:
        return own
    return math.sqrt(1 + math.log(s.factor) / math.log(s.factor * s.original_max_position_embeddings))


def _mscale_ignored(right: Any, scaling: Any, seq_len: int | None) -> float:
    if type(scaling).__name__ == "YarnScaling":
        scaling = dataclasses.replace(scaling, mscale=None, mscale_all_dim=None)
    return float(right.rope_attention_factor(scaling, seq_len=seq_len))


def _only_for_halves(right: Any, xp: Any) -> Functions:
    def rope(x: Any, positions: Any, *, layout: str = "half", **kwargs: Any) -> Any:
        y = right.rope(x, positions, layout=layout, **kwargs)
        factor = right.rope_attention_factor(kwargs.get("scaling"), seq_len=kwargs.get("seq_len"))
        return y if layout == "half" else xp.astype(y / factor, x.dtype)

    return {"rope": rope}


def _on_cos_alone(right: Any, xp: Any) -> Functions:
    def rope_cos_sin(positions: Any, inv_freq: Any, *, attention_factor: float = 1.0) -> Any:
        cos, _ = right.rope_cos_sin(positions, inv_freq, attention_factor=attention_factor)
        return cos, right.rope_cos_sin(positions, inv_freq)[1]

    return {"rope_cos_sin": rope_cos_sin}


def _softmax_unsquared(right: Any, xp: Any) -> Any:
    return lambda scaling: math.sqrt(right.rope_softmax_factor(scaling))


FAULTS = (
    Fault(
        "attention-factor-left-out",
        "You leave the scaling's own factor off cos and sin.",
        "Multiply both by it: YaRN's is 0.1 ln(factor) + 1 unless the config says otherwise.",
        "GaijinEntertainment/daScript PR #3479; ggml-org/llama.cpp PR #18006; ggml-org/llama.cpp PR #3974; "
        "lablup/mlxcel issue #1358",
        factor(lambda right, scaling, n: 1.0),
    ),
    Fault(
        "attention-factor-squared",
        "You apply the scaling's factor on cos and sin twice.",
        "Multiply once; on queries and keys it then appears squared in the scores, as it should.",
        "sgl-project/sglang PR #33558",
        _of_own(lambda own, s: own * own),
    ),
    Fault(
        "attention-factor-rooted",
        "You put the square root of the scaling's factor on cos and sin.",
        "The factor is for cos and sin; it is not meant for the scores.",
        "tutorials",
        _of_own(lambda own, s: math.sqrt(own)),
    ),
    Fault(
        "attention-factor-inverted",
        "You divide cos and sin by the scaling's factor.",
        "Multiply by it.",
        "tutorials",
        _of_own(lambda own, s: 1 / own),
    ),
    Fault(
        "attention-factor-zero",
        "Your factor on cos and sin is 0 where the file has none.",
        "An absent key means 0.1 ln(factor) + 1, not 0.",
        "ggml-org/llama.cpp PR #18006; ggml-org/llama.cpp issue #18004",
        _of_own(lambda own, s: 0.0 if s.attention_factor is None else own, "YarnScaling"),
    ),
    Fault(
        "attention-factor-log10",
        "You take the decimal logarithm in YaRN's factor on cos and sin.",
        "It is 0.1 ln(factor) + 1, with the natural logarithm.",
        "YaRN (2309.00071), sec. 3.4",
        _of_own(_decimal_logarithm, "YarnScaling"),
    ),
    Fault(
        "attention-factor-of-the-new-length",
        "You divide by the logarithm of the extended length in LongRoPE's factor.",
        "It is sqrt(1 + ln(factor) / ln(original length)).",
        "LongRoPE (2402.13753)",
        _of_own(_of_the_new_length, "LongRopeScaling"),
    ),
    Fault(
        "given-factor-times-own",
        "You multiply the given attention factor by the one that YaRN computes.",
        "A given attention_factor is final.",
        "sgl-project/sglang PR #33558",
        _of_given(lambda given, own: given * own),
    ),
    Fault(
        "given-factor-scaled-again",
        "You use the given attention factor for mscale in 0.1 mscale ln(factor) + 1.",
        "A given attention_factor is final.",
        "NVIDIA/TensorRT-LLM PR #16379",
        _of_given(lambda given, own: 1 + given * (own - 1)),
    ),
    Fault(
        "given-factor-ignored",
        "You compute YaRN's factor though attention_factor is given.",
        "A given attention_factor is final.",
        "NVIDIA/TensorRT-LLM PR #16379",
        _of_given(lambda given, own: own),
    ),
    Fault(
        "mscale-ignored",
        "You ignore mscale and mscale_all_dim.",
        "The factor is the quotient of both logarithmic factors.",
        "vllm-project/vllm PR #48623; vllm-project/vllm issue #48621; turboderp-org/exllamav3 issue #259",
        factor(_mscale_ignored),
    ),
    Fault(
        "attention-factor-for-halves-alone",
        "You apply the scaling's factor for half layout alone.",
        "Apply it for interleaved pairs, too.",
        "GaijinEntertainment/daScript PR #3479",
        _only_for_halves,
    ),
    Fault(
        "factor-on-cos-alone",
        "You multiply cos by the attention factor and not sin.",
        "Multiply both.",
        "GaijinEntertainment/daScript PR #3479",
        _on_cos_alone,
    ),
    Fault(
        "table-factor-ignored",
        "You ignore the attention factor that is given with a table.",
        "Multiply cos and sin by it.",
        "GaijinEntertainment/daScript PR #3479",
        keywords(
            ("rope_cos_sin", "rope_axes_cos_sin"),
            lambda k: {name: value for name, value in k.items() if name != "attention_factor"},
        ),
    ),
    Fault(
        "table-factor-squared",
        "You multiply the table by its attention factor twice.",
        "Multiply once.",
        "sgl-project/sglang PR #33558",
        keywords(
            ("rope_cos_sin", "rope_axes_cos_sin"),
            lambda k: {n: v**2 if n == "attention_factor" else v for n, v in k.items()},
        ),
    ),
    Fault(
        "softmax-factor-left-out",
        "You leave out the factor on the softmax scale.",
        "Multiply the scale by (0.1 mscale_all_dim ln(factor) + 1) ** 2.",
        "onnxruntime/mobius PR #548; huggingface/transformers PR #47435",
        results(("rope_softmax_factor",), lambda xp, y: 1.0),
    ),
    Fault(
        "softmax-factor-not-squared",
        "Your factor on the softmax scale is not squared.",
        "Square it: it stands for the factor on queries and on keys.",
        "onnxruntime/mobius PR #548; huggingface/transformers PR #47435",
        replaced(rope_softmax_factor=_softmax_unsquared),
    ),
)
