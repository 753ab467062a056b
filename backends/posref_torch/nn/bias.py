"""Encodings that are added to the attention logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from posref._arguments import boolean, choice, integer, number
from posref._bias_arguments import ALIBI_FORMS
from posref_torch.bias import alibi_bias, alibi_slopes, t5_bias, t5_bucket


class ALiBi(nn.Module):
    """Linear biases of the distance: :func:`posref.alibi_bias`.

    Without parameters and buffers: the bias is computed exactly and rounded once to ``dtype``. The causal mask is not in it.

    Parameters
    ----------
    num_heads
        All heads of the model.
    form
        As in :func:`posref.alibi_bias`.
    bias_max
        The smallest slope is 2**-bias_max.

    Examples
    --------
    >>> bias = ALiBi(8)(5)  # a prompt of 5 tokens
    >>> bias.shape
    torch.Size([8, 5, 5])
    >>> ALiBi(8)(1, 6).shape  # one more token, with 5 keys in the cache
    torch.Size([8, 1, 6])
    """

    def __init__(self, num_heads: int, *, form: str = "distance", bias_max: float = 8.0) -> None:
        super().__init__()
        self.num_heads = integer(num_heads, "num_heads")
        self.form = choice(form, "form", ALIBI_FORMS)
        self.bias_max = number(bias_max, "bias_max", above=0)

    def forward(
        self, q: Tensor | int, k: Tensor | int | None = None, *, dtype: torch.dtype | None = None, device: Any = None
    ) -> Tensor:
        """The bias, (..., heads, q, k).

        Parameters
        ----------
        q, k
            Two lengths: the queries are the last of the keys, so that ``(1, 6)`` is the sixth token with all keys; None is
            as many keys as queries. Or two tensors of positions, (..., q) and (..., k).
        dtype
            Of the bias; None is torch's default. ``scaled_dot_product_attention`` wants that of its queries.
        device
            Where lengths are given; positions bring theirs.
        """
        q, k = q_and_k_positions(q, k, device)
        wide = torch.float32 if q.device.type == "mps" else torch.float64
        slopes = alibi_slopes(self.num_heads, bias_max=self.bias_max, dtype=wide, device=q.device)
        return alibi_bias(slopes, q, k, form=self.form).to(dtype or torch.get_default_dtype())  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """What distinguishes the module."""
        return f"{self.num_heads}, form={self.form!r}, bias_max={self.bias_max:g}"


class T5Bias(nn.Module):
    """Learned biases of the bucketed distance: :func:`posref.t5_bias`.

    ``weight`` is (num_buckets, num_heads), as in T5's ``relative_attention_bias``; its layers share the first one's.

    Parameters
    ----------
    num_heads
        Heads of the attention.
    bidirectional
        True in encoders, False in decoders.
    num_buckets, max_distance
        As in :func:`posref.t5_bucket`.

    Examples
    --------
    >>> T5Bias(8, bidirectional=False)(1, 6).shape
    torch.Size([8, 1, 6])
    """

    def __init__(
        self, num_heads: int, *, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
    ) -> None:
        super().__init__()
        self.bidirectional = boolean(bidirectional, "bidirectional")
        self.max_distance = integer(max_distance, "max_distance")
        self.weight = nn.Parameter(torch.empty(integer(num_buckets, "num_buckets"), integer(num_heads, "num_heads")))
        t5_bucket(  # raises what they are together
            torch.empty(0, dtype=torch.int64),
            bidirectional=bidirectional,
            num_buckets=num_buckets,
            max_distance=max_distance,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew, with standard deviation 0.02."""
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, q: Tensor | int, k: Tensor | int | None = None) -> Tensor:
        """The bias, (..., heads, q, k), of the weight's type; q and k as in :meth:`ALiBi.forward`, positions are integers."""
        q, k = q_and_k_positions(q, k, self.weight.device)
        return t5_bias(  # type: ignore[no-any-return]
            self.weight, q, k, bidirectional=self.bidirectional, max_distance=self.max_distance
        )

    def extra_repr(self) -> str:
        """What distinguishes the module."""
        buckets, heads = self.weight.shape
        return f"{heads}, bidirectional={self.bidirectional}, num_buckets={buckets}, max_distance={self.max_distance}"


def q_and_k_positions(q: Tensor | int, k: Tensor | int | None, device: Any) -> tuple[Tensor, Tensor]:
    """Positions as they are given, or those of the last q of k tokens."""
    if isinstance(q, Tensor) and isinstance(k, Tensor):
        return q, k
    k = q if k is None else k
    if not (isinstance(q, int) and isinstance(k, int)):
        raise TypeError(
            f"q and k must be two lengths or two tensors of positions, got types {type(q).__name__} and {type(k).__name__}"
        )
    if not 0 <= q <= k:
        raise ValueError(f"q must be >= 0 and at most k, of which it is the end, got {q} and {k}")
    return torch.arange(k - q, k, device=device), torch.arange(k, device=device)
