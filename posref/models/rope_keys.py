"""The rope keys of a config, in all their spellings.

The rules are transformers': ``rope_scaling`` before ``rope_parameters``; within it ``rope_type`` before the older ``type``; its
own ``rope_theta`` and ``partial_rotary_factor`` before those beside it; but a top-level
``original_max_position_embeddings`` before its own, unless there is a block per layer type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from posref._arguments import shown
from posref.models._reading import Block, NotKnown, Untold
from posref.models.frameworks import NEW, OLD, framework_of
from posref.models.scalings import KINDS, SINGLE, Fixed, Kind, Source
from posref.rotary.scaling import Scaling

OTHER_NAMES = {"su": "longrope"}  # older names of rope types


@dataclass(frozen=True)
class RopeKeys:
    """How a family of models spells its rope keys, and what it assumes where they are absent."""

    base: float = 10000.0
    base_key: str | None = "rope_theta"  # None: no key beside the rope block
    partial: float | None = None  # None: the family always rotates whole heads
    partial_key: str | None = "partial_rotary_factor"  # as base_key
    original: int | None = None
    block: Mapping[str, Any] = field(default_factory=dict)
    older_types: Mapping[str, str] = field(default_factory=lambda: OTHER_NAMES)
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # rope types that mean something else in this family
    mla: bool = False


@dataclass(frozen=True)
class RopeParameters:
    """What the rope keys say, before the shape of the model comes in."""

    block: Block
    kind: str
    base: float
    partial: float | None
    scaling: Scaling | None
    missing: str | None  # why there is no scaling although the file has one
    seq_len: int | None = None  # that the frequencies are for, where it is not the one that is asked for


def read_parameters(config: Block, keys: RopeKeys, block: Block | None = None) -> RopeParameters:
    """Read a rope block and what stands beside it.

    Parameters
    ----------
    config
        The model's keys.
    keys
        The family's spelling and defaults.
    block
        The one of a layer type; None is the model's only one, ``rope_scaling`` or ``rope_parameters``.

    Raises
    ------
    ValueError, TypeError
        An unknown rope type, a key that is missing, or a value of the wrong type or range.
    """
    nested = block is not None
    if block is None:
        block = _only_block(config, keys)
    framework = framework_of(config)
    kinds = {**framework.kinds, **(keys.kinds if framework.class_kinds else {})}
    kind = rope_type(block, keys.older_types, tuple({**KINDS, **keys.kinds, **kinds}))
    if framework.family(config).unscaled and kind != "default":
        block.note("ignored", f"{block.where}, of type {kind!r}: {framework.name}'s model takes the base alone")
        kind = "default"
    framework.check_kind(config, block, kind, keys.kinds)
    _note_chunks(config)
    base = _base(config, keys, block)
    partial = _partial(config, keys, block, kind)
    source = Source(config, block, keys.original, nested, partial, keys.mla)
    missing = None
    try:
        found = kinds[kind](source)
    except Untold as problem:
        found, missing = None, str(problem)
    scaling, seq_len = (found.scaling, found.seq_len) if isinstance(found, Fixed) else (found, None)
    return RopeParameters(block, kind, base, None if kind == "proportional" else partial, scaling, missing, seq_len)


def _note_chunks(config: Block) -> None:
    """Dual chunk attention: far keys get other distances than those of the rotation alone."""
    key, framework = "dual_chunk_attention_config", framework_of(config)
    if config.raw(key) is None:
        return
    if framework.name in ("vllm", "sglang"):
        raise NotKnown(f"{key} in {framework.name}")
    told = f"{config.name(key)}: {framework.name} does not look at it; elsewhere distances beyond a chunk are mapped"
    config.note("unusual", told)


def flat_blocks(config: Block) -> tuple[Block | None, Block | None]:
    """``rope_scaling`` and ``rope_parameters``; None where they are absent or empty."""
    old, new = config.block("rope_scaling"), config.block("rope_parameters")
    return tuple(block if block is not None and block.values else None for block in (old, new))  # type: ignore[return-value]


def rope_type(block: Block, older_types: Mapping[str, str], known: Sequence[str]) -> str:
    """The rope type of a block, by the framework's rule for which of two spellings wins."""
    framework = framework_of(block)
    new, old = block.word("rope_type"), block.word("type")
    spellings = [("rope_type", new), ("type", old)]
    if framework.older_type_wins:
        spellings.reverse()
    if new is not None and old is not None and new != old:
        framework.two_types(block, new, old)
    key, kind = next(((key, word) for key, word in spellings if word is not None), ("rope_type", "default"))
    if kind in older_types:
        block.note("unusual", f"rope type {kind!r} is an older name of {older_types[kind]!r}")
        kind = older_types[kind]
    if kind not in known:
        others = ", ".join(repr(word) for word in SINGLE if word not in known)
        told = f"{block.name(key)} must be one of {', '.join(map(repr, known))}"
        raise ValueError(f"{told}, or of single models {others}, got {shown(kind)}")
    return kind


def _only_block(config: Block, keys: RopeKeys) -> Block:
    old, new = flat_blocks(config)
    if old and new and old.values != new.values:
        config.note("contradictory", "rope_scaling and rope_parameters differ; the former is used")
    block = old or new
    if block is not None and block.where.rpartition(".")[2] not in framework_of(config).family(config).blocks:
        raise NotKnown(f"{block.where} in {framework_of(config).name}")
    if block is None:
        block = Block(keys.block, config.reading, config.name("rope_parameters"))
        if keys.block:
            told = ", ".join(f"{key} {value}" for key, value in keys.block.items())
            config.note("defaulted", f"rope_parameters are absent, transformers' default is {told}")
    for key, value in block.values.items():
        if isinstance(value, Mapping):
            raise ValueError(
                f"{block.name(str(key))} must be a number, string or list: this model has one block for all layers"
            )
    return block


def _base(config: Block, keys: RopeKeys, block: Block) -> float:
    framework, outer_key = framework_of(config), keys.base_key
    family = framework.family(config)
    if family.base != "class":
        outer = None if outer_key is None else config.raw(outer_key)
        inner_where = "rope_theta" in block.values and block.where.endswith(OLD)
        if inner_where or (
            outer is not None and (family.blocks == (NEW,) or block.raw("rope_theta") not in (None, outer))
        ):
            raise NotKnown(f"such places of rope_theta in {framework.name}")
    told = _inner_or_outer(block, "rope_theta", config, outer_key, above=1)
    if told is not None:
        return told
    if family.base is None:
        raise NotKnown(f"no rope_theta in {framework.name}")
    base, who = (keys.base, "transformers") if family.base == "class" else (float(family.base), framework.name)
    (block if outer_key is None else config).note_default(outer_key or "rope_theta", f"{base:g}", who)
    return base


def _partial(config: Block, keys: RopeKeys, block: Block, kind: str) -> float | None:
    """The share of a head that rotates; None where the family has no such key."""
    if keys.partial is not None or kind == "proportional":
        partial = _inner_or_outer(block, "partial_rotary_factor", config, keys.partial_key, above=0)
        if partial is None:
            partial = 1.0 if keys.partial is None else keys.partial
            if partial != 1 and framework_of(config).family(config).base != "class":
                raise NotKnown(f"no {keys.partial_key or 'partial_rotary_factor'} in {framework_of(config).name}")
            if partial != 1:
                owner = block if keys.partial_key is None else config
                owner.note_default(keys.partial_key or "partial_rotary_factor", f"{partial:g}")
        return partial
    framework = framework_of(config)
    if framework.families is not None:
        for where in (config, block):
            if where.number("partial_rotary_factor", above=0) not in (None, 1.0):
                raise NotKnown(f"{where.name('partial_rotary_factor')} in {framework.name}")
    return None


def _inner_or_outer(block: Block, key: str, config: Block, outer_key: str | None, *, above: float) -> float | None:
    """The value in the rope block, which wins, or the one beside it."""
    inner = block.number(key, above=above)
    outer = None if outer_key is None else config.number(outer_key, above=above)
    if outer_key is not None and inner is not None and outer is not None and inner != outer:
        told = f"{block.name(key)} {inner:g} and {config.name(outer_key)} {outer:g}"
        block.note("contradictory", f"{told}; the former is used")
    return outer if inner is None else inner
