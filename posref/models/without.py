"""Models without any position encoding, be it that recurrent layers make up for it; and those with one that has no record."""

from __future__ import annotations

from posref._arguments import shown
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.records import Encoding
from posref.models.shape import FULL

MAMBA = "mamba"
LETTERS = {"M": MAMBA, "*": FULL, "-": "mlp", "E": "moe"}


def recurrent(config: Block) -> list[Encoding]:
    """No attention at all."""
    config.note("nope", "no layer attends, and none has a position encoding")
    return []


def convolution(config: Block) -> list[Encoding]:
    """Wav2Vec 2 and its kin."""
    config.note("nope", "no position encoding but a grouped convolution over the frames, before the layers")
    return []


def codec(config: Block) -> list[Encoding]:
    """Codecs of sound without attention."""
    config.note("nope", "convolutions and recurrent layers, no position encoding")
    return []


def jamba(config: Block) -> list[Encoding]:
    """Attention without positions in one layer of ``attn_layer_period``, Mamba in the others."""
    number = config.integer("num_hidden_layers", most=shape.MOST_LAYERS)
    n = config.integer_or("attn_layer_period", 8, most=shape.MOST_LAYERS)
    first = config.integer_or("attn_layer_offset", 4, least=0, most=shape.MOST_LAYERS)
    kinds = None if number is None else [FULL if i % n == first else MAMBA for i in range(number)]
    return _without(config, kinds)


def zamba(config: Block) -> list[Encoding]:
    """Zamba: Mamba layers, of which some share an attention without positions."""
    number = config.integer("num_hidden_layers", most=shape.MOST_LAYERS)
    kinds = config.words("layers_block_type", most=shape.MOST_LAYERS)
    if kinds is not None or number is None:
        return _without(config, None if kinds is None else list(kinds))
    n = config.integer_or("attn_layer_period", 6, most=shape.MOST_LAYERS)
    first = config.integer_or("attn_layer_offset", 4, least=0, most=shape.MOST_LAYERS)
    start = [MAMBA, MAMBA, "hybrid"]
    return _without(config, [*start, *("hybrid" if i % n == first else MAMBA for i in range(number - 3))][:number])


def nemotron_h(config: Block) -> list[Encoding]:
    """``hybrid_override_pattern``: a letter per layer, * where it attends."""
    given = config.words("layers_block_type", most=shape.MOST_LAYERS)
    pattern = config.word("hybrid_override_pattern")
    if given is not None:
        kinds = [{"attention": FULL}.get(kind, kind) for kind in given]
    elif pattern is None:
        return _without(config, None)
    else:
        if set(pattern) - set(LETTERS) or len(pattern) > shape.MOST_LAYERS:
            raise ValueError(f"hybrid_override_pattern must be letters of {''.join(LETTERS)}, got {shown(pattern)}")
        kinds = [LETTERS[letter] for letter in pattern]
    number = config.integer("num_hidden_layers", most=shape.MOST_LAYERS)
    if number not in (None, len(kinds)):
        config.note(
            "contradictory", f"num_hidden_layers {number} and {len(kinds)} layers in the pattern; the latter counts"
        )
    return _without(config, kinds)


def kimi_linear(config: Block) -> list[Encoding]:
    """Latent attention whose channels for positions do not rotate, between layers of linear attention."""
    block = config.block("linear_attn_config")
    full = None if block is None else block.integers("full_attn_layers", most=shape.MOST_LAYERS)
    if full is not None:
        shape.note_layers(config, [i - 1 for i in full], f"{FULL}; the file counts them from 1")
        return []
    return _without(config, None)


def _without(config: Block, kinds: list[str] | None) -> list[Encoding]:
    if kinds is None:
        config.note("nope", "no layer has a position encoding")
    shape.note_nope(config, kinds, ())
    for key in ("rope_theta", "rope_scaling", "partial_rotary_factor", "rope_parameters"):
        if config.raw(key) is not None:
            config.note("ignored", f"{config.name(key)} = {shown(config.raw(key))}: nothing rotates")
    return []


FAMILIES: dict[str, Reader] = {
    **dict.fromkeys(("data2vec-audio", "hubert", "sew", "unispeech", "unispeech-sat", "wav2vec2"), convolution),
    **dict.fromkeys(("dac", "encodec"), codec),
    "falcon_mamba": recurrent,
    "jamba": jamba,
    "kimi_linear": kimi_linear,
    "mamba": recurrent,
    "mamba2": recurrent,
    "nemotron_h": nemotron_h,
    **dict.fromkeys(("rwkv", "rwkv5", "rwkv6", "rwkv7"), recurrent),
    "xlstm": recurrent,
    "zamba": zamba,
}
