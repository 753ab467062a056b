"""Models whose own code has a rule of position that no other has: the first ChatGLM, TeleChat, PLaMo, OLMo, Step 1, ...

Looked at in that code, or in the ports of vLLM, sglang and mlx-lm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from posref._arguments import shown
from posref.models import biases, gptj, shape
from posref.models._reading import Block, NotKnown, Reader
from posref.models.axes import MRope
from posref.models.composite import read_part
from posref.models.layered import LayeredRope
from posref.models.plain_rope import PlainRope
from posref.models.records import Axes, Encoding, RopeEncoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import RopeKeys, RopeParameters
from posref.models.shape import FULL, LINEAR, SLIDING
from posref.models.tables import Learned
from posref.rotary.scaling import NTKScaling, Scaling


def first_chatglm(config: Block) -> list[RopeEncoding]:
    """ChatGLM-6B: the first half of a head rotates by the position in the prompt, the second by that in the answer."""
    channels = shape.head_dim(config)
    half = None if channels is None else channels // 2
    rope = RopeParameters(Block({}, config.reading), "default", 10000.0, None, None, None)
    layers = shape.layers(config, ("num_layers", "num_hidden_layers"))
    whole = rope_encoding(
        config,
        rope,
        head_dim=channels,
        rotary_dim=half,
        layers=layers,
        layout="half",
        longest=config.integer("max_sequence_length"),
    )
    config.note("unusual", "positions stop at the end of the prompt, where those of the answer start, from 1")
    if half is None or whole.inv_freq is None:
        return [whole]
    pairs = len(whole.inv_freq)
    axes = [Axes((name,), (pairs,), "chunked", "per_axis", (0,) * pairs) for name in ("prompt", "answer")]
    return [replace(whole, encoding="rope-axial", offset=i * half, axes=axis) for i, axis in enumerate(axes)]


def telechat(config: Block) -> list[Encoding]:
    """TeleChat: NTK in steps of the length over ``base_seqlen``, and YaRN's magnitude beyond ``training_seqlen``."""
    trained, base = config.integer_or("training_seqlen", 8192), config.integer("base_seqlen")
    base = 4096 if base is None else base
    length = max(config.reading.seq_len or 1, trained)
    factor = max(2 ** math.ceil(math.log2(length / base) + 1) - 1, 1)
    scaling: Scaling | None = NTKScaling(float(factor)) if factor > 1 else None
    rope = RopeParameters(Block({}, config.reading), "default", 10000.0, None, scaling, None, length)
    if config.reading.seq_len is None:
        config.note("seq_len", f"the frequencies depend on the length; these hold up to {trained}")
    names = (("hidden_size",), ("n_head", "num_attention_heads"))
    channels = shape.head_dim(config, names=names)
    encoding = rope_encoding(
        config,
        rope,
        head_dim=channels,
        rotary_dim=channels,
        layers=shape.layers(config, ("n_layer", "num_hidden_layers")),
        layout="half",
        longest=config.integer("seq_length"),
    )
    return [replace(encoding, attention_factor=max(1.0, 0.1 * math.log(length / trained) + 1))]


def plamo2_kinds(config: Block, number: int) -> list[str]:
    """The middle one of ``mamba_step`` layers attends."""
    if config.boolean("mamba_enabled") is False:
        return [FULL] * number
    n = config.integer_or("mamba_step", 2, most=shape.MOST_LAYERS)
    if number <= n // 2:
        return [LINEAR] * (number - 1) + [FULL]
    return [FULL if i % n == n // 2 else LINEAR for i in range(number)]


def width_per_head(config: Block) -> int | None:
    """PLaMo 2's key for the width of a head."""
    return config.integer_or("hidden_size_per_head", 128, most=shape.MOST_CHANNELS)


def hf_olmo(config: Block) -> Sequence[Encoding]:
    """OLMo's first code: a rotation, ALiBi or a table, each where its key says so; keys of its own."""
    usual = {new: config.raw(old) for old, new in OLMO if config.raw(old) is not None}
    config = config.replaced({**usual, **config.values})
    if config.boolean_or("alibi", False):
        raise NotKnown("alibi")
    return PlainRope()(config) if config.boolean_or("rope", False) else Learned()(config)


def step1(config: Block) -> list[Encoding]:
    """Step 1: ALiBi by the square root of the distance."""
    encoding = biases.alibi(config, ("num_attention_heads",), ("num_hidden_layers",))
    return [replace(encoding, form="sqrt")]


def neobert(config: Block) -> list[Encoding]:
    """NeoBERT: interleaved pairs, base 10000, or a table of ``max_length`` rows where ``rope`` is false."""
    if config.boolean("rope") is False:
        return Learned(rows=("max_length",), more_rows=1)(config)
    usual = {"max_position_embeddings": config.raw("max_length")}
    return PlainRope(RopeKeys(base_key=None), layout="interleaved")(config.replaced({**config.values, **usual}))


def ernie_vl(config: Block) -> list[Encoding]:
    """ERNIE 4.5 VL as first released: ``freq_allocation`` pairs are for time, the others alternate between height and width."""
    time = config.integer_or("freq_allocation", 20, most=shape.MOST_CHANNELS)
    if config.boolean("rope_3d") is False:
        raise NotKnown("rope_3d false")
    channels = shape.head_dim(config)
    if channels is not None and (channels // 2 <= time or (channels // 2 - time) % 2):
        raise ValueError(f"freq_allocation must leave an even number of the {channels // 2} pairs, got {time}")
    side = 22 if channels is None else (channels // 2 - time) // 2
    axes = MRope((side, side, time), "alternating", ("height", "width", "time"))
    found: list[Encoding] = PlainRope(RopeKeys(base=500000.0), layout="interleaved", mrope=axes)(config)
    vision = config.block("vision_config")
    if vision is None:
        config.note("unknown", "vision: vision_config is not given")
        return found
    return found + read_part(vision, "ernie4_5_vl_moe_vision", "vision")


def grok(config: Block) -> list[Encoding]:
    """Grok: its own keys for a scaling stand beside all others."""
    kind = config.word("rope_type")
    if kind not in (None, "original"):
        raise NotKnown(f"rope_type {shown(kind)}")
    return PlainRope(head_dim=128)(config)


OLMO = (
    *(("d_model", "hidden_size"), ("n_heads", "num_attention_heads"), ("n_layers", "num_hidden_layers")),
    ("max_sequence_length", "max_position_embeddings"),
)
PLAMO3 = {
    SLIDING: RopeKeys(base_key="rope_local_theta"),
    FULL: RopeKeys(base=1e6),
}

FAMILIES: dict[str, Reader] = {
    "ernie4_5_moe_vl": ernie_vl,
    "grok-1": grok,
    "hf_olmo": hf_olmo,
    "moss": gptj.gptj,
    "neobert": neobert,
    "plamo": PlainRope(),
    "plamo2": PlainRope(RopeKeys(base_key=None), channels=width_per_head, kinds=plamo2_kinds, rotating=(FULL,)),
    "plamo3": LayeredRope(PLAMO3, shape.every("sliding_window_pattern", 8), head_dim=128, scaled=(FULL,)),
    "step1": step1,
    "telechat": telechat,
}
