"""The frequencies that a rotation may have: base, scaling and length, or those that a config spells out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import posref
from posref import Scaling
from posref_conformance.diagnosis._candidates import fast
from posref_conformance.faults._fault import right
from posref_conformance.identify._finding import Values
from posref_conformance.roundings import ladder_roundings, rope_frequencies


@dataclass(frozen=True)
class Ladder:
    """Frequencies, one per pair.

    Parameters
    ----------
    base, scaling, seq_len
        As in :func:`posref.rope_inv_freq`.
    inv_freq
        Where they follow no such ladder: what they are.
    """

    base: float
    scaling: Scaling | None = None
    seq_len: int | None = None
    inv_freq: tuple[float, ...] | None = None

    def quick(self, pairs: int) -> Values:
        """To a few roundings of float64: thousands of guesses are compared."""
        if self.inv_freq is not None:
            return self.exact(pairs)[0]
        how = {"base": self.base, "scaling": self.scaling, "seq_len": self.seq_len}
        return np.asarray(right(fast()).rope_inv_freq(2 * pairs, **how))

    def exact(self, pairs: int) -> tuple[Values, Values]:
        """The frequencies, and how many roundings right code may be off by, relative."""
        if self.inv_freq is None:
            how = {"base": self.base, "scaling": self.scaling, "seq_len": self.seq_len}
            return rope_frequencies(2 * pairs, how)
        if len(self.inv_freq) != pairs:
            raise ValueError(f"these frequencies are {len(self.inv_freq)}, got {pairs} pairs")
        w = np.asarray(self.inv_freq)
        return w, np.asarray(ladder_roundings(np.where(w > 0, w, 1.0)) + 4)  # 4: what a scaling adds

    @property
    def attention_factor(self) -> float:
        """The scaling's own; 1 where it has none."""
        try:
            return posref.rope_attention_factor(self.scaling, seq_len=self.seq_len)
        except ValueError:
            return 1.0

    def words(self) -> str:
        """For people."""
        length = "" if self.seq_len is None else f" at length {self.seq_len}"
        return f"base {self.base:.12g}, {name_of(self.scaling) or 'no scaling'}{length}"


def name_of(scaling: Scaling | None) -> str | None:
    """A scaling in words."""
    if scaling is None:
        return None
    kind = type(scaling).__name__.removesuffix("Scaling").replace("Llama3", "Llama-3").replace("Yarn", "YaRN")
    words = [kind, "scaling"]
    if (factor := getattr(scaling, "factor", None)) is not None:
        words.append(f"factor {factor:g}")
    if length := getattr(scaling, "original_max_position_embeddings", None):
        words.append(f"original length {length}")
    if getattr(scaling, "truncate", True) is False:
        words.append("not truncated")
    return " ".join(words)
