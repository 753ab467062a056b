"""Where frameworks read the same keys differently: each one's numbers, and what ``posref show --compare`` says of them.

The numbers are those of their own code, run once: vLLM 0.33.0 (``layers/rotary_embedding``), sglang 0.5.23
(``rotary_embedding/yarn.py``, ``rope_variant.py``), mlx-lm 0.32.2 (``models/rope_utils.py``) and exllamav3 1.6.5
(``util/rope.py``), in float32 for 128 channels.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from framework_readings import YARN, U, one, scaled, told

from posref.models import read_config
from posref.models.frameworks import FRAMEWORKS

AT = (0, 20, 30, 40, 63)  # pairs
ROUNDED = (1.0, 0.04105091467499733, 0.005734142381697893, 0.0007905694656074047, 2.8869548259535804e-05)
AS_IT_IS = (1.0, 0.041017964482307434, 0.005573897156864405, 0.0007905694656074047, 2.8869548259535804e-05)
FROM_4096 = (1.0, 0.05623412877321243, 0.009488518349826336, 0.0013378867879509926, 2.886955189751461e-05)
BY_RATIO_8 = (1.0, 0.03852038085460663, 0.004467296879738569, 0.00039528473280370235, 1.4434774129767902e-05)
G4 = 0.1 * math.log(4) + 1


def same(encoding, wanted):
    """Of float32 powers, whose error is u (1 + ln b), and some roundings; another reading is 10^3 times further off."""
    found = np.asarray(encoding.inv_freq)[list(AT)]
    return bool(np.all(np.abs(found - wanted) <= 4 * U * (8 + math.log(1e4)) * np.asarray(wanted)))


def factors(values):
    return {name: one(values, name).attention_factor for name in FRAMEWORKS}


def test_rounding_of_the_ramp():
    """``truncate``: mlx-lm and ggml always round its ends."""
    values = scaled({**YARN, "truncate": False}, model_type="qwen2")
    for name in FRAMEWORKS:
        wanted = ROUNDED if name in ("mlx", "ggml") else AS_IT_IS
        assert same(one(values, name), wanted)
        assert not same(one(values, name), AS_IT_IS if wanted is ROUNDED else ROUNDED)
    angles, lines = told(values)
    assert {name for name, angle in angles.items() if angle} == {"mlx", "ggml"}
    # pair 28 is in the middle of the ramp, where its ends count most
    turned = [np.asarray(one(values, name).inv_freq) for name in ("mlx", "transformers")]
    assert angles["mlx"] == pytest.approx(4095 * np.abs(turned[0] - turned[1]).max(), rel=1e-12)
    assert f"angles up to {angles['mlx']:.4g} rad apart at position 4095" in lines["mlx"]
    assert "the same angles" in lines["vllm"]


def test_attention_factor():
    """Honoured by transformers, vLLM and exllamav3; sglang and mlx-lm do not look at it."""
    values = scaled({**YARN, "attention_factor": 1.5})
    found = {name: one(values, name).attention_factor for name in FRAMEWORKS if name != "ggml"}
    assert found == {
        "transformers": 1.5,
        "vllm": 1.5,
        "exllamav3": 1.5,
        "sglang": pytest.approx(G4),
        "mlx": pytest.approx(G4),
    }
    assert read_config(values, framework="ggml").encodings == ()  # what converters make of the key was not looked at
    _, lines = told(values)
    assert "attention_factor 1.5;" in lines["vllm"]
    assert "attention_factor 1.138629436;" in lines["sglang"]
    note = "ignored: rope_scaling.attention_factor = 1.5: sglang does not look at it"
    assert note in read_config(values, framework="sglang").notes


def test_sglang_s_own_factor():
    values = scaled({**YARN, "attn_factor": 1.5})
    assert one(values, "sglang").attention_factor == pytest.approx(1.7079441541679836, rel=1e-15)
    assert one(values).attention_factor == pytest.approx(G4, rel=1e-15)


WHOLE, PART = 1.138629436111989, 1.0980110113311763  # g(1), g(0.707)


@pytest.mark.parametrize(
    ("mscale", "all_dim", "wanted"),
    [
        (0.707, 0.0, {"transformers": WHOLE, "vllm": WHOLE, "sglang": PART, "mlx": PART, "exllamav3": WHOLE}),
        (1.0, 1.0, {"transformers": 1.0, "vllm": 1.0, "sglang": 1.0, "mlx": 1.0, "exllamav3": WHOLE}),
    ],
)  # fmt: skip
def test_mscales(mscale, all_dim, wanted):
    """The ratio: where both are other than 0 (transformers, vLLM), where both are given (sglang), always (mlx-lm), never."""
    values = scaled({**YARN, "mscale": mscale, "mscale_all_dim": all_dim})
    found = {name: one(values, name).attention_factor for name in wanted}
    assert found == pytest.approx(wanted, rel=1e-15)
    _, lines = told(values)
    for name, factor in wanted.items():
        assert f"attention_factor {factor:.10g};" in lines[name]


def test_dynamic_ntk():
    """The base: of the current length (transformers, mlx-lm), of 4 times the trained one (sglang), of the longest (vLLM)."""
    values = scaled({"type": "dynamic", "factor": 4.0}, max_position_embeddings=1024)
    power = 128 / 126
    wanted = {
        "transformers": (4 * 2048 / 1024 - 3) ** power,  # 5.13
        "mlx": (4 * 2048 / 1024 - 3) ** power,
        "sglang": 13.540197304176545,  # 135401.97 / 10000, at every length
        "vllm": 1.0,  # without max_trained_positions
    }
    for name, stretch in wanted.items():
        inv_freq = np.asarray(one(values, name, seq_len=2048).inv_freq)
        assert inv_freq[-1] == pytest.approx((1e4 * stretch) ** (-126 / 128), rel=1e-12)
        same_at_512 = one(values, name, seq_len=512).inv_freq == tuple(inv_freq.tolist())
        assert same_at_512 == (name in ("sglang", "vllm"))
    trained = scaled({"type": "dynamic", "factor": 4.0, "max_trained_positions": 1024})
    assert one(trained, "vllm").inv_freq[-1] == pytest.approx(135401.97304176545 ** (-126 / 128), rel=1e-12)
    assert read_config(values, framework="exllamav3").notes == (
        "refused: exllamav3 1.6.5 does not load it: rope type 'dynamic' is unknown to it",
    )
    angles, _ = told(values, seq_len=2048)
    plain, grown = (np.array([b ** (-2 * i / 128) for i in range(64)]) for b in (1e4, 1e4 * wanted["transformers"]))
    assert angles["vllm"] == pytest.approx(2047 * np.abs(plain - grown).max(), rel=1e-12)
    assert angles["mlx"] == 0


LONG = {
    "type": "longrope",
    "short_factor": [1.0] * 64,
    "long_factor": [2.0] * 64,
    "original_max_position_embeddings": 1024,
}


def test_the_switch_of_longrope():
    """By the length (transformers; sglang one token later), by the configured length (vLLM, exllamav3), always long (mlx-lm)."""

    def long(name, seq_len):
        return one(scaled(LONG), name, seq_len=seq_len).inv_freq[0] == 0.5

    assert {name: [long(name, n) for n in (1024, 1025, 1026)] for name in ("transformers", "sglang", "mlx")} == {
        "transformers": [False, True, True],
        "sglang": [False, False, True],
        "mlx": [True, True, True],
    }
    assert long("vllm", None)  # configured for 4096, beyond 1024
    assert long("exllamav3", None)
    assert not long("transformers", None)
    beside = {key: value for key, value in LONG.items() if key != "original_max_position_embeddings"}
    assert (
        one(scaled(beside, original_max_position_embeddings=1024), "vllm").inv_freq[0] == 1.0
    )  # vLLM: as Phi-3's files have it
    # whatever they say: sqrt(1 + ln 4 / ln 1024)
    told_factor = scaled({**LONG, "attention_factor": 1.25})
    assert one(told_factor).attention_factor == 1.25
    for name in ("vllm", "sglang", "mlx"):
        assert one(told_factor, name).attention_factor == pytest.approx(1.0954451150103321, rel=1e-15)
    angles, _ = told(scaled(LONG), seq_len=1024)
    assert angles["mlx"] == 1023 * 0.5
    assert angles["sglang"] == 0


def test_factor_or_ratio_of_the_lengths():
    """exllamav3 takes max_position_embeddings / original, whatever ``factor`` says."""
    values = scaled(YARN, max_position_embeddings=8192, model_type="qwen2")
    for name in FRAMEWORKS:
        assert same(one(values, name), BY_RATIO_8 if name == "exllamav3" else ROUNDED)
    assert one(values, "exllamav3").attention_factor == pytest.approx(1.2079441541679836, rel=1e-15)
    angles, _ = told(values)
    assert {name for name, angle in angles.items() if angle} == {"exllamav3"}
    assert any(
        "ratio of the lengths 8; the latter counts" in note for note in read_config(values, framework="exllamav3").notes
    )


def test_the_original_length_that_is_not_there():
    """Max_position_embeddings stands in for it; in mlx-lm 4096 does, for Llama 3's scaling 8192."""
    values = scaled({"type": "yarn", "factor": 4.0}, max_position_embeddings=1024)
    for name in ("transformers", "vllm", "sglang", "exllamav3"):
        assert same(one(values, name), ROUNDED)
    assert same(one(values, "mlx"), FROM_4096)
    assert told(values)[0]["mlx"] > 1
    llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    base = scaled(llama3, rope_theta=500000.0)
    wanted = (1.0, 0.016560440883040428, 0.0013718934496864676, 3.428102354519069e-05, 3.068925877869333e-07)
    assert same(one(base, "mlx"), wanted)
    assert same(one({**base, "max_position_embeddings": 8192}), wanted)
    assert not same(one(base), wanted)


def test_two_spellings_of_the_type():
    """``rope_type`` wins, ``type`` in mlx-lm; vLLM refuses them but for two pairs."""
    values = scaled({"rope_type": "linear", "type": "default", "factor": 2.0})
    assert {name: one(values, name).inv_freq[0] for name in ("transformers", "sglang", "exllamav3", "mlx")} == {
        **dict.fromkeys(("transformers", "sglang", "exllamav3"), 0.5),
        "mlx": 1.0,
    }
    assert (
        read_config(values, framework="vllm")
        .notes[0]
        .startswith("refused: vllm 0.33.0 does not load it: rope_scaling has")
    )
    angles, lines = told(values)
    assert angles["mlx"] == 4095 * 0.5
    assert "vllm" not in angles
    assert "no scaling" in lines["mlx"]


def gemma4(**full):
    """Six layers, of which the last rotates a share of its 24 channels."""
    blocks = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "proportional", "rope_theta": 10000.0, **full},
    }
    shape = {"hidden_size": 96, "num_attention_heads": 4, "num_hidden_layers": 6, "head_dim": 24, "global_head_dim": 24}
    return {"model_type": "gemma4_text", **shape, "max_position_embeddings": 4096, "rope_parameters": blocks}


def global_one(values, framework):
    return read_config(values, framework=framework).encodings[-1]


def test_proportional():
    """Two of them, vLLM and sglang, do not look at ``factor``; int(0.3 * 24) = 7 channels are 3 pairs, and 4 in mlx-lm."""
    values = gemma4(partial_rotary_factor=0.5, factor=8.0)
    assert {name: global_one(values, name).inv_freq[0] for name in FRAMEWORKS if name != "ggml"} == {
        **dict.fromkeys(("transformers", "mlx", "exllamav3"), 0.125),
        **dict.fromkeys(("vllm", "sglang"), 1.0),
    }
    angles, _ = told(values)
    assert angles["vllm"] == 4095 * 0.875
    odd = gemma4(partial_rotary_factor=0.3, factor=8.0)
    turning = {
        name: np.count_nonzero(global_one(odd, name).inv_freq) for name in ("transformers", "vllm", "mlx", "exllamav3")
    }
    assert turning == {"transformers": 3, "vllm": 3, "mlx": 4, "exllamav3": 3}
    wanted = [0.125, 0.05801986066504256, 0.026930434470841064, 0.0125] + [0.0] * 8
    np.testing.assert_allclose(global_one(odd, "mlx").inv_freq, wanted, rtol=16 * U)
