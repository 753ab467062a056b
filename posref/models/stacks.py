"""Models of several stacks, each with its own keys: encoder and decoder, a backbone and a small decoder, a codec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.composite import read_part
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding
from posref.models.rope_keys import RopeKeys

Stack = tuple[str, str, str]  # model_type where it says none that is known ("": any), component, part


@dataclass(frozen=True)
class Stacks:
    """Reads such a model.

    Parameters
    ----------
    stacks
        Key -> the stack that it holds.
    own
        Reads what stands beside the stacks, where the model is more than they.
    """

    stacks: Mapping[str, Stack]
    own: Reader | None = None

    def __call__(self, config: Block) -> list[Encoding]:
        """The encodings of all stacks."""
        found = list(self.own(config)) if self.own is not None else []
        for key, (usual, component, part) in self.stacks.items():
            block = config.block(key)
            if block is None:
                config.note("unknown", f"{part}: {config.name(key)} is not given")
                continue
            told = block.word("model_type")
            known = told in block.reading.readers
            encodings = read_part(block, told if known and told is not None else usual or told or "", component)
            found += [replace(encoding, part=encoding.part or part) for encoding in encodings]
        return found


def of_audio(reader: Reader) -> Reader:
    """A reader of a model that has no text."""

    def read(config: Block) -> Sequence[Encoding]:
        return [replace(encoding, component="audio") for encoding in reader(config)]

    return read


def moonshine(config: Block) -> list[Encoding]:
    """Moonshine: encoder and decoder rotate alike, by the width of the decoder's heads."""
    names = (("hidden_size",), ("decoder_num_attention_heads", "num_attention_heads"))
    (rope,) = PlainRope(
        RopeKeys(partial=0.9),
        layout="interleaved",
        channels=lambda block: shape.head_dim(block, names=names),
        kinds=None,
    )(_with_layers(config))
    encoder = shape.layers(config, ("encoder_num_hidden_layers",))
    return [
        replace(rope, component="audio", part="encoder", layers=encoder),
        replace(rope, part="decoder"),
    ]


def _with_layers(config: Block) -> Block:
    """The decoder's number of layers goes by another name there."""
    number = config.either(("decoder_num_hidden_layers", "num_hidden_layers"), most=shape.MOST_LAYERS)
    return config.replaced({**config.values, "num_hidden_layers": number})


INTERLEAVED, BLT = PlainRope(layout="interleaved"), PlainRope(RopeKeys(base=500000.0), layout="interleaved")
CSM = PlainRope(RopeKeys(base=500000.0))
CODEC: Mapping[str, Stack] = {"codec_config": ("mimi", "audio", "codec")}

FAMILIES: dict[str, Reader] = {
    "blt": Stacks(
        {
            "patcher_config": ("blt_patcher", "text", "patcher"),
            "encoder_config": ("blt_local_encoder", "text", "encoder"),
            "decoder_config": ("blt_local_decoder", "text", "decoder"),
            "global_config": ("blt_global_transformer", "text", "global"),
        }
    ),
    "blt_patcher": INTERLEAVED,
    "blt_local_encoder": BLT,
    "blt_local_decoder": BLT,
    "blt_global_transformer": BLT,
    "csm": Stacks({"depth_decoder_config": ("csm_depth_decoder_model", "text", "depth decoder"), **CODEC}, CSM),
    "csm_depth_decoder_model": CSM,
    "dia": Stacks(
        {"encoder_config": ("dia_encoder", "text", "encoder"), "decoder_config": ("dia_decoder", "audio", "decoder")}
    ),
    "dia_encoder": PlainRope(head_dim=128),
    "dia_decoder": PlainRope(head_dim=128),
    "kyutai_speech_to_text": Stacks(CODEC, PlainRope()),
    "encoder-decoder": Stacks({"encoder": ("", "text", "encoder"), "decoder": ("", "text", "decoder")}),
    "speech-encoder-decoder": Stacks({"encoder": ("", "audio", "encoder"), "decoder": ("", "text", "decoder")}),
    "vision-encoder-decoder": Stacks({"encoder": ("", "vision", "encoder"), "decoder": ("", "text", "decoder")}),
    "moshi": Stacks({"audio_encoder_config": ("mimi", "audio", "codec")}, PlainRope()),
    "mimi": of_audio(PlainRope()),
    "moonshine": moonshine,
    "moonshine_streaming": PlainRope(RopeKeys(partial=0.8), layout="interleaved"),
    "t5gemma": Stacks(
        {"encoder": ("t5_gemma_module", "text", "encoder"), "decoder": ("t5_gemma_module", "text", "decoder")}
    ),
    "t5_gemma_module": PlainRope(head_dim=256),
    "t5gemma2": Stacks(
        {"encoder": ("t5gemma2_encoder", "text", "encoder"), "decoder": ("t5gemma2_decoder", "text", "decoder")}
    ),
}
