"""What engines make of a config by mistake: other frequencies, factors or positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import posref
from posref import LinearScaling, LongRopeScaling, YarnScaling
from posref.models.records import RopeEncoding
from posref_conformance.identify._finding import Values
from posref_conformance.identify._ladder import Ladder


@dataclass(frozen=True)
class Meant:
    """A rotation of a model: its record, its frequencies, its attention factor and its sign."""

    encoding: RopeEncoding
    ladder: Ladder
    factor: float
    backwards: bool

    @classmethod
    def of(cls, encoding: RopeEncoding) -> Meant:
        """The right one."""
        w = encoding.inv_freq or ()
        plain = Ladder(encoding.base, encoding.scaling, encoding.seq_len)
        try:
            same = tuple(plain.exact(len(w))[0].tolist()) == w
        except ValueError:
            same = False
        ladder = plain if same else dataclasses.replace(plain, inv_freq=w)
        return cls(encoding, ladder, encoding.attention_factor or 1.0, encoding.inverse)


def mistakes(right: Meant) -> Iterator[tuple[str, Meant]]:
    """One mistake each, with words that follow "with"."""
    if right.factor != 1.0:
        yield "the attention factor left out", dataclasses.replace(right, factor=1.0)
        yield "the attention factor squared", dataclasses.replace(right, factor=right.factor**2)
    yield "the rotation backwards", dataclasses.replace(right, backwards=not right.backwards)
    for words, ladder, own in _ladders(right.ladder):
        factor = ladder.attention_factor if own else right.factor
        yield words, dataclasses.replace(right, ladder=ladder, factor=factor)
        if factor != right.factor:
            yield f"{words}, attention factor kept", dataclasses.replace(right, ladder=ladder)
    yield from _of_other_width(right)


def _ladders(right: Ladder) -> Iterator[tuple[str, Ladder, bool]]:
    """Words, frequencies, and whether the attention factor follows them."""
    plain = dataclasses.replace(right, inv_freq=None)
    if right.scaling is not None:
        yield "its scaling left out", dataclasses.replace(plain, scaling=None, seq_len=None), True
    if right.base != 10000.0:
        yield "base 10000", dataclasses.replace(plain, base=10000.0), False
        if right.scaling is not None:
            yield "base 10000 and its scaling left out", Ladder(10000.0), True
    if right.inv_freq is not None:
        yield "one ladder for all channels", plain, False
    for words, scaling in _scalings(right.scaling):
        yield words, dataclasses.replace(plain, scaling=scaling), True


def _scalings(scaling: Any) -> Iterator[tuple[str, Any]]:
    factor = getattr(scaling, "factor", None)
    if factor is not None and factor != 1:
        for words, other in (("squared", factor**2), ("upside down", 1 / factor)):
            try:
                yield f"its factor {words}", dataclasses.replace(scaling, factor=other)
            except ValueError:
                continue
        if not isinstance(scaling, LinearScaling):
            yield f"linear scaling by {factor:g}", LinearScaling(factor)
            yield f"NTK scaling by {factor:g}", posref.NTKScaling(factor)
    if isinstance(scaling, YarnScaling):
        yield "truncate the other way round", dataclasses.replace(scaling, truncate=not scaling.truncate)
    if isinstance(scaling, LongRopeScaling):
        short, long = scaling.short_factor, scaling.long_factor
        yield "short and long factors swapped", dataclasses.replace(scaling, short_factor=long, long_factor=short)
    length = getattr(scaling, "original_max_position_embeddings", None)
    if length is not None and factor:
        longest = int(length * factor)
        if longest != length:
            yield (
                f"original length {longest}, the longest text's",
                dataclasses.replace(scaling, original_max_position_embeddings=longest),
            )


def _of_other_width(right: Meant) -> Iterator[tuple[str, Meant]]:
    """A partial rotation whose frequencies are those of the whole head."""
    head, rotary = right.encoding.head_dim, right.encoding.rotary_dim
    if head is not None and rotary is not None and rotary < head and right.ladder.inv_freq is None:
        try:
            w = right.ladder.exact(head // 2)[0]
        except ValueError:
            return
        ladder = dataclasses.replace(right.ladder, inv_freq=tuple(w[: rotary // 2].tolist()))
        yield f"the frequencies of all {head} channels", dataclasses.replace(right, ladder=ladder)


def at_other_positions(positions: Values | None) -> Iterator[tuple[str, Values]]:
    """Off by one, where it is known which they should be."""
    if positions is not None:
        yield "positions one too large", positions + 1
        yield "positions one too small", positions - 1
        if np.ptp(positions):
            yield "positions counted from 0", positions - positions.min()
            yield "rows counted, and not positions", np.arange(len(positions))
