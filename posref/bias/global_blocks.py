"""LongT5's blocks: which global token stands for a token."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import as_array, integer, shown


def long_t5_blocks(mask: ArrayLike, block_size: int) -> NDArray[np.int64]:
    r"""The block of each token: the position that LongT5's side bias takes for it.

    .. math:: b_i = \min(\lfloor i / G \rfloor,\; F - 1), \quad \text{padding: } -1

    F is the number of blocks whose last token is no padding. Tokens after the last such block belong to it; without any, all
    have -1.

    Parameters
    ----------
    mask
        (..., tokens), boolean: False is padding.
    block_size
        G, ``global_block_size`` of the config: 16.

    Returns
    -------
    mask.shape, int64

    Raises
    ------
    TypeError
        A mask that is not boolean.
    ValueError
        A mask without axis; block_size < 1.

    Notes
    -----
    Source: Guo et al., LongT5 (2112.07916), sec. 3.2 (transient global attention); transformers. The side bias of global tokens
    is ``t5_bias(table, long_t5_blocks(mask, 16), np.arange(tokens // 16))``.

    Examples
    --------
    >>> long_t5_blocks([True] * 7 + [False], 3)
    array([ 0,  0,  0,  1,  1,  1,  1, -1])
    """
    real, size = as_array(mask, "mask"), integer(block_size, "block_size")
    if real.dtype != np.bool_:
        raise TypeError(f"mask must be boolean, False where there is padding, got type {real.dtype}")
    if not real.ndim:
        raise ValueError(f"mask must have an axis of tokens, got {shown(real[()])}")
    last_of_block = np.arange(real.shape[-1]) % size == size - 1
    whole_blocks = np.count_nonzero(real & last_of_block, axis=-1, keepdims=True)
    return np.where(real, np.minimum(np.arange(real.shape[-1]) // size, whole_blocks - 1), -1)
