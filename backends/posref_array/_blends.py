"""The scalings that blend two frequencies, for any kind of number: YaRN, Llama 3, NTK-by-parts."""

from __future__ import annotations

import math

from posref import DynamicYarnScaling, Llama3Scaling, NTKByPartsScaling, YarnScaling
from posref_array._kinds import Kind, Number, full_turn, log, rise


def yarn_frequencies(
    plain: list[Number], scaling: YarnScaling | DynamicYarnScaling, base: float, factor: Number, kind: Kind
) -> list[Number]:
    """Each pair between its plain frequency and the interpolated one."""
    kept = _kept_by_index_or_rotations(scaling, plain, base, kind)
    return _blended(plain, [w / factor for w in plain], kept, scaling.extrapolation_factor, kind)


def llama3_frequencies(plain: list[Number], scaling: Llama3Scaling, kind: Kind) -> list[Number]:
    """The same, by the rotations within the original length."""
    turns = [scaling.original_max_position_embeddings * w / full_turn(kind) for w in plain]
    kept = [rise(t, kind(scaling.low_freq_factor), kind(scaling.high_freq_factor)) for t in turns]
    return _blended(plain, [w / kind(scaling.factor) for w in plain], kept, 1.0, kind)


def by_parts_frequencies(
    plain: list[Number], aware: list[Number], scaling: NTKByPartsScaling, base: float, kind: Kind
) -> list[Number]:
    """From interpolated to NTK's and from there to plain, going from slow pairs to fast ones."""
    length = scaling.original_max_position_embeddings
    to_ntk, to_plain = (
        _kept_by_index(2 * len(plain), base, length, ends, kind, name="NTK-by-parts")
        for ends in ((scaling.beta_0, scaling.beta_1), (scaling.gamma_0, scaling.gamma_1))
    )
    interpolated = [w / kind(scaling.factor) for w in plain]
    middle = _blended(aware, interpolated, to_ntk, scaling.ntk_factor, kind)
    return _blended(plain, middle, to_plain, scaling.extrapolation_factor, kind)


def _blended(plain: list[Number], slow: list[Number], kept: list[Number], most: float, kind: Kind) -> list[Number]:
    """Each pair between its plain frequency (kept = 1, and all of it) and the slow one (kept = 0)."""
    masks = [kind(most) * m for m in kept]
    return [m * w + (1 - m) * v for m, w, v in zip(masks, plain, slow, strict=True)]


def _kept_by_index_or_rotations(
    scaling: YarnScaling | DynamicYarnScaling, plain: list[Number], base: float, kind: Kind
) -> list[Number]:
    """Per pair, how much of its plain frequency YaRN keeps."""
    length, betas = scaling.original_max_position_embeddings, (scaling.beta_fast, scaling.beta_slow)
    if scaling.ramp == "rotations":
        low, high = kind(scaling.beta_slow), kind(scaling.beta_fast)
        turns = [length * w / full_turn(kind) for w in plain]
        return [1 if t >= high else 0 if t <= low else (t - low) / (high - low) for t in turns]
    when = scaling.reversed_range if isinstance(scaling, YarnScaling) else "error"
    return _kept_by_index(2 * len(plain), base, length, betas, kind, truncate=scaling.truncate, when_reversed=when)


def _kept_by_index(
    dim: int,
    base: float,
    length: int,
    rotations: tuple[float, float],
    kind: Kind,
    *,
    truncate: bool = True,
    when_reversed: str = "error",
    name: str = "YaRN",
) -> list[Number]:
    """1 for the pairs that rotate often, 0 for those that hardly do, a line in the index between them."""
    per_pair = 2 * log(kind(base)) / dim
    first, last = (log(length / (full_turn(kind) * kind(r))) / per_pair for r in rotations)
    if truncate:
        first, last = kind(math.floor(first)), kind(math.ceil(last))
    first, last = max(first, kind(0)), min(last, kind(dim - 1))
    if first > last and when_reversed == "error":
        raise ValueError(
            f"scaling must leave {name} a range of pairs, got {float(first):g} to {float(last):g} once clamped to "
            f"0 .. {dim - 1}; check original_max_position_embeddings, beta_fast, beta_slow and base"
        )
    width = last - first
    if width == 0 or (width < 0 and when_reversed == "step"):
        width = kind(1) / 1000
    return [1 - min(kind(1), max(kind(0), (i - first) / width)) for i in range(dim // 2)]
