"""Models that are made of others: a text model with a vision tower, an audio tower, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from posref._arguments import shown
from posref.models._reading import Block, NotKnown, Reader
from posref.models.part_sizes import with_sizes
from posref.models.records import Encoding

KEYS = {"text_config": "text", "vision_config": "vision", "audio_config": "audio"}


@dataclass(frozen=True)
class Composite:
    """Reads a model part by part.

    Parameters
    ----------
    text, vision, audio
        The ``model_type`` of a part that does not say its own; None: there is no such part.
    fixed
        The parts whose class is always the same, whatever ``model_type`` they say: True is all.
    flat
        Whether the text model's keys may stand beside the other parts, where there is no ``text_config``.
    renamed
        Other names of ``model_type`` in parts.
    """

    text: str | None = None
    vision: str | None = None
    audio: str | None = None
    fixed: bool | Sequence[str] = False
    flat: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, config: Block) -> list[Encoding]:
        """The encodings of all parts."""
        parts = {"text_config": self.text, "vision_config": self.vision, "audio_config": self.audio}
        found: list[Encoding] = []
        for key, usual in parts.items():
            if usual is None:
                continue
            part = config.block(key)
            if part is None and key == "text_config" and self.flat:
                found += read_part(config, usual, KEYS[key])
            elif part is None:
                config.note("unknown", f"{KEYS[key]}: {config.name(key)} is not given")
            else:
                kind = self._model_type(part, usual, KEYS[key])
                found += read_part(part, kind, KEYS[key])
        return found

    def _model_type(self, part: Block, usual: str, component: str) -> str:
        told = part.word("model_type")
        if told is None:
            part.note_default("model_type", usual)
            return usual
        told = self.renamed.get(told, told)
        if told != usual and (self.fixed is True or (self.fixed and component in self.fixed)):
            part.note("unusual", f"{part.name('model_type')} is {shown(told)}; this model's class makes it {usual}")
            return usual
        return told


def read_part(part: Block, model_type: str, component: str) -> list[Encoding]:
    """The encodings of a part, as those of a component; none, with a note, where its ``model_type`` is not known."""
    reader = part.reading.readers.get(model_type)
    if reader is None:
        part.note("not known yet", f"{component}: model_type {shown(model_type)}")
        return []
    if part.where:
        part = with_sizes(part, model_type)
    try:
        encodings = reader(part)
    except NotKnown as problem:
        part.note("not known yet", f"{component}: model_type {shown(model_type)} with {problem}")
        return []
    if part.where:
        part.note_ignored(only_about_positions=True)
    parts = {"text": component} if component != "text" else {}
    return [replace(encoding, component=parts.get(encoding.component, encoding.component)) for encoding in encodings]


def nested(key: str) -> Reader:
    """Reads the one part of a model that is a model of several parts itself."""

    def read(config: Block) -> list[Encoding]:
        part = config.block(key)
        if part is None:
            config.note("unknown", f"{config.name(key)} is not given")
            return []
        return read_part(part, part.word("model_type") or "", "text")

    return read


def git(config: Block) -> list[Encoding]:
    """GIT: BERT's table for the text, and a vision tower."""
    vision = config.block("vision_config")
    found = list(config.reading.readers["bert"](config))
    if vision is None:
        config.note("unknown", "vision: vision_config is not given")
        return found
    return found + read_part(vision, "git_vision_model", "vision")


def phi4_multimodal(config: Block) -> list[Encoding]:
    """Phi-4-multimodal in transformers: the text's keys stand beside the towers."""
    found = list(config.reading.readers["phi3"](config))
    vision = config.block("vision_config")
    if vision is not None:
        found += read_part(vision, "phi4_multimodal_vision", "vision")
    config.note("not known yet", "audio: the table of biases by clipped distance")
    return found


SIGLIP, CLIP = "siglip_vision_model", "clip_vision_model"

FAMILIES: dict[str, Reader] = {
    "align": Composite("align_text_model"),
    "altclip": Composite("altclip_text_model", "altclip_vision_model"),
    "aria": Composite("aria_text", "idefics3_vision"),
    "audioflamingo3": Composite("qwen2", audio="audioflamingo3_encoder"),
    "aya_vision": Composite("cohere2", SIGLIP),
    "blip": Composite("blip_text_model", "blip_vision_model"),
    "blip-2": Composite("opt", "blip_2_vision_model"),
    "chinese_clip": Composite("chinese_clip_text_model", "chinese_clip_vision_model"),
    "clip": Composite("clip_text_model", CLIP),
    "clipseg": Composite("clipseg_text_model", "clipseg_vision_model"),
    "cogvlm": Composite("cogvlm_text", "cogvlm_vision", flat=True),
    "cohere2_vision": Composite("cohere2", SIGLIP),
    "cosmos3_omni": Composite("qwen3_vl_text", "qwen3_vl_vision"),
    "deepseek_ocr2": Composite("deepseek_ocr2_text", "deepseek_ocr2_vision"),
    "deepseek_vl": Composite("llama", SIGLIP),
    "diffusion_gemma": Composite("diffusion_gemma_text", "gemma4_vision"),
    "embedding_gemma2": Composite("embedding_gemma2_text"),
    "dots_ocr": Composite("qwen2", "dots_vit", fixed=("vision",), flat=True),
    "emu3": Composite("emu3_text_model"),
    "ernie4_5_vl_moe": Composite("ernie4_5_vl_moe_text", "ernie4_5_vl_moe_vision", fixed=True),
    "exaone4_5": Composite("exaone4", "exaone4_5_vision", fixed=("vision",), renamed={"exaone4_5_text": "exaone4"}),
    "fast_vlm": Composite("qwen2", "timm_wrapper"),
    "florence2": Composite("bart", "florence_vision", renamed={"florence2_language": "bart"}),
    "fuyu": Composite("persimmon", flat=True),
    "gemma3": Composite("gemma3_text", SIGLIP, fixed=("text",)),
    "gemma3n": Composite("gemma3n_text", "gemma3n_vision", "gemma3n_audio", fixed=True),
    "gemma4": Composite("gemma4_text", "gemma4_vision", fixed=True),
    "gemma4_unified": Composite("gemma4_unified_text", fixed=True),
    "git": git,
    "glm46v": Composite("glm4v_text", "glm4v_vision"),
    "glm4v": Composite("glm4v_text", "glm4v_vision", fixed=True, flat=True),
    "glm4v_moe": Composite("glm4v_moe_text", "glm4v_moe_vision", fixed=True),
    "glm_image": Composite("glm_image_text", "glm_image_vision", fixed=True),
    "glm_ocr": Composite("glm_ocr_text", "glm_ocr_vision", fixed=True),
    "got_ocr2": Composite("qwen2", "got_ocr2_vision"),
    "granite4_vision": Composite("granite4_vision_text", CLIP),
    "granite_docling": Composite("granite_docling_text", "granite_docling_vision"),
    "granite_speech": Composite("granite"),
    "groupvit": Composite("groupvit_text_model", "groupvit_vision_model"),
    "hunyuan_vl": Composite("hunyuan_vl_text", "hunyuan_vl_vision", fixed=True, flat=True),
    "idefics2": Composite("mistral", "idefics2_vision", fixed=("vision",)),
    "idefics3": Composite("llama", "idefics3_vision", fixed=("vision",)),
    "instructblip": Composite("opt", "instructblip_vision_model"),
    "instructblipvideo": Composite("opt", "instructblipvideo_vision_model"),
    "internvl": Composite("qwen2", "internvl_vision", fixed=("vision",)),
    "janus": Composite("llama", "janus_vision_model", fixed=("vision",)),
    "kimi_k25": Composite("deepseek_v3", "kimi_k25_vision", fixed=("vision",), renamed={"kimi_k2": "deepseek_v3"}),
    "kimi_vl": Composite("deepseek_v3", "moonvit", fixed=("vision",)),
    "kosmos-2": Composite(vision="kosmos_2_vision_model"),
    "lfm2_vl": Composite("lfm2", "siglip2_vision_model"),
    "lighton_ocr": Composite("qwen3", "pixtral"),
    "llama4": Composite("llama4_text", "llama4_vision_model", fixed=True),
    "llava": Composite("llama", CLIP, flat=True),
    "llava_next": Composite("llama", CLIP),
    "llava_next_video": Composite("llama", CLIP),
    "llava_onevision": Composite("qwen2", SIGLIP),
    "minimax_m3_vl": Composite("minimax_m3_vl_text", "minimax_m3_vl_vision", fixed=True),
    "mistral3": Composite("mistral", "pixtral"),
    "mllama": Composite("mllama_text_model", "mllama_vision_model", fixed=True),
    "metaclip_2": Composite("metaclip_2_text_model", "metaclip_2_vision_model"),
    "modernvbert": Composite("modernbert", SIGLIP),
    "molmo2": Composite("molmo2_text", "molmo2_vision"),
    "ovis2": Composite("qwen2", "ovis2_vision"),
    "owlv2": Composite("owlv2_text_model", "owlv2_vision_model"),
    "owlvit": Composite("owlvit_text_model", "owlvit_vision_model"),
    "paddleocr_vl": Composite("paddleocr_vl_text", "paddleocr_vl_vision", fixed=True, flat=True),
    "paligemma": Composite("gemma", SIGLIP),
    "perception_lm": Composite("llama", "timm_wrapper"),
    "phi4_multimodal": phi4_multimodal,
    "pix2struct": Composite("pix2struct_text_model", "pix2struct_vision_model"),
    "qwen2_5_omni": nested("thinker_config"),
    "qwen2_5_omni_thinker": Composite(
        "qwen2_5_omni_text", "qwen2_5_omni_vision_encoder", "qwen2_5_omni_audio_encoder", fixed=True
    ),
    "qwen2_5_vl": Composite("qwen2_5_vl_text", "qwen2_5_vl_vision", fixed=True, flat=True),
    "qwen2_audio": Composite("qwen2", audio="qwen2_audio_encoder"),
    "qwen2_vl": Composite("qwen2_vl_text", "qwen2_vl_vision", fixed=True, flat=True),
    "qwen3_5": Composite("qwen3_5_text", "qwen3_5_vision", fixed=True),
    "qwen3_5_moe": Composite("qwen3_5_moe_text", "qwen3_5_moe_vision", fixed=True),
    "qwen3_asr": Composite("qwen3", audio="qwen3_asr_encoder"),
    "qwen3_omni_moe": nested("thinker_config"),
    "qwen3_omni_moe_thinker": Composite(
        "qwen3_omni_moe_text", "qwen3_omni_moe_vision_encoder", "qwen3_omni_moe_audio_encoder", fixed=True
    ),
    "qwen3_vl": Composite("qwen3_vl_text", "qwen3_vl_vision", fixed=True),
    "qwen3_vl_moe": Composite("qwen3_vl_moe_text", "qwen3_vl_moe_vision", fixed=True),
    "siglip": Composite("siglip_text_model", SIGLIP),
    "siglip2": Composite("siglip2_text_model", "siglip2_vision_model"),
    "shieldgemma2": Composite("gemma3_text", SIGLIP),
    "smolvlm": Composite("llama", "smolvlm_vision", fixed=("vision",)),
    "step3p7": Composite("step3p5", "step3p5_vision", fixed=True, flat=True),
    "t5gemma2_encoder": Composite("t5gemma2_text", SIGLIP),
    "unlimited_ocr": Composite("unlimited_ocr_text", "unlimited_ocr_vision"),
    "vibevoice_asr": Composite("qwen2"),
    "video_llama_3": Composite("qwen2", "video_llama_3_vision", fixed=("vision",)),
    "video_llava": Composite("llama", CLIP),
    "vipllava": Composite("llama", CLIP),
    "voxtral_realtime": Composite("voxtral_realtime_text", audio="voxtral_realtime_encoder"),
    "xclip": Composite("xclip_text_model", "xclip_vision_model"),
    "voxtral": Composite("llama", audio="voxtral_encoder"),
}
