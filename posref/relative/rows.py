"""Which row of a table a relative position has, and the shift that spares the look-up."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, floating, integer
from posref._arguments import positions as checked_positions

OUTSIDE = ("clip", "none")
SHIFTS = ("transformer-xl", "xlnet", "gemma-3n")
BEYOND = ("next-row", "zero")


def relative_index(relative_position: ArrayLike, left: int, right: int, *, outside: str = "clip") -> NDArray[np.int64]:
    r"""Row of a table that holds the relative positions from -left to right.

    .. math:: \mathrm{clip}(r, -L, R) + L

    Parameters
    ----------
    relative_position
        r, integers of any shape: ``k - q`` or ``q - k``, as the table was trained. The sign is the caller's.
    left, right
        L and R >= 0: the table has L + R + 1 rows.
    outside
        ``"clip"``: what lies further away has the row at the end. ``"none"``: it has no row, -1, which scores 0 in
        :func:`relative_bias`.

    Returns
    -------
    int64, of relative_position's shape, in 0 .. L + R, or -1.

    Raises
    ------
    ValueError
        Negative left or right; an unknown word. TypeError: positions that are not integers.

    Notes
    -----
    Source: Shaw et al., "Self-Attention with Relative Position Representations" (1803.02155), sec. 3.2: ``k - q``, L = R.
    Disagreement: the sign. Shaw, tensor2tensor, Wav2Vec2-BERT and SeamlessM4T v2 have ``k - q``; BERT's ``relative_key``,
    SpeechT5, DeBERTa and Transformer-XL ``q - k``. The ends: L = R (Shaw); L, L - 1 (SpeechT5, DeBERTa); each its own
    (Wav2Vec2-BERT, 64 and 8).

    Examples
    --------
    >>> relative_index([-9, -2, 0, 1, 9], 2, 2)
    array([0, 0, 2, 3, 4])
    >>> relative_index([-9, -2, 0, 1, 9], 2, 1, outside="none")
    array([-1,  0,  2,  3, -1])
    """
    r = checked_positions(relative_position, "relative_position", whole=True)
    least, most = -integer(left, "left", least=0), integer(right, "right", least=0)
    if choice(outside, "outside", OUTSIDE) == "clip":
        return np.asarray(np.clip(r, least, most) - least)
    return np.where((r < least) | (r > most), -1, r - least)


def relative_shift(
    x: ArrayLike, num_keys: int, *, rule: str = "transformer-xl", outside: str = "next-row", stride: int = 1
) -> NDArray[np.float64]:
    r"""From scores per distance to scores per key: row i moved i columns to the right.

    .. math:: y_{ij} = x_{i,\; j - t i + o}, \qquad t = 1 \text{ or the stride}

    Codes pad and reshape instead of looking up, so that a row runs on into the next one where the distance has no column.

    Parameters
    ----------
    x
        (..., q, columns): the query's product with one row per distance, the furthest key in the past first.
    num_keys
        Columns of the result: 0 .. columns, with ``"xlnet"`` 0 .. columns - stride.
    rule
        ``"transformer-xl"``: o = q - 1, a column of zeros is put in front (Transformer-XL, Conformer, Music Transformer).
        ``"xlnet"``: o = t q, the first t rows are dropped. ``"gemma-3n"``: o = 0, zeros are put behind; any num_keys.
    outside
        What stands where x has no column for the distance. ``"next-row"``: what the code leaves there, a number of another
        query or a padding zero. ``"zero"``: 0. With ``"gemma-3n"`` it is 0 in either case.
    stride
        t, how many keys further the next query stands: 2 for Funnel's pooled queries. Other than 1 with ``"xlnet"`` alone.

    Returns
    -------
    (..., q, num_keys) float64

    Raises
    ------
    ValueError
        x without a row and a column axis; more keys than there are columns; an unknown word; a stride with another rule.

    Notes
    -----
    Source: Transformer-XL (1901.02860), app. B; the released code of each. Columns are distances q - k: ``klen - 1 .. 0`` in
    Transformer-XL, where keys in the future have none and must be masked; ``L - 1 .. -(L - 1)`` in Conformer, ESPnet, NeMo and
    Wav2Vec2-Conformer, of which the first L are kept; ``klen .. -qlen + 1`` in XLNet, and Funnel, whose pooled queries have
    ``2 qlen .. -klen + 1`` from the first key on; ``left .. -right`` of a block in Gemma 3n.
    Disagreement: ESPnet's first Conformers had ``L - 1 .. 0`` without a causal mask, and so other queries' scores in the future.

    Examples
    --------
    >>> relative_shift([[1, 2, 3], [4, 5, 6]], 3)
    array([[2., 3., 0.],
           [4., 5., 6.]])
    >>> relative_shift([[1, 2, 3], [4, 5, 6]], 2, rule="xlnet")
    array([[3., 4.],
           [5., 6.]])
    >>> relative_shift([[1, 2, 3], [4, 5, 6]], 2, rule="xlnet", outside="zero")
    array([[3., 0.],
           [5., 6.]])
    """
    scores, keys = floating(x, "x"), integer(num_keys, "num_keys", least=0)
    choice(rule, "rule", SHIFTS)
    choice(outside, "outside", BEYOND)
    if scores.ndim < 2:
        raise ValueError(f"x must be (..., q, columns), got shape {scores.shape}")
    q, columns = scores.shape[-2:]
    step = integer(stride, "stride")
    if step > 1 and rule != "xlnet":
        raise ValueError(f"stride must be 1 for the rule {rule!r}, got {step}")
    most = max(0, columns - step * (rule == "xlnet"))
    if rule != "gemma-3n" and keys > most:
        raise ValueError(f"num_keys must be at most {most} for x with {columns} columns, got {keys}")
    i, j = np.arange(q)[:, None], np.arange(keys)
    column = j - step * i + {"transformer-xl": q - 1, "xlnet": step * q, "gemma-3n": 0}[rule]
    inside = (column >= 0) & (column < columns)
    y = np.zeros((*scores.shape[:-1], keys))
    y[..., inside] = scores[..., np.broadcast_to(i, inside.shape)[inside], column[inside]]
    if outside == "next-row" and rule != "gemma-3n":
        padded = int(rule == "transformer-xl")  # rows of the buffer are that much longer
        place = (
            step * q + i * (columns - step + padded) + j
        )  # of the reshaped entry: the buffer's first ones are dropped
        row, column = place // (columns + padded), place % (columns + padded) - padded  # column -1 is the padding
        spilled = ~inside & (column >= 0)
        y[..., spilled] = scores[..., row[spilled], column[spilled]]
    return y
