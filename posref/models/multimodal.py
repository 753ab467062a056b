"""Text models of vision-language families: M-RoPE."""

from __future__ import annotations

from dataclasses import replace

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.axes import MRope
from posref.models.nope import QWEN_HYBRID
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding
from posref.models.rope_keys import OTHER_NAMES, RopeKeys
from posref.models.scalings import BY_ALPHA
from posref.models.shape import FULL

QWEN2 = PlainRope(
    RopeKeys(base=1e6, older_types={**OTHER_NAMES, "mrope": "default"}),
    mrope=MRope((16, 24, 24)),
)
QWEN3 = MRope((24, 20, 20), "interleaved")
QWEN3_5 = PlainRope(
    RopeKeys(partial=0.25),
    head_dim=256,
    kinds=QWEN_HYBRID,
    rotating=(FULL,),
    mrope=MRope((11, 11, 10), "interleaved"),
)
GLM = MRope((8, 12, 12))
GLM_4V = PlainRope(RopeKeys(partial=1.0), layout="interleaved", mrope=GLM)

HUNYUAN_VL = PlainRope(
    RopeKeys(kinds=BY_ALPHA),
    mrope=MRope(None, "channels", ("position", "width", "height", "time"), ("mrope_section", "xdrope_section")),
)


def hunyuan_vl(config: Block) -> list[Encoding]:
    """HunYuan-VL: M-RoPE whose sections split channels, in transformers; plain rotation where there are none."""
    reader = replace(HUNYUAN_VL, channels=lambda block: either_head_dim(block))
    return reader(config)


def either_head_dim(config: Block) -> int | None:
    """``head_dim``, ``attention_head_dim``, or the width over the heads."""
    told = config.either(("head_dim", "attention_head_dim"), most=shape.MOST_CHANNELS)
    return shape.divided(config) if told is None else told


FAMILIES: dict[str, Reader] = {
    "qwen2_vl_text": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen2_5_omni_text": QWEN2,
    "qwen3_vl_text": PlainRope(RopeKeys(base=500000.0), head_dim=128, mrope=QWEN3),
    "qwen3_vl_moe_text": PlainRope(RopeKeys(base=500000.0), mrope=QWEN3),
    "qwen3_omni_moe_text": PlainRope(RopeKeys(base=1e6), mrope=QWEN3),
    "qwen3_5_text": QWEN3_5,
    "qwen3_5_moe_text": QWEN3_5,
    "glm4v_text": GLM_4V,
    "glm_ocr_text": GLM_4V,
    "glm4v_moe_text": PlainRope(RopeKeys(partial=0.5), mrope=GLM),
    "cosmos3_edge_text": PlainRope(RopeKeys(base=1e8), head_dim=128, mrope=QWEN3),
    "glm_image_text": PlainRope(RopeKeys(partial=1.0), mrope=GLM),
    "ernie4_5_vl_moe_text": PlainRope(
        RopeKeys(base=500000.0),
        layout="interleaved",
        mrope=MRope((22, 22, 20), "alternating", ("height", "width", "time")),
    ),
    "hunyuan_vl_text": hunyuan_vl,
    "paddleocr_vl_text": PlainRope(RopeKeys(base=500000.0), head_dim=128, mrope=MRope((16, 24, 24))),
}
