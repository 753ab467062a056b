"""Cases for encodings that are added to the embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided
from posref_conformance.cases.rotary import FRACTIONS, INTEGER_POSITIONS

WHOLE = ("int64",)
REAL = ("float64", "float32")


def _sinusoidal(name: str, positions: Any, dim: int, dtypes: tuple[str, ...] = WHOLE, **options: Any) -> Case:
    return one("sinusoidal", name, lambda i: Call((i.typed(positions), dim), dict(options)), dtypes=dtypes)


def _timestep(name: str, timesteps: Any, dim: int, dtypes: tuple[str, ...] = WHOLE, **options: Any) -> Case:
    return one("timestep_embedding", name, lambda i: Call((i.typed(timesteps), dim), dict(options)), dtypes=dtypes)


def _again(i: Inputs) -> list[Call]:
    p = i.typed(np.arange(5))
    return [Call((p, 8)), Call((p + i.typed(3), 8)), Call((p, 8), {"base": 100.0}), Call((p, 8))]


def _learned(i: Inputs, positions: Any, rows: int = 11) -> Call:
    return Call((i.data(rows, 6), np.array(positions)))


def _learned_again(i: Inputs) -> list[Call]:
    return [_learned(i, [0, 1, 2]), _learned(i, [0, 1, 2]), _learned(i, [3, 4, 5])]


CASES: tuple[Case, ...] = (
    _sinusoidal("paper", np.arange(11), 14),
    _sinusoidal("concatenated", np.arange(11), 14, layout="concatenated"),
    _sinusoidal("cos-first", np.arange(11), 14, order="cos_sin"),
    _sinusoidal("cos-first-concatenated", np.arange(11), 14, layout="concatenated", order="cos_sin"),
    _sinusoidal("endpoint", np.arange(11), 14, endpoint=True),
    _sinusoidal("endpoint-concatenated", np.arange(11), 14, endpoint=True, layout="concatenated"),
    _sinusoidal("base", np.arange(11), 14, base=100.0),
    _sinusoidal("smallest", [0, 1, 5], 2),
    _sinusoidal("integers", INTEGER_POSITIONS, 32),
    _sinusoidal("fractions", FRACTIONS, 32, dtypes=REAL),
    _sinusoidal("batch", [[3, 4, 5], [0, 0, 9]], 6),
    _sinusoidal("empty", np.zeros((2, 0)), 6),
    _sinusoidal("wide", [1, 511], 1024),
    _sinusoidal("odd-zero", np.arange(11), 9, endpoint=True, layout="concatenated", odd="zero"),
    _sinusoidal("odd-zero-paper", np.arange(11), 9, odd="zero"),
    _sinusoidal("odd-split", np.arange(11), 9, odd="split"),
    _sinusoidal("odd-split-concatenated", np.arange(11), 9, layout="concatenated", odd="split"),
    _sinusoidal("odd-split-endpoint", np.arange(11), 9, endpoint=True, odd="split"),
    _sinusoidal("padding-row", [1, 2, 3, 1, 0], 8, endpoint=True, layout="concatenated", padding_idx=1),
    _sinusoidal("mlx", np.arange(11), 8, endpoint=True, layout="concatenated", gain=0.5),
    _sinusoidal("full-turns", [1, 3, 100], 8, order="cos_sin", scale=6.283185307179586),
    _sinusoidal("scale", [1, 3, 100], 8, scale=0.125),
    Case("sinusoidal", "again", _again, dtypes=WHOLE),
    _timestep("ddpm", [0, 1, 10, 999], 10),
    _timestep("stable-diffusion", [0, 1, 10, 999], 10, flip_sin_to_cos=True, downscale_freq_shift=0.0),
    _timestep("shift-alone", [3, 500], 10, downscale_freq_shift=0.0),
    _timestep("flip-alone", [3, 500], 10, flip_sin_to_cos=True),
    _timestep("odd", [0, 7, 999], 11),
    _timestep("scale", [0.0, 0.25, 0.999], 10, dtypes=REAL, scale=1000.0),
    _timestep("period", [5, 50], 8, max_period=100.0),
    _timestep("fractional-shift", [5, 50], 8, downscale_freq_shift=0.5),
    _timestep(
        "qwen-image",
        [0.125, 0.5, 0.75],
        32,
        dtypes=REAL,
        flip_sin_to_cos=True,
        downscale_freq_shift=0.0,
        scale=1000.0,
        freq_dtype="bfloat16",
    ),
    _timestep("float16-frequencies", [3, 500], 16, freq_dtype="float16"),
    _timestep("fractions", [0.5, 17.25], 8, dtypes=REAL),
    _timestep("empty", np.zeros(0), 8),
    one("learned", "rows", lambda i: _learned(i, [0, 3, 10, 3])),
    one("learned", "batch", lambda i: _learned(i, [[5, 0, 1], [2, 2, 9]])),
    one("learned", "scalar", lambda i: _learned(i, 4)),
    one("learned", "empty", lambda i: _learned(i, np.zeros((2, 0), int))),
    one("learned", "int32", lambda i: _learned(i, np.array([1, 0], np.int32))),
    one("learned", "offset", lambda i: Call((i.data(11, 6), np.array([[-2, 0, 3], [8, 1, 1]])), {"offset": 2})),
    one("learned", "read-only-strided", lambda i: Call((read_only(i.data(11, 6)), strided(np.array([4, 2, 9]))))),
    Case("learned", "again", _learned_again),
)
