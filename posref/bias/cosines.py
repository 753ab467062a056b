"""What Swin v2 multiplies the cosines of queries and keys by."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import floating, number
from posref._each import as_decimal, each_distinct, fewer_digits
from posref.exact import real


def cosine_scale(log_scale: ArrayLike, *, largest: float = 100.0) -> NDArray[np.float64]:
    r"""What Swin v2 multiplies the cosines of queries and keys by: a learned number per head.

    .. math:: \min(e^s, L)

    Parameters
    ----------
    log_scale
        s, any shape, learned; its first value is ln 10.
    largest
        L > 0.

    Returns
    -------
    log_scale.shape, float64

    Raises
    ------
    ValueError
        NaN or infinity; largest <= 0.

    Notes
    -----
    Source: Swin v2 (2111.09883), eq. 2, where it is 1 / tau and tau is above 0.01; released code, which clamps s at ln 100.

    Examples
    --------
    >>> cosine_scale([0.0, 2.0, 5.0])
    array([  1.       ,   7.3890561, 100.       ])
    """
    s, most = floating(log_scale, "log_scale", finite=True, copy=False), real(number(largest, "largest", above=0))
    with fewer_digits():
        end = most.ln()
    return each_distinct(lambda x: most if as_decimal(x) >= end else as_decimal(x).exp(), s)
