"""What the register says that transformers does, against transformers' own functions; the other readings are not that."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posref.disagreements import REGISTER, Disagreement

torch = pytest.importorskip("torch", reason="needs torch, which transformers computes with")
pytest.importorskip("transformers", reason="needs the peers extra (transformers)")

pytestmark = pytest.mark.peers

BY_ID = {record.id: record for record in REGISTER}
NEAR = 1e-4  # float32: a power and a blend within 700 roundings (test_scaling_forms derives it); readings differ by 1e-3 and more
X = torch.arange(1.0, 9.0).reshape(1, 1, 1, 8)
LISTS = {"short_factor": [1.0, 1.1], "long_factor": [2.0, 4.0]}


def modeling(name: str) -> Any:
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def llama_config(dim: int, longest: int, block: dict[str, Any]) -> Any:
    from transformers import LlamaConfig

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the factor that is not the ratio of the lengths, and the like
        return LlamaConfig(
            hidden_size=2 * dim,
            num_attention_heads=2,
            head_dim=dim,
            max_position_embeddings=longest,
            rope_parameters={"rope_theta": 10000.0} | block,
        )


def of_rope(dim: int, longest: int, **block: Any) -> tuple[Any, float]:
    """The frequencies and the attention factor of a rope block."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    made: tuple[Any, float] = ROPE_INIT_FUNCTIONS[block["rope_type"]](llama_config(dim, longest, block))
    return made


def yarn(dim: int = 64, longest: int = 32768, **block: Any) -> tuple[Any, float]:
    return of_rope(
        dim, longest, **{"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 4096} | block
    )


def magnitude(s: float, **block: Any) -> float:
    return yarn(longest=int(s * 4096), factor=s, **block)[1]


def rotated(model: str, function: str = "apply_rotary_pos_emb") -> Any:
    """X at position 1 with tables that repeat, as all of them have it."""
    angle = torch.tensor([1.0, 0.1, 0.01, 0.001]).repeat(2).reshape(1, 1, 8)
    return getattr(modeling(model), function)(X, X, angle.cos(), angle.sin())[0].reshape(1, 8)


def longrope_calls() -> list[float]:
    """The second frequency of one module after each call, which changes it in place."""
    found = []
    for configured, call in ((4096, 100), (131072, 100), (131072, 4097), (131072, 5000)):
        module = modeling("llama").LlamaRotaryEmbedding(llama_config(4, configured, {"factor": 32.0, **LONG}))
        module(torch.zeros(1), torch.arange(call)[None])
        found.append(float(module.inv_freq[1]))
    return found


def dynamic_calls() -> list[float]:
    module = modeling("llama").LlamaRotaryEmbedding(llama_config(128, 2048, {"rope_type": "dynamic", "factor": 4.0}))
    found = []
    for call in (1000, 4096, 3000, 1000):
        module(torch.zeros(1), torch.arange(call)[None])
        found.append(float(module.inv_freq[1]))
    return found


def deepseek(model: str = "deepseek_v3") -> list[float]:
    """The factor on cos and sin, and how the softmax scale grows."""
    block = {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.5}
    grown = modeling(model).yarn_apply_mscale({"rope_type": "yarn", **block}, 1.0)
    return [magnitude(40.0, mscale=1.0, mscale_all_dim=0.5), grown]


def by_layer() -> Any:
    """Olmo 3's frequencies, whose block stands under a layer type."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
    from transformers.models.olmo3.configuration_olmo3 import Olmo3Config

    full = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 32.0, "original_max_position_embeddings": 4096}
    blocks = {
        "full_attention": full | {"truncate": False},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = Olmo3Config(hidden_size=128, num_attention_heads=2, num_hidden_layers=4, rope_parameters=blocks)
    return ROPE_INIT_FUNCTIONS["yarn"](config, layer_type="full_attention")[0]


def ministral_temperature() -> Any:
    scale = modeling("ministral3").get_llama_4_attn_scale
    return scale(torch.tensor([[8190, 8191, 8192]]), 0.1, 8192).reshape(3)


BOTH = {"mscale": 0.707, "mscale_all_dim": 0.0}, {"mscale": 0.707}, {"mscale": 1.0, "mscale_all_dim": 1.0}
LONG = {"rope_type": "longrope", "original_max_position_embeddings": 4096, **LISTS}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_theta": 5e5}
TWO = {"rope_type": "linear", "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}

CLAIMS: dict[str, tuple[str, Callable[[], Any]]] = {
    "pair-layout": ("i and i + d/2", lambda: rotated("llama")),
    "output-order": (
        "first members, then second ones",
        lambda: rotated("deepseek_v3", "apply_rotary_pos_emb_interleave"),
    ),
    "rotation-sign": ("minus", lambda: rotated("nanochat")),
    "rope-type-or-type": ("rope_type", lambda: of_rope(128, 131072, **TWO)[0]),
    "linear-beyond-factor": (
        "by the factor all the same",
        lambda: of_rope(64, 2048, rope_type="linear", factor=4.0)[0],
    ),
    "dynamic-ntk-length": ("the longest, until a call is shorter than L", dynamic_calls),
    "longrope-switch": ("in calls longer than L", longrope_calls),
    "longrope-attention-factor": ("it does", lambda: of_rope(4, 131072, attention_factor=1.5, **LONG)[1]),
    "llama3-original": (
        "the file's",
        lambda: of_rope(128, 32768, original_max_position_embeddings=4096, **LLAMA3)[0],
    ),
    "proportional-odd": (
        "rounded down",
        lambda: of_rope(24, 4096, rope_type="proportional", partial_rotary_factor=0.3)[0],
    ),
    "yarn-ramp": ("pair index", lambda: yarn(128, factor=16.0)[0]),
    "yarn-truncate": ("as they are", lambda: yarn(factor=32.0, rope_theta=150000.0, truncate=False)[0]),
    "yarn-truncate-by-layer": ("no", by_layer),
    "yarn-attention-factor": ("it does", lambda: magnitude(8.0, attention_factor=1.25)),
    "yarn-attn-factor": ("it is ignored", lambda: magnitude(8.0, attn_factor=0.75)),
    "yarn-mscale": ("where both are there and not 0", lambda: [magnitude(40.0, **keys) for keys in BOTH]),
    "yarn-softmax-factor": ("ratio, and g(mscale_all_dim)^2", deepseek),
    "yarn-factor-or-ratio": (
        "factor",
        lambda: yarn(128, 131072, factor=2.0, rope_theta=1e6, original_max_position_embeddings=32768)[0],
    ),
    "yarn-original-missing": (
        "max_position_embeddings",
        lambda: of_rope(128, 32768, rope_type="yarn", factor=4.0)[0],
    ),
    "yarn-reversed": ("a slope downwards", lambda: yarn(beta_fast=1.0, beta_slow=32.0)[0]),
    "temperature-step": ("positions, floor(m / L)", ministral_temperature),
}


def near(theirs: Any, ours: Any) -> bool:
    theirs, ours = (np.asarray(v, dtype=np.float64) for v in (theirs, ours))
    return theirs.shape == ours.shape and bool(np.allclose(theirs, ours, rtol=NEAR, atol=0))


def readings(record: Disagreement) -> dict[str, NDArray[Any]]:
    return {r.name: value for r in record.readings if (value := record.read(r.name)) is not None}


@pytest.mark.parametrize("claim", CLAIMS)
def test_transformers_reads_so_and_not_otherwise(claim: str) -> None:
    name, computed = CLAIMS[claim]
    with torch.no_grad():
        theirs = computed()
    theirs = theirs.double().numpy() if torch.is_tensor(theirs) else theirs
    assert [reading for reading, value in readings(BY_ID[claim]).items() if near(theirs, value)] == [name]
