"""Families that add a table to the embeddings, learned or of sinusoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from posref._arguments import shown
from posref.models._reading import Block, NotKnown, Reader
from posref.models.records import Encoding, LearnedEncoding, SinusoidalEncoding

Names = Sequence[str]


@dataclass(frozen=True)
class Learned:
    """Reads a family with one learned table in front of all layers.

    ``more_rows`` stand before the row of position 0, on top of ``max_position_embeddings`` (OPT). With ``after_pad``, position 0
    is the row after that of the padding token, within the ``max_position_embeddings`` (RoBERTa).
    """

    rows: Names = ("max_position_embeddings",)
    dim: Names = ("hidden_size",)
    more_rows: int = 0
    after_pad: bool = False
    stacks: tuple[str | None, ...] = (None,)

    def __call__(self, config: Block) -> list[Encoding]:
        """One encoding per stack of such a model."""
        kind = config.word("position_embedding_type")  # transformers no longer reads it
        if kind not in (None, "absolute"):
            raise NotKnown(f"position_embedding_type {shown(kind)}")
        rows = _size(config, self.rows)
        offset = _after_pad(config) if self.after_pad else self.more_rows
        rows = None if rows is None else rows + self.more_rows
        return [learned(stack, rows, _size(config, self.dim), offset) for stack in self.stacks]


def boxed(reader: Reader) -> Reader:
    """A reader of a model of documents, whose words have a place on the page, or in a tree, too."""

    def read(config: Block) -> Sequence[Encoding]:
        config.note("not known yet", "text: the tables by the place of a word on the page or in the document's tree")
        return reader(config)

    return read


def led(config: Block) -> list[Encoding]:
    """LED: a table per stack, each with its own number of rows."""
    dim = _size(config, ("hidden_size", "d_model"))
    return [learned(s, _size(config, (f"max_{s}_position_embeddings",)), dim, 0) for s in BOTH]


def trocr(config: Block) -> list[Encoding]:
    """TrOCR's decoder: BART's table, or fairseq's sinusoids where ``use_learned_position_embeddings`` is false."""
    if config.boolean_or("use_learned_position_embeddings", True):
        return Learned(dim=("hidden_size", "d_model"), more_rows=2)(config)
    return [fairseq(config, None, "max_position_embeddings")]


def xlm(config: Block) -> list[Encoding]:
    """XLM and FlauBERT: a learned table; with ``sinusoidal_embeddings`` it starts as the paper's sinusoids, pair by pair."""
    if config.boolean("sinusoidal_embeddings"):
        config.note(
            "unusual", "sinusoidal_embeddings is true: the table holds the paper's sinusoids, and is not trained"
        )
    return Learned(dim=("hidden_size", "emb_dim"))(config)


def speech_to_text(config: Block) -> list[Encoding]:
    """Speech2Text: fairseq's sinusoids, of the frames in the encoder; the tables grow with the input."""
    return [
        fairseq(config, "encoder", "max_source_positions", "audio"),
        fairseq(config, "decoder", "max_target_positions"),
    ]


def fairseq(config: Block, stack: str | None, rows_key: str, component: str = "text") -> SinusoidalEncoding:
    """Sinusoids from the one after the padding token's on."""
    rows = _size(config, (rows_key,))
    dim = _size(config, ("hidden_size", "d_model"))
    return sinusoids(component, stack, None if rows is None else rows + 2, dim, _after_pad(config))


def pegasus_x(config: Block) -> list[Encoding]:
    """PEGASUS-X: tensor2tensor's sinusoids in both stacks, made for as many tokens as there are."""
    dim = _size(config, ("hidden_size", "d_model"))
    return [sinusoids("text", stack, None, dim, 0) for stack in BOTH]


def musicgen(config: Block) -> list[Encoding]:
    """MusicGen's decoder: tensor2tensor's frequencies, all cosines, then all sines."""
    rows, dim = _size(config, ("max_position_embeddings",)), _size(config, ("hidden_size",))
    return [replace(sinusoids("audio", None, rows, dim, 0), order="cos_sin")]


def ctrl(config: Block) -> list[Encoding]:
    """CTRL: the paper's frequencies, all sines, then all cosines."""
    rows, dim = _size(config, ("max_position_embeddings", "n_positions")), _size(config, ("hidden_size", "n_embd"))
    return [sinusoids("text", None, rows, dim, 0, endpoint=False)]


def audio_sinusoids(config: Block) -> list[Encoding]:
    """Encoders with Whisper's sinusoids that are not in the weights."""
    return [sinusoids("audio", "encoder", *_whisper_sizes(config), 0)]


def whisper(config: Block) -> list[Encoding]:
    """Whisper: sinusoids in the encoder, a learned table in the decoder."""
    dim = _size(config, ("hidden_size", "d_model"))
    source, target = _size(config, ("max_source_positions",)), _size(config, ("max_target_positions",))
    return [
        sinusoids("audio", "encoder", source, dim, 0),
        learned("decoder", target, dim, 0),
    ]


def m2m_100(config: Block) -> list[Encoding]:
    """M2M100 and NLLB: fairseq's sinusoids, from the one after the padding token's on; the table grows with the input."""
    dim = _size(config, ("hidden_size", "d_model"))
    rows, offset = _size(config, ("max_position_embeddings",)), _after_pad(config)
    rows = None if rows is None else rows + 2
    return [sinusoids("text", stack, rows, dim, offset) for stack in ("encoder", "decoder")]


def xglm(config: Block) -> list[Encoding]:
    """XGLM: fairseq's sinusoids, from the third on; the table grows with the input."""
    rows = _size(config, ("max_position_embeddings",))
    return [sinusoids("text", None, None if rows is None else rows + 2, _size(config, ("hidden_size", "d_model")), 2)]


def marian(config: Block) -> list[Encoding]:
    """Marian and Pegasus in transformers: the paper's frequencies, all sines, then all cosines."""
    rows, dim = _size(config, ("max_position_embeddings",)), _size(config, ("hidden_size", "d_model"))
    return [sinusoids("text", stack, rows, dim, 0, endpoint=False) for stack in ("encoder", "decoder")]


def audio_table(config: Block) -> list[Encoding]:
    """Encoders made after Whisper's, whose table comes with the weights."""
    rows, dim = _whisper_sizes(config)
    config.note(
        "unusual", "the table comes with the weights; Whisper's, from which such encoders start, holds sinusoids"
    )
    return [LearnedEncoding("learned", "audio", None, None, "encoder", rows, dim, 0)]


def _whisper_sizes(config: Block) -> tuple[int, int]:
    """Rows and channels, or those of Whisper large, which is what transformers' classes of such encoders have."""
    width = config.either(("hidden_size", "d_model"))
    return config.integer_or("max_source_positions", 1500), width or config.integer_or("hidden_size", 1280)


def learned(stack: str | None, rows: int | None, dim: int | None, offset: int) -> LearnedEncoding:
    """The record of a learned table."""
    return LearnedEncoding("learned", "text", None, None, stack, rows, dim, offset)


def sinusoids(
    component: str, stack: str | None, rows: int | None, dim: int | None, offset: int, *, endpoint: bool = True
) -> SinusoidalEncoding:
    """The record of sinusoids, all sines, then all cosines; tensor2tensor's, whose last frequency is exactly 1/base."""
    return SinusoidalEncoding(
        encoding="sinusoidal",
        component=component,
        part=None,
        layers=None,
        stack=stack,
        rows=rows,
        dim=dim,
        offset=offset,
        base=10000.0,
        endpoint=endpoint,
        layout="concatenated",
        order="sin_cos",
    )


def _size(config: Block, names: Names) -> int | None:
    size = config.either(names)
    if size is None:
        config.note("unknown", f"the size of the table: {config.name(names[0])} is not given")
    return size


def _after_pad(config: Block) -> int:
    return config.integer_or("pad_token_id", 1, least=0) + 1


BOTH = ("encoder", "decoder")
GPT2 = Learned(rows=("max_position_embeddings", "n_positions"), dim=("hidden_size", "n_embd"))
BART = Learned(dim=("hidden_size", "d_model"), more_rows=2, stacks=BOTH)
BLENDERBOT = Learned(dim=("hidden_size", "d_model"), stacks=BOTH)
NARROW = Learned(dim=("embedding_size",))
ROBERTA = Learned(after_pad=True)

AFTER_TWO = Learned(more_rows=2)

FAMILIES: dict[str, Reader] = {
    **dict.fromkeys(
        ("aimv2_text_model", "clipseg_text_model", "groupvit_text_model", "metaclip_2_text_model"), Learned()
    ),
    **dict.fromkeys(("owlvit_text_model", "owlv2_text_model", "siglip_text_model", "siglip2_text_model"), Learned()),
    **dict.fromkeys(("xclip_text_model", "align_text_model", "blip_text_model", "chinese_clip_text_model"), Learned()),
    **dict.fromkeys(("flava_text_model", "dpr", "fnet", "gpt_neo", "lxmert", "visual_bert"), Learned()),
    **dict.fromkeys(("altclip_text_model", "bridgetower_text_model", "clap_text_model", "xmod"), ROBERTA),
    **dict.fromkeys(("mra", "nystromformer", "yoso"), AFTER_TWO),
    "albert": NARROW,
    "audioflamingo3_encoder": audio_table,
    "convbert": NARROW,
    "ctrl": ctrl,
    "flaubert": xlm,
    "fsmt": m2m_100,
    "imagegpt": GPT2,
    "layoutlm": boxed(Learned()),
    "led": led,
    "lilt": boxed(ROBERTA),
    "markuplm": boxed(ROBERTA),
    "musicgen_decoder": musicgen,
    "musicgen_melody_decoder": musicgen,
    "nllb-moe": m2m_100,
    "pegasus_x": pegasus_x,
    "qwen2_5_omni_audio_encoder": audio_sinusoids,
    "qwen3_omni_moe_audio_encoder": audio_sinusoids,
    "rembert": Learned(dim=("input_embedding_size",)),
    "speech_to_text": speech_to_text,
    "trocr": trocr,
    "xlm": xlm,
    "bart": BART,
    "bert-generation": Learned(),
    "big_bird": Learned(),
    "bigbird_pegasus": BLENDERBOT,
    "biogpt": Learned(more_rows=2),
    "blenderbot": BLENDERBOT,
    "blenderbot-small": BLENDERBOT,
    "camembert": ROBERTA,
    "clip_text_model": Learned(),
    "data2vec-text": ROBERTA,
    "distilbert": Learned(dim=("hidden_size", "dim")),
    "electra": NARROW,
    "ernie": Learned(),
    "gpt-sw3": GPT2,
    "gpt2": GPT2,
    "gpt_bigcode": GPT2,
    "ibert": ROBERTA,
    "longformer": ROBERTA,
    "luke": ROBERTA,
    "m2m_100": m2m_100,
    "marian": marian,
    "mbart": BART,
    "megatron-bert": Learned(),
    "mobilebert": Learned(),
    "mvp": BART,
    "openai-gpt": GPT2,
    "opt": Learned(more_rows=2),
    "pegasus": marian,
    "plbart": BART,
    "qwen2_audio_encoder": audio_table,
    "roberta": ROBERTA,
    "roberta-prelayernorm": ROBERTA,
    "roc_bert": Learned(),
    "splinter": Learned(),
    "squeezebert": Learned(),
    "voxtral_encoder": audio_table,
    "whisper": whisper,
    "xglm": xglm,
    "xlm-roberta-xl": ROBERTA,
}
