"""Biases against the released modules of transformers, an outside witness, on random inputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import posref

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the peers extra")

DRAW = np.random.default_rng(2026)
EPS = 2.0**-24  # unit roundoff of float32


def of(tensor: Any) -> NDArray[np.float64]:
    return np.asarray(tensor.detach().double())


def filled(parameter: Any) -> NDArray[np.float64]:
    """Random float32 values in a parameter, and the same in float64."""
    values = DRAW.standard_normal(tuple(parameter.shape)).astype(np.float32)
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(values))
    return values.astype(np.float64)


# --- ALiBi -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heads", [1, 8, 12, 71, 112])
@pytest.mark.parametrize("padding", [0, 3])
def test_bloom(heads: int, padding: int) -> None:
    """The form "key", where padding does not count. Slopes are powers of one that is rounded: up to 2 * 112 u."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    mask = np.array([[0] * padding + [1] * (11 - padding), [1] * 11])
    theirs = of(build_alibi_tensor(torch.from_numpy(mask), heads, torch.float32)).reshape(2, heads, 1, 11)
    keys = (mask.cumsum(axis=-1) - 1) * mask
    ours = posref.alibi_bias(posref.alibi_slopes(heads), np.zeros((2, 1)), keys, form="key")
    np.testing.assert_allclose(theirs, ours, rtol=230 * EPS)


@pytest.mark.parametrize(("heads", "bias_max"), [(8, 8), (6, 8), (12, 16), (71, 4)])
def test_mpt(heads: int, bias_max: int) -> None:
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    theirs = of(build_mpt_alibi_tensor(heads, 13, alibi_bias_max=bias_max))
    slopes = posref.alibi_slopes(heads, bias_max=bias_max)
    ours = posref.alibi_bias(slopes, [12], np.arange(13), form="key_last")
    np.testing.assert_allclose(theirs, ours, rtol=8 * EPS)  # a power, a quotient, a product
    assert np.abs(theirs - posref.alibi_bias(slopes, [12], np.arange(13), form="key")).max() > 0.1


def test_falcon() -> None:
    """Slopes and positions are bfloat16's: with those given to posref, equal up to the last rounding."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    from transformers.models.falcon.modeling_falcon import build_alibi_tensor

    theirs = of(build_alibi_tensor(torch.ones(1, 300, dtype=torch.long), 64, torch.float32))
    slopes, keys = (a.astype(ml_dtypes.bfloat16) for a in (posref.alibi_slopes(64), np.arange(300)))
    ours = posref.alibi_bias(slopes, [0], keys, form="key")
    np.testing.assert_allclose(theirs, ours, rtol=2.0**-8)
    exact = posref.alibi_bias(posref.alibi_slopes(64), [0], np.arange(300), form="key")
    assert np.abs(theirs - exact).max() > 0.3


# --- T5 and those who have its buckets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["t5", "umt5", "longt5"])
@pytest.mark.parametrize("decoder", [False, True])
def test_t5(family: str, decoder: bool) -> None:
    import importlib

    import transformers

    name = {"t5": "T5", "umt5": "UMT5", "longt5": "LongT5"}[family]
    config = getattr(transformers, f"{name}Config")(
        d_model=16, num_heads=3, d_kv=4, relative_attention_num_buckets=12, relative_attention_max_distance=40
    )
    config.is_decoder = decoder
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    attention = getattr(module, f"{name}Attention")(config, has_relative_attention_bias=True)
    table = filled(attention.relative_attention_bias.weight)
    theirs = of(
        attention.compute_bias(17, 70) if family != "umt5" else attention.compute_bias(17, 70, past_seen_tokens=0)
    )
    ours = posref.t5_bias(table, np.arange(17), np.arange(70), bidirectional=not decoder, max_distance=40)
    assert np.array_equal(theirs[0], ours)


def test_long_t5_side() -> None:
    """Tokens against global tokens, with padding on either side."""
    from transformers.models.longt5.modeling_longt5 import (
        _make_global_fixed_block_ids,
        _make_side_relative_position_ids,
    )

    mask = np.array([[1] * 50, [1] * 37 + [0] * 13, [0] * 9 + [1] * 41, [0] * 40 + [1] * 10])
    for size in (1, 3, 7, 16):
        blocks = posref.long_t5_blocks(mask.astype(bool), size)
        assert np.array_equal(of(_make_global_fixed_block_ids(torch.from_numpy(mask).float(), size)[0]), blocks)
        side = of(_make_side_relative_position_ids(torch.from_numpy(mask).float(), size))
        assert np.array_equal(side, np.arange(50 // size) - blocks[..., None])


@pytest.mark.parametrize("version", [2, 3])
def test_layoutlm(version: int) -> None:
    """Three tables, heads first; v3 divides their sum by sqrt(head_dim)."""
    import transformers

    size = {"hidden_size": 48, "num_attention_heads": 3, "intermediate_size": 8, "num_hidden_layers": 1}
    boxes, tokens = DRAW.integers(0, 1000, (2, 9, 4)), np.arange(9)
    if version == 3:
        from transformers.models.layoutlmv3.modeling_layoutlmv3 import LayoutLMv3Encoder

        encoder = LayoutLMv3Encoder(transformers.LayoutLMv3Config(**size))
        tables = [
            filled(layer.weight) for layer in (encoder.rel_pos_bias, encoder.rel_pos_x_bias, encoder.rel_pos_y_bias)
        ]
        theirs = of(encoder._compute_position_bias(torch.from_numpy(np.tile(tokens, (2, 1))), torch.from_numpy(boxes)))
        scale = 1 / math.sqrt(16)
    else:
        from transformers.models.layoutlmv2.modeling_layoutlmv2 import LayoutLMv2Encoder

        encoder = LayoutLMv2Encoder(transformers.LayoutLMv2Config(**size))
        tables = [
            filled(layer.weight) for layer in (encoder.rel_pos_bias, encoder.rel_pos_x_bias, encoder.rel_pos_y_bias)
        ]
        theirs = of(encoder._calculate_1d_position_embeddings(torch.from_numpy(np.tile(tokens, (2, 1)))))
        theirs = theirs + of(encoder._calculate_2d_position_embeddings(torch.from_numpy(boxes)))
        scale = 1.0
    places = (np.tile(tokens, (2, 1)), boxes[..., 0], boxes[..., 3])
    ours = sum(
        posref.t5_bias(table, p, p, max_distance=farthest, layout="heads_first", scale=scale)
        for table, p, farthest in zip(tables, places, (128, 256, 256), strict=True)
    )
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=4 * EPS * 12)  # three numbers below 4, two sums, a quotient


# --- windows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [(7, 7), (2, 5), (4, 3)])
def test_swin(window: tuple[int, int]) -> None:
    from transformers.models.swin.modeling_swin import SwinRelativePositionBias

    module = SwinRelativePositionBias(3, window)
    table = filled(module.relative_position_bias_table)
    ours = posref.indexed_bias(table, posref.relative_position_index(window))
    assert np.array_equal(of(module()).reshape(ours.shape), ours)


@pytest.mark.parametrize("window", [(8, 8), (3, 5)])
def test_clap(window: tuple[int, int]) -> None:
    """The audio encoder: Swin's windows, on a picture of time and frequency."""
    import transformers
    from transformers.models.clap.modeling_clap import ClapAudioSelfAttention

    module = ClapAudioSelfAttention(transformers.ClapAudioConfig(), 12, 3, window)
    index = posref.relative_position_index(window)
    assert np.array_equal(of(module.relative_position_index), index)
    table, states, seen = filled(module.relative_position_bias_table), torch.zeros(1, len(index), 12), []
    with torch.no_grad():  # states of 0 leave the bias alone in the logits
        for projection in (module.query, module.key):
            projection.bias.zero_()
        seen.append(module(states, output_attentions=True)[1])
    logits = posref.indexed_bias(table, index)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    # the exponential of a difference below 10, a sum of 64 terms, a quotient
    np.testing.assert_allclose(of(seen[0])[0], weights, rtol=100 * EPS)


@pytest.mark.parametrize(("window", "pretrained"), [((4, 4), (0, 0)), ((3, 5), (0, 0)), ((6, 6), (4, 4))])
def test_swin_v2(window: tuple[int, int], pretrained: tuple[int, int]) -> None:
    import transformers
    from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention

    module = Swinv2SelfAttention(transformers.Swinv2Config(), 12, 3, window, pretrained)
    table = of(module.relative_coords_table)[0].reshape(-1, 2)
    h, w = window
    offsets = posref.grid_positions((2 * h - 1, 2 * w - 1), start=(1 - h, 1 - w))
    extent = [[max(p, 0) - 1 if p else n - 1] for n, p in zip(window, pretrained, strict=True)]
    ours = posref.log_offset(offsets, extent=extent).T
    np.testing.assert_allclose(table, ours, rtol=0, atol=8 * EPS)
    assert np.array_equal(of(module.relative_position_index), posref.relative_position_index(window))
    first, _, last = module.continuous_position_bias_mlp
    w1, b1, w2 = filled(first.weight), filled(first.bias), filled(last.weight)
    rows = posref.position_mlp(ours, w1, b1, w2, ceiling=16.0)
    theirs = 16 * torch.sigmoid(module.continuous_position_bias_mlp(module.relative_coords_table)).view(-1, 3)
    # 512 hidden values to 6, times numbers to 4, summed in float32; the slope of 16 sigmoid is 4
    np.testing.assert_allclose(of(theirs), rows, rtol=0, atol=4 * 512 * 24 * EPS)
    scale = filled(module.logit_scale)
    theirs = torch.clamp(module.logit_scale, max=math.log(1.0 / 0.01)).exp()
    np.testing.assert_allclose(of(theirs), posref.cosine_scale(scale), rtol=8 * EPS)


@pytest.mark.parametrize("window", [(3, 3), (2, 4)])
def test_beit(window: tuple[int, int]) -> None:
    import transformers
    from transformers.models.beit.modeling_beit import BeitRelativePositionBias

    module = BeitRelativePositionBias(
        transformers.BeitConfig(image_size=tuple(16 * n for n in window), patch_size=16, num_attention_heads=3)
    )
    index = posref.relative_position_index(window, class_token=True)
    assert np.array_equal(of(module.generate_relative_position_index(window)), index)
    table = filled(module.relative_position_bias_table)
    if window[0] == window[1]:
        np.testing.assert_allclose(of(module(window))[0], posref.indexed_bias(table, index), rtol=0, atol=4 * EPS)


@pytest.mark.xfail(strict=True, reason="transformers reads the table of a window that is not square as (width, height)")
def test_beit_in_a_window_that_is_not_square() -> None:
    import transformers
    from transformers.models.beit.modeling_beit import BeitRelativePositionBias

    module = BeitRelativePositionBias(
        transformers.BeitConfig(image_size=(32, 64), patch_size=16, num_attention_heads=3)
    )
    table = filled(module.relative_position_bias_table)
    ours = posref.indexed_bias(table, posref.relative_position_index((2, 4), class_token=True))
    np.testing.assert_allclose(of(module((2, 4)))[0], ours, rtol=0, atol=1e-5)


@pytest.mark.parametrize("stride", [1, 2])
def test_levit(stride: int) -> None:
    from transformers.models.levit.modeling_levit import LevitAttention, LevitAttentionSubsample

    if stride == 1:
        module = LevitAttention(8, 4, 3, 2, 5)
    else:
        module = LevitAttentionSubsample(8, 8, 4, 3, 2, 2, 5, 3)
    table = filled(module.attention_biases)
    index = posref.relative_position_index((5, 5), offset="absolute", stride=stride)
    assert np.array_equal(of(module.attention_bias_idxs).reshape(index.shape), index)
    theirs = of(module.get_attention_biases("cpu"))
    assert np.array_equal(theirs, posref.indexed_bias(table, index, layout="heads_first"))
