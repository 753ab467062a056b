"""One module for the three encodings that act on the embeddings themselves."""

from __future__ import annotations

from torch import Tensor, nn

from posref._arguments import choice, integer
from posref_torch.nn.additive import LearnedEncoding, SinusoidalEncoding, require_width
from posref_torch.nn.rotary import RotaryEmbedding


class PositionEncoding(nn.Module):
    """Tell the tokens of x their positions.

    Parameters
    ----------
    embed_dim
        Width of x; even, except for ``"learnable"``.
    max_len
        Rows of ``"learnable"``, and so its longest sequence. The two others have no longest sequence.
    strategy
        ``"sinusoidal"`` adds fixed sinusoids. ``"learnable"`` adds a learned row. ``"rope"`` *rotates* x, all its channels as
        one head (pairs i, i + embed_dim / 2), and keeps its length.

    Raises
    ------
    ValueError
        Another strategy.

    Notes
    -----
    ``"rope"`` is not a replacement for the other two at the bottom of a model: only a product of two rotated vectors depends
    on the distance, so that it belongs on queries and keys, after their projections and in every layer. Give it those of one
    head, or use :class:`RotaryEmbedding`, which takes both and knows heads.

    Examples
    --------
    >>> PositionEncoding(8, strategy="learnable")(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, embed_dim: int, max_len: int = 5000, strategy: str = "sinusoidal") -> None:
        super().__init__()
        self.embed_dim, self.max_len = integer(embed_dim, "embed_dim"), integer(max_len, "max_len")
        self.strategy = choice(strategy, "strategy", ("sinusoidal", "learnable", "rope"))
        self.encoding: SinusoidalEncoding | LearnedEncoding | RotaryEmbedding
        if strategy == "sinusoidal":
            self.encoding = SinusoidalEncoding(embed_dim)
        elif strategy == "learnable":
            self.encoding = LearnedEncoding(max_len, embed_dim)
        else:
            self.encoding = RotaryEmbedding(embed_dim)

    def forward(self, x: Tensor, positions: Tensor | int | None = None) -> Tensor:
        """X (batch, seq, embed_dim) with its positions, of x's type; positions as in :meth:`RotaryEmbedding.forward`.

        Raises
        ------
        IndexError
            ``"learnable"`` and a sequence that is longer than max_len.
        """
        require_width(x, self.embed_dim)
        if isinstance(self.encoding, RotaryEmbedding):
            return self.encoding.rotate(x, positions)
        return self.encoding(x, positions)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """What distinguishes the module."""
        return f"strategy={self.strategy!r}"
