"""The rope keys of a config, in all their spellings, and the record of what follows from them.

The rules are transformers': ``rope_scaling`` before ``rope_parameters``; within it ``rope_type`` before the older ``type``; its
own ``rope_theta`` and ``partial_rotary_factor`` before those beside it; but a top-level
``original_max_position_embeddings`` before its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posref._arguments import choice, even, shown
from posref.models._reading import Block, Untold
from posref.models.records import RopeEncoding
from posref.models.scalings import KINDS, Source
from posref.rotary.frequencies import rope_attention_factor, rope_inv_freq
from posref.rotary.scaling import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    Scaling,
    YarnScaling,
)

IDS: dict[type, str] = {  # in the catalogue
    LinearScaling: "rope-linear",
    NTKScaling: "rope-ntk",
    DynamicNTKScaling: "rope-dynamic-ntk",
    YarnScaling: "rope-yarn",
    Llama3Scaling: "rope-llama3",
    LongRopeScaling: "rope-longrope",
}


@dataclass(frozen=True)
class RopeKeys:
    """How a family of models spells its rope keys, and what it assumes where they are absent."""

    base: float = 10000.0
    base_key: str = "rope_theta"
    partial: float | None = None  # None: the family always rotates whole heads
    partial_key: str = "partial_rotary_factor"
    original: int | None = None
    block: Mapping[str, Any] = field(default_factory=dict)
    older_types: Mapping[str, str] = field(default_factory=lambda: {"su": "longrope"})


@dataclass(frozen=True)
class RopeParameters:
    """What the rope keys say, before the shape of the model comes in."""

    block: Block
    kind: str
    base: float
    partial: float | None
    scaling: Scaling | None
    missing: str | None  # why there is no scaling although the file has one


def read_parameters(config: Block, keys: RopeKeys) -> RopeParameters:
    """Read ``rope_scaling`` or ``rope_parameters`` and what stands beside them.

    Raises
    ------
    ValueError, TypeError
        An unknown rope type, a key that is missing, or a value of the wrong type or range.
    """
    block = _rope_block(config, keys)
    kind = _rope_type(block, keys.older_types)
    base = _inner_or_outer(block, "rope_theta", config, keys.base_key, above=1)
    if base is None:
        base = keys.base
        config.note_default(keys.base_key, f"{base:g}")
    partial = None
    if keys.partial is not None:
        partial = _inner_or_outer(block, "partial_rotary_factor", config, keys.partial_key, above=0)
        if partial is None:
            partial = keys.partial
            if partial != 1:
                config.note_default(keys.partial_key, f"{partial:g}")
    try:
        scaling, missing = KINDS[kind](Source(config, block, keys.original)), None
    except Untold as problem:
        scaling, missing = None, str(problem)
    return RopeParameters(block, kind, base, partial, scaling, missing)


def rope_encoding(
    config: Block,
    rope: RopeParameters,
    *,
    head_dim: int | None,
    rotary_dim: int | None,
    layers: tuple[int, ...] | None,
    seq_len: int | None,
    layout: str,
    output_layout: str | None = None,
    offset: int | None = 0,
    part: str | None = None,
    softmax_factor: float = 1.0,
    longest: int | None = None,
) -> RopeEncoding:
    """The record of a rotation. What the file does not tell is None there, and has a note."""
    if head_dim is not None and rotary_dim is not None and rotary_dim > head_dim:
        raise ValueError(f"rotary_dim must be at most head_dim {head_dim}, got {rotary_dim}")
    rope.block.note_ignored()
    scaling = rope.scaling
    if rope.missing is not None:
        config.note("unknown", f"the frequencies: {rope.missing}")
    return RopeEncoding(
        encoding=IDS.get(type(scaling), "rope"),
        component="text",
        part=part,
        layers=layers,
        layout=layout,
        output_layout=output_layout or layout,
        head_dim=head_dim,
        rotary_dim=rotary_dim,
        offset=offset,
        base=rope.base,
        scaling=scaling,
        seq_len=_heeded(config, scaling, seq_len),
        inv_freq=_inv_freq(rope, rotary_dim, seq_len),
        attention_factor=_attention_factor(config, rope),
        softmax_factor=softmax_factor,
        max_position_embeddings=longest or config.integer("max_position_embeddings"),
    )


def _rope_block(config: Block, keys: RopeKeys) -> Block:
    old, new = config.block("rope_scaling"), config.block("rope_parameters")
    old, new = (block if block is not None and block.values else None for block in (old, new))
    if old and new and old.values != new.values:
        config.note("contradictory", "rope_scaling and rope_parameters differ; the former is used")
    block = old or new
    if block is None:
        block = Block(keys.block, config.notes, config.name("rope_parameters"))
        if keys.block:
            told = ", ".join(f"{key} {value}" for key, value in keys.block.items())
            config.note("defaulted", f"rope_parameters are absent, transformers' default is {told}")
    for key, value in block.values.items():
        if isinstance(value, Mapping):
            raise ValueError(
                f"{block.name(str(key))} must be a number, string or list: this model has one block for all layers"
            )
    return block


def _rope_type(block: Block, older_types: Mapping[str, str]) -> str:
    new, old = block.word("rope_type"), block.word("type")
    if new is not None and old is not None and new != old:
        block.note(
            "contradictory", f"{block.where} has rope_type {shown(new)} and type {shown(old)}; the former is used"
        )
    kind = next((word for word in (new, old) if word is not None), "default")
    if kind in older_types:
        block.note("unusual", f"rope type {kind!r} is an older name of {older_types[kind]!r}")
        kind = older_types[kind]
    return choice(kind, block.name("type" if new is None else "rope_type"), tuple(KINDS))


def _inner_or_outer(block: Block, key: str, config: Block, outer_key: str, *, above: float) -> float | None:
    """The value in the rope block, which wins, or the one beside it."""
    inner, outer = block.number(key, above=above), config.number(outer_key, above=above)
    if inner is not None and outer is not None and inner != outer:
        told = f"{block.name(key)} {inner:g} and {config.name(outer_key)} {outer:g}"
        block.note("contradictory", f"{told}; the former is used")
    return outer if inner is None else inner


def _inv_freq(rope: RopeParameters, rotary_dim: int | None, seq_len: int | None) -> tuple[float, ...] | None:
    if rotary_dim is None or rope.missing is not None:
        return None
    even(rotary_dim, "rotary_dim")
    inv_freq = tuple(rope_inv_freq(rotary_dim, base=rope.base, scaling=rope.scaling, seq_len=seq_len).tolist())
    if not all(map(math.isfinite, inv_freq)):
        raise ValueError(f"{rope.block.where} must leave finite frequencies, got an infinite one")
    return inv_freq


def _attention_factor(config: Block, rope: RopeParameters) -> float | None:
    scaling = rope.scaling
    if rope.missing is not None:
        return None
    if isinstance(scaling, LongRopeScaling) and scaling.factor is None and scaling.attention_factor is None:
        config.note("unknown", "the attention factor: neither factor nor max_position_embeddings is given")
        return None
    factor = rope_attention_factor(scaling)
    if not math.isfinite(factor):
        raise ValueError(f"{rope.block.where} must leave a finite attention factor, got {factor}")
    return factor


def _heeded(config: Block, scaling: Scaling | None, seq_len: int | None) -> int | None:
    """The sequence length, where it makes a difference."""
    if not isinstance(scaling, (DynamicNTKScaling, LongRopeScaling)):
        if seq_len is not None:
            config.note("ignored", f"seq_len {seq_len}: the frequencies do not depend on it")
        return None
    if seq_len is None:
        length = scaling.original_max_position_embeddings
        config.note("seq_len", f"the frequencies depend on the length; these hold up to {length}")
    return seq_len
