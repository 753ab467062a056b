"""Families that add a table to the embeddings, learned or of sinusoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    def __call__(self, config: Block) -> list[Encoding]:
        """The one encoding of such a model."""
        kind = config.word("position_embedding_type")  # transformers no longer reads it
        if kind not in (None, "absolute"):
            raise NotKnown(f"position_embedding_type {shown(kind)}")
        rows = _size(config, self.rows)
        offset = _after_pad(config) if self.after_pad else self.more_rows
        return [learned(None, None if rows is None else rows + self.more_rows, _size(config, self.dim), offset)]


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


def learned(stack: str | None, rows: int | None, dim: int | None, offset: int) -> LearnedEncoding:
    """The record of a learned table."""
    return LearnedEncoding("learned", "text", None, None, stack, rows, dim, offset)


def sinusoids(component: str, stack: str, rows: int | None, dim: int | None, offset: int) -> SinusoidalEncoding:
    """The record of tensor2tensor's sinusoids: all sines, then all cosines, the last frequency exactly 1/base."""
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
        endpoint=True,
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


FAMILIES: dict[str, Reader] = {
    "albert": Learned(dim=("embedding_size",)),
    "bert": Learned(),
    "gpt2": Learned(rows=("max_position_embeddings", "n_positions"), dim=("hidden_size", "n_embd")),
    "opt": Learned(more_rows=2),
    "roberta": Learned(after_pad=True),
    "xlm-roberta": Learned(after_pad=True),
    "m2m_100": m2m_100,
    "whisper": whisper,
}
