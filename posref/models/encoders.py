"""Encoders that rotate, each in its own way: ESM and RoFormer."""

from __future__ import annotations

from posref._arguments import shown
from posref.models import shape
from posref.models._reading import Block, NotKnown, Reader
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import RopeParameters
from posref.models.tables import Learned

_esm_rotary = PlainRope()
_esm_table = Learned(after_pad=True)


def esm(config: Block) -> list[Encoding]:
    """ESM-2 rotates, ESM-1b has a learned table."""
    kind = config.word("position_embedding_type")
    if kind is None:
        config.note_default("position_embedding_type", "absolute")
    if kind not in (None, "absolute", "rotary"):
        raise NotKnown(f"position_embedding_type {shown(kind)}")
    return _esm_rotary(config) if kind == "rotary" else _esm_table(config)


def roformer(config: Block) -> list[Encoding]:
    """RoFormer: interleaved pairs, base 10000, no other keys; values rotate as well where ``rotary_value`` is true."""
    if config.boolean("rotary_value"):
        config.note("unusual", "rotary_value is true: the values rotate too")
    channels = shape.head_dim(config)
    rope = RopeParameters(Block({}, config.reading), "default", 10000.0, None, None, None)
    return [
        rope_encoding(
            config, rope, head_dim=channels, rotary_dim=channels, layers=shape.layers(config), layout="interleaved"
        )
    ]


FAMILIES: dict[str, Reader] = {"esm": esm, "roformer": roformer}
