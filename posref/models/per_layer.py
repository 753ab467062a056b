"""Families whose base, or share of a head that rotates, is told layer by layer: Step 3.5."""

from __future__ import annotations

from collections.abc import Sequence

from posref._arguments import number
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.plain_rope import rotated
from posref.models.records import Encoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import RopeKeys, read_parameters
from posref.models.shape import FULL


def step3p5(config: Block) -> list[Encoding]:
    """Step 3.5: lists of ``rope_theta`` and ``partial_rotary_factors`` by layer; a flat ``rope_scaling`` is the global layers'.

    Layers of a kind are alike: the first of them counts, as in transformers.
    """
    kinds = shape.layer_kinds(_trimmed(config), shape.all_of(FULL))
    present = [FULL] if kinds is None else sorted(set(kinds))
    blocks = config.block("rope_parameters")
    nested = blocks is not None and all(isinstance(blocks.raw(kind), dict) for kind in present)
    found: list[Encoding] = []
    for kind in present:
        own = blocks.block(kind) if nested and blocks is not None else _assembled(config, kinds or (FULL,), kind)
        bare = config.replaced({"max_position_embeddings": config.raw("max_position_embeddings")}, counts=False)
        rope = read_parameters(bare, RopeKeys(partial=1.0), own)
        channels = shape.head_dim(config, 128)
        found.append(
            rope_encoding(
                config,
                rope,
                head_dim=channels,
                rotary_dim=rotated(channels, rope.partial),
                layers=shape.of_kind(kinds, kind),
                layout="half",
            )
        )
    return found


def _trimmed(config: Block) -> Block:
    """The layers without those of the heads that predict further tokens, which the lists end with."""
    kinds, count = config.raw("layer_types"), config.integer("num_hidden_layers", most=shape.MOST_LAYERS)
    more = config.integer("num_nextn_predict_layers", least=0, most=shape.MOST_LAYERS)
    values = {"layer_types": kinds, "num_hidden_layers": count}
    if isinstance(kinds, list) and count is not None and more is not None and len(kinds) == count + more:
        values["layer_types"] = kinds[:count]
    return config.replaced(values)


def _assembled(config: Block, kinds: Sequence[str], kind: str) -> Block:
    """The rope block of a kind of layer, from the keys that a file has for all layers."""
    first = kinds.index(kind)
    values = {"rope_type": "default", "rope_theta": _of_layer(config, "rope_theta", first)}
    partial = _of_layer(config, "partial_rotary_factors", first)
    if values["rope_theta"] is None:
        config.note_default("rope_theta", "10000")
        values["rope_theta"] = 10000.0
    if partial is not None:
        values["partial_rotary_factor"] = partial
    scaling = config.block("rope_scaling")
    config.raw("yarn_only_types")  # which says the same
    if scaling is not None and kind == FULL:
        values |= scaling.values
    return Block(
        values,
        config.reading,
        config.name("rope_scaling" if scaling is not None and kind == FULL else "rope_parameters"),
    )


def _of_layer(config: Block, key: str, layer: int) -> float | None:
    """A number for all layers, or that of one in a list."""
    value = config.raw(key)
    if not isinstance(value, (list, tuple)):
        return None if value is None else number(value, config.name(key), above=0)
    if not layer < len(value) <= shape.MOST_LAYERS:
        raise ValueError(f"{config.name(key)} must have one number per layer, got {len(value)}")
    return number(value[layer], f"{config.name(key)}[{layer}]", above=0)


FAMILIES: dict[str, Reader] = {"step3p5": step3p5}
