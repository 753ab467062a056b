"""Falcon: rotary, or ALiBi where the file says ``alibi: true``."""

from __future__ import annotations

from posref.models import biases, shape
from posref.models._reading import Block, Reader
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding

_rotary = PlainRope()


def falcon(config: Block) -> list[Encoding]:
    """The one encoding of such a model. Its ALiBi is added before the logits are divided by sqrt(head_dim)."""
    older = {"n_head": "num_attention_heads", "n_layer": "num_hidden_layers"}
    usual = {
        new: config.raw(old) for old, new in older.items() if config.raw(new) is None and config.raw(old) is not None
    }
    if usual:
        config.note(
            "unusual", "n_head and n_layer are keys of its first code; transformers' class does not look at them"
        )
        config = config.replaced({**config.values, **usual})
    if not config.boolean_or("alibi", False):
        return _rotary(config)
    channels = shape.head_dim(config)
    return [biases.alibi(config, ("num_attention_heads",), ("num_hidden_layers",), scale=inverse_root(channels))]


def inverse_root(channels: int | None) -> float | None:
    """1 / sqrt(head_dim), where it is known."""
    return None if channels is None else channels**-0.5


FAMILIES: dict[str, Reader] = {"falcon": falcon}
