"""The record of a rotation: what follows from the rope keys once the shape of the model is known."""

from __future__ import annotations

import math

from posref._arguments import even
from posref.models._reading import Block
from posref.models.axes import MRope, axes_of
from posref.models.frameworks import framework_of
from posref.models.records import Axes, RopeEncoding
from posref.models.rope_keys import RopeParameters
from posref.rotary.frequencies import rope_attention_factor, rope_inv_freq
from posref.rotary.scaling import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    ProportionalScaling,
    YarnScaling,
)

IDS: dict[type, str] = {  # in the catalogue
    LinearScaling: "rope-linear",
    NTKScaling: "rope-ntk",
    DynamicNTKScaling: "rope-dynamic-ntk",
    YarnScaling: "rope-yarn",
    Llama3Scaling: "rope-llama3",
    LongRopeScaling: "rope-longrope",
    ProportionalScaling: "rope-proportional",
}


def rope_encoding(
    config: Block,
    rope: RopeParameters,
    *,
    head_dim: int | None,
    rotary_dim: int | None,
    layers: tuple[int, ...] | None,
    layout: str,
    output_layout: str | None = None,
    offset: int | None = 0,
    part: str | None = None,
    softmax_factor: float = 1.0,
    longest: int | None = None,
    inverse: bool = False,
    mrope: MRope | None = None,
) -> RopeEncoding:
    """The record of a rotation. What the file does not tell is None there, and has a note."""
    framework_of(config).family(config)  # which may not be known
    if head_dim is not None and rotary_dim is not None and rotary_dim > head_dim:
        raise ValueError(f"rotary_dim must be at most head_dim {head_dim}, got {rotary_dim}")
    if rope.kind == "gptj" and layout == "half":
        rope.block.note("unusual", "rope type 'gptj' is mlc-llm's word for interleaved pairs")
        layout = "interleaved"
    odd = rotary_dim is not None and rotary_dim % 2 == 1 and head_dim is not None and rotary_dim < head_dim
    if odd and rotary_dim is not None:
        told = f"transformers makes {rotary_dim // 2 + 1} frequencies base^(-2i/{rotary_dim}), of one channel more"
        config.note("unusual", f"an odd number of channels rotates, {rotary_dim}: {told}")
    inv_freq = None if odd else _inv_freq(rope, rotary_dim, config.reading.seq_len)
    axes = None if mrope is None else axes_of(rope.block, mrope, None if inv_freq is None else len(inv_freq))
    rope.block.note_ignored()
    if rope.missing is not None:
        config.note("unknown", f"the frequencies: {rope.missing}")
    return RopeEncoding(
        encoding=_id(rope, axes),
        component="text",
        part=part,
        layers=layers,
        layout=layout,
        output_layout=output_layout or layout,
        head_dim=head_dim,
        rotary_dim=rotary_dim,
        offset=offset,
        base=rope.base,
        scaling=rope.scaling,
        seq_len=_heeded(config, rope),
        inv_freq=inv_freq,
        attention_factor=_attention_factor(config, rope),
        softmax_factor=softmax_factor,
        max_position_embeddings=longest or config.integer("max_position_embeddings"),
        inverse=inverse,
        axes=axes,
    )


def _id(rope: RopeParameters, axes: Axes | None) -> str:
    if axes is not None:
        return "rope-xdrope-transformers" if axes.rule == "channels" else "rope-mrope"
    return IDS.get(type(rope.scaling), "rope")


def _inv_freq(rope: RopeParameters, rotary_dim: int | None, seq_len: int | None) -> tuple[float, ...] | None:
    if rotary_dim is None or rope.missing is not None:
        return None
    even(rotary_dim, "rotary_dim")
    length = rope.seq_len if rope.seq_len is not None else seq_len
    inv_freq = rope_inv_freq(rotary_dim, base=rope.base, scaling=rope.scaling, seq_len=length).tolist()
    if not all(map(math.isfinite, inv_freq)):
        raise ValueError(f"{rope.block.where} must leave finite frequencies, got an infinite one")
    return tuple(inv_freq)


def _attention_factor(config: Block, rope: RopeParameters) -> float | None:
    scaling = rope.scaling
    if rope.missing is not None:
        return None
    of_length = isinstance(scaling, LongRopeScaling) and scaling.short_mscale is not None
    if (
        isinstance(scaling, LongRopeScaling)
        and scaling.factor is None
        and scaling.attention_factor is None
        and not of_length
    ):
        config.note("unknown", "the attention factor: neither factor nor max_position_embeddings is given")
        return None
    factor = rope_attention_factor(scaling, seq_len=config.reading.seq_len if of_length else rope.seq_len)
    if not math.isfinite(factor):
        raise ValueError(f"{rope.block.where} must leave a finite attention factor, got {factor}")
    return factor


def _heeded(config: Block, rope: RopeParameters) -> int | None:
    """The sequence length, where it makes a difference."""
    seq_len, scaling = config.reading.seq_len, rope.scaling
    if rope.seq_len is not None:
        return seq_len
    if not isinstance(scaling, (DynamicNTKScaling, LongRopeScaling)):
        if seq_len is not None:
            config.note("ignored", f"seq_len {seq_len}: the frequencies do not depend on it")
        return None
    if seq_len is None:
        length = scaling.original_max_position_embeddings
        config.note("seq_len", f"the frequencies depend on the length; these hold up to {length}")
    return seq_len
