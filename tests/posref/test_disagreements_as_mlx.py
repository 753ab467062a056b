"""What the register says that mlx-lm does, against mlx-lm's own modules, which run on a CPU too."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posref.disagreements import REGISTER

BY_ID = {record.id: record for record in REGISTER}
NEAR = 1e-4  # float32: a power and a blend, some 700 roundings at most; readings differ by 1e-3 and more
KEYS = {"mscale": 0.707, "mscale_all_dim": 0.0}, {"mscale": 0.707}, {"mscale": 1.0, "mscale_all_dim": 1.0}
LISTS = {"short_factor": [1.0, 1.1], "long_factor": [2.0, 4.0]}


def mlx(name: str) -> Any:
    pytest.importorskip("mlx.core", reason="needs mlx", exc_type=ImportError)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("mlx_lm", reason="needs mlx-lm", exc_type=ImportError)
        return importlib.import_module(name)


def module(dim: int, base: float = 10000.0, longest: int = 131072, **block: Any) -> Any:
    return mlx("mlx_lm.models.rope_utils").initialize_rope(dim, base, False, block, max_position_embeddings=longest)


def frequencies(*args: Any, **block: Any) -> Any:
    """Mlx keeps reciprocals; infinity is a pair that does not turn."""
    return 1.0 / np.array(module(*args, **block)._freqs, dtype=np.float64)


def yarn(**block: Any) -> Any:
    return module(64, **{"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096} | block)


def dynamic_calls() -> list[float]:
    """The second frequency of each call: the angle by which it turns position 1."""
    core, found = mlx("mlx.core"), []
    rope = module(128, longest=2048, rope_type="dynamic", factor=4.0)
    for call in (1000, 4096, 3000, 1000):
        x = np.zeros((1, 1, call, 128), np.float32)
        x[..., 1] = 1.0  # the first member of pair 1
        y = np.array(rope(core.array(x)))[0, 0, 1]
        found.append(float(np.arctan2(y[65], y[1])))
    return found


def longrope_calls() -> list[float]:
    block = {"rope_type": "longrope", "original_max_position_embeddings": 4096, **LISTS}
    return [float(frequencies(4, 10000.0, configured, **block)[1]) for configured in (4096, 131072, 131072, 131072)]


def longrope_factor() -> float:
    block = {"rope_type": "longrope", "original_max_position_embeddings": 4096, "attention_factor": 1.5, **LISTS}
    return float(module(4, **block)._scale)


def softmax_and_ratio() -> list[float]:
    block = {"rope_type": "yarn", "factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.5}
    return [yarn(**block).mscale, mlx("mlx_lm.models.rope_utils").apply_yarn_mscale(1.0, block)]


CLAIMS: dict[str, tuple[str, Callable[[], Any]]] = {
    "rope-type-or-type": (
        "type",
        lambda: frequencies(128, rope_type="linear", type="yarn", factor=4.0, original_max_position_embeddings=32768),
    ),
    "dynamic-ntk-length": ("the call's own", dynamic_calls),
    "longrope-switch": ("always", longrope_calls),
    "longrope-attention-factor": ("it is ignored", longrope_factor),
    "proportional-factor": (
        "it does",
        lambda: frequencies(512, 1e6, rope_type="proportional", partial_rotary_factor=0.25, factor=8.0),
    ),
    "proportional-odd": (
        "rounded up",
        lambda: frequencies(24, rope_type="proportional", partial_rotary_factor=0.3),
    ),
    "yarn-truncate": (
        "rounded outwards",
        lambda: frequencies(
            64,
            150000.0,
            rope_type="yarn",
            factor=32.0,
            original_max_position_embeddings=4096,
            truncate=False,
        ),
    ),
    "yarn-attention-factor": (
        "it is ignored",
        lambda: yarn(factor=8.0, attention_factor=1.25).mscale,
    ),
    "yarn-mscale": ("always, with 1 and 0 for what is missing", lambda: [yarn(**keys).mscale for keys in KEYS]),
    "yarn-softmax-factor": ("ratio, and g(mscale_all_dim)^2", softmax_and_ratio),
    "yarn-original-missing": ("4096 (yarn), 8192 (llama3)", lambda: frequencies(128, rope_type="yarn", factor=4.0)),
    "telechat3-magnitude": (
        "0.1 ln s + 1",
        lambda: yarn(rope_type="telechat3-yarn", factor=4.0).mscale,
    ),
}


def near(theirs: Any, ours: Any) -> bool:
    theirs, ours = (np.asarray(v, dtype=np.float64) for v in (theirs, ours))
    return theirs.shape == ours.shape and bool(np.allclose(theirs, ours, rtol=NEAR, atol=0))


@pytest.mark.parametrize("claim", CLAIMS)
def test_mlx_lm_reads_so_and_not_otherwise(claim: str) -> None:
    name, computed = CLAIMS[claim]
    theirs = computed()
    values = {reading.name: BY_ID[claim].read(reading.name) for reading in BY_ID[claim].readings}
    assert [reading for reading, value in values.items() if value is not None and near(theirs, value)] == [name]


def test_the_inverse_of_mlx_lms_yarn_undoes_its_magnitude() -> None:
    core, rope = mlx("mlx.core"), yarn()
    assert rope.mscale > 1.3
    x = np.random.default_rng(0).standard_normal((1, 2, 5, 64)).astype(np.float32)
    back = np.array(rope(rope(core.array(x), offset=7), offset=7, inverse=True))
    np.testing.assert_allclose(back, x, atol=2**-18)  # two rotations in float32 of values below 4
