"""Multi-head latent attention (DeepSeek): a head has channels without position, then channels that rotate."""

from __future__ import annotations

import math
from dataclasses import dataclass

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.records import Encoding
from posref.models.rope import RopeKeys, RopeParameters, read_parameters, rope_encoding


@dataclass(frozen=True)
class MLA:
    """Reads one such family; the sizes are the defaults of transformers' class for it."""

    nope: int = 128
    rope: int = 64
    output_layout: str = "half"
    switch: bool = True  # rope_interleave, which transformers added for weights that were saved in the other order

    def __call__(self, config: Block, seq_len: int | None) -> list[Encoding]:
        """The one encoding of such a model."""
        parameters = read_parameters(config, RopeKeys())
        nope = config.integer_or("qk_nope_head_dim", self.nope, most=shape.MOST_CHANNELS)
        rope = config.integer_or("qk_rope_head_dim", self.rope, most=shape.MOST_CHANNELS)
        interleaved = True
        if self.switch and config.raw("rope_interleave") is not None:  # most files lack it
            interleaved = config.boolean_or("rope_interleave", True)
        return [
            rope_encoding(
                config,
                parameters,
                head_dim=nope + rope,
                rotary_dim=rope,
                offset=nope,
                layers=shape.layers(config),
                seq_len=seq_len,
                layout="interleaved" if interleaved else "half",
                output_layout=self.output_layout if interleaved else "half",
                part="mla",
                softmax_factor=softmax_factor(parameters),
            )
        ]


def softmax_factor(rope: RopeParameters) -> float:
    """On the whole logit: g(mscale_all_dim) ** 2, with g(m) = 0.1 m ln s + 1 where the factor s > 1, and 1 otherwise.

    Source: DeepSeek-V2 (2405.04434) and its released code; transformers' DeepseekV3Attention.
    """
    if rope.scaling is None:
        return 1.0
    mscale, factor = rope.block.number("mscale_all_dim", least=0), rope.scaling.factor
    if not mscale or factor is None or factor <= 1:
        return 1.0
    g = 0.1 * mscale * math.log(factor) + 1
    if not math.isfinite(g * g):
        raise ValueError(f"{rope.block.name('mscale_all_dim')} must leave finite logits, got {mscale:g}")
    return g * g


FAMILIES: dict[str, Reader] = {
    "deepseek_v2": MLA(output_layout="interleaved", switch=False),
    "deepseek_v3": MLA(),
    "kimi_k2": MLA(),  # to transformers, and in its own code, a DeepSeek-V3
}
