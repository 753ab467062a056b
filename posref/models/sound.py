"""Encoders of sound, video or series that rotate by one position, and the models that they are parts of.

The sizes that stand in for absent ones are the defaults of transformers' class: it does not write them out when it saves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.composite import Composite, read_part
from posref.models.patches import PatchTable
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding
from posref.models.rope_keys import RopeKeys
from posref.models.stacks import Stacks
from posref.models.tables import Learned


@dataclass(frozen=True)
class Tower:
    """Reads such an encoder.

    Parameters
    ----------
    sizes
        The class's defaults: hidden_size, num_attention_heads, num_hidden_layers, and head_dim where it has that key.
    component
        What it encodes.
    aliases
        Other name of a key -> its usual name.
    """

    rope: PlainRope
    sizes: tuple[int, ...]
    component: str = "audio"
    aliases: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, config: Block) -> list[Encoding]:
        """The rotation of such an encoder."""
        usual = {new: config.raw(old) for old, new in self.aliases.items() if config.raw(old) is not None}
        values = {**usual, **config.values}
        for key, size in zip(SIZES, self.sizes, strict=False):
            if values.get(key) is None:
                config.note_default(key, str(size))
                values[key] = size
        return [replace(encoding, component=self.component) for encoding in self.rope(config.replaced(values))]


SIZES = ("hidden_size", "num_attention_heads", "num_hidden_layers", "head_dim")
WHISPER_NAMES = {
    "d_model": "hidden_size",
    "encoder_layers": "num_hidden_layers",
    "encoder_attention_heads": "num_attention_heads",
}


@dataclass(frozen=True)
class Clvp(PlainRope):
    """CLVP: as many channels rotate as half of ``projection_dim`` has per head, but at least 32; values rotate, too."""

    def __call__(self, config: Block) -> list[Encoding]:
        """The rotation; there may be none."""
        if not config.boolean_or("use_rotary_embedding", True):
            config.note("nope", f"{config.name('use_rotary_embedding')} is false: no position encoding")
            return []
        config.note("unusual", "the values rotate with queries and keys")
        width = config.integer_or("projection_dim", 768, most=2**16)
        heads = config.integer("num_attention_heads", most=shape.MOST_HEADS) or 1
        values = {**config.values, "rotary_dim": max(width // (2 * heads), 32)}
        return PlainRope(RopeKeys(base_key=None, partial=1.0), rotary_dim_key="rotary_dim")(config.replaced(values))


def xcodec2(config: Block) -> list[Encoding]:
    """Xcodec 2: its class turns each head by its own index, and all frames alike."""
    config.note(
        "unusual", "the position is the index of the head: all frames turn alike, and scores do not change by it"
    )
    encodings = _xcodec2(config)
    part = config.block("semantic_model_config")
    return encodings if part is None else [*encodings, *_labelled(part, "wav2vec2-bert", "audio", "semantic")]


def musicflamingo(config: Block) -> list[Encoding]:
    """Music Flamingo: Whisper's kin before a Qwen 2, and embeddings of sound that turn by seconds."""
    config.note(
        "not known yet", "audio: embeddings that turn by the angle of a timestamp times those of window and frame"
    )
    return Composite("qwen2", audio="audioflamingo3_encoder")(config)


def idefics(config: Block) -> list[Encoding]:
    """IDEFICS: a Llama with layers that look at the image between its own, and CLIP's table."""
    found = list(PlainRope()(config))
    vision = config.block("vision_config")
    if vision is None:
        config.note("unknown", "vision: vision_config is not given")
        return found
    return found + read_part(vision, "idefics_vision", "vision")


def _labelled(part: Block, usual: str, component: str, name: str) -> list[Encoding]:
    told = part.word("model_type")
    return [replace(e, part=name) for e in read_part(part, told or usual, component)]


def pe(**parts: str) -> Reader:
    """Perception encoders of sound and video: parts by the name of their key."""

    def read(config: Block) -> Sequence[Encoding]:
        found: list[Encoding] = []
        for key, usual in parts.items():
            part = config.block(key)
            if part is None:
                config.note("unknown", f"{key}: it is not given")
                continue
            component = {"text_config": "text", "video_config": "vision"}.get(key, "audio")
            found += read_part(part, part.word("model_type") or usual, component)
        return found

    return read


_xcodec2 = Tower(PlainRope(), (1024, 16, 12, 64))
PE = RopeKeys(base=20000.0)

FAMILIES: dict[str, Reader] = {
    "clvp": Stacks(
        {
            "text_config": ("clvp_encoder", "text", "text encoder"),
            "speech_config": ("clvp_encoder", "audio", "speech encoder"),
            "decoder_config": ("clvp_decoder", "audio", "decoder"),
        }
    ),
    "clvp_decoder": Learned(),
    "clvp_encoder": Tower(Clvp(), (768, 12, 20), component="text"),
    "glmasr": Composite("llama", audio="glmasr_encoder"),
    "glmasr_encoder": Tower(PlainRope(RopeKeys(partial=0.5)), (1280, 20, 32)),
    "idefics": idefics,
    "idefics_vision": PatchTable((("embed_dim", "hidden_size"), 768), 224, 14, 1, resampling="bicubic"),
    "lasr_ctc": Stacks({"encoder_config": ("lasr_encoder", "audio", "encoder")}),
    "lasr_encoder": Tower(PlainRope(), (512, 8, 17)),
    "mlcd": Composite(vision="mlcd_vision_model"),
    "musicflamingo": musicflamingo,
    **dict.fromkeys(
        ("parakeet_ctc", "parakeet_rnnt", "parakeet_tdt"),
        Stacks({"encoder_config": ("parakeet_encoder", "audio", "encoder")}),
    ),
    "pe_audio": pe(text_config="modernbert", audio_config="pe_audio_encoder"),
    "pe_audio_encoder": Tower(PlainRope(PE, layout="interleaved"), (1792, 14, 6, 128)),
    "pe_audio_video": pe(text_config="modernbert", audio_video_config="pe_audio_video_encoder"),
    "pe_audio_video_encoder": Tower(PlainRope(PE, layout="interleaved"), (1792, 14, 6, 128)),
    "pe_video": pe(text_config="modernbert", video_config="pe_video_encoder"),
    "pe_video_encoder": Tower(PlainRope(PE, layout="interleaved"), (1792, 14, 6, 128), component="vision"),
    "timesfm2_5": Tower(PlainRope(), (1280, 16, 20, 80), component="text"),
    "voxtral_realtime_encoder": Tower(PlainRope(), (1280, 32, 32, 64), aliases=WHISPER_NAMES),
    "xcodec2": xcodec2,
}
