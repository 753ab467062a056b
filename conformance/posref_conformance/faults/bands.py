"""Slips in scalings that treat fast and slow pairs differently: the ends of a ramp, its direction, an exponent."""

from __future__ import annotations

import math
from typing import Any

from posref_conformance.faults._change import numbers
from posref_conformance.faults._fault import Fault
from posref_conformance.faults.scaling import _formula, _length, _llama3, _rounded, _scaling, _with, _yarn

TURN = 2 * math.pi


def _clamped(s: Any, dim: int, low: float, high: float) -> tuple[float, float]:
    low, high = _rounded(s, low, high)
    return max(low, 0), min(high, dim - 1)


def _over_channels(s: Any, dim: int, low: float, high: float) -> tuple[float, float]:
    low, high = _clamped(s, dim, low, high)
    return low / 2, high / 2  # 2k is compared with what is meant for k


def _one_off(s: Any, dim: int, low: float, high: float) -> tuple[float, float]:
    low, high = _clamped(s, dim, low, high)
    return low - 1, high - 1


def _rounded_inwards(s: Any, dim: int, low: float, high: float) -> tuple[float, float]:
    low, high = (math.ceil(low), math.floor(high)) if s.truncate else (low, high)
    return max(low, 0), min(high, dim - 1)


def _blend_reversed(w: float, s: Any) -> float:
    turns = s.original_max_position_embeddings * w / TURN
    share = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor)
    return float((1 - share) * w + share * w / s.factor)


def _bands_exchanged(xp: Any, w: Any, s: Any, dim: int, base: float, seq_len: Any) -> Any:
    def scaled(k: int) -> float:
        v: float = base ** (-2 * k / dim)
        turns = s.original_max_position_embeddings * v / TURN
        width = s.low_freq_factor - s.high_freq_factor
        share = (turns - s.high_freq_factor) / width if width else float(turns < s.low_freq_factor)
        share = min(1.0, max(0.0, share))
        return share * v + (1 - share) * v / float(s.factor)

    return numbers(xp, [scaled(k) for k in range(dim // 2)]) + 0 * w


def _ntk_exponent(exponent: Any) -> Any:
    def formula(xp: Any, w: Any, s: Any, dim: int, base: float, seq_len: Any) -> Any:
        grown = base * s.factor ** exponent(dim)
        return numbers(xp, [grown ** (-2 * k / dim) for k in range(dim // 2)]) + 0 * w

    return _formula("NTK", formula)


FAULTS = (
    Fault(
        "yarn-ramp-over-channels",
        "You hold the channel 2k against the ends of YaRN's ramp.",
        "The ends are numbers of pairs: hold k against them.",
        "YaRN (2309.00071), sec. 3.2",
        _yarn(_over_channels),
    ),
    Fault(
        "yarn-ramp-one-off",
        "You move YaRN's ramp by one pair.",
        "Count pairs from 0.",
        "YaRN (2309.00071), sec. 3.2",
        _yarn(_one_off),
    ),
    Fault(
        "yarn-ends-rounded-inwards",
        "You take ceil of the lower and floor of the upper end of YaRN's ramp.",
        "Take floor of the lower and ceil of the upper one.",
        "YaRN (2309.00071), sec. 3.2",
        _yarn(_rounded_inwards),
    ),
    Fault(
        "yarn-without-two-pi",
        "You leave 2 pi out of YaRN's number of turns.",
        "A pair turns length * w / (2 pi) times.",
        "YaRN (2309.00071), sec. 3.2",
        _scaling(_with(beta_fast=lambda s: s.beta_fast / TURN, beta_slow=lambda s: s.beta_slow / TURN), "Yarn"),
    ),
    Fault(
        "llama3-without-two-pi",
        "You leave 2 pi out of Llama 3's wavelengths.",
        "The wavelength of a pair is 2 pi / w.",
        "tutorials",
        _scaling(
            _with(
                low_freq_factor=lambda s: s.low_freq_factor / TURN, high_freq_factor=lambda s: s.high_freq_factor / TURN
            ),
            "Llama3",
        ),
    ),
    Fault(
        "llama3-blend-reversed",
        "You exchange the two weights in Llama 3's middle band.",
        "The plain frequency has the weight (length / wavelength - low) / (high - low).",
        "tutorials",
        _llama3(_blend_reversed),
    ),
    Fault(
        "llama3-bands-exchanged",
        "You exchange low_freq_factor and high_freq_factor.",
        "Long wavelengths, beyond length / low_freq_factor, are divided by factor; short ones are kept.",
        "tutorials",
        _formula("Llama3", _bands_exchanged),
    ),
    Fault(
        "ntk-exponent-inverted",
        "You raise NTK's factor to (dim - 2) / dim.",
        "NTK's base is base * factor ** (dim / (dim - 2)).",
        "tutorials",
        _ntk_exponent(lambda dim: (dim - 2) / dim),
    ),
    Fault(
        "ntk-exponent-of-dim-minus-1",
        "You raise NTK's factor to dim / (dim - 1).",
        "NTK's base is base * factor ** (dim / (dim - 2)): the slowest pair has the exponent (dim - 2) / dim.",
        "tutorials",
        _ntk_exponent(lambda dim: dim / (dim - 1)),
    ),
    Fault(
        "dynamic-ntk-last-position",
        "You take the last position for the length: it is one less.",
        "The length counts the tokens: the last position and one.",
        "huggingface/transformers PR #27227",
        _length(lambda s, n: n - 1, "DynamicNTK"),
    ),
    Fault(
        "dynamic-ntk-next-token",
        "You count the token that comes next into the length.",
        "The length counts the tokens that there are.",
        "huggingface/transformers PR #27227",
        _length(lambda s, n: n + 1, "DynamicNTK"),
    ),
)
