"""Families that mix attention with other layers, or with other rotations, each in its own way."""

from __future__ import annotations

from dataclasses import replace

from posref._arguments import shown
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import RopeKeys, read_parameters
from posref.models.shape import FULL, LINEAR, SLIDING

CROSS = "cross_attention"
HYBRID = "hybrid"


def bamba_kinds(config: Block, number: int) -> list[str]:
    """``attn_layer_indices``: the layers that attend."""
    indices = config.integers("attn_layer_indices", most=shape.MOST_LAYERS) or ()
    return [FULL if i in indices else LINEAR for i in range(number)]


def mllama_kinds(config: Block, number: int) -> list[str]:
    """``cross_attention_layers``: those that look at the image, and have no positions."""
    layers = config.integers("cross_attention_layers", most=shape.MOST_LAYERS)
    if layers is None:
        layers = tuple(range(3, 39, 5))
        config.note_default("cross_attention_layers", shown(list(layers)))
    return [CROSS if i in layers else FULL for i in range(number)]


def recurrent_kinds(config: Block, number: int) -> list[str]:
    """``block_types``: a pattern that is repeated."""
    pattern = config.words("block_types", most=shape.MOST_LAYERS)
    if not pattern:
        config.note_default("block_types", "recurrent, recurrent, attention")
        pattern = ("recurrent", "recurrent", "attention")
    return [SLIDING if pattern[i % len(pattern)] == "attention" else LINEAR for i in range(number)]


def zamba2_kinds(config: Block, number: int) -> list[str]:
    """The default of transformers' class, which is for 54 layers."""
    kinds = [LINEAR, *[*[LINEAR] * 5, HYBRID] * 7, *[LINEAR] * 4, HYBRID, *[LINEAR] * 3, HYBRID, *[LINEAR] * 2]
    config.note("defaulted", "layers_block_type is absent, transformers' default is for 54 layers")
    return kinds[:number]


def zamba2(config: Block) -> list[Encoding]:
    """Zamba 2: the shared attention rotates where ``use_mem_rope`` is true; its heads are twice as wide as usual."""
    kinds = shape.layer_kinds(config, zamba2_kinds, keys=("layers_block_type", "layer_types"))
    if not config.boolean_or("use_mem_rope", False):
        shape.note_nope(config, kinds, ())
        return []
    shape.note_nope(config, kinds, (HYBRID,))
    usual = shape.divided(config)
    channels = None if usual is None else 2 * usual
    (rope,) = PlainRope(channels=lambda _: channels)(config)
    return [replace(rope, layers=shape.of_kind(kinds, HYBRID))]


MAIN, COMPRESS = "sliding_attention", ("compressed_sparse_attention", "heavily_compressed_attention")
RATIOS = {0: MAIN, 4: COMPRESS[0], 128: COMPRESS[1]}


def v4_kinds(config: Block, number: int) -> list[str]:
    """``compress_ratios``: 0 is a local layer, 4 and 128 are two kinds of compression."""
    ratios = config.integers("compress_ratios", most=shape.MOST_LAYERS)
    if ratios is None:
        config.note(
            "defaulted", "layer_types is absent, transformers' default alternates, after two of the heavier compression"
        )
        return [COMPRESS[1] if i < 2 or i % 2 == 0 else COMPRESS[0] for i in range(number)]
    if len(ratios) < number or set(ratios) - set(RATIOS):
        raise ValueError(f"compress_ratios must be {number} numbers of 0, 4 and 128, got {shown(list(ratios))}")
    return [RATIOS[ratio] for ratio in ratios[:number]]


def deepseek_v4(config: Block) -> list[Encoding]:
    """DeepSeek-V4: the last channels of a head rotate, and those of the values, whose rotation is undone in the output.

    Local layers have a rotation of their own; only the others' is stretched, without an attention factor.
    """
    kinds = shape.layer_kinds(config, v4_kinds)
    channels = config.integer_or("head_dim", 512, most=shape.MOST_CHANNELS)
    rotary = config.integer("qk_rope_head_dim", most=channels)
    partial = config.number("partial_rotary_factor")
    if rotary is None:
        rotary = int(channels * (64 / 512 if partial is None else partial))
        config.note("defaulted", f"qk_rope_head_dim is absent, {rotary} channels rotate")
    blocks = config.block("rope_parameters")
    nested = blocks is not None and all(blocks.block(name) is not None for name in ("main", "compress"))
    found: list[Encoding] = []
    for name, of, base in (("main", (MAIN,), 10000.0), ("compress", COMPRESS, 160000.0)):
        layers = shape.of_kind(kinds, *of)
        if layers == ():
            continue
        keys = RopeKeys(base=base, base_key="rope_theta" if name == "main" else "compress_rope_theta")
        block = blocks.block(name) if nested and blocks is not None else _v4_block(config, name)
        rope = read_parameters(config, keys, block)
        head = rope_encoding(
            config,
            rope,
            head_dim=channels,
            rotary_dim=rotary,
            offset=channels - rotary,
            layers=layers,
            layout="interleaved",
        )
        found.append(head)
        if name == "compress":
            index = config.integer_or("index_head_dim", 128, most=shape.MOST_CHANNELS)
            sparse = shape.of_kind(kinds, COMPRESS[0])
            found.append(replace(head, part="indexer", head_dim=index, offset=index - rotary, layers=sparse))
    config.note(
        "unusual", "values rotate with the keys, and the output of attention rotates back by the query's position"
    )
    config.note("unusual", "a compressed key's position is that of the first token that it stands for")
    return found


def _v4_block(config: Block, name: str) -> Block:
    """An older file's one block is the compressed layers'."""
    flat = config.block("rope_scaling") or config.block("rope_parameters")
    if flat is None or name == "main":
        return Block({}, config.reading, config.name(f"rope_parameters.{name}"))
    values = dict(flat.values)
    kind = values.get("rope_type", values.get("type"))
    if kind == "yarn" and "attention_factor" not in values:
        values["attention_factor"] = 1.0
        config.note("defaulted", f"{flat.name('attention_factor')} is absent, this model's is 1")
    values.pop("rope_theta", None)
    return Block(values, config.reading, flat.where)


FAMILIES: dict[str, Reader] = {
    "bamba": PlainRope(RopeKeys(partial=0.5, partial_key=None), kinds=bamba_kinds, rotating=(FULL,)),
    "deepseek_v4": deepseek_v4,
    "mllama_text_model": PlainRope(RopeKeys(base=500000.0), kinds=mllama_kinds, rotating=(FULL,)),
    "recurrent_gemma": PlainRope(RopeKeys(partial=0.5), kinds=recurrent_kinds, rotating=(SLIDING,)),
    "zamba2": zamba2,
}
