"""Vision towers with a learned table over a grid of patches.

The sizes that stand in for absent ones are the defaults of transformers' class: it does not write them out when it saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from posref._arguments import shown
from posref.models._reading import Block, Reader
from posref.models.records import Encoding, LearnedEncoding

MOST_PATCHES = 2**20
MOST_WIDTH = 2**17  # of a model

Key = Sequence[str]


def sized(config: Block, keys: Key, default: int | None, *, most: int = MOST_WIDTH) -> int | None:
    """An integer that goes by several names, or the default, which is noted."""
    value = config.either(keys, most=most)
    if value is None and default is not None:
        config.note_default(keys[0], str(default))
    return default if value is None else value


@dataclass(frozen=True)
class PatchTable:
    """Reads a learned table over a grid of patches.

    Parameters
    ----------
    image, patch
        Defaults of ``image_size`` and ``patch_size``.
    first
        Rows before those of the patches, such as that of a class token.
    count
        The key that has the number of patches of a square grid, and its default, where there is no ``image_size``.
    resampling
        As in :class:`LearnedEncoding`.
    key
        Of the size of the images that the table is for.
    """

    width: tuple[Key, int | None] = (("hidden_size",), 768)
    image: int | None = 224
    patch: int | None = 16
    first: int = 0
    count: tuple[str, int] | None = None
    resampling: str | None = None
    key: str = "image_size"

    def __call__(self, config: Block) -> list[Encoding]:
        """The one encoding of such a tower."""
        grid = self._grid(config)
        rows = None if grid is None else grid[0] * grid[1] + self.first
        dim = sized(config, *self.width)
        encoding = LearnedEncoding("learned", "vision", None, None, None, rows, dim, self.first, grid, self.resampling)
        return [encoding]

    def _grid(self, config: Block) -> tuple[int, int] | None:
        if self.count is not None:
            patches = sized(config, (self.count[0],), self.count[1], most=MOST_PATCHES) or 0
            side = int(patches**0.5)
            if side * side != patches:
                raise ValueError(f"{config.name(self.count[0])} must be a square number of patches, got {patches}")
            return side, side
        image, patch = side_lengths(config, self.key, self.image), side_lengths(config, "patch_size", self.patch)
        if image is None or patch is None:
            return None
        return image[0] // patch[0], image[1] // patch[1]


def side_lengths(config: Block, key: str, default: int | None) -> tuple[int, int] | None:
    """Height and width, be it one number for both."""
    value = config.raw(key)
    if isinstance(value, (list, tuple)):
        if len(value) != 2:
            raise ValueError(f"{config.name(key)} must be one number or two, got {shown(list(value))}")
        sides = config.integers(key, most=2, least=1) or ()
        return sides[0], sides[1]
    side = sized(config, (key,), default, most=MOST_PATCHES)
    return None if side is None else (side, side)


def _table(dim: int, image: int, patch: int, first: int = 1, resampling: str | None = None) -> PatchTable:
    """Sizes of the class; one row before the patches' is that of a class token."""
    return PatchTable((("hidden_size",), dim), image, patch, first, resampling=resampling)


CLIP = _table(768, 224, 32)
BLIP2 = _table(1408, 224, 14)

FAMILIES: dict[str, Reader] = {
    "aimv2_vision_model": _table(1024, 224, 14, 0),
    "altclip_vision_model": CLIP,
    "blip_2_vision_model": BLIP2,
    "blip_vision_model": _table(768, 384, 16),
    "chinese_clip_vision_model": CLIP,
    "clipseg_vision_model": CLIP,
    "cogvlm_vision": PatchTable((("hidden_size",), 1792), 490, 14, 1),
    "deit": _table(768, 224, 16, 2),
    "dinov2": _table(768, 224, 14, resampling="bicubic"),
    "dinov2_with_registers": _table(768, 224, 16, resampling="bicubic"),
    "dpt": _table(768, 384, 16, resampling="bilinear"),
    "flava_image_model": _table(768, 224, 16),
    "groupvit_vision_model": _table(384, 224, 16, 0),
    "idefics2_vision": _table(768, 224, 32, 0),
    "idefics3_vision": _table(1152, 224, 32, 0),
    "ijepa": _table(768, 224, 16, 0),
    "instructblip_vision_model": BLIP2,
    "instructblipvideo_vision_model": BLIP2,
    "intern_vit_6b": _table(3200, 224, 14, resampling="bicubic"),
    "internvl_vision": _table(1024, 448, 14, resampling="bicubic"),
    "janus_vision_model": _table(1024, 384, 16, 0),
    "kosmos_2_vision_model": _table(1024, 224, 14),
    "metaclip_2_vision_model": CLIP,
    "owlvit_vision_model": _table(768, 768, 32),
    "owlv2_vision_model": _table(768, 768, 16),
    "phi4_multimodal_vision": _table(1152, 448, 14, 0, "bicubic"),
    "smolvlm_vision": _table(1152, 224, 32, 0),
    "timesformer": _table(768, 224, 16),
    "vit_msn": _table(768, 224, 16),
    "xclip_vision_model": CLIP,
    "siglip_vision_model": PatchTable(),
    "siglip2_vision_model": PatchTable(count=("num_patches", 256), resampling="bilinear"),
    "clip_vision_model": PatchTable(patch=32, first=1),
    "git_vision_model": PatchTable(first=1),
    "vit": PatchTable(first=1),
}
