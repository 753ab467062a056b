"""Sinusoids of a diffusion timestep."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._additive_arguments import NARROW
from posref._arguments import boolean, choice, integer, number
from posref._arguments import positions as checked_positions
from posref._integers import rounded_ratio
from posref._ladder import ladder


def timestep_embedding(
    timesteps: ArrayLike,
    dim: int,
    *,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1.0,
    scale: float = 1.0,
    max_period: float = 10000.0,
    freq_dtype: str | None = None,
) -> NDArray[np.float64]:
    r"""Timestep embedding of diffusion models; argument names and defaults are those of diffusers.

    .. math:: \sin(s\, t\, f_k) \ldots, \cos(s\, t\, f_k) \ldots

    .. math:: f_k = P^{-k/(h - \text{shift})}, \qquad k = 0 \ldots h - 1, \; h = \lfloor d/2 \rfloor

    Parameters
    ----------
    timesteps
        Real, any shape (t).
    dim
        Width (d). Odd: the last channel is 0.
    flip_sin_to_cos
        Put the cosines first. DDPM has sines first; ADM, DiT and Stable Diffusion have cosines first and shift 0.
    downscale_freq_shift
        1 (DDPM): the last frequency is exactly 1/max_period. 0 (ADM, DiT, Stable Diffusion): the Transformer paper's.
    scale
        Multiplies the angle (s): 1000 where the model's time runs from 0 to 1.
    max_period
        P; > 1.
    freq_dtype
        The type that the frequencies are rounded to before they meet the timestep: ``"float32"``, ``"float16"`` or
        ``"bfloat16"``, as Qwen-Image's code in diffusers rounds them to the timesteps' type. None is none.

    Returns
    -------
    ``timesteps.shape + (dim,)``, float64.

    Raises
    ------
    ValueError
        ``dim // 2 <= downscale_freq_shift`` (the exponent's denominator must be positive), a max_period <= 1, NaN or infinite
        timesteps.

    Notes
    -----
    Source: Ho et al., DDPM (2006.11239), released code; diffusers ``get_timestep_embedding``. Disagreement:
    diffusers' defaults are DDPM's, and nearly every model since passes ``flip_sin_to_cos=True, downscale_freq_shift=0``.
    Pitfall: frequencies in bfloat16 move the embedding by more than 1 at t near 1000.

    Examples
    --------
    >>> timestep_embedding([10], 4, flip_sin_to_cos=True, downscale_freq_shift=0.0).round(4)
    array([[-0.8391,  0.995 , -0.544 ,  0.0998]])
    """
    t, dim = checked_positions(timesteps, "timesteps"), integer(dim, "dim")
    half, shift = dim // 2, number(downscale_freq_shift, "downscale_freq_shift")
    max_period, scale = number(max_period, "max_period", above=1), number(scale, "scale")
    flip = boolean(flip_sin_to_cos, "flip_sin_to_cos")
    if freq_dtype is not None:
        choice(freq_dtype, "freq_dtype", NARROW)
    if half <= shift:
        raise ValueError(f"dim // 2 must be > downscale_freq_shift, got dim {dim} and shift {shift:g}")
    s = exact.real(scale)
    table = np.zeros((t.size, dim))
    first, second = table[:, :half], table[:, half : 2 * half]
    with exact.real_arithmetic(t), exact.further_digits(s):
        w = [s * _in_type(f, freq_dtype) for f in ladder(max_period, half, shift)]
        exact.cos_sin(t, w, out=(first, second) if flip else (second, first))
    return table.reshape(*t.shape, dim)


def _in_type(frequency: Decimal, dtype: str | None) -> Decimal:
    """A frequency, rounded once to a narrower type."""
    if dtype is None:
        return frequency
    import ml_dtypes  # not by everybody who imports posref

    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return exact.real(float(rounded_ratio(frequency.as_integer_ratio(), kind)))
