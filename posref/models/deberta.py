"""DeBERTa, v1 to v3: disentangled attention, and a learned table where ``position_biased_input`` is true."""

from __future__ import annotations

from posref._arguments import shown
from posref.models import shape
from posref.models._reading import Block, NotKnown, Reader
from posref.models.records import DebertaEncoding, Encoding
from posref.models.tables import Learned

TERMS = ("c2p", "p2c")


def deberta_v1(config: Block) -> list[Encoding]:
    """The first DeBERTa has neither buckets nor shared projections, whatever the file says."""
    return deberta(config, first=True)


def deberta(config: Block, *, first: bool = False) -> list[Encoding]:
    """The table on the input and the one in the attention, where there are such."""
    found: list[Encoding] = []
    if config.boolean_or("position_biased_input", True):
        found += Learned()(config)
    if not config.boolean_or("relative_attention", False):
        return found
    longest = config.integer("max_position_embeddings")
    clipped = _positive(config, "max_relative_positions")
    if clipped is None:
        clipped = longest
        config.note("defaulted", f"max_relative_positions is max_position_embeddings, {longest}")
    buckets = None if first else _positive(config, "position_buckets")
    span = clipped if buckets is None else buckets
    dim = config.integer("hidden_size", most=shape.MOST_CHANNELS)
    encoding = DebertaEncoding(
        encoding="deberta",
        component="text",
        part=None,
        layers=shape.layers(config),
        num_heads=config.integer("num_attention_heads", most=shape.MOST_HEADS),
        terms=_terms(config),
        rows=None if span is None else 2 * span,
        dim=dim,
        max_relative_positions=clipped,
        position_buckets=buckets,
        share_att_key=not first and config.boolean_or("share_att_key", False),
    )
    return [*found, encoding]


def _positive(config: Block, key: str) -> int | None:
    """A number above 0; -1 and 0 stand for none."""
    value = config.integer(key, least=-1)
    return value if value is not None and value > 0 else None


def _terms(config: Block) -> tuple[str, ...]:
    """``pos_att_type``: a list, or words with bars between them."""
    value = config.raw("pos_att_type")
    if isinstance(value, str):
        words = [word.strip() for word in value.lower().split("|") if word.strip()]
    else:
        words = list(config.words("pos_att_type", most=8) or ())
    unknown = [word for word in words if word not in TERMS]
    if unknown:
        raise NotKnown(f"pos_att_type {shown(unknown[0])}")
    return tuple(word for word in TERMS if word in words)


FAMILIES: dict[str, Reader] = {"deberta": deberta_v1, "deberta-v2": deberta}
