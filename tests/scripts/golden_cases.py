"""Which golden values there are: per function, notes and arguments. Only arguments: the values come from golden_formulas."""

from __future__ import annotations

from typing import Any

from golden_rotary_cases import (
    EXACT_TABLES,
    FACTORS,
    FREQUENCIES,
    FUSED,
    GIVEN_FREQUENCIES,
    LARGEST,
    ROTATIONS,
    TABLES,
    Case,
    numbers,
)

# --- additive --------------------------------------------------------------------------------------------------------


def sinusoid(positions: Any, dim: int, **others: Any) -> Case:
    note = "endpoint=False: base**(-2k/dim); True: base**(-k/(dim/2-1)), the last frequency is 1/base"
    given = {"positions": positions, "dim": dim, "base": 10000.0}
    return note, given | {"endpoint": False, "layout": "interleaved", "order": "sin_cos"} | others


SINUSOIDS = [
    sinusoid([0, 1, 2, 3, 4, 5, 6, 7], 4),
    sinusoid([1, 10], 8),
    sinusoid([1, 10], 8, endpoint=True, layout="concatenated"),
    sinusoid([0, 5, 1000], 16, layout="concatenated"),
    sinusoid([1, 10], 8, endpoint=True, layout="concatenated", order="cos_sin"),  # MusicGen
    sinusoid([-3, 511], 6, order="cos_sin"),
    sinusoid([2, 1500], 8, endpoint=True),
    sinusoid([0.5, -2.25, 1e-9, 12345.678], 6, layout="concatenated", order="cos_sin"),
    sinusoid([LARGEST, -1048575, 2**24 + 1], 8),
    sinusoid([1, 50, 100], 2, base=3.7),
    sinusoid([[1, 2], [3, 500]], 4, endpoint=True, layout="concatenated", base=100.0),
]


def timestep(timesteps: Any, dim: int, flip: bool, shift: float, **others: Any) -> Case:
    note = "argument names as in diffusers; odd dim: a zero in the last channel"
    given = {"timesteps": timesteps, "dim": dim, "flip_sin_to_cos": flip, "downscale_freq_shift": shift}
    return note, given | {"scale": 1.0, "max_period": 10000.0} | others


TIMESTEPS = [
    timestep([10], 8, True, 0.0),
    timestep([0, 999], 8, False, 1.0),
    timestep([1, 500.5], 5, False, 1.0),
    timestep([999], 7, True, 0.0),
    timestep([3], 3, False, 0.0),
    timestep([0.0, 0.123, 0.999, 1.0], 8, True, 0.0, scale=1000.0),  # the model's time runs from 0 to 1
    timestep([-17, 250000], 8, False, 0.5, scale=0.7),
    timestep([[1, 2], [3, 40]], 6, True, -1.0, max_period=20.0),
]

TABLE = numbers(300, 5, 4)
LEARNED = [
    ("rows of the table, in any order, also twice", {"table": TABLE, "positions": [4, 0, 0, 2]}),
    ("positions of two axes", {"table": TABLE, "positions": [[1, 3], [3, 4]]}),
]

# --- biases and attention --------------------------------------------------------------------------------------------

HEADS = [1, 8, 12, 16, 40, 2, 3, 6, 7, 20, 32, 71, 112]  # 71: Falcon-7B, 112: BLOOM


def alibi(form: str, q: Any, k: Any, **heads: Any) -> Case:
    note = "distance: -m|q-k|; signed: -m(q-k); key: m*k; with the float64 slopes as given. Shape (heads, q, k)"
    return note, heads | {"q_positions": q, "k_positions": k, "form": form}


ALIBI = [
    alibi("distance", [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], num_heads=8),
    alibi("distance", [3], [0, 1, 2, 3], num_heads=4),
    alibi("key", [3, 4], [0, 1, 2, 3, 4], num_heads=3),
    alibi("signed", [3, 4], [0, 1, 2, 3, 4, 9], num_heads=6),
    alibi("distance", [2, -1], [-7, 0, 5], num_heads=5),
    alibi("distance", [0.1, 7.3], [-2.7, 1e6], slopes=[0.3, 1.7]),
    alibi("signed", [LARGEST, 0.1], [-3, 0.3], slopes=[0.1, -0.2]),
    alibi("key", [0], [0.1, LARGEST], slopes=[0.3]),
    alibi("distance", [[3, 4, 5], [0, 1, 2]], [[0, 5], [2, 9]], num_heads=3),
    alibi("key", [[3], [0]], [[0, 5], [2, 9]], num_heads=2),
]


def bucket(relative: list[int], bidirectional: bool, num_buckets: int = 32, max_distance: int = 128) -> Case:
    sizes = {"num_buckets": num_buckets, "max_distance": max_distance}
    note = "relative_position = key - query; exact integers"
    return note, {"relative_position": relative, "bidirectional": bidirectional} | sizes


BUCKETS = [
    bucket(list(range(-140, 141)), True),
    bucket(list(range(-200, 5)), False),
    bucket([-LARGEST, -129, -128, -127, 127, 128, 129, LARGEST], True),
    bucket(list(range(-1000, 1001, 7)), True, 320, 800),  # WavLM
    bucket(list(range(-300, 301, 3)), True, 64, 256),  # LayoutLMv2's boxes
    bucket([-8192, -1698, -1697, -1696, -161, -160, -159], False, 320, 8192),
    bucket([-186, -185, -184, -154, -153, -152], False, 256, 185),
    bucket(list(range(-9, 10)), True, 4, 2),
    bucket(list(range(-9, 10)), False, 2, 5),
    bucket(list(range(-40, 41)), True, 33, 20),
    bucket(list(range(-20, 21)), False, 7, 11),
]


def t5(q: Any, k: Any, bidirectional: bool, buckets: int, heads: int, max_distance: int = 128) -> Case:
    note = "the table's column is the head; its row the bucket of key - query"
    given = {"table": numbers(310 + buckets, buckets, heads), "q_positions": q, "k_positions": k}
    return note, given | {"bidirectional": bidirectional, "max_distance": max_distance}


T5 = [
    t5([0, 1, 2], [0, 1, 2, 3, 200], True, 32, 3),
    t5([130, 17], [0, 16, 17, 18], False, 32, 2),
    t5([5, -5], [-5, 5, 9], True, 6, 1, 9),
    t5([[0, 40], [7, 8]], [[1, 2, 3], [0, 90, 7]], True, 8, 2, 64),
]


def attend(note: str, seed: int, leading: tuple[int, ...], q: int, k: int, **others: Any) -> Case:
    given = {"q": numbers(seed, *leading, q, 4), "k": numbers(seed + 1, *leading, k, 4)}
    return note, given | {"v": numbers(seed + 2, *leading, k, 3), "bias": None, "mask": None, "scale": None} | others


CAUSAL = [[True, False, False], [True, True, False], [True, True, True]]
ATTENTION = [
    attend("plain", 400, (), 3, 5),
    attend("a bias, added after the scale", 410, (), 2, 3, bias=numbers(413, 2, 3)),
    attend("a causal mask", 420, (), 3, 3, mask=CAUSAL),
    attend(
        "a row that may look nowhere is zero",
        430,
        (),
        3,
        3,
        mask=[[True, True, False], [False] * 3, [False, False, True]],
    ),
    attend(
        "two heads, one bias, one mask, T5's scale", 440, (2,), 3, 3, bias=numbers(443, 3, 3), mask=CAUSAL, scale=1.0
    ),
    attend("two heads, a bias each", 450, (2,), 2, 3, bias=numbers(453, 2, 2, 3)),
    attend("logits of some thousands", 460, (), 2, 3, bias=[[0.0, -5000.5, 3000.25], [3000.25, 3000.0, -1e9]]),
    attend("a negative scale", 470, (), 2, 3, scale=-0.3),
]

CASES: dict[str, list[Case]] = {
    "alibi_bias": ALIBI,
    "alibi_slopes": [("paper's rule, also for heads that are no power of two", {"num_heads": n}) for n in HEADS],
    "attention": ATTENTION,
    "learned": LEARNED,
    "rope": FUSED,
    "rope_apply": ROTATIONS,
    "rope_attention_factor": [(note, {"scaling": record}) for note, record in FACTORS],
    "rope_cos_sin": [
        (note, {"positions": p, "inv_freq": w, "attention_factor": a}) for note, p, w, a in GIVEN_FREQUENCIES
    ],
    "rope_cos_sin_exact": [
        (
            "cos and sin of position * base**(-2i/dim), the exact real frequency, no rounding in between",
            {"dim": dim, "base": 10000.0, "positions": positions},
        )
        for dim, positions in EXACT_TABLES
    ],
    "rope_inv_freq": FREQUENCIES,
    "rope_table": TABLES,
    "sinusoidal": SINUSOIDS,
    "t5_bias": T5,
    "t5_bucket": BUCKETS,
    "timestep_embedding": TIMESTEPS,
}
