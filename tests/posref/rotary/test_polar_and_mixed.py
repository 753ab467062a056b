"""xPos, FoPE and PoPE: what they promise, and in which way two of them are no rotations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posref import fope_cos_sin, pope_apply, rope_apply, rope_cos_sin, rope_inv_freq, xpos_scale

Floats = NDArray[np.float64]
DRAW = np.random.default_rng(6)
U = 2.0**-53

# --- xPos ------------------------------------------------------------------------------------------------------------


def decay(scale: Any, m: int, n: int, dim: int, **how: Any) -> Floats:
    """What a score carries per pair: the query's scale over the key's."""
    ratio: Floats = np.asarray(scale([m], dim, **how) / scale([n], dim, **how))[0]
    return ratio


@given(m=st.integers(0, 4000), n=st.integers(0, 4000), pairs=st.integers(1, 32), length=st.integers(1, 4001))
def decays_with_the_distance_whatever_the_centre(scale: Any, m: int, n: int, pairs: int, length: int) -> None:
    zeta = (np.arange(pairs) / pairs + 0.4) / 1.4
    expected = np.exp(np.log(zeta) * (m - n) / 512)
    rounding = 8 * U * (2 + np.abs(np.log(zeta)).max() * 4001 / 512)
    for how in ({"length": length}, {"length": length, "centre": "ceil"}, {"centre": 0}, {"centre": -77.5}):
        np.testing.assert_allclose(decay(scale, m, n, 2 * pairs, **how), expected, rtol=rounding)


def test_xpos() -> None:
    decays_with_the_distance_whatever_the_centre(xpos_scale)


@pytest.mark.parametrize(
    "fault",
    [
        lambda p, dim, **how: 1 / xpos_scale(p, dim, **how),
        lambda p, dim, **how: xpos_scale(p, dim, scale_base=256, **how),
        lambda p, dim, **how: xpos_scale(p, dim + 2, **how)[..., : dim // 2],
        lambda p, dim, **how: xpos_scale(p, dim, centre=p[0] // 2),  # of a length that follows the position: D15
    ],
)
def test_xpos_faults(fault: Any) -> None:
    with pytest.raises(AssertionError):
        decays_with_the_distance_whatever_the_centre(fault)


def test_published_xpos_numbers() -> None:
    assert xpos_scale([512], 4, centre=0)[0] == pytest.approx([0.285714286, 0.642857143], abs=5e-10)
    assert xpos_scale([5], 4, centre=0)[0] == pytest.approx([0.987840518, 0.995694522], abs=5e-10)


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9])
def test_the_centre_of_odd_lengths(length: int) -> None:
    """D15: torchscale's positions start at -length // 2, which rounds away from 0; flash-attention subtracts length // 2."""
    p = np.arange(length)
    zeta = (np.arange(3) / 3 + 0.4) / 1.4
    torchscale = zeta ** ((p + (-length // 2))[:, None] / 512)
    flash = zeta ** ((p - length // 2)[:, None] / 512)
    np.testing.assert_allclose(xpos_scale(p, 6, length=length, centre="ceil"), torchscale, rtol=8 * U)
    np.testing.assert_allclose(xpos_scale(p, 6, length=length), flash, rtol=8 * U)
    assert np.array_equal(torchscale, flash) is (length % 2 == 0)


# --- FoPE ------------------------------------------------------------------------------------------------------------

X = DRAW.standard_normal((3, 5, 8))  # (heads, sequence, channels)
W = rope_inv_freq(8)


def test_fope_with_identities_is_rope() -> None:
    same = fope_cos_sin(np.arange(5), W, np.eye(4), np.eye(4), 4)
    assert np.array_equal(same, rope_cos_sin(np.arange(5), W))
    eyes = np.stack([np.eye(4)] * 3)
    by_head = fope_cos_sin(np.arange(5), W, eyes, eyes, 4)
    assert np.array_equal(by_head, np.stack([same] * 3, axis=1))


def padded(pad_sin: float) -> Any:
    """Two frequencies kept of four."""
    return rope_apply(X, *fope_cos_sin(np.arange(5), W[:2], np.eye(2), np.eye(2), 4, pad_sin=pad_sin))


def test_fopes_padding_is_no_rotation() -> None:
    """D14: longer by the root of 2, turned by 45 degrees, scores doubled: with sin = 1. With sin = 0 nothing happens."""
    dropped, kept = [2, 3, 6, 7], [0, 1, 4, 5]
    y, still = padded(1.0), padded(0.0)
    np.testing.assert_allclose(
        np.linalg.norm(y[..., dropped], axis=-1), np.sqrt(2) * np.linalg.norm(X[..., dropped], axis=-1)
    )
    turned = (X[..., 2] + 1j * X[..., 6]) * (1 + 1j)
    np.testing.assert_allclose(y[..., 2] + 1j * y[..., 6], turned, rtol=1e-15)
    np.testing.assert_allclose(
        y[0][:, dropped] @ y[1][:, dropped].T, 2 * X[0][:, dropped] @ X[1][:, dropped].T, rtol=0, atol=1e-14
    )
    assert np.array_equal(still[..., dropped], X[..., dropped])
    assert np.array_equal(still[..., kept], y[..., kept])
    np.testing.assert_allclose(np.linalg.norm(still, axis=-1), np.linalg.norm(X, axis=-1), rtol=1e-14)


def test_fopes_mixing_is_no_rotation() -> None:
    c, s = DRAW.standard_normal((2, 4, 4))
    cos, sin = fope_cos_sin(np.arange(5), W, c, s, 4)
    plain = rope_cos_sin(np.arange(5), W)
    np.testing.assert_allclose(cos, plain[0] @ c, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(sin, plain[1] @ s, rtol=1e-13, atol=1e-15)
    assert not np.allclose(cos**2 + sin**2, 1, atol=0.1)


# --- PoPE ------------------------------------------------------------------------------------------------------------


@given(m=st.integers(-5000, 5000), n=st.integers(-5000, 5000), shift=st.integers(-5000, 5000))
def scores_see_only_the_difference(apply: Any, m: int, n: int, shift: int) -> None:
    q, k = X[0, :1], X[1, :1]
    bias = np.linspace(-6, 0, 8)

    def score(at: int) -> float:
        return float((apply(q, [m + at]) @ apply(k, [n + at], bias=bias).T)[0, 0])

    w = 10000.0 ** (-np.arange(8) / 8)
    lengths = np.log1p(np.exp(q)) * np.log1p(np.exp(k))
    expected = float((lengths * np.cos((m - n) * w - bias)).sum())
    rounding = 8 * U * 10000 * float(lengths.sum())  # the angle m - n of plain float64 above
    assert abs(score(0) - expected) <= rounding
    assert abs(score(shift) - score(0)) <= 64 * U * float(lengths.sum())


def test_pope() -> None:
    scores_see_only_the_difference(pope_apply)


@pytest.mark.parametrize(
    "fault",
    [
        lambda x, p, bias=None: pope_apply(x, p),  # the bias forgotten
        lambda x, p, bias=None: pope_apply(x, p, bias=None if bias is None else -bias),
        lambda x, p, bias=None: pope_apply(x, p, bias=bias, base=10001.0),
        lambda x, p, bias=None: pope_apply(np.abs(x), p, bias=bias),
        lambda x, p, bias=None: pope_apply(np.where(x > 0, x, -50.0), p, bias=bias),  # relu for softplus
    ],
)
def test_pope_faults(fault: Any) -> None:
    with pytest.raises(AssertionError):
        scores_see_only_the_difference(fault)


def test_popes_lengths_are_softplus() -> None:
    x = np.array([[-1000.0, -30.0, 0.0, 30.0, 1000.0]])
    y = pope_apply(x, [3])
    lengths = np.hypot(y[:, :5], y[:, 5:])[0]
    np.testing.assert_allclose(lengths, [0.0, np.exp(-30.0), np.log(2), 30 + np.exp(-30.0), 1000.0], rtol=1e-13)


def test_popes_bias_is_clamped() -> None:
    x = np.zeros((1, 3))
    clamped = pope_apply(x, [2], bias=[-7.0, 0.5, -1.0])
    assert np.array_equal(clamped, pope_apply(x, [2], bias=[-2 * np.pi, 0.0, -1.0]))
    assert not np.allclose(clamped, pope_apply(x, [2]))
    heads = pope_apply(X, np.arange(5), bias=np.linspace(-3, 0, 3)[:, None, None])
    assert np.array_equal(heads[1], pope_apply(X[1], np.arange(5), bias=[-1.5]))
