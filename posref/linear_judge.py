"""Linear attention, where softmax is replaced by a feature map: the judge of what an encoding does to that."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import as_array, choice, floating
from posref.rotary.rotation import rope_apply
from posref.rotary.tables import rope_cos_sin

FEATURES = ("elu", "identity")


def linear_attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    q_positions: ArrayLike | None = None,
    k_positions: ArrayLike | None = None,
    inv_freq: ArrayLike | None = None,
    layout: str = "half",
    feature: str = "elu",
    mask: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Linear attention, with RoFormer's rotation: of the numerator alone, after the feature map.

    .. math:: \frac{\sum_n (R_m \phi(q_m))^\top (R_n \phi(k_n))\, v_n}{\sum_n \phi(q_m)^\top \phi(k_n)}

    Rotated features are no longer positive, so that their sum could be zero: the normaliser stays as it is, and the weights do
    not sum to 1.

    Parameters
    ----------
    q, k, v
        (..., q, d), (..., k, d), (..., k, e); leading axes broadcast.
    q_positions, k_positions
        Broadcast against q's and k's leading shape, without the channels; given together with ``inv_freq``, or not at all: then
        nothing rotates.
    inv_freq
        (pairs,) radians per position; channels beyond 2 * pairs do not rotate.
    layout
        As in :func:`rope_apply`.
    feature
        :math:`\phi`: ``"elu"`` is elu(x) + 1, > 0. ``"identity"``: q and k are features already.
    mask
        Boolean, broadcasts against (..., q, k); True where a query may look. A row without True gives zeros.

    Returns
    -------
    (..., q, e) float64

    Raises
    ------
    ValueError
        Shapes that do not fit; positions without frequencies or the other way round; an unknown feature; features of a row whose
        normaliser is 0. TypeError: a mask that is not boolean.

    Notes
    -----
    Source: Katharopoulos et al., "Transformers are RNNs" (2006.16236), eq. 4 and 7; RoFormer (2104.09864), eq. 19.

    Examples
    --------
    >>> linear_attention([[0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[2.0], [4.0]])
    array([[3.]])
    >>> w = {"q_positions": [0], "k_positions": [0, 1], "inv_freq": [np.pi]}  # half a turn: the second value counts negatively
    >>> linear_attention([[0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[2.0], [4.0]], **w)
    array([[-1.]])
    """
    q, k, v = floating(q, "q"), floating(k, "k"), floating(v, "v")
    if min(q.ndim, k.ndim, v.ndim) < 2 or not q.shape[-1] == k.shape[-1] > 0 or k.shape[-2] != v.shape[-2]:
        raise ValueError(f"q, k, v must be (..., q, d), (..., k, d), (..., k, e), got {q.shape}, {k.shape}, {v.shape}")
    if choice(feature, "feature", FEATURES) == "elu":
        q, k = (np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k))
    rotated_q, rotated_k = q, k
    given = {"q_positions": q_positions, "k_positions": k_positions, "inv_freq": inv_freq}
    if any(value is not None for value in given.values()):
        for name, value in given.items():
            if value is None:
                raise ValueError(f"{name} must be given where positions or frequencies are, got None")
        rotated_q = rope_apply(q, *rope_cos_sin(given["q_positions"], inv_freq), layout=layout)  # type: ignore[arg-type]
        rotated_k = rope_apply(k, *rope_cos_sin(given["k_positions"], inv_freq), layout=layout)  # type: ignore[arg-type]
    try:
        weights, plain = (a @ b.swapaxes(-1, -2) for a, b in ((rotated_q, rotated_k), (q, k)))  # (..., q, k)
        np.broadcast_shapes(weights.shape[:-2], v.shape[:-2])
    except ValueError:
        raise ValueError(
            f"q, k, v must have leading axes that broadcast, got {q.shape}, {k.shape}, {v.shape}"
        ) from None
    if mask is not None:
        allowed = _fitting(as_array(mask, "mask"), plain.shape)
        weights, plain = np.where(allowed, weights, 0.0), np.where(allowed, plain, 0.0)
    total = plain.sum(axis=-1, keepdims=True)
    seen = np.ones(plain.shape, bool) if mask is None else np.broadcast_to(allowed, plain.shape)
    if ((total == 0) & seen.any(axis=-1, keepdims=True)).any():
        raise ValueError("q and k must have features whose sum over the keys is not 0, got a row where it is")
    return np.asarray((weights @ v) / np.where(total == 0, 1.0, total))


def _fitting(mask: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if mask.dtype != bool:
        raise TypeError(f"mask must be boolean, True where a query may look, got type {mask.dtype}")
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"mask of shape {mask.shape} must broadcast against the scores' shape {shape}") from None
