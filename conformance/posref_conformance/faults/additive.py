"""Encodings that are added to embeddings: order, layout, shift and scale of sinusoids, rows of tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import always, arguments, keywords, numbers, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions

OTHER_ORDER = {"sin_cos": "cos_sin", "cos_sin": "sin_cos"}
SINUSOIDAL, TIMESTEP = ("sinusoidal",), ("timestep_embedding",)
WAVES = ("sinusoidal", "sinusoidal_axes", "fourier_features")


def _columns_apart(right: Any, xp: Any) -> Any:
    def sinusoidal(positions: Any, dim: int, *, base: float = 10000.0) -> Any:
        w = numbers(xp, [base ** (-2 * j / dim) for j in range(dim)])
        angle = xp.astype(positions, xp.float64)[..., None] * xp.astype(w, xp.float64)
        return xp.where(xp.remainder(xp.arange(dim), 2) == 0, xp.sin(angle), xp.cos(angle))

    return sinusoidal


def _growing(right: Any, xp: Any) -> Any:
    def sinusoidal(positions: Any, dim: int, *, base: float = 10000.0) -> Any:
        w = numbers(xp, [base ** (2 * k / dim) for k in range(dim // 2)])
        angle = xp.astype(positions, xp.float64)[..., None] * xp.astype(w, xp.float64)
        both = xp.stack([xp.sin(angle), xp.cos(angle)], axis=-1)
        return xp.reshape(both, (*positions.shape, dim))

    return sinusoidal


def _without_padding(right: Any, xp: Any) -> Functions:
    def timestep_embedding(timesteps: Any, dim: int, **kwargs: Any) -> Any:
        y = right.timestep_embedding(timesteps, dim, **kwargs)
        return y[..., : dim // 2 * 2]

    return {"timestep_embedding": timestep_embedding}


def _one_pair(right: Any, xp: Any) -> Functions:
    def timestep_embedding(timesteps: Any, dim: int, **kwargs: Any) -> Any:
        y = right.timestep_embedding(timesteps, dim, **kwargs)
        return y * math.nan if dim == 2 else y

    return {"timestep_embedding": timestep_embedding}


def _row_zeroed(row: int, **places: int) -> Any:
    """Functions, with the place of their positions among the arguments, that give zeros at one position."""

    def wrong(right: Any, xp: Any) -> Functions:
        def make(name: str, place: int) -> Any:
            def function(*args: Any, **kwargs: Any) -> Any:
                y = getattr(right, name)(*args, **kwargs)
                return xp.where((args[place] == row)[..., None], xp.zeros_like(y), y)

            return function

        return {name: make(name, place) for name, place in places.items()}

    return wrong


def _in_turns(xp: Any, p: Any) -> Any:
    return 2 * math.pi * xp.astype(p, xp.float64)


def _rows(change: Callable[[Any, Any, int], Any]) -> Any:
    """Rows change(xp, positions, rows) of a learned table; those beyond it are its last."""

    def make(right: Any, xp: Any) -> Any:
        def learned(table: Any, positions: Any) -> Any:
            p = change(xp, positions, table.shape[0])
            return right.learned(table, xp.clip(p, 0, table.shape[0] - 1))

        return learned

    return replaced(learned=make)


def _offset_ignored(right: Any, xp: Any) -> Any:
    """Positions before 0 read the table's last rows, as NumPy does."""

    def learned(table: Any, positions: Any, *, offset: int = 0) -> Any:
        return right.learned(table, xp.remainder(positions, table.shape[0]) if offset else positions)

    return learned


FAULTS = (
    Fault(
        "sin-and-cos-exchanged",
        "You exchange the sines and the cosines of the sinusoid.",
        "Sines come first unless order is 'cos_sin'.",
        "flashinfer-ai/flashinfer PR #3819",
        keywords(WAVES, lambda k: {**k, "order": OTHER_ORDER[k.get("order", "sin_cos")]}),
    ),
    Fault(
        "order-ignored",
        "You put the sines first whatever order is asked for.",
        "Follow order.",
        "huggingface/diffusers PR #1369",
        without(WAVES, "order"),
    ),
    Fault(
        "sinusoid-always-concatenated",
        "You return all sines, then all cosines; the paper alternates them.",
        "Follow the layout: Whisper and fairseq concatenate, the paper alternates.",
        "wenet-e2e/wenet PR #2141",
        always(SINUSOIDAL, layout="concatenated"),
    ),
    Fault(
        "sinusoid-always-interleaved",
        "You alternate sines and cosines, though they are to stand in two halves.",
        "Follow the layout: Whisper and fairseq concatenate, the paper alternates.",
        "wenet-e2e/wenet PR #2141",
        without(SINUSOIDAL, "layout"),
    ),
    Fault(
        "endpoint-ignored",
        "You divide the exponent by half; with endpoint it is half - 1.",
        "Let the last frequency be 1/base where endpoint is asked for.",
        "wenet-e2e/wenet PR #2141",
        without(("sinusoidal", "sinusoidal_axes"), "endpoint"),
    ),
    Fault(
        "exponent-by-column",
        "You use 2j/dim for column j: sine and cosine of a pair have different frequencies.",
        "Use 2 (j // 2) / dim.",
        "BrianPulfer/PapersReimplementations issue #9",
        replaced(sinusoidal=_columns_apart),
    ),
    Fault(
        "sinusoid-without-minus",
        "Your sinusoid's frequencies grow: the minus of the exponent is missing.",
        "Divide the position by base ** (2k/dim).",
        "labmlai/annotated_deep_learning_paper_implementations issue #313",
        replaced(sinusoidal=_growing),
    ),
    Fault(
        "flip-ignored",
        "You ignore flip_sin_to_cos.",
        "With it the cosines come first.",
        "huggingface/diffusers PR #1369",
        without(TIMESTEP, "flip_sin_to_cos"),
    ),
    Fault(
        "flipped-twice",
        "You flip sines and cosines that are already in the other order.",
        "Sines come first unless flip_sin_to_cos is set.",
        "flashinfer-ai/flashinfer PR #3819",
        keywords(TIMESTEP, lambda k: {**k, "flip_sin_to_cos": not k.get("flip_sin_to_cos", False)}),
    ),
    Fault(
        "shift-always-1",
        "You divide the exponent by half - 1, whatever downscale_freq_shift is.",
        "Divide by half - downscale_freq_shift.",
        "kohya-ss/sd-scripts PR #1187; huggingface/diffusers PR #12791",
        without(TIMESTEP, "downscale_freq_shift"),
    ),
    Fault(
        "shift-always-0",
        "You divide the exponent by half, whatever downscale_freq_shift is.",
        "Divide by half - downscale_freq_shift.",
        "kohya-ss/sd-scripts PR #1187; huggingface/diffusers PR #12791",
        always(TIMESTEP, downscale_freq_shift=0.0),
    ),
    Fault(
        "timestep-not-scaled",
        "You ignore scale: times in 0 .. 1 reach the slow channels with nothing to tell.",
        "Multiply the angle by scale.",
        "sihyun-yu/REPA issue #40",
        without(TIMESTEP, "scale"),
    ),
    Fault(
        "timestep-scaled-twice",
        "You multiply by scale twice.",
        "Multiply once.",
        "sihyun-yu/REPA issue #40",
        keywords(TIMESTEP, lambda k: {**k, "scale": k.get("scale", 1.0) ** 2}),
    ),
    Fault(
        "odd-width-not-padded",
        "You return one column too few for an odd dim.",
        "Append a column of zeros.",
        "gc-os-ai/pyaptamer issue #526; codertimo/BERT-pytorch issue #78; lucidrains/rotary-embedding-torch issue #45",
        _without_padding,
    ),
    Fault(
        "one-pair-nan",
        "You divide 0 by 0 where there is one pair.",
        "Its frequency is 1.",
        "sunlabuiuc/PyHealth PR #1216",
        _one_pair,
    ),
    Fault(
        "rows-two-too-early",
        "You read row p; this table's first rows are for padding.",
        "Add the table's offset once, where the positions are made.",
        "huggingface/sentence-transformers PR #3879; EleutherAI/gpt-neox PR #650; huggingface/transformers issue #20761; "
        "huggingface/transformers issue #36537",
        _rows(lambda xp, p, n: p - 2),
    ),
    Fault(
        "rows-two-too-late",
        "You add an offset of 2 to positions that have it already.",
        "Add the table's offset once, where the positions are made.",
        "EleutherAI/gpt-neox PR #650; huggingface/transformers issue #20761; huggingface/transformers issue #36537",
        _rows(lambda xp, p, n: p + 2),
    ),
    Fault(
        "row-one-off",
        "You read the row after each position's.",
        "Row p belongs to position p.",
        "huggingface/sentence-transformers PR #3879",
        _rows(lambda xp, p, n: p + 1),
    ),
    Fault(
        "row-before",
        "You read the row before each position's.",
        "Row p belongs to position p.",
        "huggingface/sentence-transformers PR #3879",
        _rows(lambda xp, p, n: p - 1),
    ),
    Fault(
        "table-offset-ignored",
        "You ignore the rows before position 0.",
        "Add offset to the positions.",
        "EleutherAI/gpt-neox PR #650",
        replaced(learned=_offset_ignored),
    ),
    Fault(
        "rows-counted-from-0",
        "You read rows 0, 1, 2, ... whatever the positions are.",
        "Read the row of each position: with left padding it is cumsum(mask) - 1.",
        "ndif-team/nnsight PR #673; keras-team/keras-hub PR #1544",
        _rows(lambda xp, p, n: xp.broadcast_to(xp.arange(p.shape[-1]), p.shape) if p.ndim else 0 * p),
    ),
    Fault(
        "embedding-normalised",
        "You multiply the embedding by sqrt(dim).",
        "Scale the token embeddings, not the positions.",
        "tutorials",
        results(("sinusoidal", "learned"), lambda xp, y: y * math.sqrt(y.shape[-1])),
    ),
    Fault(
        "first-row-zeroed",
        "You return zeros for position 0, as if it were padding.",
        "Padding is the mask's: row 0 is a row like any other.",
        "tutorials",
        _row_zeroed(0, learned=1, sinusoidal=0),
    ),
    Fault(
        "second-row-zeroed",
        "You return zeros for position 1, as if it were padding.",
        "A padding_idx keeps a row from being learned; reading the row gives what stands there.",
        "tutorials",
        _row_zeroed(1, learned=1),
    ),
    Fault(
        "sinusoid-in-turns",
        "You multiply positions by 2 pi.",
        "The angle is position * frequency, in radians.",
        "tutorials",
        arguments({"sinusoidal": (0,), "timestep_embedding": (0,)}, _in_turns),
    ),
    Fault(
        "timestep-times-1000",
        "You multiply timesteps by 1000 that are in steps already.",
        "Multiply where time runs from 0 to 1, once, by scale.",
        "sihyun-yu/REPA issue #40",
        keywords(TIMESTEP, lambda k: {**k, "scale": 1000 * k.get("scale", 1.0)}),
    ),
)
