"""Step one of three: the rotary frequencies, and the factor that some scalings put on cos and sin."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from posref._arguments import even, integer, number, shown
from posref._ladder import ladder
from posref.exact import further_digits, real, real_arithmetic, rounded
from posref.rotary.blended_scaling import Llama3Scaling, NTKByPartsScaling, YarnScaling
from posref.rotary.blends import by_parts_inv_freq, llama3_inv_freq, yarn_inv_freq
from posref.rotary.dynamic_scaling import DynamicLinearScaling, DynamicNTKScaling, DynamicYarnScaling
from posref.rotary.growth import dynamic_yarn_factor, growth
from posref.rotary.magnitudes import dynamic_yarn_magnitude, longrope_magnitude, yarn_magnitude
from posref.rotary.ntk import dynamic_ntk_inv_freq, ntk_inv_freq
from posref.rotary.scaling import LinearScaling, LongRopeScaling, NTKScaling, ProportionalScaling, Scaling


def rope_inv_freq(
    dim: int, *, base: float = 10000.0, scaling: Scaling | None = None, seq_len: int | None = None
) -> NDArray[np.float64]:
    r"""Rotary frequencies in radians per position, one per pair of channels.

    .. math:: w_i = b^{-2i/d}, \qquad i = 0 \ldots d/2 - 1

    and, with s the factor, L the original length, :math:`r_i = L w_i / 2\pi` the rotations within it:

    - linear: :math:`w_i / s`
    - NTK: :math:`b \to b\, s^{d/(d-2)}`; forms "base": :math:`b \to b\, s`; "fixed" and "mixed":
      :math:`w_i / s^{((i + 1) / (d/2))^\beta}` with :math:`\beta` 1 and mixed_b
    - dynamic NTK: :math:`b \to b\, (s S / L - (s - 1))^{d/(d-2)}` with :math:`S = \max(\text{seq\_len}, L)`
    - YaRN: :math:`\rho_i w_i / s + (1 - \rho_i) w_i` with :math:`\rho_i = \mathrm{clip}((i - l) / (h - l), 0, 1)`, where l and h
      are :math:`d \ln(L / 2\pi\beta) / 2 \ln b` at beta_fast (rounded down) and beta_slow (rounded up), within 0 .. d-1
    - Llama 3: the same blend with :math:`1 - \rho_i = \mathrm{clip}((r_i - l) / (h - l), 0, 1)`, l and h the freq factors
    - LongRoPE: :math:`w_i / e_i`, e the short factors, or the long ones where seq_len > L
    - dynamic linear: :math:`w_i / (S / L)`; dynamic YaRN: YaRN with :math:`s = S / L`
    - NTK by parts: two of YaRN's blends, from :math:`w_i / s` to NTK's frequency, and from there to :math:`w_i`
    - proportional: :math:`w_i / s` for :math:`i < \lfloor p d / 2 \rfloor`, and 0 for the other pairs

    Parameters
    ----------
    dim
        Channels that rotate (d): positive and even. For partial rotary this is the rotary dim, not the head dim; for
        :class:`ProportionalScaling` it is the head dim.
    base
        ``rope_theta`` in configs; > 1.
    scaling
        One of the scaling records, or None.
    seq_len
        Current length, for the dynamic scalings and LongRoPE; None means the original length.

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


def rope_attention_factor(scaling: Scaling | None, *, seq_len: int | None = None) -> float:
    r"""Factor on cos and sin that a scaling brings along; the rotary part of the logits grows by its square.

    - YaRN: ``attention_factor`` where given; else ``attn_factor`` times g(mscale) / g(mscale_all_dim) where both are given and
      not zero (or by another ``mscale_rule``); else times g(1), with :math:`g(m) = 0.1\, m \ln s + 1` for s > 1, and 1 otherwise
    - dynamic YaRN: ``attn_factor`` times g(1), with the factor s that holds at ``seq_len``
    - LongRoPE: ``short_mscale`` or ``long_mscale`` by the length where given; else ``attention_factor`` where given; else
      :math:`\sqrt{1 + \ln s / \ln L}` for s > 1, and 1 otherwise
    - all others: 1

    Parameters
    ----------
    scaling
        One of the scaling records, or None.
    seq_len
        Current length, for dynamic YaRN and for LongRoPE's two mscales; None means the original length.

    Returns
    -------
    The factor, a float without unit; 1 where there is nothing to multiply by.

    Raises
    ------
    ValueError
        LongRoPE with neither ``factor`` nor ``attention_factor``: it has none of its own. A seq_len < 1.
    TypeError
        Something that is no scaling.

    Notes
    -----
    Source: YaRN (2309.00071), eq. 15; LongRoPE's released models; transformers' rules for which key wins.
    Disagreement: which of YaRN's keys count, see ``mscale_rule`` of :class:`YarnScaling`. sglang and mlx-lm ignore a given
    ``attention_factor``, sglang, mlx-lm and vLLM also LongRoPE's: None. vLLM's LongRoPE takes max_position_embeddings / L for the
    factor, whatever the config says.

    Examples
    --------
    >>> rope_attention_factor(YarnScaling(32.0, 4096))
    1.3465735902799727
    """
    with real_arithmetic():
        return float(real_attention_factor(scaling, seq_len))


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
    return getattr(scaling, "factor", 1.0)


def _scaled(dim: int, base: float, scaling: Scaling | None, seq_len: int | None) -> list[Decimal]:
    match scaling:
        case None:
            return ladder(base, dim // 2)
        case LinearScaling(factor=factor):
            return [w / real(factor) for w in ladder(base, dim // 2)]
        case DynamicLinearScaling():
            return [w / growth(scaling, seq_len) for w in ladder(base, dim // 2)]
        case NTKScaling():
            return ntk_inv_freq(scaling, dim, base)
        case DynamicNTKScaling():
            return dynamic_ntk_inv_freq(scaling, dim, base, seq_len)
        case YarnScaling(factor=factor):
            return yarn_inv_freq(scaling, dim, base, real(factor))
        case DynamicYarnScaling():
            return yarn_inv_freq(scaling, dim, base, dynamic_yarn_factor(scaling, seq_len))
        case Llama3Scaling():
            return llama3_inv_freq(scaling, dim, base)
        case NTKByPartsScaling():
            return by_parts_inv_freq(scaling, dim, base)
        case LongRopeScaling():
            return _longrope(scaling, dim, base, seq_len)
        case ProportionalScaling(factor=factor):
            rotating = scaling.rotating(dim // 2)
            return [w / real(factor) if i < rotating else Decimal(0) for i, w in enumerate(ladder(base, dim // 2))]


def real_attention_factor(scaling: Scaling | None, seq_len: int | None = None) -> Decimal:
    """The attention factor as a real number, at the precision of the decimal context."""
    if scaling is not None and not isinstance(scaling, Scaling):
        raise _unknown(scaling)
    if seq_len is not None:
        seq_len = integer(seq_len, "seq_len")
    match scaling:
        case YarnScaling():
            return yarn_magnitude(scaling)
        case DynamicYarnScaling():
            return dynamic_yarn_magnitude(scaling, seq_len)
        case LongRopeScaling():
            return longrope_magnitude(scaling, seq_len)
        case _:
            return Decimal(1)


def _unknown(scaling: object) -> TypeError:
    return TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")


def _longrope(scaling: LongRopeScaling, dim: int, base: float, seq_len: int | None) -> list[Decimal]:
    name = "long_factor" if scaling.longer(seq_len) else "short_factor"
    factors = getattr(scaling, name)
    if len(factors) != dim // 2:
        raise ValueError(f"{name} must have one number per pair, {dim // 2} for dim {dim}, got {len(factors)}")
    return [w / real(e) for w, e in zip(ladder(base, dim // 2), factors, strict=True)]
