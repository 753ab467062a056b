"""Position ids: of packed sequences, and of those with padding."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._additive_arguments import optional_integer
from posref._arguments import as_array, boolean, integer
from posref._arguments import positions as checked_positions
from posref._mask import checked_mask


def cu_seqlens_positions(cu_seqlens: ArrayLike, *, starts: ArrayLike | None = None) -> NDArray[np.int64]:
    r"""Positions of tokens of several sequences that lie one behind the other: each sequence counts anew.

    .. math:: p_t = s_j + t - c_j, \qquad c_j \le t < c_{j+1}

    Parameters
    ----------
    cu_seqlens
        (sequences + 1,) integers c, "cumulative sequence lengths": from 0, not falling, the last one is the number of tokens.
        Repeated entries are empty sequences.
    starts
        (sequences,) integers s, the position of the first token of each: the length of its cache, say. None: 0.

    Returns
    -------
    (tokens,) int64

    Raises
    ------
    ValueError
        No vector with at least one entry, a first entry other than 0, an entry that is below the one before it; not one start
        per sequence. TypeError: no integers.

    Notes
    -----
    Source: flash-attention's ``cu_seqlens``, TransformerEngine's ``thd`` format. PoSE (Zhu et al., 2309.10400, sec. 3.2) trains
    on chunks of one text that skip positions: ``starts = cu_seqlens[:-1] + skips``, drawn from 0 on and not falling. Pitfalls:
    positions that go on across sequences leave relative encodings as they are, but neither absolute ones nor factors that
    follow a position or a length; and in low precision they are less exact.

    Examples
    --------
    >>> cu_seqlens_positions([0, 3, 3, 5])
    array([0, 1, 2, 0, 1])
    >>> cu_seqlens_positions([0, 3, 5], starts=[0, 90])
    array([ 0,  1,  2, 90, 91])
    """
    ends = as_array(cu_seqlens, "cu_seqlens")
    if ends.dtype.kind not in "iu":
        raise TypeError(f"cu_seqlens must be integers, got type {ends.dtype}")
    if ends.ndim != 1 or not ends.size:
        raise ValueError(f"cu_seqlens must be a vector with at least one entry, got shape {ends.shape}")
    c = ends.astype(np.int64)
    if c[0]:
        raise ValueError(f"cu_seqlens must start with 0, got {ends[0]}")
    lengths = c[1:] - c[:-1]
    if (lengths < 0).any():
        at = int(np.argmax(lengths < 0))
        raise ValueError(f"cu_seqlens must not fall, got {ends[at]} and {ends[at + 1]}")
    first = np.zeros_like(lengths) if starts is None else checked_positions(starts, "starts", whole=True)
    if first.shape != lengths.shape:
        raise ValueError(f"starts must be ({len(lengths)},), one per sequence, got shape {first.shape}")
    return np.asarray(np.arange(c[-1]) + np.repeat(first - c[:-1], lengths))


def mask_positions(
    mask: ArrayLike, *, first: int = 0, padding: int | None = 0, largest: int | None = None, restart: bool = False
) -> NDArray[np.int64]:
    r"""Positions of tokens among padding: only those that are there are counted.

    .. math:: p_t = f + \sum_{u \le t} m_u - 1 \text{ where } m_t = 1, \text{ and else } p_t = \text{padding}

    Parameters
    ----------
    mask
        (..., sequence): booleans, or 0 and 1, True where a token is no padding. Counting by token ids is ``ids != padding_id``.
    first
        The position of the first token (f). After a cache of n tokens it is n more.
    padding
        What padding gets. None: the count as it stands there, which is that of the token before.
    largest
        Larger positions become this one; None is no limit.
    restart
        Count anew after every gap.

    Returns
    -------
    mask.shape, int64

    Raises
    ------
    ValueError
        A mask without an axis, or of other numbers than 0 and 1. TypeError: a mask of neither booleans nor integers.

    Notes
    -----
    Source: fairseq's ``make_positions`` and the models in transformers that are named here. Disagreement, with padding id 1:
    RoBERTa, M2M100 and others that follow fairseq have ``first=2, padding=1``, always pad + 1 and pad; ProphetNet the same with
    ``largest=rows - 1``; OPT's rows are ``first=2, padding=1`` whatever the padding id; GPT-2 and most decoders have
    ``padding=0`` when they generate, older ones ``padding=1``; BLOOM's and Falcon's key index is the default. BERT, BART (+ 2),
    XGLM (+ 2), Whisper and FunASR (+ 1) count padding too: ``first + np.arange(n)``. Abacus (McLeish et al., 2405.17399), whose
    mask is True for digits, has ``first=1, restart=True``, and a random first in training.

    Pitfalls: a token inside the text with the padding's id stops the count if it is by ids, but not if it is by the attention
    mask; in BLOOM padding and the first token share 0, right only because padding is masked.

    Examples
    --------
    >>> mask_positions([0, 0, 1, 1, 1])
    array([0, 0, 0, 1, 2])
    >>> mask_positions([0, 0, 1, 1, 1], first=2, padding=1)
    array([1, 1, 2, 3, 4])
    """
    there, start = checked_mask(mask), integer(first, "first", least=-(2**53))
    filler, most = optional_integer(padding, "padding"), optional_integer(largest, "largest")
    if not there.ndim:
        raise ValueError(f"mask must have a sequence axis, got shape {there.shape}")
    counts = np.cumsum(there, axis=-1, dtype=np.int64)
    if boolean(restart, "restart"):
        counts -= np.maximum.accumulate(np.where(there, 0, counts), axis=-1)  # less what there was up to the last gap
    positions = start - 1 + counts
    if filler is not None:
        positions = np.where(there, positions, filler)
    return positions if most is None else np.minimum(positions, most)
