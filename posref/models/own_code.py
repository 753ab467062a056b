"""More models that bring their own code, most of them older than transformers' class of the same kind, or without one.

Their keys have names of their own, and what they mean is what that code does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from posref._arguments import shown
from posref.models import biases, mla, shape
from posref.models._reading import Block, NotKnown, Reader
from posref.models.falcon import inverse_root
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding
from posref.models.rope_keys import RopeKeys
from posref.models.scalings import GTE, PHI3_SMALL
from posref.models.shape import FULL, LINEAR
from posref.models.tables import Learned


@dataclass(frozen=True)
class Renamed:
    """Reads a family whose keys have other names: name -> the usual one. A usual name that is there wins."""

    reader: Reader
    names: tuple[tuple[str, str], ...]

    def __call__(self, config: Block) -> Sequence[Encoding]:
        """The encodings by the usual names."""
        usual = {new: config.raw(old) for old, new in self.names if config.raw(old) is not None}
        return self.reader(config.replaced({**usual, **config.values}))


GPT = (("n_embd", "hidden_size"), ("n_head", "num_attention_heads"), ("n_layer", "num_hidden_layers"))


def refined_web(config: Block) -> Sequence[Encoding]:
    """Falcon as first released."""
    heads, layers = ("n_head", "num_attention_heads"), ("n_layer", "num_hidden_layers")
    if not config.boolean_or("alibi", False):
        return Renamed(PlainRope(RopeKeys(base_key=None)), GPT)(config)
    channels = shape.head_dim(config, names=(("hidden_size",), heads))
    return [biases.alibi(config, heads, layers, scale=inverse_root(channels))]


def internlm(config: Block) -> list[Encoding]:
    """InternLM: ``rotary`` has the base, and dynamic NTK with factor 1 where its type says so."""
    rotary = config.block("rotary")
    base, kind = (None, None) if rotary is None else (rotary.number("base", above=1), rotary.word("type"))
    if kind not in (None, "origin", "dynamic"):
        raise NotKnown(f"rotary.type {shown(kind)}")
    scaling = {"rope_scaling": {"rope_type": "dynamic", "factor": 1.0}} if kind == "dynamic" else {}
    keys = RopeKeys(base=10000.0 if base is None else base, base_key=None)
    return PlainRope(keys)(config.replaced({**config.values, **scaling}))


def new(config: Block) -> list[Encoding]:
    """Alibaba's gte models, whose model_type is ``new``."""
    kind = config.word("position_embedding_type")
    if kind not in (None, "rope"):
        return Learned()(config) if kind == "absolute" else _unknown_kind(kind)
    return PlainRope(RopeKeys(kinds=GTE))(config)


def bert(config: Block) -> list[Encoding]:
    """BERT, and the encoders with ALiBi in both directions that are saved under its name (MosaicBERT, DNABERT-2, Jina)."""
    kind = config.word("position_embedding_type")
    if kind != "alibi" and config.raw("alibi_starting_size") is None:
        return Learned()(config)
    config.note(
        "unusual", "ALiBi by the distance in both directions, by the model's own code; transformers' BERT has a table"
    )
    encoding = biases.alibi(config, ("num_attention_heads",), ("num_hidden_layers",))
    return [replace(encoding, form="distance")]


def xlm_roberta(config: Block) -> list[Encoding]:
    """XLM-RoBERTa, and Jina's encoders under its name, which rotate."""
    if config.word("position_embedding_type") != "rotary":
        return Learned(after_pad=True)(config)
    config.note("unusual", "it rotates by the model's own code; transformers' XLM-RoBERTa has a table")
    return PlainRope(RopeKeys(base_key="rotary_emb_base"))(config)


def nomic_bert(config: Block) -> Sequence[Encoding]:
    """Nomic BERT: the keys of its own code, or those of transformers' class."""
    if config.raw("rotary_emb_base") is None and config.raw("rotary_emb_fraction") is None:
        return Renamed(PlainRope(RopeKeys(base=1000.0)), GPT)(config)
    layout = "interleaved" if config.boolean("rotary_emb_interleaved") else "half"
    keys = RopeKeys(base_key="rotary_emb_base", partial=1.0, partial_key="rotary_emb_fraction")
    return Renamed(PlainRope(keys, layout=layout), (*GPT, ("n_positions", "max_position_embeddings")))(config)


def smallthinker(config: Block) -> list[Encoding]:
    """SmallThinker: ``rope_layout`` has a 1 per layer that rotates."""
    rotates = config.integers("rope_layout", most=shape.MOST_LAYERS)
    (rope,) = PlainRope(head_dim=128)(config)
    if rotates is None:
        config.note_default("rope_layout", "1 for all layers", "its code")
        return [rope]
    layers = tuple(i for i in rope.layers or () if i < len(rotates) and rotates[i])
    others = [i for i in rope.layers or () if i not in layers]
    if others:
        shape.note_layers(config, others, "rope_layout 0")
    return [replace(rope, layers=layers)]


def minimax_kinds(config: Block, number: int) -> list[str]:
    """``attn_type_list``: 1 is a layer of softmax attention, 0 one of lightning attention."""
    kinds = config.integers("attn_type_list", most=shape.MOST_LAYERS)
    if kinds is None:
        raise NotKnown("no attn_type_list")
    return [FULL if i < len(kinds) and kinds[i] else LINEAR for i in range(number)]


def jais(config: Block) -> list[Encoding]:
    """Jais and BTLM: GPT-2 with ALiBi where ``position_embedding_type`` says so."""
    kind = config.word("position_embedding_type") or "learned"
    if kind == "learned":
        return Learned(rows=("max_position_embeddings", "n_positions"), dim=("hidden_size", "n_embd"))(config)
    if kind != "alibi" or config.raw("alibi_scaling") is not None:
        raise NotKnown(f"position_embedding_type {shown(kind)}" if kind != "alibi" else "alibi_scaling")
    return [biases.alibi(config, ("num_attention_heads", "n_head"), ("num_hidden_layers", "n_layer"))]


def phi3_small(config: Block) -> list[Encoding]:
    """Phi-3-small: a base of its own name, and LongRoPE with two attention factors."""
    if config.number("rope_position_scale") not in (None, 1.0):
        raise NotKnown("rope_position_scale other than 1")
    return PlainRope(RopeKeys(base=1e6, base_key="rope_embedding_base", kinds=PHI3_SMALL))(config)


def llada(config: Block) -> Sequence[Encoding]:
    """LLaDA: OLMo's first code, which rotates where ``rope`` says so."""
    if config.boolean("alibi") or not config.boolean_or("rope", True):
        raise NotKnown("alibi, or without rope")
    return Renamed(PlainRope(), OLMO)(config)


def both_kinds(config: Block) -> list[Encoding]:
    """Ring's linear models: the layers of linear attention rotate like the others."""
    config.note("unusual", "layers of linear attention rotate, too")
    return PlainRope(RopeKeys(base=600000.0, partial=1.0))(config)


def text_only(reader: Reader, *towers: str) -> Reader:
    """For models whose towers are not in the file."""

    def read(config: Block) -> list[Encoding]:
        found = list(reader(config))
        for tower in towers:
            config.note("unknown", f"{tower}: the file does not describe it")
        return found

    return read


def _unknown_kind(kind: str | None) -> list[Encoding]:
    raise NotKnown(f"position_embedding_type {shown(kind)}")


OPENELM = (
    ("model_dim", "hidden_size"),
    ("num_transformer_layers", "num_hidden_layers"),
    ("rope_max_length", "max_position_embeddings"),
)
OLMO = (
    *(("d_model", "hidden_size"), ("n_heads", "num_attention_heads"), ("n_layers", "num_hidden_layers")),
    ("max_sequence_length", "max_position_embeddings"),
)
MINIMAX = PlainRope(
    RopeKeys(base=1e7, partial=1.0), head_dim=128, rotary_dim_key="rotary_dim", kinds=minimax_kinds, rotating=(FULL,)
)

LIKE_LLAMA = (
    *("Dream", "cogvlm_text", "deci", "instella", "llada_moe", "open-llama", "sdar", "sdar_moe"),
    *("skywork_moe", "solar", "telechat3", "xverse_moe"),
)

FAMILIES: dict[str, Reader] = {
    **dict.fromkeys(LIKE_LLAMA, PlainRope()),
    **dict.fromkeys(("llava_llama", "llava_mistral", "llava_qwen", "molmo"), text_only(PlainRope(), "vision")),
    "RefinedWeb": refined_web,
    "RefinedWebModel": refined_web,
    "Yi": PlainRope(),
    "aquila": PlainRope(),
    "arctic": PlainRope(),
    "bailing_hybrid": Renamed(mla.FAMILIES["bailing_hybrid"], (("model_max_length", "max_position_embeddings"),)),
    "bailing_moe_v2": PlainRope(RopeKeys(base=600000.0, partial=1.0)),
    "bailing_moe_linear": both_kinds,
    "bert": bert,
    "btlm": jais,
    "codeshell": Renamed(PlainRope(), (*GPT, ("n_positions", "max_position_embeddings"))),
    "exaone": Renamed(PlainRope(RopeKeys(base=500000.0)), (("num_layers", "num_hidden_layers"),)),
    "internlm": internlm,
    "jais": jais,
    "llada": llada,
    "llada2_moe": PlainRope(RopeKeys(base=600000.0, partial=1.0), rotary_dim_key="rotary_dim"),
    "mimo": PlainRope(),
    "minimax_m1": MINIMAX,
    "minimax_text_01": MINIMAX,
    "new": new,
    "nomic_bert": nomic_bert,
    "openelm": Renamed(PlainRope(RopeKeys(base_key="rope_freq_constant")), OPENELM),
    "ouro": PlainRope(RopeKeys(base=1000000.0)),
    "phi3small": phi3_small,
    "skywork": PlainRope(),
    "smallthinker": smallthinker,
    "stablelm_epoch": PlainRope(RopeKeys(partial=0.25, partial_key="rope_pct")),
    "xlm-roberta": xlm_roberta,
}
