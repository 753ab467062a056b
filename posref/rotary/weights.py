"""Query and key weights for the other pair layout: what makes a checkpoint of one convention run in the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, even, floating, integer
from posref.rotary.rotation import LAYOUTS, _pair_channels


def rope_permute_weight(
    weight: ArrayLike, num_heads: int, *, to: str = "half", rotary_dim: int | None = None, offset: int = 0
) -> NDArray[np.float64]:
    r"""Reorder the rows of a query or key projection, head by head, from one pair layout to the other.

    .. math:: W'_{\text{first}(i)} = W_{2i}, \quad W'_{\text{second}(i)} = W_{2i + 1}, \qquad
              \text{first}(i) = i, \; \text{second}(i) = i + d/2

    for ``to="half"``, and the other way round for ``to="interleaved"``, which undoes it. Rotated in the new layout, the new
    queries and keys have the scores of the old ones in the old layout.

    Parameters
    ----------
    weight
        (num_heads * head_dim, ...): a projection whose rows are output channels, or its bias.
    num_heads
        Of *this* weight: with grouped queries the keys' projection has the number of key-value heads.
    to
        The layout that comes out: ``"half"`` (Meta's Llama or GPT-J to transformers) or ``"interleaved"`` (to GGUF's and Meta's).
    rotary_dim
        Rows of a head that rotate (d); None is all of them, from ``offset`` on. The others stay.
    offset
        The first of them: qk_nope_head_dim for DeepSeek's queries.

    Returns
    -------
    Like weight; float64

    Raises
    ------
    ValueError
        Rows that are not a multiple of num_heads; an odd rotary_dim, or one that does not fit into a head.

    Notes
    -----
    Source: transformers, convert_llama_weights_to_hf; llama.cpp, ``permute`` in its converter. Pitfalls, each of them released
    once: permuting keys with the number of query heads, or with num_heads // num_kv_heads, which is right by luck for 64 and 8;
    undoing it in the same way; forgetting the bias; permuting values, which do not rotate.

    Examples
    --------
    >>> rope_permute_weight(np.arange(8.0), 2)
    array([0., 2., 1., 3., 4., 6., 5., 7.])
    """
    rows = floating(weight, "weight")
    heads, start = integer(num_heads, "num_heads"), integer(offset, "offset", least=0)
    choice(to, "to", LAYOUTS)
    head_dim = head_rows(rows.shape, heads)
    pairs = (
        even(head_dim - start, "rows from offset on") if rotary_dim is None else even(rotary_dim, "rotary_dim")
    ) // 2
    if start + 2 * pairs > head_dim:
        raise ValueError(
            f"rotary_dim must fit into the {head_dim} rows of a head from offset {start} on, got {2 * pairs}"
        )
    result: NDArray[np.float64] = rows.copy()
    by_head = (heads, head_dim, *rows.shape[1:])
    source, target = rows.reshape(by_head), result.reshape(by_head)
    layouts = [_pair_channels(pairs, layout, start) for layout in ("interleaved", "half")]
    for came, goes in zip(*(layouts if to == "half" else layouts[::-1]), strict=True):
        target[:, goes] = source[:, came]
    return result


def head_rows(shape: tuple[int, ...], heads: int) -> int:
    """Rows per head."""
    if not shape or not shape[0] or shape[0] % heads:
        raise ValueError(f"weight must have a multiple of num_heads = {heads} rows, got shape {tuple(shape)}")
    return int(shape[0]) // heads
