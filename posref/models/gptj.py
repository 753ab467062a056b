"""GPT-J and CodeGen: interleaved rotation of the first ``rotary_dim`` channels, base 10000, no scaling."""

from __future__ import annotations

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.records import Encoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import RopeParameters


def gptj(config: Block) -> list[Encoding]:
    """The one encoding of such a model. Its class reads no rope keys, and its table ends at ``n_positions``."""
    rope = RopeParameters(Block({}, config.reading), "default", 10000.0, None, None, None)
    return [
        rope_encoding(
            config,
            rope,
            head_dim=shape.head_dim(config, names=(("hidden_size", "n_embd"), ("num_attention_heads", "n_head"))),
            rotary_dim=config.integer_or("rotary_dim", 64, most=shape.MOST_CHANNELS),
            layers=shape.layers(config, ("num_hidden_layers", "n_layer")),
            layout="interleaved",
            longest=config.either(("max_position_embeddings", "n_positions")),
        )
    ]


FAMILIES: dict[str, Reader] = {"gptj": gptj, "codegen": gptj}
