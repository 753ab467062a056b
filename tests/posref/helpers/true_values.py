"""posref's closed forms in ball arithmetic, from the papers' formulas; nothing here is shared with posref.

Each function takes the arguments of posref's function, every float counting as the exact number that it is, and returns the
true value as a function of the index into posref's result. Scalings are read by their names alone.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from balls import Ball, at_least, ball, ceil, clip, floor
from flint import arb
from numpy.typing import NDArray

At: TypeAlias = Callable[..., Ball]


class NoRamp(ArithmeticError):
    """YaRN's range of pairs is reversed: there is no value."""


def power(base: float, numerator: float, denominator: Any) -> Ball:
    """The base to the power of numerator / denominator."""
    return (arb(base).log() * numerator / denominator).exp()


# --- rotary ----------------------------------------------------------------------------------------------------------


def rope_inv_freq(dim: int, base: float, scaling: Any, seq_len: int | None) -> At:
    return frequencies(dim, base, scaling, seq_len).__getitem__


def frequencies(dim: int, base: float, scaling: Any, seq_len: int | None) -> list[Ball]:
    theta = [power(base, -2 * i, dim) for i in range(dim // 2)]  # RoFormer, sec. 3.2.2
    kind = type(scaling).__name__
    if scaling is None:
        return theta
    if kind == "LongRopeScaling":
        longer = seq_len is not None and seq_len > scaling.original_max_position_embeddings
        return [t / e for t, e in zip(theta, scaling.long_factor if longer else scaling.short_factor, strict=True)]
    if kind == "ProportionalScaling":
        channels = int(scaling.partial_rotary_factor * dim)
        rotating = channels // 2 if scaling.rounding == "floor" else (channels + 1) // 2
        return [t / arb(scaling.factor) if i < rotating else arb(0) for i, t in enumerate(theta)]
    s = growth(scaling, seq_len) if kind in ("DynamicLinearScaling", "DynamicYarnScaling") else arb(scaling.factor)
    if kind in ("LinearScaling", "DynamicLinearScaling"):
        return [t / s for t in theta]
    if kind == "NTKScaling" and scaling.form != "aware":
        return [t / stretch(scaling, s, i, dim) for i, t in enumerate(theta)]
    if kind == "NTKByPartsScaling":
        return by_parts(theta, dim, base, scaling)
    if kind in ("NTKScaling", "DynamicNTKScaling"):
        if kind == "DynamicNTKScaling":
            length = scaling.original_max_position_embeddings
            s = s * max(seq_len or 0, length) / length - (s - 1)
        # (b s^(d / (d-2)))^(-2i/d) = b^(-2i/d) s^(-2i / (d-2))
        return [t * (s.log() * (-2 * i) / (dim - 2)).exp() for i, t in enumerate(theta)]
    if kind == "Llama3Scaling":
        kept = [llama3_kept(t, scaling) for t in theta]
    elif scaling.ramp == "rotations":
        kept = [yarn_kept(t, scaling) for t in theta]
    else:
        ends = scaling.beta_fast, scaling.beta_slow
        kept = kept_by_index(dim, base, scaling.original_max_position_embeddings, *ends, scaling.truncate)
    share = arb(getattr(scaling, "extrapolation_factor", 1.0))
    return [(1 - gamma * share) * t / s + gamma * share * t for gamma, t in zip(kept, theta, strict=True)]


def growth(scaling: Any, seq_len: int | None) -> Ball:
    """S / L, at least 1 or what a finetuned model has."""
    longer = Fraction(
        max(seq_len or 0, scaling.original_max_position_embeddings), scaling.original_max_position_embeddings
    )
    return ball(max(longer, Fraction(getattr(scaling, "least_factor", 1.0))))


def stretch(scaling: Any, s: Ball, i: int, dim: int) -> Ball:
    """NTK with the factor on the base itself, b s; Su's fixed form, s^(2 (i+1) / d), and mixed form, s^((2 (i+1) / d)^b)."""
    if scaling.form == "base":
        return (s.log() * 2 * i / dim).exp()
    share = arb(2 * (i + 1)) / dim
    return (s.log() * (share if scaling.form == "fixed" else (share.log() * arb(scaling.mixed_b)).exp())).exp()


def by_parts(theta: list[Ball], dim: int, base: float, scaling: Any) -> list[Ball]:
    """The released code: interpolated ones mixed with NTK's, and these with the plain ones."""
    length, s = scaling.original_max_position_embeddings, arb(scaling.factor)
    of_ntk = kept_by_index(dim, base, length, scaling.beta_0, scaling.beta_1, True)
    of_plain = kept_by_index(dim, base, length, scaling.gamma_0, scaling.gamma_1, True)
    found = []
    for i, (t, a, b) in enumerate(zip(theta, of_ntk, of_plain, strict=True)):
        m, n = a * arb(scaling.ntk_factor), b * arb(scaling.extrapolation_factor)
        slow = t / s * (1 - m) + t * (s.log() * (-2 * i) / (dim - 2)).exp() * m
        found.append(slow * (1 - n) + t * n)
    return found


def yarn_kept(theta: Ball, scaling: Any) -> Ball:
    """YaRN (2309.00071), eq. 13: gamma of r = L / wavelength, alpha = beta_slow, beta = beta_fast."""
    r = scaling.original_max_position_embeddings / (2 * arb.pi() / theta)
    alpha, beta = arb(scaling.beta_slow), arb(scaling.beta_fast)
    if not at_least(r, alpha):
        return arb(0)
    if at_least(r, beta):
        return arb(1)
    return (r - alpha) / (beta - alpha)


def llama3_kept(theta: Ball, scaling: Any) -> Ball:
    """The released code's decisions, on wavelengths."""
    wavelength, length = 2 * arb.pi() / theta, arb(scaling.original_max_position_embeddings)
    if not at_least(wavelength, length / scaling.high_freq_factor):
        return arb(1)
    if at_least(wavelength, length / scaling.low_freq_factor):
        return arb(0)
    low, high = arb(scaling.low_freq_factor), arb(scaling.high_freq_factor)
    return (length / wavelength - low) / (high - low)


def kept_by_index(dim: int, base: float, length: int, fast: float, slow: float, truncate: bool) -> list[Ball]:
    """The released code: a ramp over the pairs' indices, from the fast one's to the slow one's, at least 0.001 wide."""

    def index(rotations: float) -> Ball:
        return dim * (length / (arb(rotations) * 2 * arb.pi())).log() / (2 * arb(base).log())

    low = high = index(fast)
    if slow != fast:
        high = index(slow)
    if truncate:
        low, high = floor(low), ceil(high)
    low = low if at_least(low, arb(0)) else arb(0)
    high = arb(dim - 1) if at_least(high, arb(dim - 1)) else high
    if low is high or low == high:  # a ball is only known to equal another if both are exact
        high = low + arb(1) / 1000
    elif at_least(low, high):
        raise NoRamp
    return [1 - clip((i - low) / (high - low)) for i in range(dim // 2)]


def rope_attention_factor(scaling: Any) -> At:
    a = scaled_gain(scaling)
    return lambda: a


def scaled_gain(scaling: Any) -> Ball:
    """YaRN, eq. 15, with DeepSeek's two magnitudes; LongRoPE's released models."""
    kind = type(scaling).__name__
    if kind not in ("YarnScaling", "LongRopeScaling"):
        return arb(1)
    if scaling.attention_factor is not None:
        return arb(scaling.attention_factor)
    growth = arb(scaling.factor).log() if scaling.factor > 1 else arb(0)
    if kind == "LongRopeScaling":
        return (1 + growth / arb(scaling.original_max_position_embeddings).log()).sqrt()
    if not (scaling.mscale and scaling.mscale_all_dim):
        return growth / 10 + 1
    return (scaling.mscale * growth / 10 + 1) / (scaling.mscale_all_dim * growth / 10 + 1)


def wave(cosine: bool, position: Any, frequency: Ball) -> Ball:
    """Cos or sin of the product. NumPy's integers are turned to Python's: exact."""
    angle = arb(position.item()) * frequency
    return angle.cos() if cosine else angle.sin()


def rope_table(
    positions: NDArray[Any],
    dim: int,
    base: float,
    scaling: Any,
    seq_len: int | None,
    attention_factor: float | None,
) -> At:
    w = frequencies(dim, base, scaling, seq_len)
    a = scaled_gain(scaling) if attention_factor is None else arb(attention_factor)
    return lambda part, *i: a * wave(part == 0, positions[i[:-1]], w[i[-1]])


def rope_cos_sin(positions: NDArray[Any], inv_freq: NDArray[Any], attention_factor: float) -> At:
    w, a = [arb(v) for v in inv_freq.tolist()], arb(attention_factor)
    return lambda part, *i: a * wave(part == 0, positions[i[:-1]], w[i[-1]])


# --- additive --------------------------------------------------------------------------------------------------------


def sinusoidal(
    positions: NDArray[Any],
    dim: int,
    base: float,
    endpoint: bool,
    layout: str,
    order: str,
    scale: float,
    gain: float,
    odd: str,
) -> At:
    width = dim - dim % 2 if odd == "zero" else dim
    half = (width + 1) // 2
    w = [scale * (power(base, -k, half - 1) if endpoint else power(base, -2 * k, width)) for k in range(half)]

    def at(*i: int) -> Ball:
        if i[-1] >= width:
            return arb(0)
        k, second = divmod(i[-1], 2) if layout == "interleaved" else divmod(i[-1], half)[::-1]
        return gain * wave(second == (order == "sin_cos"), positions[i[:-1]], w[k])

    return at


def sinusoidal_axes(positions: NDArray[Any], dim: int, base: list[float], endpoint: bool, order: str) -> At:
    """Of equal widths, axis by axis, sines or cosines first."""
    half = dim // (2 * len(positions))
    w = [[power(b, -k, half - 1 if endpoint else half) for k in range(half)] for b in base]

    def at(*i: int) -> Ball:
        axis, rest = divmod(i[-1], 2 * half)
        if axis >= len(w):
            return arb(0)
        second, k = divmod(rest, half)
        return wave(second == (order == "sin_cos"), positions[(axis, *i[:-1])], w[axis][k])

    return at


def mask_coordinates(mask: NDArray[Any], scale: float, shift: float, eps: float) -> At:
    """Of pictures: what is there up to a pixel, along its column or its row."""

    def at(axis: int, *i: int) -> Ball:
        line = mask[(*i[:-2], slice(None), i[-1])] if axis == 0 else mask[(*i[:-1], slice(None))]
        count, total = int(line[: i[axis - 2] + 1].sum()), int(line.sum())
        return (count - arb(shift)) / (total + arb(eps)) * arb(scale)

    return at


def frequency_bands(n: int, first: float, last: float, spacing: str, endpoint: bool) -> At:
    a, b, steps = arb(first), arb(last), max(1, n - 1 if endpoint else n)
    if spacing == "linear":
        return lambda k: a + (b - a) * k / steps
    return lambda k: a * ((b / a).log() * k / steps).exp()


def fourier_features(coordinates: NDArray[Any], frequencies: NDArray[Any], unit: str, order: str, gain: float) -> At:
    """Axis by axis, or summed over the axes; sines or cosines first."""
    n, half_turns = frequencies.shape[-1], {"radians": 0, "half_turns": 1, "turns": 2}[unit]

    def at(*i: int) -> Ball:
        axis, (second, k) = i[-1] // (2 * n), divmod(i[-1] % (2 * n), n)
        if frequencies.ndim == 1:
            angle = arb(coordinates[(axis, *i[:-1])].item()) * arb(frequencies[k].item())
        else:
            pairs = zip(coordinates[(slice(None), *i[:-1])].tolist(), frequencies[:, k].tolist(), strict=True)
            angle = sum((arb(x) * arb(f) for x, f in pairs), arb(0))
        cosine = second == (order == "sin_cos")
        if not half_turns:
            return gain * (angle.cos() if cosine else angle.sin())
        turned = half_turns * angle
        return gain * (turned.cos_pi() if cosine else turned.sin_pi())

    return at


def timestep_embedding(
    timesteps: NDArray[Any],
    dim: int,
    flip_sin_to_cos: bool,
    downscale_freq_shift: float,
    scale: float,
    max_period: float,
) -> At:
    half = dim // 2
    w = [scale * power(max_period, -k, half - arb(downscale_freq_shift)) for k in range(half)]

    def at(*i: int) -> Ball:
        second, k = divmod(i[-1], half)
        return arb(0) if second == 2 else wave((second == 1) != flip_sin_to_cos, timesteps[i[:-1]], w[k])

    return at


# --- biases ----------------------------------------------------------------------------------------------------------


def alibi_slopes(
    num_heads: int, bias_max: float = 8.0, rule: str = "released", scale: float = 1.0, heads: Any = (0, None)
) -> At:
    """Press et al., sec. 3, and the released code's recursion: every other slope of twice as many heads fills up."""

    def slope(head: int, count: int) -> Ball:
        closest = count if rule == "geometric" else 1 << count.bit_length() - 1
        if head >= closest:
            return slope(2 * (head - closest), 2 * closest)
        return (-arb(2).log() * arb(bias_max) * (head + 1) / closest).exp() * arb(scale)

    return lambda head: slope(head + heads[0], num_heads)


def alibi_bias(slopes: NDArray[Any], q_positions: NDArray[Any], k_positions: NDArray[Any], form: str) -> At:
    def at(*i: int) -> Ball:
        *batch, head, row, column = i
        m, q, k = (arb(x.item()) for x in (slopes[head], q_positions[(*batch, row)], k_positions[(*batch, column)]))
        if form in ("key", "key_last", "key_first"):
            zero = {"key": 0, "key_last": k_positions[(*batch, -1)], "key_first": q_positions[(*batch, 0)]}[form]
            return m * (k - arb(float(zero)))
        if form == "past":
            return -m * (q - k) if q_positions[(*batch, row)] > k_positions[(*batch, column)] else arb(0)
        return -m * (abs(q - k) if form == "distance" else q - k)

    return at
