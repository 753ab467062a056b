"""Tables of other shapes: of videos, spectrograms and tiles, of sinusoids over patches, and of models that have them as parts.

The sizes that stand in for absent ones are the defaults of transformers' class: it does not write them out when it saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.biases import T5
from posref.models.composite import Composite, read_part
from posref.models.offsets import Swin
from posref.models.part_sizes import with_sizes
from posref.models.patches import MOST_PATCHES, PatchTable, side_lengths, sized
from posref.models.plain_rope import PlainRope
from posref.models.records import Axes, Encoding, LearnedEncoding, RopeEncoding, T5Encoding
from posref.models.stacks import Stacks, of_audio
from posref.models.tables import Learned, learned, musicgen, sinusoids
from posref.models.vision import COLUMNS_FIRST, AxialTower
from posref.rotary.frequencies import rope_inv_freq


def _patches(config: Block, image: int, patch: int) -> tuple[int, int]:
    sides = side_lengths(config, "image_size", image) or (image, image)
    cells = side_lengths(config, "patch_size", patch) or (patch, patch)
    return sides[0] // cells[0], sides[1] // cells[1]


def vit_mae(config: Block) -> list[Encoding]:
    """MAE: sinusoids of the columns in the first half of the channels, of the rows in the second; encoder and decoder."""
    grid = _patches(config, 224, 16)
    config.note("unusual", "the tables are in the weights, where they are not trained; half of the channels per axis")
    stacks = (("encoder", ("hidden_size",), 768), ("decoder", ("decoder_hidden_size",), 512))
    return [
        replace(
            sinusoids("vision", stack, grid[0] * grid[1] + 1, sized(config, key, width), 0, endpoint=False),
            encoding="sinusoidal-axes",
        )
        for stack, key, width in stacks
    ]


def videomae(config: Block) -> list[Encoding]:
    """VideoMAE: one row of sinusoids per cell of the video, counted through rows and frames."""
    frames = (sized(config, ("num_frames",), 16) or 16) // (sized(config, ("tubelet_size",), 2) or 2)
    grid = _patches(config, 224, 16)
    width = sized(config, ("hidden_size",), 768)
    return [
        replace(sinusoids("vision", None, frames * grid[0] * grid[1], width, 0, endpoint=False), layout="interleaved")
    ]


def vivit(config: Block) -> list[Encoding]:
    """ViViT: a learned row per cell of the video, after that of a class token."""
    given = config.integers("tubelet_size", most=3, least=1)
    if given is not None and len(given) != 3:
        raise ValueError(f"tubelet_size must be three numbers, got {len(given)}")
    if given is None:
        config.note_default("tubelet_size", "[2, 16, 16]")
    tube = given or (2, 16, 16)
    sides = side_lengths(config, "image_size", 224) or (224, 224)
    frames = (sized(config, ("num_frames",), 32) or 32) // tube[0]
    rows = frames * (sides[0] // tube[1]) * (sides[1] // tube[2]) + 1
    return [_vision(rows, sized(config, ("hidden_size",), 768), 1)]


def _vision(rows: int, dim: int | None, first: int, grid: tuple[int, int] | None = None) -> LearnedEncoding:
    return LearnedEncoding("learned", "vision", None, None, None, rows, dim, first, grid)


def yolos(config: Block) -> list[Encoding]:
    """YOLOS: a class token, patches, then the tokens of detections."""
    sides = side_lengths(config, "image_size", None)
    if sides is None:
        config.note_default("image_size", "[512, 864]")
    cells = side_lengths(config, "patch_size", 16) or (16, 16)
    grid = (sides or (512, 864))[0] // cells[0], (sides or (512, 864))[1] // cells[1]
    tokens = sized(config, ("num_detection_tokens",), 100, most=MOST_PATCHES) or 0
    config.note("unusual", f"the last {tokens} rows are those of detections")
    table = _vision(grid[0] * grid[1] + 1 + tokens, sized(config, ("hidden_size",), 768), 1, grid)
    return [replace(table, resampling="bicubic")]


def vilt(config: Block) -> list[Encoding]:
    """ViLT: a text's table and an image's."""
    image = PatchTable((("hidden_size",), 768), 384, 32, 1, resampling="bilinear")
    return [*Learned()(config), *image(config)]


def spectrogram(config: Block) -> list[Encoding]:
    """AST: overlapping patches of a spectrogram, after two tokens."""
    patch = sized(config, ("patch_size",), 16) or 16
    bins, frames = sized(config, ("num_mel_bins",), 128) or 128, sized(config, ("max_length",), 1024) or 1024
    steps = [sized(config, (f"{axis}_stride",), 10) or 10 for axis in ("frequency", "time")]
    grid = (bins - patch) // steps[0] + 1, (frames - patch) // steps[1] + 1
    if min(grid) < 1:
        raise ValueError(f"patch_size must be at most num_mel_bins and max_length, got {patch}")
    table = _vision(grid[0] * grid[1] + 2, sized(config, ("hidden_size",), 768), 2, grid)
    return [replace(table, component="audio")]


def mllama(config: Block) -> list[Encoding]:
    """Llama 3.2's tower: a table of patches with a learned gate, and one per kind and place of a tile."""
    config.note("unusual", "the table has a learned gate, and another table, by aspect ratio and tile, the rest of it")
    return PatchTable((("hidden_size",), 1280), 448, 14, 1)(config)


def tapas(config: Block) -> list[Encoding]:
    """TAPAS: positions count anew in each cell of the table that is asked about."""
    if config.boolean_or("reset_position_index_per_cell", True):
        config.note("unusual", "positions start anew in each cell; columns and rows have tables of their own")
    return Learned()(config)


def reformer(config: Block) -> list[Encoding]:
    """Reformer: rows put together of two tables, by the quotient and the remainder of a position; or one table."""
    if not config.boolean_or("axial_pos_embds", True):
        return Learned()(config)
    sides = config.integers("axial_pos_shape", most=2, least=1) or (64, 64)
    config.note(
        "unusual", f"two tables of {sides[0]} and {sides[-1]} rows: a position's quotient and remainder, side by side"
    )
    return [learned(None, sides[0] * sides[-1], sized(config, ("hidden_size",), 256), 0)]


def prophetnet(config: Block) -> list[Encoding]:
    """ProphetNet: a table in both stacks, and in the decoder scores of queries with a row per bucket."""
    config.note("not known yet", "decoder: scores of queries with a row per bucket of T5's rule")
    return Learned(after_pad=True, stacks=("encoder", "decoder"))(config)


def encoder_of_t5(config: Block) -> list[Encoding]:
    """What stands before a decoder of sound."""
    return [e for e in T5()(config) if isinstance(e, T5Encoding) and e.stack == "encoder"]


def with_text_encoder(decoder: str) -> Reader:
    """MusicGen and Parler-TTS: T5's encoder, a codec, and a decoder of its codes."""

    def read(config: Block) -> Sequence[Encoding]:
        found: list[Encoding] = []
        text = config.block("text_encoder")
        if text is not None:
            told = text.word("model_type") or "t5"
            encodings = encoder_of_t5(with_sizes(text, told)) if told == "t5" else read_part(text, told, "text")
            found += [replace(encoding, part="text encoder") for encoding in encodings]
        codec = config.block("audio_encoder")
        if codec is not None:
            found += [
                replace(e, part="codec") for e in read_part(codec, codec.word("model_type") or "encodec", "audio")
            ]
        part = config.block("decoder")
        if part is None:
            config.note("unknown", "decoder: it is not given")
            return found
        return found + [
            replace(e, part="decoder") for e in read_part(part, part.word("model_type") or decoder, "audio")
        ]

    return read


def vjepa2(config: Block) -> list[Encoding]:
    """V-JEPA 2: frames, rows and columns in blocks of channels, where neighbours do not turn alike: no rotation."""
    found: list[Encoding] = []
    for prefix, sizes, part in (("", (1024, 16, 24), None), ("pred_", (384, 12, 12), "predictor")):
        width = sized(config, (f"{prefix}hidden_size",), sizes[0])
        heads = sized(config, (f"{prefix}num_attention_heads",), sizes[1], most=shape.MOST_HEADS)
        layers = sized(config, (f"{prefix}num_hidden_layers",), sizes[2], most=shape.MOST_LAYERS)
        if width is None or heads is None or layers is None:
            continue
        channels = width // heads
        pairs = channels // 3 // 2
        if not 1 <= pairs <= shape.MOST_CHANNELS:
            raise ValueError(f"{prefix}hidden_size must leave a pair per axis and head, got {width} for {heads} heads")
        found += [_tiled(channels, pairs, axis, tuple(range(layers)), part) for axis in range(3)]
    return found


def _tiled(channels: int, pairs: int, axis: int, layers: tuple[int, ...], part: str | None) -> RopeEncoding:
    """One axis: its frequencies, tiled over its channels, while neighbours make the pairs."""
    name = ("time", "height", "width")[axis]
    return RopeEncoding(
        encoding="rope-vjepa2",
        component="vision",
        part=part,
        layers=layers,
        layout="interleaved",
        output_layout="interleaved",
        head_dim=channels,
        rotary_dim=2 * pairs,
        offset=2 * pairs * axis,
        base=10000.0,
        scaling=None,
        seq_len=None,
        inv_freq=tuple(rope_inv_freq(2 * pairs).tolist()),
        attention_factor=1.0,
        softmax_factor=1.0,
        max_position_embeddings=None,
        axes=Axes((name,), (pairs,), "channels", "per_axis", (0,) * (2 * pairs)),
    )


def parler_tts(config: Block) -> list[Encoding]:
    """Parler-TTS's decoder: MusicGen's sinusoids, or a rotation where ``rope_embeddings`` is true."""
    return PlainRope()(config) if config.boolean_or("rope_embeddings", False) else musicgen(config)


def sam3_vit(config: Block) -> list[Encoding]:
    """SAM 3's tower: columns, then rows; layers that see all patches measure them by the window; a table that is tiled."""
    (whole,) = SAM3(config)
    window = sized(config, ("window_size",), 24) or 24
    grid, pretrained = _patches(config, 1008, 14), side_lengths(config, "pretrain_image_size", 336) or (336, 336)
    patch = side_lengths(config, "patch_size", 14) or (14, 14)
    told = config.integers("global_attn_indexes", most=shape.MOST_LAYERS)
    if told is None:
        config.note_default("global_attn_indexes", "[7, 15, 23, 31]")
    free = [i for i in whole.layers or () if i in ((7, 15, 23, 31) if told is None else told)]
    local = tuple(i for i in whole.layers or () if i not in free)
    config.note("unusual", "the table is tiled, and not resampled, to larger images")
    rotations: list[Encoding] = [replace(whole, layers=local)] if local else []
    if free and isinstance(whole, RopeEncoding) and whole.axes is not None:
        axes = replace(whole.axes, positions=f"the patch's times {window}/{grid[1]}")
        rotations.append(replace(whole, layers=tuple(free), axes=axes))
    cells = pretrained[0] // patch[0], pretrained[1] // patch[1]
    return [*rotations, _vision(cells[0] * cells[1], sized(config, ("hidden_size",), 1024), 0, cells)]


def sam2_hiera(config: Block) -> list[Encoding]:
    """SAM 2's tower: a small table, stretched over the image, and one of a window, tiled over it."""
    given = config.integers("window_positional_embedding_background_size", most=2, least=1)
    side = (config.integers("window_size_per_stage", most=16, least=1) or (8,))[0]
    width = sized(config, ("hidden_size",), 96)
    if not given:
        config.note_default("window_positional_embedding_background_size", "[7, 7]")
    grid = (given[0], given[-1]) if given else (7, 7)
    config.note("unusual", "the second table is that of a window of the first stage, and is tiled over the image")
    return [
        replace(_vision(grid[0] * grid[1], width, 0, grid), resampling="bicubic"),
        _vision(side * side, width, 0, (side, side)),
    ]


def backbone(usual: str) -> Reader:
    """A tower whose keys are those of its one part."""

    def read(config: Block) -> Sequence[Encoding]:
        key = "backbone_config"
        part = config.block(key)
        if part is None:
            config.note_default(key, f"that of {usual}")
            part = Block({}, config.reading, config.name(key))
        return read_part(part, part.word("model_type") or usual, "vision")

    return read


def sam(vision: str) -> Reader:
    """Segment Anything: the tower; points and boxes have Fourier features of random frequencies."""

    def read(config: Block) -> Sequence[Encoding]:
        config.note(
            "unusual",
            "the decoder has Fourier features of prompts and patches, whose frequencies come with the weights",
        )
        return Composite(vision=vision)(config)

    return read


SAM3 = AxialTower(
    (("hidden_size",), 1024),
    (("num_attention_heads",), 16),
    (("num_hidden_layers",), 32),
    names=COLUMNS_FIRST,
    layout="interleaved",
)
BARK = Learned(rows=("block_size",), dim=("hidden_size", "n_embd"))

FAMILIES: dict[str, Reader] = {
    **dict.fromkeys(("coarse_acoustics", "fine_acoustics", "semantic"), of_audio(BARK)),
    "audio-spectrogram-transformer": spectrogram,
    "bark": Stacks(
        {
            "semantic_config": ("semantic", "audio", "semantic"),
            "coarse_acoustics_config": ("coarse_acoustics", "audio", "coarse"),
            "fine_acoustics_config": ("fine_acoustics", "audio", "fine"),
        }
    ),
    "canine": Learned(rows=("num_hash_buckets",)),
    "clap": Composite("clap_text_model", audio="clap_audio_model"),
    "clap_audio_model": of_audio(Swin(heads=(4, 8, 16, 32), window=8, heads_key="num_attention_heads")),
    "mllama_vision_model": mllama,
    "musicgen": with_text_encoder("musicgen_decoder"),
    "musicgen_melody": with_text_encoder("musicgen_melody_decoder"),
    "parler_tts": with_text_encoder("parler_tts_decoder"),
    "parler_tts_decoder": of_audio(parler_tts),
    "prophetnet": prophetnet,
    "rag": Stacks(
        {"question_encoder": ("dpr", "text", "question encoder"), "generator": ("bart", "text", "generator")}
    ),
    "reformer": reformer,
    "sam": sam("sam_vision_model"),
    **dict.fromkeys(("sam2", "sam2_video"), sam("sam2_vision_model")),
    "sam2_hiera_det_model": sam2_hiera,
    "sam2_vision_model": backbone("sam2_hiera_det_model"),
    "sam3": Composite("clip_text_model", "sam3_vision_model"),
    "sam3_vision_model": backbone("sam3_vit_model"),
    "sam3_vit_model": sam3_vit,
    "sam_hq": sam("sam_hq_vision_model"),
    "tapas": tapas,
    "videomae": videomae,
    "vilt": vilt,
    "vjepa2": vjepa2,
    "vit_mae": vit_mae,
    "vivit": vivit,
    "yolos": yolos,
}
