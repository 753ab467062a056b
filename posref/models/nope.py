"""Families in which only some layers rotate; the others attend without any position encoding, or do not attend."""

from __future__ import annotations

from dataclasses import dataclass, replace

from posref._arguments import shown
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding, QueryScaleEncoding, RopeEncoding
from posref.models.rope_keys import RopeKeys, RopeParameters
from posref.models.shape import FULL, LINEAR, SLIDING, every

ROTATED, UNROTATED = "rotated", "without rotation"


def by_sliding_window(config: Block, number: int) -> list[str]:
    """EXAONE 4: ``sliding_window_pattern`` is a number, or a word such as LLLG: three local layers, then a global one."""
    if not has_window(config):
        return [FULL] * number
    if not isinstance(config.raw("sliding_window_pattern"), str):
        return every("sliding_window_pattern", 4)(config, number)  # type: ignore[return-value]
    pattern = config.word("sliding_window_pattern") or ""
    if not pattern or set(pattern) - set("LG"):
        raise ValueError(f"sliding_window_pattern must be a number or letters L and G, got {shown(pattern)}")
    config.note("unusual", f"sliding_window_pattern {pattern}: L is a local layer, G a global one")
    return [SLIDING if pattern[i % len(pattern)] == "L" else FULL for i in range(number)]


@dataclass(frozen=True)
class LocalRope(PlainRope):
    """As PlainRope where there is a ``sliding_window``: local layers rotate, global ones do not. Without one all rotate."""

    def __call__(self, config: Block) -> list[Encoding]:
        """The one encoding of such a model."""
        return PlainRope(**{**vars(self), "rotating": (SLIDING,) if has_window(config) else (FULL, SLIDING)})(config)


def has_window(config: Block) -> bool:
    """Whether there is a ``sliding_window``; transformers' default is one, so that only null says there is none."""
    if "sliding_window" not in config.values:
        config.note_default("sliding_window", "4096")
        return True
    return config.integer("sliding_window") is not None


def cohere2_moe_kinds(config: Block, number: int) -> list[str]:
    """The first dense layers have a pattern of their own."""
    dense = config.integer("first_k_dense_replace", least=0, most=number) or 0
    prefix = every("prefix_dense_sliding_window_pattern", 1)(config, dense) if dense else ()
    return [*(prefix or ()), *(every("sliding_window_pattern", 4)(config, number - dense) or ())]


@dataclass(frozen=True)
class DenseRope(PlainRope):
    """As PlainRope, and the dense layers rotate all the same where they have no pattern."""

    def _layers(self, config: Block) -> tuple[int, ...] | None:
        kinds = shape.layer_kinds(config, cohere2_moe_kinds)
        if kinds is None:
            return None
        if (config.integer("prefix_dense_sliding_window_pattern") or 1) == 1:
            dense = config.words("mlp_layer_types", most=shape.MOST_LAYERS)
            first = config.integer("first_k_dense_replace", least=0) or 0
            forced = [i < first if dense is None else dense[i : i + 1] == ("dense",) for i in range(len(kinds))]
            kinds = tuple(SLIDING if force else kind for kind, force in zip(kinds, forced, strict=True))
        shape.note_nope(config, kinds, self.rotating)
        return shape.of_kind(kinds, *self.rotating)


def no_rope_layers(config: Block, number: int) -> list[str]:
    """``no_rope_layers``: one number per layer, 1 where it rotates; without it every fourth layer does not."""
    given = config.integers("no_rope_layers", most=shape.MOST_LAYERS)
    if given is not None and not given:
        config.note("unusual", f"{config.name('no_rope_layers')} is empty, which means the default pattern")
    if not given:
        return list(every("no_rope_layer_interval", 4, UNROTATED, ROTATED)(config, number) or ())
    if len(given) != number:
        raise ValueError(f"{config.name('no_rope_layers')} must have one number per layer, {number}, got {len(given)}")
    config.note("unusual", f"{config.name('no_rope_layers')}: 1 is a layer that does rotate")
    return [ROTATED if rotates else UNROTATED for rotates in given]


@dataclass(frozen=True)
class ListedRope(PlainRope):
    """As PlainRope for the layers that ``no_rope_layers`` tells; ``layer_types`` says nothing about it."""

    def _layers(self, config: Block) -> tuple[int, ...] | None:
        config.raw("layer_types")
        kinds = shape.layer_kinds(config, no_rope_layers, keys=())
        shape.note_nope(config, kinds, (ROTATED,))
        return shape.of_kind(kinds, ROTATED)


def llama4(config: Block) -> list[Encoding]:
    """Llama 4's text model: on layers without rotation the queries grow with their position."""
    (rope,) = ListedRope(RopeKeys(base=500000.0), layout="interleaved", head_dim=128)(config)
    number = config.either(("num_hidden_layers",), most=shape.MOST_LAYERS)
    others = None if number is None else tuple(i for i in range(number) if i not in set(rope.layers or ()))
    if others == () or not config.boolean_or("attn_temperature_tuning", True):
        return [rope]
    beta = config.number("attn_scale")
    if beta is None:
        config.note_default("attn_scale", "0.1")
    length = config.integer_or("floor_scale", 8192)
    return [rope, query_scale(others, 0.1 if beta is None else beta, length, shift=1)]


def query_scale(layers: tuple[int, ...] | None, beta: float, length: int, *, shift: int) -> QueryScaleEncoding:
    """The record of Llama 4's and Ministral 3's factor on queries, which differ in the shift."""
    return QueryScaleEncoding("llama4-temperature", "text", None, layers, "llama4", beta, length, shift)


@dataclass(frozen=True)
class TemperedRope(PlainRope):
    """Ministral 3: all layers rotate, and the queries grow with their position."""

    def _beside(self, config: Block, rope: RopeParameters, layers: tuple[int, ...] | None) -> list[Encoding]:
        return tempered(config, rope, layers)


def tempered(config: Block, rope: RopeParameters, layers: tuple[int, ...] | None) -> list[Encoding]:
    """The factor on queries of Ministral 3 and Mistral 4, from the rope block."""
    beta = rope.block.number("llama_4_scaling_beta", least=0)
    length = rope.block.integer("original_max_position_embeddings")
    if beta is None or length is None:
        missing = "llama_4_scaling_beta" if beta is None else "original_max_position_embeddings"
        config.note("unknown", f"the factor on queries: {rope.block.name(missing)} is not given")
        return []
    return [query_scale(layers, beta, length, shift=0)]


def granite_hybrid(config: Block) -> list[Encoding]:
    """Granite 4: attention with or without rotation, by ``position_embedding_type``, between layers of Mamba."""
    kinds = shape.layer_kinds(config, shape.all_of(LINEAR), keys=("layer_types", "layers_block_type"))
    if config.word("position_embedding_type") != "rope":
        shape.note_nope(config, kinds, ())
        return []
    reader = PlainRope(kinds=shape.all_of(LINEAR), rotating=(FULL,))
    (rope,) = replace(reader, kinds=None)(config)
    shape.note_nope(config, kinds, (FULL,))
    return [replace(rope, layers=shape.of_kind(kinds, FULL))]


def lfm2_kinds(config: Block, number: int) -> list[str]:
    """``full_attn_idxs``: the layers that attend; the others are convolutions."""
    full = config.integers("full_attn_idxs", most=shape.MOST_LAYERS)
    return [FULL if full is None or i in full else "conv" for i in range(number)]


def olmo_hybrid_kinds(config: Block, number: int) -> list[str]:
    """Every fourth layer attends, or the last of fewer than four."""
    kinds = [FULL if i % 4 == 3 else LINEAR for i in range(number)]
    return kinds if FULL in kinds else [*kinds[:-1], FULL]


def told_layers(config: Block, number: int) -> None:
    """No rule: only the file's own list tells."""
    config.note("unknown", f"the layers that rotate: {config.name('layer_types')} is not given")


def lara_kinds(config: Block, number: int) -> list[str]:
    """A pattern of five."""
    pattern = (LINEAR, SLIDING, LINEAR, FULL, SLIDING)
    return [pattern[i % 5] for i in range(number)]


def flint_kinds(config: Block, number: int) -> list[str]:
    """The first two layers, the last and every fourth from the second on see everything."""
    return [FULL if i < 2 or i % 4 == 1 or i == number - 1 else SLIDING for i in range(number)]


def minimax(config: Block) -> list[Encoding]:
    """MiniMax in transformers, whose class turns whole heads; the released model turns ``rotary_dim`` channels."""
    reader = PlainRope(RopeKeys(base=1e6), kinds=every(None, 2, FULL, LINEAR, first=0), rotating=(FULL,))
    (rope,) = found = reader(config)
    told = config.integer("rotary_dim", most=shape.MOST_CHANNELS)
    if told is not None and isinstance(rope, RopeEncoding) and rope.rotary_dim not in (None, told):
        text = f"rotary_dim {told}, but transformers' class rotates all {rope.rotary_dim} channels"
        config.note("contradictory", f"{text}; MiniMax's own code has the former")
    return found


QWEN_HYBRID = every("full_attention_interval", 4, FULL, LINEAR)
EXAONE4 = LocalRope(kinds=by_sliding_window)
MINISTRAL3_BLOCK = {
    "type": "yarn",
    "rope_theta": 1000000.0,
    "factor": 16.0,
    "original_max_position_embeddings": 16384,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale_all_dim": 1.0,
    "mscale": 1.0,
    "llama_4_scaling_beta": 0.1,
}

FAMILIES: dict[str, Reader] = {
    "afmoe": PlainRope(head_dim=128, kinds=every("global_attn_every_n_layers", 4), rotating=(SLIDING,)),
    "cohere2": PlainRope(layout="interleaved", kinds=every("sliding_window_pattern", 4), rotating=(SLIDING,)),
    "cohere2_moe": DenseRope(layout="interleaved", head_dim=128, rotating=(SLIDING,)),
    "exaone4": EXAONE4,
    "exaone_moe": EXAONE4,
    "flint": PlainRope(head_dim=128, kinds=flint_kinds, rotating=(SLIDING,)),
    "granitemoehybrid": granite_hybrid,
    "kolibri1": PlainRope(head_dim=128, kinds=every(None, 5), rotating=(SLIDING,)),
    "lara_mini": PlainRope(head_dim=128, kinds=lara_kinds, rotating=(SLIDING,)),
    "lfm2": PlainRope(RopeKeys(base=1e6), kinds=lfm2_kinds, rotating=(FULL,)),
    "lfm2_moe": PlainRope(RopeKeys(base=1e6), kinds=told_layers, rotating=(FULL,)),
    "llama4_text": llama4,
    "minimax": minimax,
    "ministral3": TemperedRope(RopeKeys(base=1e6, block=MINISTRAL3_BLOCK), head_dim=128),
    "olmo_hybrid": PlainRope(kinds=olmo_hybrid_kinds, rotating=(FULL,)),
    "qwen3_next": PlainRope(RopeKeys(partial=0.25), head_dim=256, kinds=QWEN_HYBRID, rotating=(FULL,)),
    "smollm3": ListedRope(RopeKeys(base=2000000.0)),
}
