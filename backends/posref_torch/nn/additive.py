"""Encodings that are added to the embeddings."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posref._arguments import boolean, choice, even, integer, number
from posref_torch.additive import learned, sinusoidal
from posref_torch.nn._rows import Tabulated, token_range


class SinusoidalEncoding(Tabulated):
    """Add the fixed sinusoids of the position: :func:`posref.sinusoidal`, whose arguments it takes.

    For any length, and without anything in the state dict.

    Examples
    --------
    >>> SinusoidalEncoding(8)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        dim: int,
        *,
        base: float = 10000.0,
        endpoint: bool = False,
        layout: str = "interleaved",
        order: str = "sin_cos",
    ) -> None:
        super().__init__()
        self.dim, self.base, self.endpoint = even(dim), number(base, "base", above=1), boolean(endpoint, "endpoint")
        self.layout = choice(layout, "layout", ("interleaved", "concatenated"))
        self.order = choice(order, "order", ("sin_cos", "cos_sin"))
        sinusoidal(torch.empty(0), dim, endpoint=endpoint)  # raises what they are together

    def forward(self, x: Tensor, positions: Tensor | int | None = None) -> Tensor:
        """X (..., seq, dim) plus its encoding, of x's type; positions as in :meth:`RotaryEmbedding.forward`."""
        require_width(x, self.dim)
        (rows,) = self.rows(x, positions)
        return (x + rows).to(x.dtype)

    def table(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """The encoding at any positions, positions.shape + (dim,)."""
        rows = sinusoidal(
            positions,
            self.dim,
            base=self.base,
            endpoint=self.endpoint,
            layout=self.layout,
            order=self.order,
            dtype=dtype,
        )
        return (rows,)

    def extra_repr(self) -> str:
        """What distinguishes the module."""
        return f"{self.dim}, base={self.base:g}, endpoint={self.endpoint}, layout={self.layout!r}, order={self.order!r}"


class LearnedEncoding(nn.Module):
    """Add a learned row per position: :func:`posref.learned`.

    ``weight`` is (max_len, dim), drawn from a normal distribution with standard deviation 0.02, as in BERT and GPT-2.

    Examples
    --------
    >>> LearnedEncoding(512, 8)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, max_len: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(integer(max_len, "max_len"), integer(dim, "dim")))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the rows anew."""
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, positions: Tensor | int | None = None) -> Tensor:
        """X (..., seq, dim) plus its rows, of x's type.

        Raises
        ------
        IndexError
            A sequence that ends after the last row. Positions in a tensor are looked up, and where they lie outside of the
            table torch says so: an IndexError on the CPU, an assertion on a GPU.
        """
        max_len, dim = self.weight.shape
        require_width(x, dim)
        if isinstance(positions, Tensor):
            rows: Tensor = learned(self.weight, positions)
            return (x + rows).to(x.dtype)
        start, stop = token_range(x, positions)
        if stop > max_len:
            raise IndexError(f"x must end before max_len {max_len}, got positions {start} .. {stop - 1}")
        return (x + self.weight[start:stop]).to(x.dtype)

    def extra_repr(self) -> str:
        """What distinguishes the module."""
        return ", ".join(map(str, self.weight.shape))


def require_width(x: Tensor, dim: int) -> None:
    """Refuse what is not (..., seq, dim) and floating."""
    if x.ndim < 2 or x.shape[-1] != dim:
        raise ValueError(f"x must be (..., seq, {dim}), got shape {tuple(x.shape)}")
    if not x.is_floating_point():
        raise TypeError(f"x must be floating, got type {x.dtype}")
