"""A learned table of n rows as one of up to n * n."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._additive_arguments import hierarchical_rows
from posref._arguments import floating


def hierarchical_table(table: ArrayLike, rows: int, *, alpha: float = 0.4) -> NDArray[np.float64]:
    r"""Hierarchical decomposition: a learned table, continued to as many rows as its square.

    .. math:: q_{i} = \alpha\, u_{\lfloor i/n \rfloor} + (1 - \alpha)\, u_{i \bmod n}, \qquad
              u_i = \frac{p_i - \alpha\, p_0}{1 - \alpha}

    and so :math:`q_i = p_{i \bmod n} + \frac{\alpha}{1 - \alpha} (p_{\lfloor i/n \rfloor} - p_0)`: the first n rows stay.

    Parameters
    ----------
    table
        (n, dim): the rows that were learned (p).
    rows
        How many are wanted, at most n * n.
    alpha
        Between 0 and 1, and not 0.5, which cannot tell (i, j) from (j, i).

    Returns
    -------
    (rows, dim), float64

    Raises
    ------
    ValueError
        A table of other than two axes, more rows than n * n, an alpha that is not between 0 and 1.

    Notes
    -----
    Source: Su, kexue.fm/archives/7947; bert4keras, ``hierarchical``. Used to read 512 learned rows of BERT as up to 262144.

    Examples
    --------
    >>> hierarchical_table([[1.0], [2.0], [4.0]], 6).round(4).ravel()
    array([1.    , 2.    , 4.    , 1.6667, 2.6667, 4.6667])
    """
    p = floating(table, "table")
    wanted, share = hierarchical_rows(p.shape, rows, alpha)
    if not wanted:
        return np.zeros((0, p.shape[1]))
    block, within = np.divmod(np.arange(wanted), len(p))
    return np.asarray(p[within] + share / (1 - share) * (p[block] - p[0]))
