"""What several families read alike: the width of a head and the layers."""

from __future__ import annotations

from collections.abc import Sequence

from posref.models._reading import Block
from posref.models.scalings import MOST_PAIRS

MOST_CHANNELS = 2 * MOST_PAIRS
MOST_LAYERS = 10000
MOST_HEADS = 1024


def head_dim(
    config: Block,
    default: int | None = None,
    names: Sequence[Sequence[str]] = (("hidden_size",), ("num_attention_heads",)),
) -> int | None:
    """``head_dim``, or the family's, or the model's width over its heads; None, with a note, where it cannot be told."""
    if default is not None:
        return config.integer_or("head_dim", default, most=MOST_CHANNELS)
    given = config.integer("head_dim", most=MOST_CHANNELS)
    if given is not None:
        return given
    width, heads = (config.either(keys) for keys in names)
    told = " // ".join(config.name(keys[0]) for keys in names)
    if width is None or heads is None:
        config.note("unknown", f"head_dim: neither it nor {told} is given")
        return None
    if width % heads:
        config.note("unusual", f"{told} leaves a remainder: {width} // {heads}")
    channels = width // heads
    if not 1 <= channels <= MOST_CHANNELS:
        raise ValueError(f"{told} must be from 1 to {MOST_CHANNELS}, got {channels}")
    return channels


def layers(config: Block, names: Sequence[str] = ("num_hidden_layers",)) -> tuple[int, ...] | None:
    """The indices of all layers; None, with a note, where the file does not tell their number."""
    number = config.either(names, most=MOST_LAYERS)
    if number is None:
        config.note("unknown", f"the layers: {config.name(names[0])} is not given")
        return None
    return tuple(range(number))
