"""Models whose logits depend on the offset of two patches, frames or tokens: Swin, BEiT, SAM, WavLM, XLNet, ...

The sizes that stand in for absent ones are the defaults of transformers' class: it does not write them out when it saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from posref._arguments import shown
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.biases import MOST_BUCKETS, MOST_DISTANCE, t5_encoding
from posref.models.patches import PatchTable, side_lengths, sized
from posref.models.records import Encoding, RelativeEncoding, SinusoidalEncoding
from posref.models.tables import Learned, boxed, sinusoids

MOST_WINDOW = 4096
MOST_STAGES = 16


def relative(
    encoding: str,
    component: str,
    heads: int | None,
    rows: int | None,
    dim: int | None,
    layers: tuple[int, ...] | None,
    stack: str | None = None,
) -> RelativeEncoding:
    """The record of what depends on an offset."""
    return RelativeEncoding(encoding, component, None, layers, stack, heads, rows, dim)


@dataclass(frozen=True)
class Swin:
    """Reads Swin and Swin v2: stages of local windows, each with its number of heads, one table per layer.

    Parameters
    ----------
    depths, heads, window, image, patch
        The class's defaults.
    continuous
        Swin v2: the bias comes from a network of the offsets.
    heads_key
        Where the numbers of heads stand.
    """

    depths: tuple[int, ...] = (2, 2, 6, 2)
    heads: tuple[int, ...] = (3, 6, 12, 24)
    window: int = 7
    image: int = 224
    patch: int = 4
    continuous: bool = False
    heads_key: str = "num_heads"

    def __call__(self, config: Block) -> list[Encoding]:
        """A record per stage; and the table of patches, where there is one."""
        depths, heads = _stages(config, "depths", self.depths), _stages(config, self.heads_key, self.heads)
        if len(heads) != len(depths):
            raise ValueError(f"{self.heads_key} must have one number per stage, {len(depths)}, got {len(heads)}")
        window = sized(config, ("window_size",), self.window, most=MOST_WINDOW) or self.window
        found: list[Encoding] = []
        first = 0
        for stage, (depth, n) in enumerate(zip(depths, heads, strict=True)):
            layers = tuple(range(first, first + depth))
            found.append(self._stage(config, stage, (window, window), n, layers))
            first += depth
        if config.boolean("use_absolute_embeddings"):
            width = (("embed_dim", "hidden_size"), 96)
            found += PatchTable(width, self.image, self.patch, resampling="bicubic")(config)
        return found

    def _stage(
        self, config: Block, stage: int, window: tuple[int, int], heads: int, layers: tuple[int, ...]
    ) -> Encoding:
        if not self.continuous:
            rows = (2 * window[0] - 1) * (2 * window[1] - 1)
            return replace(relative("window-bias", "vision", heads, rows, heads, layers), window=window)
        image, patch = side_lengths(config, "image_size", self.image), side_lengths(config, "patch_size", self.patch)
        sides = [a // b // 2**stage for a, b in zip(image or (), patch or (), strict=True)]
        if sides and min(sides) >= 1:
            window = min(window[0], sides[0]), min(window[1], sides[1])
        trained = config.integers("pretrained_window_sizes", most=MOST_STAGES)
        size = trained[stage] if trained is not None and stage < len(trained) else 0
        record = replace(relative("swin-v2", "vision", heads, None, heads, layers), window=window)
        return replace(record, pretrained_window=(size, size) if size else None)


def _stages(config: Block, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    given = config.integers(key, most=MOST_STAGES, least=1)
    if given is None:
        config.note_default(key, shown(list(default)))
        return default
    if sum(given) > shape.MOST_LAYERS:
        raise ValueError(f"{config.name(key)} must sum up to at most {shape.MOST_LAYERS}, got {sum(given)}")
    return given


def beit(config: Block) -> list[Encoding]:
    """BEiT and Data2Vec's vision: a table by the offset of two patches, with a class token, per layer or shared."""
    image, patch = side_lengths(config, "image_size", 224), side_lengths(config, "patch_size", 16)
    heads = sized(config, ("num_attention_heads",), 12, most=shape.MOST_HEADS)
    layers = _layers(config, 12)
    found: list[Encoding] = []
    if config.boolean_or("use_absolute_position_embeddings", False):
        found += PatchTable(first=1, resampling="bicubic")(config)
    shared = config.boolean_or("use_shared_relative_position_bias", False)
    if image is not None and patch is not None and (config.boolean_or("use_relative_position_bias", False) or shared):
        window = image[0] // patch[0], image[1] // patch[1]
        rows = (2 * window[0] - 1) * (2 * window[1] - 1) + 3
        record = relative("window-bias", "vision", heads, rows, heads, layers)
        found.append(replace(record, window=window, class_token=True, shared=shared))
    if not found:
        config.note("nope", "neither use_absolute_position_embeddings nor a relative position bias is true")
    return found


@dataclass(frozen=True)
class Decomposed:
    """Reads towers with a table per axis that multiplies queries: ViTDet and SAM's encoders.

    Parameters
    ----------
    sizes, image, window
        The class's defaults; the sizes are hidden_size, num_attention_heads, num_hidden_layers.
    switches
        The keys for the table of patches and for those of offsets, with their defaults.
    windowed, everywhere
        The key of the layers with windows, or that of the layers without, with its default.
    table_image, first
        The key of the size of the images that the table of patches is for, and the rows before those of patches.
    """

    sizes: tuple[int, int, int] = (768, 12, 12)
    image: int = 1024
    window: int = 14
    switches: tuple[tuple[str, bool], tuple[str, bool]] = (("use_abs_pos", True), ("use_rel_pos", True))
    windowed: str | None = None
    everywhere: tuple[str, tuple[int, ...]] = ("global_attn_indexes", (2, 5, 8, 11))
    table_image: str = "image_size"
    first: int = 0

    def __call__(self, config: Block) -> list[Encoding]:
        """A table of patches, and the tables of offsets of layers with and without windows."""
        image, patch = side_lengths(config, "image_size", self.image), side_lengths(config, "patch_size", 16)
        width = sized(config, ("hidden_size",), self.sizes[0])
        heads = sized(config, ("num_attention_heads",), self.sizes[1], most=shape.MOST_HEADS)
        layers = _layers(config, self.sizes[2]) or ()
        found: list[Encoding] = []
        if config.boolean_or(*self.switches[0]):
            table = PatchTable((("hidden_size",), self.sizes[0]), self.image, 16, self.first, key=self.table_image)
            found += table(config)
        if not config.boolean_or(*self.switches[1]) or image is None or patch is None or not width or not heads:
            return found
        grid, window = (image[0] // patch[0], image[1] // patch[1]), self._window(config)
        local = self._local(config, layers) if window else ()
        for sides, those in ((grid, [i for i in layers if i not in local]), ((window, window), local)):
            if those:
                rows = 2 * max(sides) - 1
                record = relative("decomposed", "vision", heads, rows, width // heads, tuple(those))
                found.append(replace(record, window=sides))
        if grid[0] != grid[1]:
            config.note("unusual", f"the tables have {2 * grid[0] - 1} rows for rows, {2 * grid[1] - 1} for columns")
        return found

    def _window(self, config: Block) -> int:
        told = config.integer("window_size", least=0, most=MOST_WINDOW)
        if told is None:
            config.note_default("window_size", str(self.window))
        return self.window if told is None else told

    def _local(self, config: Block, layers: Sequence[int]) -> Sequence[int]:
        if self.windowed is not None:
            told = config.integers(self.windowed, most=shape.MOST_LAYERS) or ()
            return [i for i in layers if i in told]
        key, default = self.everywhere
        free = config.integers(key, most=shape.MOST_LAYERS)
        if free is None:
            config.note_default(key, shown(list(default)))
        return [i for i in layers if i not in (default if free is None else free)]


def _layers(config: Block, default: int) -> tuple[int, ...] | None:
    count = sized(config, ("num_hidden_layers",), default, most=shape.MOST_LAYERS)
    return None if count is None else tuple(range(count))


def wavlm(config: Block) -> list[Encoding]:
    """WavLM: T5's buckets with a gate per head and query, in one table for all layers, after a convolution."""
    config.note("unusual", "a grouped convolution over the frames stands before the layers")
    heads = sized(config, ("num_attention_heads",), 12, most=shape.MOST_HEADS)
    rule = (
        config.integer_or("num_buckets", 320, most=MOST_BUCKETS),
        config.integer_or("max_bucket_distance", 800, most=MOST_DISTANCE),
        True,
    )
    record = t5_encoding(_layers(config, 12), "encoder", heads, rule, scaled=True)
    return [replace(record, encoding="wavlm-gate", component="audio")]


def boxes(reader: Reader, heads_over_root: bool) -> Reader:
    """LayoutLM v2 and v3: T5's buckets of the positions in the text, and of places on the page."""

    def read(config: Block) -> list[Encoding]:
        found = list(reader(config))
        if not config.boolean_or("has_relative_attention_bias", True):
            return found
        config.note(
            "unusual", "two tables more, by T5's buckets of the offsets of boxes on the page, left edges and bottoms"
        )
        if heads_over_root:
            config.note("unusual", "the biases are divided by sqrt(head_dim) as the logits are")
        rule = (
            config.integer_or("rel_pos_bins", 32, most=MOST_BUCKETS),
            config.integer_or("max_rel_pos", 128, most=MOST_DISTANCE),
            True,
        )
        page = (
            config.integer_or("rel_2d_pos_bins", 64, most=MOST_BUCKETS),
            config.integer_or("max_rel_2d_pos", 256, most=MOST_DISTANCE),
            True,
        )
        heads = sized(config, ("num_attention_heads",), 12, most=shape.MOST_HEADS)
        layers = _layers(config, 12)
        text, where = (t5_encoding(layers, "encoder", heads, each, scaled=True) for each in (rule, page))
        return [*found, text, replace(where, part="page")]

    return read


def transformer_xl(
    component: str, width: int | None, heads: int | None, layers: tuple[int, ...] | None, layout: str
) -> RelativeEncoding:
    """The record of Transformer-XL's scores: queries and a bias with projected sinusoids of q - k."""
    return replace(relative("transformer-xl", component, heads, None, width, layers), layout=layout)


def xlnet(config: Block) -> list[Encoding]:
    """XLNet and Transformer-XL: sinusoids of the distance, all sines, then all cosines."""
    width, heads = config.either(("hidden_size", "d_model")), config.either(("num_attention_heads", "n_head"))
    clamp = config.integer("clamp_len", least=-1)
    if clamp is not None and clamp > 0:
        config.note("unusual", f"{config.name('clamp_len')} {clamp}: farther keys have that distance")
    layers = shape.layers(config, ("num_hidden_layers", "n_layer"))
    return [transformer_xl("text", width, heads, layers, "concatenated")]


def parakeet(config: Block) -> list[Encoding]:
    """Parakeet's encoder: Transformer-XL's scores, sines and cosines in turn."""
    width = sized(config, ("hidden_size",), 1024)
    heads = sized(config, ("num_attention_heads",), 8, most=shape.MOST_HEADS)
    return [transformer_xl("audio", width, heads, _layers(config, 24), "interleaved")]


def shaw(config: Block, component: str, heads: int | None, layers: tuple[int, ...] | None) -> RelativeEncoding:
    """Wav2Vec2-BERT and SeamlessM4T v2: queries with a row per relative position, clipped on both sides."""
    left = config.integer_or("left_max_position_embeddings", 64, least=0, most=MOST_DISTANCE)
    right = config.integer_or("right_max_position_embeddings", 8, least=0, most=MOST_DISTANCE)
    width = config.integer("hidden_size")
    dim = None if width is None or not heads else width // heads
    record = relative("shaw", component, heads, left + right + 1, dim, layers)
    return replace(record, clip=(-left, right), offset="key_minus_query")


def speecht5(config: Block) -> list[Encoding]:
    """SpeechT5: rows by the clipped q - k, which the encoder's layers share, and scaled sinusoids in front of both stacks."""
    width, heads = sized(config, ("hidden_size",), 768), sized(config, ("encoder_attention_heads",), 12)
    reach = config.integer_or("encoder_max_relative_position", 160, most=MOST_DISTANCE)
    layers = tuple(range(sized(config, ("encoder_layers",), 12, most=shape.MOST_LAYERS) or 12))
    dim = None if width is None or not heads else width // heads
    config.note(
        "unusual", "the sinusoids have a learned factor; frames of sound have a convolution and fairseq's sinusoids"
    )
    record = replace(
        relative("shaw", "text", heads, 2 * reach, dim, layers, "encoder"), clip=(-reach, reach - 1), shared=True
    )
    tables: list[SinusoidalEncoding] = [
        replace(sinusoids("text", stack, rows, width, 0, endpoint=False), layout="interleaved")
        for stack, rows in (
            ("encoder", sized(config, ("max_text_positions",), 450)),
            ("decoder", sized(config, ("max_speech_positions",), 4000)),
        )
    ]
    return [record, *tables]


VITDET = Decomposed(
    image=224,
    window=0,
    switches=(("use_absolute_position_embeddings", True), ("use_relative_position_embeddings", False)),
    windowed="window_block_indices",
    table_image="pretrain_image_size",
    first=1,
)

FAMILIES: dict[str, Reader] = {
    **dict.fromkeys(("donut-swin", "maskformer-swin", "swin"), Swin()),
    **dict.fromkeys(("beit", "data2vec-vision"), beit),
    **dict.fromkeys(("sam_vision_model", "sam_hq_vision_model"), Decomposed()),
    **dict.fromkeys(("transfo-xl", "xlnet"), xlnet),
    "layoutlmv2": boxes(boxed(Learned()), heads_over_root=False),
    "layoutlmv3": boxes(boxed(Learned(after_pad=True)), heads_over_root=True),
    "parakeet_encoder": parakeet,
    "speecht5": speecht5,
    "swin2sr": Swin((6,) * 6, (6,) * 6, 8, 64, 1, continuous=True),
    "swinv2": Swin(continuous=True),
    "vitdet": VITDET,
    "wavlm": wavlm,
}
