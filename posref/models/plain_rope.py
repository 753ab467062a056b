"""Families that rotate queries and keys of every layer alike, all of a head or its first channels."""

from __future__ import annotations

from dataclasses import dataclass, field

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.records import Encoding
from posref.models.rope import RopeKeys, read_parameters, rope_encoding


@dataclass(frozen=True)
class PlainRope:
    """Reads one such family. The defaults are those of transformers' class for it."""

    keys: RopeKeys = field(default_factory=RopeKeys)
    layout: str = "half"
    head_dim: int | None = None  # None: hidden_size // num_attention_heads

    def __call__(self, config: Block, seq_len: int | None) -> list[Encoding]:
        """The one encoding of such a model."""
        rope = read_parameters(config, self.keys)
        channels = shape.head_dim(config, self.head_dim)
        return [
            rope_encoding(
                config,
                rope,
                head_dim=channels,
                rotary_dim=_rotated(channels, rope.partial),
                layers=shape.layers(config),
                seq_len=seq_len,
                layout=self.layout,
            )
        ]


def _rotated(channels: int | None, partial: float | None) -> int | None:
    """The channels that rotate, rounded down as transformers does: int(0.334 * 192) is 64."""
    if channels is None or partial is None:
        return channels
    return int(channels * partial)


GPT_OSS_BLOCK = {
    "rope_type": "yarn",
    "factor": 32.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_max_position_embeddings": 4096,
}

LLAMA3_BLOCK = {
    "rope_type": "llama3",
    "factor": 8.0,
    "original_max_position_embeddings": 8192,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}

# model_type -> its reader
FAMILIES: dict[str, Reader] = {
    "apertus": PlainRope(RopeKeys(base=12e6, block=LLAMA3_BLOCK)),
    "arcee": PlainRope(),
    "bitnet": PlainRope(RopeKeys(base=500000.0)),
    "cohere": PlainRope(RopeKeys(base=500000.0), layout="interleaved"),
    "cwm": PlainRope(RopeKeys(base=1e6, block={**LLAMA3_BLOCK, "factor": 16.0}), head_dim=128),
    "diffllama": PlainRope(),
    "dots1": PlainRope(),
    "ernie4_5": PlainRope(RopeKeys(base=500000.0), layout="interleaved", head_dim=128),
    "ernie4_5_moe": PlainRope(RopeKeys(base=500000.0), layout="interleaved"),
    "flex_olmo": PlainRope(RopeKeys(base=500000.0)),
    "gemma": PlainRope(head_dim=256),
    "gemma2": PlainRope(head_dim=256),
    "glm": PlainRope(RopeKeys(partial=0.5), layout="interleaved", head_dim=128),
    "glm4": PlainRope(RopeKeys(partial=0.5), layout="interleaved", head_dim=128),
    "glm4_moe": PlainRope(RopeKeys(partial=0.5)),
    "gpt_neox": PlainRope(RopeKeys(base_key="rotary_emb_base", partial=0.25, partial_key="rotary_pct")),
    "gpt_oss": PlainRope(RopeKeys(base=150000.0, block=GPT_OSS_BLOCK), head_dim=64),
    "granite": PlainRope(),
    "granitemoe": PlainRope(),
    "granitemoeshared": PlainRope(),
    "helium": PlainRope(RopeKeys(base=100000.0), layout="interleaved", head_dim=128),
    "hyperclovax": PlainRope(),
    "jais2": PlainRope(),
    "llama": PlainRope(),
    "ministral": PlainRope(),
    "mistral": PlainRope(),
    "mixtral": PlainRope(RopeKeys(base=1e6)),
    "nemotron": PlainRope(RopeKeys(partial=0.5)),
    "olmo": PlainRope(),
    "olmo2": PlainRope(),
    "olmoe": PlainRope(),
    "persimmon": PlainRope(RopeKeys(partial=0.5)),
    "phi": PlainRope(RopeKeys(partial=0.5)),
    "phi3": PlainRope(RopeKeys(partial=1.0, original=4096, older_types={"su": "longrope", "yarn": "longrope"})),
    "qwen2": PlainRope(),
    "qwen2_moe": PlainRope(),
    "qwen3": PlainRope(head_dim=128),
    "qwen3_moe": PlainRope(),
    "seed_oss": PlainRope(head_dim=128),
    "stablelm": PlainRope(RopeKeys(partial=0.25)),
    "starcoder2": PlainRope(),
    "vaultgemma": PlainRope(head_dim=256),
}
