"""Rotary encoding of queries and keys."""

from __future__ import annotations

import torch
from torch import Tensor

from posref import Scaling
from posref._arguments import choice, integer
from posref_array._frequencies import scaled
from posref_array._magnitudes import attention_factor
from posref_torch.nn._rows import Tabulated
from posref_torch.rotary import rope_apply, rope_table


class RotaryEmbedding(Tabulated):
    """Rotate queries and keys by their positions: :func:`posref.rope`.

    Parameters
    ----------
    dim
        Channels that rotate; where the head has more, those from ``offset`` on do and the others pass through.
    base, scaling
        As in :func:`posref.rope_inv_freq`; the scaling's attention factor is applied.
    seq_len
        The length that a length-dependent scaling (dynamic NTK, LongRoPE) is made for; None is its original length. It is
        fixed for the module, as in vLLM and sglang: keys that are cached under one length do not fit queries of another. To
        follow the length as transformers does, call :func:`posref_torch.rope` with ``seq_len``.
    layout, output_layout, offset
        As in :func:`posref.rope_apply`.

    Notes
    -----
    There is nothing in the state dict, and no cast changes the rotation: tables are made in float64 from Python floats and
    rounded once to float32. A row takes 4 dim bytes: let the layers of a model share one module. Under ``torch.compile`` call
    :meth:`reserve` first, else the tables are made in every call.

    Examples
    --------
    >>> rotary = RotaryEmbedding(64)
    >>> q, k = torch.randn(2, 8, 10, 64), torch.randn(2, 2, 10, 64)
    >>> q, k = rotary(q, k)  # a prompt
    >>> next_q, next_k = rotary(torch.randn(2, 8, 1, 64), torch.randn(2, 2, 1, 64), 10)  # the token after it
    """

    def __init__(
        self,
        dim: int,
        *,
        base: float = 10000.0,
        scaling: Scaling | None = None,
        seq_len: int | None = None,
        layout: str = "half",
        output_layout: str | None = None,
        offset: int = 0,
    ) -> None:
        super().__init__()
        scaled(dim, base, scaling, seq_len)  # raises what is wrong with them
        attention_factor(scaling)
        self.dim, self.base, self.scaling, self.seq_len = dim, base, scaling, seq_len
        self.layout = choice(layout, "layout", ("half", "interleaved"))
        self.output_layout = output_layout and choice(output_layout, "output_layout", ("half", "interleaved"))
        self.offset = integer(offset, "offset", least=0)

    def forward(self, q: Tensor, k: Tensor, positions: Tensor | int | None = None) -> tuple[Tensor, Tensor]:
        """Rotated q and k, each of its own type.

        Parameters
        ----------
        q, k
            (batch, heads, seq, channels), or with other axes before seq; k may have fewer heads.
        positions
            None: 0 .. seq-1. An integer: the first position, as in decoding with a cache. A tensor: (seq,), (batch, seq), or
            one that broadcasts against (batch, heads, seq) and has as many axes; real, signed, not bounded.

        Raises
        ------
        ValueError
            q and k of different lengths; positions of another number of axes, or that do not broadcast.
        """
        if q.ndim != k.ndim or q.shape[-2:-1] != k.shape[-2:-1]:
            raise ValueError(
                f"q and k must have the same axes and the same length, got {tuple(q.shape)} and {tuple(k.shape)}"
            )
        cos, sin = self.cos_sin(q, positions)
        return self._rotated(q, cos, sin), self._rotated(k, cos, sin)

    def rotate(self, x: Tensor, positions: Tensor | int | None = None) -> Tensor:
        """X alone, rotated; shapes as in :meth:`forward`."""
        return self._rotated(x, *self.cos_sin(x, positions))

    def cos_sin(self, x: Tensor, positions: Tensor | int | None = None) -> tuple[Tensor, Tensor]:
        """The tables for x, (..., seq, dim // 2), for :func:`posref_torch.rope_apply` in layers that share them."""
        if isinstance(positions, Tensor) and positions.ndim not in (1, x.ndim - 1):
            if positions.ndim != 2:
                wanted = f"(seq,), (batch, seq) or {x.ndim - 1} axes"
                raise ValueError(f"positions must have {wanted}, got shape {tuple(positions.shape)}")
            positions = positions.reshape(positions.shape[0], *(1 for _ in x.shape[1:-2]), positions.shape[1])
        cos, sin = self.rows(x, positions)
        return cos, sin

    def table(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """Cos and sin at any positions, positions.shape + (dim // 2,)."""
        return rope_table(  # type: ignore[no-any-return]
            positions, self.dim, base=self.base, scaling=self.scaling, seq_len=self.seq_len, dtype=dtype
        )

    def extra_repr(self) -> str:
        """What distinguishes the module."""
        return f"{self.dim}, base={self.base:g}, scaling={self.scaling}, layout={self.layout!r}"

    def _rotated(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return rope_apply(x, cos, sin, layout=self.layout, output_layout=self.output_layout, offset=self.offset)
