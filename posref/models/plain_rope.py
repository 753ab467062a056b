"""Families with one rotation: of all layers or those of one kind, and of a whole head or its first channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from posref._arguments import LARGEST_POSITION
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.axes import MRope
from posref.models.records import Encoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import RopeKeys, RopeParameters, read_parameters
from posref.models.scalings import BY_ALPHA, PHIMOE


@dataclass(frozen=True)
class PlainRope:
    """Reads one such family. The defaults are those of transformers' class for it.

    Parameters
    ----------
    head_dim
        The default; None is hidden_size // num_attention_heads.
    kinds, rotating
        Which layers there are, and of which kinds those are that rotate; without a rule, all layers do.
    channels
        How the width of a head is found, where that is another way.
    rotary_dim_key
        A key for the channels that rotate, which counts where there is no factor for them.
    """

    keys: RopeKeys = field(default_factory=RopeKeys)
    layout: str = "half"
    head_dim: int | None = None
    kinds: shape.KindRule | None = None
    rotating: Sequence[str] = (shape.FULL, shape.SLIDING)
    mrope: MRope | None = None
    inverse: bool = False
    channels: Callable[[Block], int | None] | None = None
    rotary_dim_key: str | None = None

    def __call__(self, config: Block) -> list[Encoding]:
        """The rotation, and what stands beside it."""
        rope = read_parameters(config, self.keys)
        channels = shape.head_dim(config, self.head_dim) if self.channels is None else self.channels(config)
        layers = self._layers(config)
        beside = self._beside(config, rope, layers)
        encoding = rope_encoding(
            config,
            rope,
            head_dim=channels,
            rotary_dim=self._rotary_dim(config, rope, channels),
            layers=layers,
            layout=self.layout,
            mrope=self.mrope,
            inverse=self.inverse,
        )
        return [encoding, *beside]

    def _beside(self, config: Block, rope: RopeParameters, layers: tuple[int, ...] | None) -> list[Encoding]:
        """What such a model has beside its rotation: nothing."""
        return []

    def _rotary_dim(self, config: Block, rope: RopeParameters, channels: int | None) -> int | None:
        told = None
        if self.rotary_dim_key is not None:
            told = config.integer(self.rotary_dim_key, most=shape.MOST_CHANNELS)
        by_factor = rotated(channels, rope.partial)
        if told is None or told == by_factor:
            return by_factor
        partial_key = self.keys.partial_key or "partial_rotary_factor"
        if any(block.raw(partial_key) is not None for block in (rope.block, config)):
            name = config.name(self.rotary_dim_key or "")
            config.note("contradictory", f"{name} {told} and {partial_key} {rope.partial:g}; the latter is used")
            return by_factor
        return told

    def _layers(self, config: Block) -> tuple[int, ...] | None:
        if self.kinds is None:
            return shape.layers(config)
        kinds = shape.layer_kinds(config, self.kinds)
        shape.note_nope(config, kinds, self.rotating)
        return shape.of_kind(kinds, *self.rotating)


def rotated(channels: int | None, partial: float | None) -> int | None:
    """The channels that rotate, rounded down as transformers does: int(0.334 * 192) is 64."""
    if channels is None or partial is None:
        return channels
    if channels * partial > LARGEST_POSITION:
        raise ValueError(f"the share of a head that rotates must be at most 1, got {partial:g}")
    return int(channels * partial)


def kv_channels(config: Block) -> int | None:
    """``kv_channels`` or ``head_dim``."""
    told = config.either(("kv_channels", "head_dim"), most=shape.MOST_CHANNELS)
    return config.integer_or("kv_channels", 128) if told is None else told


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

HIGGS_BLOCK = {
    "rope_type": "llama3",
    "factor": 32.0,
    "original_max_position_embeddings": 1024,
    "low_freq_factor": 0.125,
    "high_freq_factor": 0.5,
}

# model_type -> its reader
FAMILIES: dict[str, Reader] = {
    "apertus": PlainRope(RopeKeys(base=12e6, block=LLAMA3_BLOCK)),
    "apertus1p5_text": PlainRope(RopeKeys(base=12e6, block=LLAMA3_BLOCK)),
    "aria_text": PlainRope(),
    "doge": PlainRope(),
    "esmc": PlainRope(),
    "eurobert": PlainRope(),
    "falcon_h1": PlainRope(),
    "granite_swa": PlainRope(),
    "granitemoe_swa": PlainRope(),
    "gte": PlainRope(RopeKeys(base=160000.0)),
    "higgs_audio_v2": PlainRope(RopeKeys(base=500000.0, block=HIGGS_BLOCK), head_dim=128),
    "hunyuan_v1_dense": PlainRope(RopeKeys(kinds=BY_ALPHA)),
    "hunyuan_v1_moe": PlainRope(RopeKeys(kinds=BY_ALPHA)),
    "hy_v3": PlainRope(RopeKeys(base=11158840.0), head_dim=128),
    "internlm3": PlainRope(head_dim=128),
    "iquestcoder": PlainRope(head_dim=128),
    "jetmoe": PlainRope(channels=kv_channels),
    "jina_embeddings_v3": PlainRope(RopeKeys(base=20000.0)),
    "minimax_m2": PlainRope(RopeKeys(base=5e6, partial=1.0), head_dim=128, rotary_dim_key="rotary_dim"),
    "minimax_m3_vl_text": PlainRope(RopeKeys(base=5e6, partial=1.0), head_dim=128),
    "molmo2_text": PlainRope(head_dim=128),
    "nanochat": PlainRope(inverse=True),
    "openai_privacy_filter": PlainRope(RopeKeys(base=150000.0, block=GPT_OSS_BLOCK), layout="interleaved", head_dim=64),
    "phimoe": PlainRope(RopeKeys(base=1e6, kinds=PHIMOE)),
    "sarvam_moe": PlainRope(RopeKeys(base=8e6, partial=1.0), head_dim=64),
    "solar_open": PlainRope(RopeKeys(base=1e6, partial=1.0), head_dim=128),
    "arcee": PlainRope(),
    "bitnet": PlainRope(RopeKeys(base=500000.0)),
    "chameleon": PlainRope(),
    "cohere": PlainRope(RopeKeys(base=500000.0), layout="interleaved"),
    "cwm": PlainRope(RopeKeys(base=1e6, block={**LLAMA3_BLOCK, "factor": 16.0}), head_dim=128),
    "deepseek_ocr2_text": PlainRope(channels=shape.divided),
    "diffllama": PlainRope(),
    "dots1": PlainRope(),
    "emu3_text_model": PlainRope(RopeKeys(base=1e6)),
    "ernie4_5": PlainRope(RopeKeys(base=500000.0), layout="interleaved", head_dim=128),
    "ernie4_5_moe": PlainRope(RopeKeys(base=500000.0), layout="interleaved"),
    "evolla": PlainRope(RopeKeys(base=500000.0)),
    "flex_olmo": PlainRope(RopeKeys(base=500000.0)),
    "gemma": PlainRope(head_dim=256),
    "gemma2": PlainRope(head_dim=256),
    "glm": PlainRope(RopeKeys(partial=0.5), layout="interleaved", head_dim=128),
    "glm4": PlainRope(RopeKeys(partial=0.5), layout="interleaved", head_dim=128),
    "glm4_moe": PlainRope(RopeKeys(partial=0.5)),
    "gpt_neox": PlainRope(RopeKeys(base_key="rotary_emb_base", partial=0.25, partial_key="rotary_pct")),
    "gpt_neox_japanese": PlainRope(RopeKeys(base_key="rotary_emb_base", partial=1.0, partial_key="rotary_pct")),
    "gpt_oss": PlainRope(RopeKeys(base=150000.0, block=GPT_OSS_BLOCK), head_dim=64),
    "granite": PlainRope(),
    "granite4_vision_text": PlainRope(),
    "granite_docling_text": PlainRope(),
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
    "unlimited_ocr_text": PlainRope(channels=shape.divided),
    "voxtral_realtime_text": PlainRope(),
    "vaultgemma": PlainRope(head_dim=256),
}
