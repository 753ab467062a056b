"""Vision towers that rotate, on two or three axes.

The sizes that stand in for absent ones are the defaults of transformers' class: it does not write them out when it saves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from posref._arguments import even
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.patches import Key, PatchTable, sized
from posref.models.records import Axes, Encoding, LearnedEncoding, RopeEncoding, SinusoidalEncoding
from posref.rotary.axes import rope_axes_inv_freq
from posref.rotary.axis_maps import rope_axis_map

ROWS_FIRST, COLUMNS_FIRST = ("height", "width"), ("width", "height")


@dataclass(frozen=True)
class AxialTower:
    """Reads a tower that rotates by the coordinates of its patches.

    Parameters
    ----------
    width, heads, layers
        Names of the keys, and defaults.
    base, base_key
        Of the frequencies; the key may stand in ``rope_parameters``.
    names
        The axes; those that come first have the first pairs.
    rule, ladder
        As in :func:`posref.rope_axis_map` and :func:`posref.rope_axes_inv_freq`.
    blocks
        Whether each axis has a block of channels of its own, within which the pairs are.
    head
        The default of ``head_dim``, in towers that have the key.
    more
        What such a tower has beside.
    """

    width: tuple[Key, int | None]
    heads: tuple[Key, int | None]
    layers: tuple[Key, int | None]
    base: float = 10000.0
    base_key: str = "rope_theta"
    names: tuple[str, ...] = ROWS_FIRST
    rule: str = "chunked"
    ladder: str = "per_axis"
    layout: str = "half"
    blocks: bool = False
    head: int | None = None
    positions: str | None = None
    more: Callable[[Block], list[Encoding]] | None = None

    def __call__(self, config: Block) -> list[Encoding]:
        """The rotation, in as many records as there are blocks, and what stands beside."""
        base, channels = self._base(config), self._head_dim(config)
        layers = _range(sized(config, *self.layers, most=shape.MOST_LAYERS))
        if channels is None:
            config.note(
                "unknown", f"head_dim: {config.name(self.width[0][0])} or {config.name(self.heads[0][0])} is not given"
            )
        pairs = None if channels is None else self._pairs(channels)
        rotations = (
            self._blocks(config, base, channels, pairs, layers)
            if self.blocks
            else [self._rotation(config, base, channels, pairs, layers)]
        )
        return [*rotations, *(self.more(config) if self.more is not None else ())]

    def _base(self, config: Block) -> float:
        block = config.block("rope_parameters")
        inner = None if block is None else block.number("rope_theta", above=1)
        outer = config.number(self.base_key, above=1)
        if inner is None and outer is None:
            config.note_default(self.base_key, f"{self.base:g}")
            return self.base
        return (outer or self.base) if inner is None else inner

    def _head_dim(self, config: Block) -> int | None:
        if self.head is not None:
            return config.integer_or("head_dim", self.head, most=shape.MOST_CHANNELS)
        width, heads = sized(config, *self.width), sized(config, *self.heads)
        if width is None or heads is None:
            return None
        if not 1 <= width // heads <= shape.MOST_CHANNELS:
            told = f"{config.name(self.width[0][0])} // {config.name(self.heads[0][0])}"
            raise ValueError(f"{told} must be from 1 to {shape.MOST_CHANNELS}, got {width // heads}")
        return width // heads

    def _pairs(self, channels: int) -> int:
        """Per axis; what is left over does not rotate."""
        n = len(self.names)
        even(channels, "head_dim")
        if n == 2 and channels % 4:
            raise ValueError(f"head_dim must be a multiple of 4 for two axes, got {channels}")
        return channels // n // 2

    def _axes(self, pairs: int) -> Axes:
        sections = (pairs,) * len(self.names)
        axis_map = tuple(rope_axis_map(sections, rule=self.rule).tolist())
        return Axes(self.names, sections, self.rule, self.ladder, axis_map, self.positions)

    def _rotation(
        self, config: Block, base: float, channels: int | None, pairs: int | None, layers: tuple[int, ...] | None
    ) -> RopeEncoding:
        axes = None if pairs is None else self._axes(pairs)
        inv_freq = None if axes is None else tuple(rope_axes_inv_freq(axes.map, base=base, ladder=self.ladder))
        return self._record(base, channels, None if axes is None else 2 * len(axes.map), 0, inv_freq, axes, layers)

    def _blocks(
        self, config: Block, base: float, channels: int | None, pairs: int | None, layers: tuple[int, ...] | None
    ) -> list[RopeEncoding]:
        whole = self._rotation(config, base, channels, pairs, layers)
        if pairs is None or whole.inv_freq is None:
            return [whole]
        parts = []
        for axis, name in enumerate(self.names):
            axes = Axes((name,), (pairs,), "chunked", self.ladder, (0,) * pairs, self.positions)
            inv_freq = whole.inv_freq[axis * pairs : (axis + 1) * pairs]
            parts.append(self._record(base, channels, 2 * pairs, 2 * pairs * axis, inv_freq, axes, layers))
        return parts

    def _record(
        self,
        base: float,
        channels: int | None,
        rotary: int | None,
        offset: int,
        inv_freq: Sequence[float] | None,
        axes: Axes | None,
        layers: tuple[int, ...] | None,
    ) -> RopeEncoding:
        return RopeEncoding(
            encoding="rope-axial",
            component="vision",
            part=None,
            layers=layers,
            layout=self.layout,
            output_layout=self.layout,
            head_dim=channels,
            rotary_dim=rotary,
            offset=offset,
            base=base,
            scaling=None,
            seq_len=None,
            inv_freq=None if inv_freq is None else tuple(map(float, inv_freq)),
            attention_factor=1.0,
            softmax_factor=1.0,
            max_position_embeddings=None,
            axes=axes,
        )


def _range(count: int | None) -> tuple[int, ...] | None:
    return None if count is None else tuple(range(count))


def _qwen(
    width: Key, heads: int, channels: int, depth: int, more: Callable[[Block], list[Encoding]] | None = None
) -> AxialTower:
    return AxialTower(
        (width, channels),
        (("num_heads", "num_attention_heads"), heads),
        (("depth", "num_hidden_layers"), depth),
        more=more,
    )


def _vit(channels: int, heads: int, depth: int, **others: object) -> AxialTower:
    keys = (("hidden_size",), channels), (("num_attention_heads",), heads), (("num_hidden_layers",), depth)
    return AxialTower(*keys, **others)  # type: ignore[arg-type]


def dinov3(config: Block) -> list[Encoding]:
    """DINOv3: the angle is 2 pi times a coordinate between -1 and 1, of patches only."""
    config.note(
        "unusual", "the positions are the patches' centres from -1 to 1, times 2 pi; other tokens do not rotate"
    )
    key = "rope_theta" if config.raw("rope_theta") is not None else "pos_embed_rope_base"
    positions = "2 pi (2 (j + 0.5) / n - 1) for patch j of n"
    return _vit(384, 6, 12, base=100.0, base_key=key, positions=positions)(config)


def kimi_tables(config: Block) -> list[Encoding]:
    """Kimi K2.5's other two: a learned table over the patches, and sinusoids over the frames but the first."""
    height, width = (sized(config, (key,), 64, most=1024) or 64 for key in ("pos_emb_height", "pos_emb_width"))
    frames, dim = sized(config, ("pos_emb_time",), 4), sized(config, ("hidden_size",), 1152)
    config.note("unusual", "the sinusoids count the frames from 1; a single frame has none")
    table = LearnedEncoding("learned", "vision", None, None, None, height * width, dim, 0, (height, width), "bicubic")
    frames_table = SinusoidalEncoding(
        encoding="sinusoidal",
        component="vision",
        part=None,
        layers=None,
        stack=None,
        rows=frames,
        dim=dim,
        offset=0,
        base=10000.0,
        endpoint=False,
        layout="concatenated",
        order="sin_cos",
    )
    return [table, frames_table]


def mlcd(config: Block) -> list[Encoding]:
    """MLCD: rows, then columns; the class token turns by an angle that is learned."""
    config.note("unusual", "the class token turns by angles that are learned, the patches by theirs")
    return _vit(1664, 16, 48)(config)


def moonvit_table(config: Block) -> list[Encoding]:
    """MoonViT's learned table over the patches."""
    height, width = (sized(config, (f"init_pos_emb_{side}",), 64, most=1024) or 64 for side in ("height", "width"))
    dim = sized(config, ("hidden_size",), 1152)
    return [LearnedEncoding("learned", "vision", None, None, None, height * width, dim, 0, (height, width), "bicubic")]


_table = PatchTable(count=("num_position_embeddings", 2304), width=(("hidden_size",), 1152), resampling="bilinear")
_qwen3 = _qwen(("hidden_size",), 16, 1152, 27, _table)


def _grid(dim: int, image: int, resampling: str) -> PatchTable:
    return PatchTable((("hidden_size",), dim), image, 14, resampling=resampling)


def _glm(width: int, heads: int) -> AxialTower:
    return _qwen(("hidden_size",), heads, width, 24, _grid(width, 336, "bicubic"))


FAMILIES: dict[str, Reader] = {
    "dots_vit": AxialTower((("embed_dim",), 1536), (("num_attention_heads",), 12), (("num_hidden_layers",), 42)),
    "exaone4_5_vision": _qwen(("hidden_size",), 16, 3584, 32),
    "glm4v_moe_vision": _glm(1536, 12),
    "glm4v_vision": _glm(1536, 12),
    "glm_ocr_vision": _qwen(("hidden_size",), 16, 1024, 24),
    "paddleocr_vl_vision": _vit(1152, 16, 27, more=_grid(1152, 384, "bilinear")),
    "video_llama_3_vision": _vit(768, 12, 12),
    "qwen2_vl_vision": _qwen(("embed_dim",), 16, 1280, 32),
    "qwen2_5_vl_vision": _qwen(("hidden_size",), 16, 3584, 32),
    "qwen2_5_omni_vision_encoder": _qwen(("hidden_size",), 16, 3584, 32),
    "qwen3_vl_vision": _qwen3,
    "qwen3_vl_moe_vision": _qwen3,
    "qwen3_5_vision": _qwen3,
    "qwen3_5_moe_vision": _qwen3,
    "qwen3_omni_moe_vision_encoder": _qwen3,
    "ernie4_5_vl_moe_vision": _qwen(("hidden_size",), 16, 1280, 32),
    "pixtral": _vit(1024, 16, 24, ladder="dealt", head=64),
    "llama4_vision_model": _vit(
        768, 16, 34, names=COLUMNS_FIRST, layout="interleaved", positions="1 + the patch's; 0 for the class token"
    ),
    "gemma4_vision": _vit(768, 12, 16, base=100.0, names=COLUMNS_FIRST, blocks=True, head=64),
    "mlcd_vision_model": mlcd,
    "minimax_m3_vl_vision": _vit(1280, 16, 32, names=("time", "height", "width")),
    "kimi_k25_vision": _vit(1152, 16, 27, names=COLUMNS_FIRST, rule="round_robin", more=kimi_tables),
    "moonvit": _vit(1152, 16, 27, names=COLUMNS_FIRST, rule="round_robin", layout="interleaved", more=moonvit_table),
    "dinov3_vit": dinov3,
}
