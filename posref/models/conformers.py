"""Speech encoders of conformers, whose ``position_embeddings_type`` says which of several encodings they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from posref._arguments import shown
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.offsets import shaw, transformer_xl
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding
from posref.models.rope_keys import RopeKeys


@dataclass(frozen=True)
class Conformer:
    """Reads such an encoder. ``rotary_embedding_base`` is written whatever the type is, and says nothing.

    Parameters
    ----------
    kind
        The type where the file has none.
    kinds
        The types that the class has.
    heads, layers
        Names of the keys.
    others
        What else such a model has, of which positions are not known.
    """

    kind: str
    kinds: Sequence[str]
    heads: str = "num_attention_heads"
    layers: str = "num_hidden_layers"
    others: Sequence[str] = field(default_factory=tuple)

    def __call__(self, config: Block) -> list[Encoding]:
        """The rotation, or what it has instead."""
        for other in self.others:
            config.note("not known yet", other)
        config.raw("rotary_embedding_base")
        key = "position_embeddings_type"
        if key not in config.values:
            config.note_default(key, shown(self.kind))
        kind = config.word(key) if key in config.values else self.kind
        if kind == "rotary" and kind in self.kinds:
            return self._rotation(config)
        if kind is None or kind not in self.kinds:
            config.note("nope", f"audio: {config.name(key)} {shown(kind)} is none of the class's types: no positions")
        else:
            return [self._relative(config, kind)]
        return []

    def _relative(self, config: Block, kind: str) -> Encoding:
        heads, layers = config.integer(self.heads, most=shape.MOST_HEADS), shape.layers(config, (self.layers,))
        if kind == "relative_key":
            return shaw(config, "audio", heads, layers)
        return transformer_xl("audio", config.integer("hidden_size"), heads, layers, "interleaved")

    def _rotation(self, config: Block) -> list[Encoding]:
        rotation = PlainRope(
            RopeKeys(base_key="rotary_embedding_base"),
            channels=lambda block: shape.head_dim(block, names=(("hidden_size",), (self.heads,))),
        )
        usual = {"num_hidden_layers": config.integer(self.layers, most=shape.MOST_LAYERS)}
        (rope,) = rotation(config.replaced({**config.values, **usual}))
        return [replace(rope, component="audio")]


SPEECH = {"heads": "speech_encoder_attention_heads", "layers": "speech_encoder_layers"}
SEAMLESS = ("text and vocoder: sinusoids and convolutions beside the speech encoder",)

FAMILIES: dict[str, Reader] = {
    "seamless_m4t": Conformer("relative", ("relative", "rotary"), others=SEAMLESS, **SPEECH),
    "seamless_m4t_v2": Conformer("relative_key", ("relative_key",), others=SEAMLESS, **SPEECH),
    "wav2vec2-bert": Conformer("relative_key", ("relative", "relative_key", "rotary")),
    "wav2vec2-conformer": Conformer("relative", ("relative", "rotary")),
}
