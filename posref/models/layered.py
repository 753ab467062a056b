"""Families with a rotation per kind of layer: Gemma 3 and 4, ModernBERT, OLMo 3, MiMo-V2-Flash, ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.plain_rope import rotated
from posref.models.records import Encoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import RopeKeys, read_parameters
from posref.models.shape import FULL, SLIDING


@dataclass(frozen=True)
class LayeredRope:
    """Reads one such family. The defaults are those of transformers' class for it.

    Parameters
    ----------
    keys
        Kind of layer -> how its rope keys are spelled. Layers of other kinds do not rotate.
    kinds
        Which layers there are.
    scaled
        The kinds that an older, flat ``rope_scaling`` is for.
    beside
        Whether keys beside the blocks count: in families that had such keys before there were blocks.
    wide
        Kind of layer -> the key of its head_dim and the default, where it is not ``head_dim``.
    last
        The kind that the last layer is made to be.
    """

    keys: Mapping[str, RopeKeys]
    kinds: shape.KindRule
    head_dim: int | None = None
    scaled: Sequence[str] = ()
    beside: bool = True
    wide: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    last: str | None = None

    def __call__(self, config: Block) -> list[Encoding]:
        """One encoding per kind of layer that there is."""
        kinds = shape.layer_kinds(config, self.kinds)
        if kinds and self.last not in (None, kinds[-1]):
            config.note("unusual", f"the last layer is {kinds[-1]}; this model makes it {self.last}")
            kinds = (*kinds[:-1], str(self.last))
        shape.note_nope(config, kinds, tuple(self.keys))
        present = [kind for kind in self.keys if kinds is None or kind in kinds]
        blocks = self._blocks(config, present)
        return [self._encoding(config, kind, blocks[kind], shape.of_kind(kinds, kind)) for kind in present]

    def _blocks(self, config: Block, present: Sequence[str]) -> dict[str, Block]:
        """The rope block of each kind."""
        scaling = config.block("rope_scaling") if self.scaled else None
        together = config.block("rope_parameters") or Block({}, config.reading, config.name("rope_parameters"))
        found: dict[str, Block] = {}
        for kind in self.keys:
            own = together.block(kind) or Block({}, config.reading, together.name(kind))
            if kind not in present:
                continue
            if scaling is not None and kind in self.scaled:
                own = Block({**own.values, **scaling.values}, config.reading, scaling.where)
            if not own.values and self.keys[kind].block:
                own = self._default(config, kind, bool(together.values))
            found[kind] = own
        together.note_ignored()
        return found

    def _default(self, config: Block, kind: str, others: bool) -> Block:
        where = f"{config.name('rope_parameters')}.{kind}"
        if others and not self.beside:
            raise ValueError(f"{where} must be given where other layers have their block, got nothing")
        values = self.keys[kind].block
        told = ", ".join(f"{key} {value}" for key, value in values.items())
        config.note("defaulted", f"{where} is absent, transformers' default is {told}")
        return Block(values, config.reading, where)

    def _encoding(self, config: Block, kind: str, block: Block, layers: tuple[int, ...] | None) -> Encoding:
        beside = config if self.beside else config.replaced(_lengths(config), counts=False)
        rope = read_parameters(beside, self.keys[kind], block)
        told = config.number("rope_theta", above=1) if self.beside and self.keys[kind].base_key is None else None
        if told is not None and told != rope.base:
            where = config.name("rope_theta")
            config.note("contradictory", f"{where} {told:g}, but {kind} layers have base {rope.base:g}")
        channels = self._head_dim(config, kind)
        return rope_encoding(
            config,
            rope,
            head_dim=channels,
            rotary_dim=rotated(channels, rope.partial),
            layers=layers,
            layout="half",
        )

    def _head_dim(self, config: Block, kind: str) -> int | None:
        if kind not in self.wide:
            return shape.head_dim(config, self.head_dim)
        key, default = self.wide[kind]
        saved = _saved_head_dim(config)
        return config.integer_or(key, default, most=shape.MOST_CHANNELS) if saved is None else saved


def _lengths(config: Block) -> dict[str, object]:
    return {key: config.raw(key) for key in ("max_position_embeddings",)}


def _saved_head_dim(config: Block) -> int | None:
    """What transformers 5 writes in place of ``global_head_dim``: the same head_dim for each layer that differs."""
    layers = config.block("per_layer_config")
    if layers is None:
        return None
    blocks = [layers.block(key) for key in list(layers.values)[: shape.MOST_LAYERS]]
    sizes = {block.integer("head_dim", most=shape.MOST_CHANNELS) for block in blocks if block is not None}
    if len(sizes) > 1:
        raise ValueError(f"{layers.where} must have one head_dim for all its layers, got {sorted(map(str, sizes))}")
    return next(iter(sizes), None)


def gemma3(pattern: int, key: str | None) -> LayeredRope:
    """Gemma 3 and 3n: another base for the local layers, and scaling for the others only."""
    return LayeredRope(
        {
            SLIDING: RopeKeys(base=10000.0, base_key="rope_local_base_freq"),
            FULL: RopeKeys(base=1e6),
        },
        shape.every(key, pattern),
        head_dim=256,
        scaled=(FULL,),
    )


def gemma4_kinds(config: Block, number: int) -> list[str]:
    """Every sixth layer sees everything."""
    return [SLIDING if (i + 1) % 6 else FULL for i in range(number)]


GEMMA4 = LayeredRope(
    {
        SLIDING: RopeKeys(block={"rope_type": "default", "rope_theta": 10000.0}),
        FULL: RopeKeys(block={"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}),
    },
    gemma4_kinds,
    head_dim=256,
    beside=False,
    wide={FULL: ("global_head_dim", 512)},
    last=FULL,
)

EMBEDDING_GEMMA2 = LayeredRope(
    {
        SLIDING: RopeKeys(block={"rope_type": "default", "rope_theta": 10000.0}),
        FULL: RopeKeys(block={"rope_type": "default", "rope_theta": 1e6}),
    },
    shape.every("sliding_window_pattern", 6),
    head_dim=256,
    beside=False,
    wide={FULL: ("global_head_dim", 512)},
    last=FULL,
)

MODERNBERT = LayeredRope(
    {
        FULL: RopeKeys(base=160000.0, base_key="global_rope_theta"),
        SLIDING: RopeKeys(base=10000.0, base_key="local_rope_theta"),
    },
    shape.every("global_attn_every_n_layers", 3, first=0),
    scaled=(FULL, SLIDING),
)


def _by_block(full: Mapping[str, object], sliding: Mapping[str, object], kinds: shape.KindRule) -> LayeredRope:
    """A family of transformers 5, whose keys beside the blocks count for nothing."""
    return LayeredRope(
        {FULL: RopeKeys(block=full, partial=1.0), SLIDING: RopeKeys(block=sliding, partial=1.0)},
        kinds,
        head_dim=128,
        beside=False,
    )


def _default(base: float, partial: float | None = None) -> dict[str, object]:
    parameters: dict[str, object] = {"rope_type": "default", "rope_theta": base}
    return parameters if partial is None else {**parameters, "partial_rotary_factor": partial}


def lfm3_kinds(config: Block, number: int) -> list[str]:
    """Of four layers, two are convolutions, as is the first."""
    kinds = (SLIDING, "conv", FULL, "conv")
    return ["conv" if i == 0 else kinds[i % 4] for i in range(number)]


def mimo_kinds(config: Block, number: int) -> list[str]:
    """The first layer and every sixth see everything."""
    return [FULL if i == 0 or (i + 1) % 6 == 0 else SLIDING for i in range(number)]


def mimo_v2_flash(config: Block) -> Sequence[Encoding]:
    """MiMo-V2-Flash: blocks per kind of layer, or the keys of its own code, at which transformers' class does not look."""
    if config.raw("swa_rope_theta") is None and config.raw("hybrid_layer_pattern") is None:
        return MIMO(config)
    config.note(
        "unusual", "read by the keys of the model's own code; transformers' class has the same numbers as defaults"
    )
    return MIMO_OWN_KEYS(config)


def pattern_kinds(config: Block, number: int) -> list[str]:
    """``hybrid_layer_pattern``: 0 is a layer that sees everything, 1 a local one."""
    pattern = config.integers("hybrid_layer_pattern", most=shape.MOST_LAYERS)
    if pattern is None:
        return mimo_kinds(config, number)
    if len(pattern) < number:
        raise ValueError(
            f"{config.name('hybrid_layer_pattern')} must have one number per layer, {number}, got {len(pattern)}"
        )
    return [SLIDING if local else FULL for local in pattern[:number]]


MIMO = LayeredRope(
    {
        FULL: RopeKeys(block=_default(5e6, 0.334), partial=1.0),
        SLIDING: RopeKeys(block=_default(10000.0, 0.334), partial=1.0),
    },
    mimo_kinds,
    head_dim=192,
    beside=False,
)
MIMO_OWN_KEYS = LayeredRope(
    {FULL: RopeKeys(base=5e6, partial=0.334), SLIDING: RopeKeys(base_key="swa_rope_theta", partial=0.334)},
    pattern_kinds,
    head_dim=192,
    wide={SLIDING: ("swa_head_dim", 192)},
)

FAMILIES: dict[str, Reader] = {
    "gemma3_text": gemma3(6, "sliding_window_pattern"),
    "gemma3n_text": gemma3(5, None),
    "embedding_gemma2_text": EMBEDDING_GEMMA2,
    "gemma4_text": GEMMA4,
    "gemma4_unified_text": GEMMA4,
    "diffusion_gemma_text": GEMMA4,
    "laguna": _by_block(_default(500000.0, 0.5), _default(10000.0, 1.0), shape.all_of(FULL)),
    "lfm3": LayeredRope(
        {
            SLIDING: RopeKeys(block=_default(10000.0)),
            FULL: RopeKeys(block={**_default(1e6, 0.5), "rope_type": "proportional"}),
        },
        lfm3_kinds,
        head_dim=128,
        beside=False,
    ),
    "mellum": _by_block(_default(500000.0), _default(10000.0), shape.all_of(FULL)),
    "mimo_v2_flash": mimo_v2_flash,
    "modernbert": MODERNBERT,
    "modernbert-decoder": MODERNBERT,
    "t5gemma2_text": gemma3(6, "sliding_window_pattern"),
    "t5gemma2_decoder": gemma3(6, "sliding_window_pattern"),
    "zaya": LayeredRope(
        {
            "hybrid": RopeKeys(block=_default(5e6, 0.5), partial=1.0),
            "hybrid_sliding": RopeKeys(block=_default(10000.0, 0.5), partial=1.0),
        },
        shape.all_of("hybrid"),
        head_dim=128,
        beside=False,
    ),
    "olmo3": LayeredRope(
        {FULL: RopeKeys(base=500000.0), SLIDING: RopeKeys(base=500000.0, base_key=None)},
        shape.every(None, 4),
        scaled=(FULL,),
    ),
}
