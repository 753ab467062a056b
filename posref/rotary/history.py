"""Code that remembers: length-dependent frequencies that follow from all calls so far, not from the last one alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posref._arguments import choice, integer, shown
from posref.rotary.dynamic_scaling import DynamicLinearScaling, DynamicNTKScaling, DynamicYarnScaling
from posref.rotary.frequencies import rope_attention_factor, rope_inv_freq

DYNAMIC = (DynamicNTKScaling, DynamicLinearScaling, DynamicYarnScaling)


class RopeHistory:
    """A model's rotary frequencies while its calls grow longer and shorter, as code with a cache has them.

    The one thing that is kept is a length: that for which the frequencies were made. At first it is the original length L, so
    that they are the plain ones. A call of length S makes it S if S is longer; what a shorter call does is the rule's.

    Parameters
    ----------
    scaling
        One of the three dynamic records: :class:`DynamicNTKScaling`, :class:`DynamicLinearScaling`,
        :class:`DynamicYarnScaling`.
    dim, base
        As in :func:`rope_inv_freq`.
    rule
        ``"transformers"``: the longer length stays until a call is *shorter than* L, which goes back to L (a call of exactly L
        does not). ``"grow"``: it stays for good, as in jquesnelle/yarn.

    Notes
    -----
    Keys in a cache keep the rotation that they were stored with: after growth, scores mix frequencies. The pure function of S,
    which mlx-lm has, is :func:`rope_inv_freq` with ``seq_len``; sglang and vLLM fix S in advance, which is that with a constant.

    Source: transformers 5.24, ``dynamic_rope_update``; code of jquesnelle/yarn, the classes named Dynamic.

    Examples
    --------
    >>> history = RopeHistory(DynamicNTKScaling(2.0, 2048), 128)
    >>> for seq_len in (1000, 4096, 3000, 2048, 2047):
    ...     _ = history.inv_freq(seq_len)
    ...     print(seq_len, history.seq_len)
    1000 2048
    4096 4096
    3000 4096
    2048 4096
    2047 2048
    """

    def __init__(
        self,
        scaling: DynamicNTKScaling | DynamicLinearScaling | DynamicYarnScaling,
        dim: int,
        *,
        base: float = 10000.0,
        rule: str = "transformers",
    ) -> None:
        if not isinstance(scaling, DYNAMIC):
            wanted = ", ".join(kind.__name__ for kind in DYNAMIC)
            raise TypeError(f"scaling must be one of {wanted}, got {shown(scaling)}")
        self.scaling, self.dim, self.base = scaling, dim, base
        self.rule = choice(rule, "rule", ("transformers", "grow"))
        self.seq_len: int = scaling.original_max_position_embeddings
        rope_inv_freq(dim, base=base, scaling=scaling)  # a bad dim or base is told now

    def inv_freq(self, seq_len: int) -> NDArray[np.float64]:
        """The frequencies, (dim // 2,), of the next call; ``seq_len`` is its length, the largest position + 1."""
        seq_len = integer(seq_len, "seq_len")
        original = self.scaling.original_max_position_embeddings
        if seq_len > self.seq_len:
            self.seq_len = seq_len
        elif self.rule == "transformers" and seq_len < original:
            self.seq_len = original
        return rope_inv_freq(self.dim, base=self.base, scaling=self.scaling, seq_len=self.seq_len)

    @property
    def attention_factor(self) -> float:
        """The factor on cos and sin that goes with the frequencies of the last call."""
        return rope_attention_factor(self.scaling, seq_len=self.seq_len)
