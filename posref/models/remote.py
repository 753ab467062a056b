"""Models that bring their own code, which transformers does not have: what that code does with the keys.

Looked at in the models' own code or in the ports of vLLM, sglang and mlx-lm, which agree with each other here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from posref._arguments import shown
from posref.models import biases, shape
from posref.models._reading import Block, NotKnown, Reader
from posref.models.mla import MLA
from posref.models.multimodal import either_head_dim
from posref.models.own_code import text_only
from posref.models.own_rules import first_chatglm
from posref.models.plain_rope import PlainRope, rotated
from posref.models.records import Encoding, QueryScaleEncoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import RopeKeys, RopeParameters
from posref.models.scalings import BY_ALPHA
from posref.rotary.scaling import LinearScaling, NTKScaling, Scaling

PHI3_KEYS = RopeKeys(partial=1.0, original=4096, older_types={"su": "longrope", "yarn": "longrope"})


def baichuan(config: Block) -> list[Encoding]:
    """Baichuan: the 7B model rotates, the 13B model has ALiBi; no key tells but the width."""
    width = config.integer("hidden_size")
    if width == 4096:
        return PlainRope()(config)
    if width == 5120:
        config.note("unusual", "hidden_size 5120 is the 13B model's, which has ALiBi")
        return [biases.alibi(config, ("num_attention_heads",), ("num_hidden_layers",))]
    raise NotKnown(f"hidden_size {shown(width)}, which is neither 4096 (it rotates) nor 5120 (ALiBi)")


def chatglm(config: Block) -> list[Encoding]:
    """ChatGLM 2 and 3, GLM-4-9B: the first half of a head rotates, in interleaved pairs; ``rope_ratio`` multiplies the base."""
    if config.boolean("position_encoding_2d"):
        return [*first_chatglm(config)]
    channels = config.either(("kv_channels", "head_dim"), most=shape.MOST_CHANNELS)
    if channels is None:
        channels = shape.divided(config)
    interleaved = config.boolean_or("original_rope", True)
    ratio = config.number("rope_ratio")
    base, scaling = 10000.0 * (1.0 if ratio is None else ratio), None
    name = config.word("_name_or_path") or ""
    if ratio is not None and ratio != 1:
        if "chatglm2" in name.lower():
            base, scaling = 10000.0, LinearScaling(ratio)
            config.note(
                "unusual", f"rope_ratio {ratio:g} divides positions in ChatGLM2, whose file this is by its name"
            )
        else:
            text = f"rope_ratio {ratio:g} multiplies the base 10000; only ChatGLM2-32k's code divides positions by it"
            config.note("unusual", text)
    rope = RopeParameters(Block({}, config.reading), "default", base, None, scaling, None)
    return [
        rope_encoding(
            config,
            rope,
            head_dim=channels,
            rotary_dim=None if channels is None else channels // 2,
            layers=shape.layers(config, ("num_layers", "num_hidden_layers")),
            layout="interleaved" if interleaved else "half",
            longest=config.integer("seq_length"),
        )
    ]


def qwen(config: Block) -> list[Encoding]:
    """Qwen 1: NTK in steps, by the length of the prompt, and queries that grow with the logarithm of their position."""
    channels = config.either(("kv_channels", "head_dim"), most=shape.MOST_CHANNELS)
    if channels is None:
        channels = shape.divided(config)
    share = config.number("rotary_pct")
    base = config.number("rotary_emb_base", above=1)
    if base is None:
        config.note("defaulted", "rotary_emb_base is absent, this model's default is 10000")
    length, layers = config.integer("seq_length"), shape.layers(config)
    scaling, seq_len = _steps(config, length)
    rope = RopeParameters(Block({}, config.reading), "default", base or 10000.0, None, scaling, None, seq_len)
    rotation = rope_encoding(
        config,
        rope,
        head_dim=channels,
        rotary_dim=rotated(channels, share),
        layers=layers,
        layout="half",
    )
    if not config.boolean("use_logn_attn") or length is None:
        return [rotation]
    return [rotation, QueryScaleEncoding("log-n", "text", None, layers, "log-n", None, length, 1)]


def _steps(config: Block, length: int | None) -> tuple[Scaling | None, int | None]:
    """``use_dynamic_ntk``: the factor is 1, 3, 7, ... for prompts up to 1, 2, 4, ... times ``seq_length``."""
    seq_len = config.reading.seq_len
    if not config.boolean("use_dynamic_ntk") or length is None:
        return None, None
    if seq_len is None:
        config.note("seq_len", f"the frequencies depend on the length; these hold up to {length}")
        return None, None
    factor = max(2 ** math.ceil(math.log2(seq_len / length) + 1) - 1, 1)
    return (NTKScaling(float(factor)) if factor > 1 else None), seq_len


def phi_msft(config: Block) -> list[Encoding]:
    """Phi 1.5 and 2 as first released: the first ``rotary_dim`` channels rotate as halves."""
    names = (("hidden_size", "n_embd"), ("num_attention_heads", "n_head"))
    rope = RopeParameters(Block({}, config.reading), "default", 10000.0, None, None, None)
    return [
        rope_encoding(
            config,
            rope,
            head_dim=shape.head_dim(config, names=names),
            rotary_dim=config.integer_or("rotary_dim", 32, most=shape.MOST_CHANNELS),
            layers=shape.layers(config, ("num_hidden_layers", "n_layer")),
            layout="half",
            longest=config.either(("max_position_embeddings", "n_positions")),
        )
    ]


def nemotron_nas(config: Block) -> list[Encoding]:
    """Llama-Nemotron: a Llama some of whose layers have lost their attention (``block_configs``)."""
    kind = config.word("position_embedding_type")
    if kind not in (None, "rope"):
        raise NotKnown(f"position_embedding_type {shown(kind)}")
    (rope,) = PlainRope(RopeKeys(base=500000.0))(config)
    blocks = config.raw("block_configs")
    if blocks is None:
        config.note("unknown", "block_configs is not given: which layers attend at all")
        return [rope]
    if not isinstance(blocks, (list, tuple)) or not all(isinstance(block, Mapping) for block in blocks):
        raise TypeError(f"block_configs must be a list of objects, one per layer, got {shown(blocks)}")
    attends = [_attends(block.get("attention")) for block in blocks[: shape.MOST_LAYERS]]
    layers = tuple(i for i in rope.layers or () if i < len(attends) and attends[i])
    lost = [i for i, attending in enumerate(attends) if not attending]
    if lost:
        shape.note_layers(config, lost, "it has no attention" if len(lost) == 1 else "they have no attention")
    return [replace(rope, layers=layers)]


def _attends(attention: object) -> bool:
    if not isinstance(attention, Mapping):
        return True
    return not (attention.get("no_op") or attention.get("replace_with_linear"))


def yuan(config: Block) -> list[Encoding]:
    """Yuan 2 (not the later models with experts)."""
    for key in ("rotary_base", "rotary_percent", "moe_config", "use_moe", "use_rope_scaling"):
        if config.raw(key) is not None:
            raise NotKnown(f"{key}, which the first Yuan 2 does not have")
    return PlainRope(RopeKeys(base_key=None))(config)


@dataclass(frozen=True)
class Bailing(PlainRope):
    """Ling: ``rotary_dim`` before ``partial_rotary_factor``."""

    def _rotary_dim(self, config: Block, rope: RopeParameters, channels: int | None) -> int | None:
        told = config.integer("rotary_dim", most=shape.MOST_CHANNELS)
        by_factor = super()._rotary_dim(config, rope, channels)
        if told is not None and told != by_factor and config.raw("partial_rotary_factor") is not None:
            config.note(
                "contradictory", f"rotary_dim {told} and partial_rotary_factor {rope.partial:g}; the former is used"
            )
        return by_factor if told is None else told


def hunyuan(config: Block) -> list[Encoding]:
    """HunYuan as first released: NTK by ``alpha``."""
    if config.raw("qk_rope_head_dim") is not None:
        raise NotKnown("qk_rope_head_dim: latent attention")
    return PlainRope(RopeKeys(kinds=BY_ALPHA), channels=either_head_dim)(config)


FAMILIES: dict[str, Reader] = {
    "baichuan": baichuan,
    "bailing_moe": Bailing(RopeKeys(partial=1.0)),
    "chatglm": chatglm,
    "deepseek": PlainRope(),
    "hunyuan": hunyuan,
    "internlm2": PlainRope(),
    "kimi_k2": MLA(),  # a DeepSeek-V3
    "minicpm": PlainRope(),
    "nemotron-nas": nemotron_nas,
    "orion": PlainRope(),
    "mixformer-sequential": phi_msft,
    "phi-msft": phi_msft,
    "phi3_v": text_only(PlainRope(PHI3_KEYS), "vision"),
    "phi4mm": text_only(PlainRope(PHI3_KEYS), "vision", "audio"),
    "qwen": qwen,
    "xverse": PlainRope(),
    "yuan": yuan,
}
