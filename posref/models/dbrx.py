"""DBRX: the base stands in ``attn_config``."""

from __future__ import annotations

from dataclasses import replace

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding
from posref.models.rope_keys import RopeKeys

WIDTH = (("d_model", "hidden_size"), ("n_heads", "num_attention_heads"))


def dbrx(config: Block) -> list[Encoding]:
    """The one encoding of such a model, with the base that it was trained with."""
    attention = config.block("attn_config")
    theta = None if attention is None else attention.number("rope_theta", above=1)
    if theta is not None and all(config.raw(key) is None for key in ("rope_theta", "rope_parameters", "rope_scaling")):
        told = "transformers 5.24 does not look at it, and takes 10000"
        config.note(
            "contradictory",
            f"attn_config.rope_theta is {theta:g}; {told}. The former is used: the model was trained so",
        )
    longest = config.either(("max_seq_len", "max_position_embeddings"))
    layers = config.either(("n_layers", "num_hidden_layers"), most=shape.MOST_LAYERS)
    more = {"max_position_embeddings": longest, "num_hidden_layers": layers}
    (rope,) = PlainRope(
        RopeKeys(base=10000.0 if theta is None else theta), channels=lambda block: shape.head_dim(block, names=WIDTH)
    )(config.replaced({**config.values, **more, "rope_theta": config.raw("rope_theta") or theta}))
    return [replace(rope, layers=shape.layers(config, ("n_layers", "num_hidden_layers")))]


FAMILIES: dict[str, Reader] = {"dbrx": dbrx}
