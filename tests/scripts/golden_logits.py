"""Factors on the logits in mpmath: formulas and cases in the manner of golden_formulas and golden_cases."""

from __future__ import annotations

from typing import Any

from golden_formulas import Nested, each
from golden_rotary_cases import LARGEST, Case, numbers
from mpmath import mp, mpf


def log_n_scale(positions: Nested, length: int, clip: bool) -> Nested:
    def scale(m: float) -> Any:
        ratio = mp.log(mpf(m) + 1, length)
        return max(ratio, mpf(1)) if clip else ratio

    return each(scale, positions)


def ssmax_scale(positions: Nested, s: list[float], bias: list[float] | None) -> Nested:
    if isinstance(positions[0], list):
        return [ssmax_scale(row, s, bias) for row in positions]
    offsets = [0.0] * len(s) if bias is None else bias
    return [[mpf(a) * mp.log(mpf(m) + 1) + mpf(b) for m in positions] for a, b in zip(s, offsets, strict=True)]


def llama4_scale(positions: Nested, attn_scale: float, floor_scale: int, shift: int) -> Nested:
    def scale(m: float) -> Any:
        return 1 + mpf(attn_scale) * mp.log(1 + mp.floor((mpf(m) + shift) / floor_scale))

    return each(scale, positions)


def length_scale(seq_len: int, length: int, mscale: float) -> Any:
    if seq_len <= length:
        return mpf(1)
    return mp.log(mpf(seq_len) / length) / 10 * mpf(mscale) + 1


EDGES = [0, 1, 4094, 4095, 4096, 8191, 131071, LARGEST]
STEPS = [0, 8190, 8191, 8192, 16383, 16384, 2**31 + 8191, LARGEST]


def log_n(note: str, positions: Nested, length: int, clip: bool = True) -> Case:
    return note, {"positions": positions, "length": length, "clip": clip}


def llama4(note: str, positions: Nested, attn_scale: float = 0.1, floor_scale: int = 8192, shift: int = 1) -> Case:
    options = {"attn_scale": attn_scale, "floor_scale": floor_scale, "shift": shift}
    return note, {"positions": positions} | options


CASES: dict[str, list[Case]] = {
    "log_n_scale": [
        log_n("around the length", EDGES, 4096),
        log_n("without the clip", EDGES, 4096, False),
        log_n("a length that is no power of two, two axes", [[1, 2], [700, 9]], 3),
        log_n("fractions", [0.1, 1.999, 2.001, 1e6 + 0.3], 3),
    ],
    "ssmax_scale": [
        ("three heads", {"positions": EDGES, "s": numbers(600, 3), "bias": None}),
        ("with a bias", {"positions": EDGES, "s": numbers(610, 3), "bias": numbers(611, 3)}),
        ("two axes", {"positions": [[0, 5], [1023, 2]], "s": [0.43], "bias": None}),
        ("fractions", {"positions": [0.25, 17.7], "s": [-1.5, 0.1], "bias": [0.3, -0.2]}),
    ],
    "llama4_scale": [
        llama4("Llama 4", STEPS),
        llama4("Llama 4's numbers, counted from 0", STEPS, shift=0),
        llama4("Ministral 3", STEPS, floor_scale=16384, shift=0),
        llama4("another scale and length", [[0, 6], [7, 48]], 0.3, 7),
        llama4("fractions", [0.5, 8190.75, 8191.0, 8191.5], shift=1),
        llama4("fractions, without a shift", [8191.5, 8192.0], shift=0),
    ],
    "length_scale": [
        ("within", {"seq_len": 100, "length": 4096, "mscale": 1.0}),
        ("Qwen 2.5 1M", {"seq_len": 1048576, "length": 262144, "mscale": 1.0}),
        ("ChunkLlama", {"seq_len": 100000, "length": 4096, "mscale": 0.5}),
        ("just beyond", {"seq_len": 4097, "length": 4096, "mscale": 0.7}),
    ],
}
