"""Step one of three: the rotary frequencies, and the factor that some scalings put on cos and sin."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
from numpy.typing import NDArray

from posref._arguments import even, integer, number, shown
from posref._ladder import ladder
from posref.exact import further_digits, pi, real, real_arithmetic, rounded
from posref.rotary.scaling import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    Scaling,
    YarnScaling,
)


def rope_inv_freq(
    dim: int, *, base: float = 10000.0, scaling: Scaling | None = None, seq_len: int | None = None
) -> NDArray[np.float64]:
    r"""Rotary frequencies in radians per position, one per pair of channels.

    .. math:: w_i = b^{-2i/d}, \qquad i = 0 \ldots d/2 - 1

    and, with s the factor, L the original length, :math:`r_i = L w_i / 2\pi` the rotations within it:

    - linear: :math:`w_i / s`
    - NTK: :math:`b \to b\, s^{d/(d-2)}`
    - dynamic NTK: :math:`b \to b\, (s S / L - (s - 1))^{d/(d-2)}` with :math:`S = \max(\text{seq\_len}, L)`
    - YaRN: :math:`\rho_i w_i / s + (1 - \rho_i) w_i` with :math:`\rho_i = \mathrm{clip}((i - l) / (h - l), 0, 1)`, where l and h
      are :math:`d \ln(L / 2\pi\beta) / 2 \ln b` at beta_fast (rounded down) and beta_slow (rounded up), within 0 .. d-1
    - Llama 3: the same blend with :math:`1 - \rho_i = \mathrm{clip}((r_i - l) / (h - l), 0, 1)`, l and h the freq factors
    - LongRoPE: :math:`w_i / e_i`, e the short factors, or the long ones where seq_len > L

    Parameters
    ----------
    dim
        Channels that rotate (d): positive and even. For partial rotary this is the rotary dim, not the head dim.
    base
        ``rope_theta`` in configs; > 1.
    scaling
        One of the scaling records, or None.
    seq_len
        Current length, for dynamic NTK and LongRoPE; None means the original length.

    Returns
    -------
    (dim // 2,) float64

    Raises
    ------
    ValueError
        An odd or non-positive dim, a base <= 1, NTK with dim 2, a YaRN range that is reversed once clamped,
        LongRoPE factors that are not one per pair.

    Notes
    -----
    Source: Su et al., "RoFormer" (2104.09864), sec. 3.2.2; the scalings name theirs. Pitfalls: forming this in bfloat16
    loses the angle beyond a few dozen positions; ``exp(-2k/d ln b)`` in float32 is several times less accurate than the power.

    Examples
    --------
    >>> rope_inv_freq(4)
    array([1.  , 0.01])
    """
    with real_arithmetic():
        return rounded(real_inv_freq(dim, base, scaling, seq_len))


def rope_attention_factor(scaling: Scaling | None) -> float:
    r"""Factor on cos and sin that a scaling brings along; the rotary part of the logits grows by its square.

    - YaRN: ``attention_factor`` where given; else g(mscale) / g(mscale_all_dim) where both are given and not zero; else g(1),
      with :math:`g(m) = 0.1\, m \ln s + 1` for s > 1, and 1 otherwise
    - LongRoPE: ``attention_factor`` where given; else :math:`\sqrt{1 + \ln s / \ln L}` for s > 1, and 1 otherwise
    - all others: 1

    Parameters
    ----------
    scaling
        One of the scaling records, or None.

    Returns
    -------
    The factor, a float without unit; 1 where there is nothing to multiply by.

    Raises
    ------
    ValueError
        LongRoPE with neither ``factor`` nor ``attention_factor``: it has none of its own.
    TypeError
        Something that is no scaling.

    Notes
    -----
    Source: YaRN (2309.00071), eq. 15; LongRoPE's released models; transformers' rules for which key wins.
    Disagreement: vLLM's and Megatron's DeepSeek code always takes the ratio, with defaults 1 and 0 for missing keys; sglang and
    mlx-lm ignore a given ``attention_factor``.

    Examples
    --------
    >>> rope_attention_factor(YarnScaling(32.0, 4096))
    1.3465735902799727
    """
    with real_arithmetic():
        return float(real_attention_factor(scaling))


def real_inv_freq(dim: int, base: float, scaling: Scaling | None, seq_len: int | None) -> list[Decimal]:
    """The frequencies as real numbers, at the precision of the decimal context."""
    dim, base = even(dim), number(base, "base", above=1)
    if seq_len is not None:
        seq_len = integer(seq_len, "seq_len")
    with further_digits(1 / real(_smallest_divisor(scaling))):  # no frequency is larger than that, or than 1
        return _scaled(dim, base, scaling, seq_len)


def _smallest_divisor(scaling: Scaling | None) -> float:
    if scaling is None:
        return 1.0
    if not isinstance(scaling, Scaling):
        raise _unknown(scaling)
    if isinstance(scaling, LongRopeScaling):
        return min(*scaling.short_factor, *scaling.long_factor)
    return scaling.factor


def _scaled(dim: int, base: float, scaling: Scaling | None, seq_len: int | None) -> list[Decimal]:
    match scaling:
        case None:
            return ladder(base, dim // 2)
        case LinearScaling(factor=factor):
            return [w / real(factor) for w in ladder(base, dim // 2)]
        case NTKScaling(factor=factor):
            return ladder(_ntk_base(dim, base, real(factor)), dim // 2)
        case DynamicNTKScaling(factor=factor, original_max_position_embeddings=length):
            beyond = max((seq_len or length) - length, 0)
            return ladder(_ntk_base(dim, base, 1 + real(factor) * beyond / length), dim // 2)  # with no difference of s
        case YarnScaling() | Llama3Scaling():
            plain = ladder(base, dim // 2)
            stretch = _stretch(scaling, dim, base, plain)
            return [rho * w / real(scaling.factor) + (1 - rho) * w for rho, w in zip(stretch, plain, strict=True)]
        case LongRopeScaling():
            return _longrope(scaling, dim, base, seq_len)


def real_attention_factor(scaling: Scaling | None) -> Decimal:
    """The attention factor as a real number, at the precision of the decimal context."""
    if scaling is not None and not isinstance(scaling, Scaling):
        raise _unknown(scaling)
    if not isinstance(scaling, YarnScaling | LongRopeScaling):
        return Decimal(1)
    if scaling.attention_factor is not None:
        return real(scaling.attention_factor)
    if scaling.factor is None:
        raise ValueError("scaling must have factor or attention_factor where it is a LongRopeScaling, got neither")
    growth = max(real(scaling.factor).ln(), Decimal(0))  # below factor 1 nothing is stretched
    if isinstance(scaling, LongRopeScaling):
        return (1 + growth / real(scaling.original_max_position_embeddings).ln()).sqrt()

    def g(mscale: float) -> Decimal:
        return real(mscale) * growth / 10 + 1

    return g(scaling.mscale) / g(scaling.mscale_all_dim) if scaling.mscale and scaling.mscale_all_dim else g(1)


def _unknown(scaling: object) -> TypeError:
    return TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")


def _ntk_base(dim: int, base: float, growth: Decimal) -> Decimal:
    if dim == 2:
        raise ValueError("dim must be > 2 for NTK scaling, whose exponent is dim / (dim - 2), got 2")
    return real(base) * (growth.ln() * dim / (dim - 2)).exp()


def _stretch(scaling: YarnScaling | Llama3Scaling, dim: int, base: float, plain: list[Decimal]) -> list[Decimal]:
    """Per pair, how much of it is interpolated: 0 leaves it alone, 1 divides it by the factor."""
    length = scaling.original_max_position_embeddings
    if isinstance(scaling, Llama3Scaling):
        return _by_rotations(length, real(scaling.low_freq_factor), real(scaling.high_freq_factor), plain)
    fast, slow = real(scaling.beta_fast), real(scaling.beta_slow)
    if scaling.ramp == "rotations":
        return _by_rotations(length, slow, fast, plain)

    def pair_that_rotates(times: Decimal) -> Decimal:  # within the original length
        return dim * (length / (2 * pi() * times)).ln() / (2 * real(base).ln())

    low, high = pair_that_rotates(fast), pair_that_rotates(slow)
    if scaling.truncate:
        low, high = low.to_integral_value(ROUND_FLOOR), high.to_integral_value(ROUND_CEILING)
    low, high = max(low, Decimal(0)), min(high, Decimal(dim - 1))  # dim - 1, not dim // 2 - 1: as every release has it
    if low > high:
        raise ValueError(
            f"scaling must leave YaRN a range of pairs, got {float(low):g} to {float(high):g} once clamped to 0 .. {dim - 1}; "
            "check original_max_position_embeddings, beta_fast, beta_slow and base"
        )
    width = high - low or Decimal("0.001")
    return [_clip((i - low) / width) for i in range(dim // 2)]


def _by_rotations(length: int, low: Decimal, high: Decimal, plain: list[Decimal]) -> list[Decimal]:
    """1 where a pair rotates fewer than ``low`` times within the length, 0 from ``high`` on; a step where they are equal."""
    turns = [length * w / (2 * pi()) for w in plain]
    return [Decimal(0) if r >= high else Decimal(1) if r <= low else (high - r) / (high - low) for r in turns]


def _longrope(scaling: LongRopeScaling, dim: int, base: float, seq_len: int | None) -> list[Decimal]:
    longer = seq_len is not None and seq_len > scaling.original_max_position_embeddings
    name = "long_factor" if longer else "short_factor"
    factors = getattr(scaling, name)
    if len(factors) != dim // 2:
        raise ValueError(f"{name} must have one number per pair, {dim // 2} for dim {dim}, got {len(factors)}")
    return [w / real(e) for w, e in zip(ladder(base, dim // 2), factors, strict=True)]


def _clip(value: Decimal) -> Decimal:
    return min(max(value, Decimal(0)), Decimal(1))
