"""Files whose ``model_type`` is absent or not known: read by the keys that only one kind of model has, or by their rope keys.

Whatever is assumed is said in a note that starts with ``unknown``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from posref._arguments import shown
from posref.models import biases, shape
from posref.models._reading import Block, NotKnown, Reader
from posref.models.axes import MRope
from posref.models.composite import KEYS, read_part
from posref.models.layered import LayeredRope
from posref.models.nope import ROTATED, no_rope_layers
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import OTHER_NAMES, RopeKeys, read_parameters
from posref.models.tables import Learned

ROPE_KEYS = ("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor")
OTHER_ROPE_KEYS = ("rotary_pct", "rotary_dim", "rotary_emb_base", "rotary_embedding_base", "rotary_emb_fraction")
_NAMES = (
    "axk2 beam cohere_compass_text dory dots3_note_text efficientloftr eomt_dinov3 glm5_next_text hy_v4 "
    "hy_v4_vl_text inkling2_text inkling_text mistral_large4_text muse_glimmer_text muse_spark_text "
    "neomme qwen4_exp_text sapiens2 ultrabert"
)
OWN_RULES = frozenset(_NAMES.split())  # to transformers; their rope keys tell too little
HEADS, LAYERS = ("num_attention_heads", "n_head", "n_heads"), ("num_hidden_layers", "n_layer", "n_layers")
PARTS = {"text_config": "text", "llm_config": "text", "language_config": "text", **KEYS}


def by_keys(config: Block, model_type: str | None) -> list[Encoding] | None:
    """What the keys tell; None where they tell nothing."""
    if model_type in OWN_RULES or _of_patches(config):
        return None
    who = f"model_type {shown(model_type)}" if model_type else "no model_type"
    known = None if model_type else _by_architecture(config)
    if known is not None:
        config.note("unknown", f"{who}; architectures make it {known}")
        return list(config.reading.readers[known](config))
    for component in PARTS:
        if isinstance(config.raw(component), Mapping):
            return _parts(config, who)
    for (*keys, family), reader in SIGNS.items():
        if all(config.raw(key) is not None for key in keys):
            make = "makes" if len(keys) == 1 else "make"
            config.note("unknown", f"{who}; {' and '.join(keys)} {make} it {family}")
            return list((reader or config.reading.readers[family])(config))
    other = _by_kind(config, who)
    if other is not None:
        return other
    if any(config.raw(key) is not None for key in (*ROPE_KEYS, *OTHER_ROPE_KEYS)):
        return _rope(config, who)
    return _like_bert(config, who)


def _by_kind(config: Block, who: str) -> list[Encoding] | None:
    """What a file says in words that its positions are, whatever rope keys it has; None where that is a rotation."""
    kinds = ("position_embedding_type", "position_embeddings_type")
    kind = next((word for key in kinds if (word := config.raw(key)) is not None), None)
    if kind == "alibi" or (kind is None and config.raw("alibi") is True):
        config.note("unknown", f"{who}; read as ALiBi, linear in the position of the key")
        return [biases.alibi(config, HEADS, LAYERS)]
    if kind is None or str(kind).startswith(("rope", "rotary")):
        return None
    if any(config.raw(key) is not None for key in (*ROPE_KEYS, *OTHER_ROPE_KEYS)):
        raise NotKnown(f"rope keys and position_embedding_type {shown(kind)}")
    return None


def _of_patches(config: Block) -> bool:
    """Whether it is a tower that rotates by the coordinates of patches, which the keys tell too little about."""
    block = config.raw("rope_parameters")
    return isinstance(block, Mapping) and block.get("rope_type") == "axial"


def _parts(config: Block, who: str) -> list[Encoding]:
    """A model of several parts: each by its own model_type, or the text by its keys."""
    config.note("unknown", f"{who}; read part by part")
    found: list[Encoding] = []
    flat = not any(isinstance(config.raw(key), Mapping) for key, component in PARTS.items() if component == "text")
    if flat and any(config.raw(key) is not None for key in ROPE_KEYS):
        found += _rope(config, who)
    for key, component in PARTS.items():
        part = config.block(key)
        if part is None:
            continue
        told = part.word("model_type")
        if told in part.reading.readers:
            found += read_part(part, told or "", component)
            continue
        if component == "vision" and told is None and _has_gemma3(config):
            part.note("unknown", "no model_type; the text, which is Gemma 3's, makes it siglip_vision_model")
            found += read_part(part, "siglip_vision_model", component)
            continue
        try:
            guess = by_keys(part, told) if component == "text" else None
        except NotKnown as problem:
            part.note("not known yet", f"{component}: {problem}")
            continue
        if guess is None:
            what = "no model_type" if told is None else f"model_type {shown(told)}"
            part.note("not known yet", f"{component}: {what}")
            continue
        part.note_ignored(only_about_positions=True)
        found += guess
    return found


def _has_gemma3(config: Block) -> bool:
    text = config.raw("text_config")
    return isinstance(text, Mapping) and any(
        family == "gemma3_text" and all(text.get(key) is not None for key in keys) for (*keys, family) in SIGNS
    )


def _by_architecture(config: Block) -> str | None:
    """A known family with the name of the class: GPTNeoXForCausalLM is gpt_neox."""
    names = config.words("architectures", most=16)
    if not names:
        return None
    bare = re.split("For[A-Z]|Model$|LMHead|With[A-Z]", names[0])[0].lower()
    return next((f for f in config.reading.readers if re.sub("[-_]", "", f) == bare and bare), None)


def _rope(config: Block, who: str) -> list[Encoding]:
    """A rotation by the usual keys."""
    if config.raw("qk_rope_head_dim") is not None:
        return _latent(config, who)
    config.note("unknown", f"{who}; read by its rope keys, layout assumed half")
    keys, together = _keys(config), config.block("rope_parameters")
    nested = [key for key, value in ({} if together is None else together.values).items() if isinstance(value, Mapping)]
    if len(nested) > shape.MOST_KINDS:
        raise ValueError(f"rope_parameters must have at most {shape.MOST_KINDS} blocks, got {len(nested)}")
    if nested:
        return LayeredRope({str(kind): keys for kind in nested}, _no_rule)(config)
    found = PlainRope(keys, mrope=_mrope(config), rotary_dim_key="rotary_dim")(config)
    if config.raw("no_rope_layers") is not None:
        kinds = shape.layer_kinds(config, no_rope_layers, keys=())
        attending: tuple[str, ...] = (ROTATED,)
    elif config.raw("layer_types") is not None:
        kinds = shape.layer_kinds(config, _no_rule)
        attending = tuple(sorted({kind for kind in kinds or () if kind not in shape.WITHOUT}))
    else:
        return found
    shape.note_nope(config, kinds, attending)
    return [replace(encoding, layers=shape.of_kind(kinds, *attending)) for encoding in found]


def _no_rule(config: Block, number: int) -> Sequence[str] | None:
    config.note("unknown", f"which layers are which: {config.name('layer_types')} is not given")
    return None


def _keys(config: Block) -> RopeKeys:
    """The spellings that the file has."""
    bases = [key for key in ("rotary_emb_base", "rotary_embedding_base") if config.raw(key) is not None]
    shares = [key for key in ("rotary_pct", "rotary_emb_fraction") if config.raw(key) is not None]
    return RopeKeys(
        base_key=bases[0] if bases and config.raw("rope_theta") is None else "rope_theta",
        partial=1.0,
        partial_key=shares[0] if shares else "partial_rotary_factor",
        older_types={**OTHER_NAMES, "mrope": "default"},
    )


def _mrope(config: Block) -> MRope | None:
    """Sections are the sign of M-RoPE, whatever the type says."""
    for key in ("rope_scaling", "rope_parameters"):
        block = config.raw(key)
        if isinstance(block, Mapping) and block.get("mrope_section") is not None:
            return MRope(None, "interleaved" if block.get("mrope_interleaved") else "chunked")
    return None


def _latent(config: Block, who: str) -> list[Encoding]:
    """Latent attention, whose pairs DeepSeek's own models have interleaved and MiniCPM3 has not."""
    rope = read_parameters(config, RopeKeys(mla=True))
    nope = config.integer("qk_nope_head_dim", most=shape.MOST_CHANNELS)
    channels = config.integer("qk_rope_head_dim", most=shape.MOST_CHANNELS)
    config.note("unknown", f"{who}; read by its rope keys, layout assumed half (DeepSeek's is interleaved)")
    return [
        rope_encoding(
            config,
            rope,
            head_dim=None if nope is None or channels is None else nope + channels,
            rotary_dim=channels,
            offset=nope,
            layers=shape.layers(config),
            layout="half",
            part="mla",
        )
    ]


def _like_bert(config: Block, who: str) -> list[Encoding] | None:
    """A learned table, as BERT and RoBERTa have it; RoBERTa's has two rows more than its texts have tokens."""
    if config.raw("type_vocab_size") is None or config.raw("max_position_embeddings") is None:
        return None
    rows = config.integer("max_position_embeddings") or 0
    if config.integer("type_vocab_size", least=0) == 1 and rows & (rows - 1) and not (rows - 2) & (rows - 3):
        config.note(
            "unknown",
            f"{who}; {rows} rows and one type make it like RoBERTa: position 0 is the row after the padding's",
        )
        return Learned(after_pad=True)(config)
    config.note("unknown", f"{who}; read by its keys, which are BERT's: a learned table from row 0")
    return Learned()(config)


def _swin(config: Block) -> list[Encoding]:
    """Swin's and Swin v2's keys are the same; the sizes of the released models are not."""
    window, image = config.integer("window_size"), config.integer("image_size")
    kind = {(7, 224): "swin", (12, 384): "swin", (12, 192): "swinv2"}.get((window or 0, image or 0))
    kind = "swinv2" if window in (8, 16, 24) else kind
    if kind is None:
        config.note("not known yet", "vision: Swin's or Swin V2's biases, which have the same keys")
        return []
    config.note("unknown", f"Swin and Swin V2 have the same keys; windows of {window} make it {kind}")
    return list(config.reading.readers[kind](config))


def _published_by_its_makers(config: Block) -> list[Encoding]:
    """Meta's and Mistral's own ``params.json``: weights as they were trained, with interleaved pairs."""
    for key in ("use_scaled_rope", "yarn"):
        if config.raw(key):
            config.note("not known yet", f"text: {key} in a file of the makers' own format")
            return []
    if config.raw("vision_encoder"):
        config.note("not known yet", "vision: vision_encoder in a file of the makers' own format")
    names = {"hidden_size": "dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers"}
    sizes = {ours: config.raw(theirs) for ours, theirs in names.items()}
    return PlainRope(layout="interleaved")(config.replaced({**config.values, **sizes}))


# the keys, then the family -> a reader of its own, or None for the family's
SIGNS: dict[tuple[str, ...], Reader | Callable[[Block], list[Encoding]] | None] = {
    ("global_rope_theta", "local_rope_theta", "modernbert"): None,
    ("rope_local_base_freq", "gemma3_text"): None,
    ("pos_embed_rope_base", "dinov3_vit"): None,
    ("rotary_value", "roformer"): None,
    ("relative_attention", "position_buckets", "pos_att_type", "deberta-v2"): None,
    ("relative_attention", "pos_att_type", "deberta"): None,
    ("rotary_emb_fraction", "nomic_bert"): None,
    ("alibi_starting_size", "bert"): None,
    ("qk_nope_head_dim", "use_mla", "deepseek_v2"): None,
    ("offset_alibi", "n_layer", "bloom"): None,
    ("attn_config", "n_heads", "n_layers", "mpt"): None,
    ("alibi", "new_decoder_architecture", "falcon"): None,
    ("use_dynamic_ntk", "use_logn_attn", "qwen"): None,
    ("multi_query_attention", "kv_channels", "num_layers", "chatglm"): None,
    ("position_encoding_2d", "num_layers", "chatglm"): None,
    ("word_embed_proj_dim", "do_layer_norm_before", "opt"): None,
    ("num_mel_bins", "max_source_positions", "max_target_positions", "whisper"): None,
    ("relative_attention_num_buckets", "d_kv", "num_layers", "t5"): None,
    ("relative_attention_num_buckets", "hidden_size", "num_hidden_layers", "mpnet"): None,
    ("rotary_dim", "n_embd", "n_head", "n_layer", "gptj"): None,
    ("n_positions", "n_embd", "n_head", "n_layer", "gpt2"): None,
    ("dim", "n_heads", "n_layers", "rope_theta", "Llama's or Mistral's own format"): _published_by_its_makers,
    ("query_pre_attn_scalar", "attn_logit_softcapping", "gemma2"): None,
    ("query_pre_attn_scalar", "sliding_window", "gemma3_text"): None,
    ("pretrained_window_sizes", "depths", "swinv2"): None,
    ("window_size", "depths", "num_heads", "embed_dim", "swin or swinv2"): _swin,
}
