"""RotaryEmbedding: which position each token gets, and that the rotation is posref's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from array_kit import U, read, working

import posref
from posref_torch.nn import RotaryEmbedding

LONGROPE = posref.LongRopeScaling([1.0, 1.1, 1.5, 2.0], [1.0, 2.0, 4.0, 8.0], 64, factor=4.0)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"base": 500000.0, "layout": "interleaved"},
    {"layout": "interleaved", "output_layout": "half", "offset": 3},
    {"scaling": posref.YarnScaling(4.0, 64)},
    {"scaling": posref.Llama3Scaling(8.0, 64, 1.0, 4.0), "offset": 4},
    {"scaling": posref.DynamicNTKScaling(2.0, 64), "seq_len": 200},
    {"scaling": LONGROPE},
    {"scaling": LONGROPE, "seq_len": 65},
]


def heads(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def far(got: torch.Tensor, x: torch.Tensor, positions: Any, settings: dict[str, Any]) -> float:
    """Distance to the reference, in bounds: the phase of a float64 table, four roundings, a cast. See array_kit."""
    y = posref.rope(read(x), positions, dim=8, **settings)
    kind = str(x.dtype)[6:]
    factor = posref.rope_attention_factor(settings.get("scaling"))
    size = 2 * factor * np.abs(read(x)).max(axis=-1, keepdims=True)
    phase = 14 * U * np.abs(np.asarray(positions))[..., None]
    cast = 1.5 * 2.0**-8 * np.abs(y) if kind == "bfloat16" else 0.0
    bound = (phase + 4 * working(kind)) * size + cast
    return float((np.abs(read(got) - y) / np.broadcast_to(bound, y.shape)).max())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_it_is_posrefs_rotation(settings: dict[str, Any], dtype: torch.dtype) -> None:
    rotary = RotaryEmbedding(8, **settings)
    q, k = heads(2, 4, 7, 12, dtype=dtype), heads(2, 1, 7, 12, dtype=dtype)
    for offset, got in ((0, rotary(q, k)), (131000, rotary(q, k, 131000))):
        for x, y in zip((q, k), got, strict=True):
            assert y.dtype == dtype
            assert far(y, x, np.arange(offset, offset + 7), settings) <= 1.0
            assert far(y, x, np.arange(offset + 1, offset + 8), settings) > 10  # the planted fault: off by one


PLACES = {
    "none": (None, np.arange(5)),
    "first": (9, np.arange(9, 14)),
    "sequence": (torch.tensor([4, 4, 0, 99, 7]), np.array([4, 4, 0, 99, 7])),
    "fractions": (torch.tensor([0.5, -3.25, 1e5, 2.0, 0.0]), np.array([0.5, -3.25, 1e5, 2.0, 0.0])),
    "rows": (torch.arange(15).reshape(3, 5), np.arange(15).reshape(3, 1, 5)),
    "one row for all": (torch.arange(5)[None], np.arange(5)),
    "all axes": (torch.arange(45).reshape(3, 3, 5), np.arange(45).reshape(3, 3, 5)),
    "small integers": (torch.tensor([200, 255, 0, 1, 2], dtype=torch.uint8), np.array([200, 255, 0, 1, 2])),
}


@pytest.mark.parametrize("place", PLACES)
def test_positions(place: str) -> None:
    """Three rows and three heads: (batch, seq) is the batch's, though NumPy's rules would give it to the heads."""
    given, meant = PLACES[place]
    q, k = heads(3, 3, 5, 8), heads(3, 3, 5, 8)
    for x, y in zip((q, k), RotaryEmbedding(8)(q, k, given), strict=True):
        assert far(y, x, meant, {}) <= 1.0
    if place == "rows":
        assert far(y, k, np.arange(15).reshape(3, 5), {}) > 10  # the planted fault: NumPy's rules


def test_fewer_and_more_axes() -> None:
    rotary, rows = RotaryEmbedding(8), torch.arange(15).reshape(3, 5)
    x, y = heads(3, 5, 8), heads(3, 2, 4, 5, 8)
    assert far(rotary(x, x, rows)[0], x, rows.numpy(), {}) <= 1.0
    assert far(rotary(y, y, rows)[0], y, rows.numpy().reshape(3, 1, 1, 5), {}) <= 1.0
    assert far(rotary.rotate(x[0], 3), x[0], np.arange(3, 8), {}) <= 1.0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_decoding_gives_the_bits_of_the_prompt(dtype: torch.dtype) -> None:
    """Token by token, with an integer or with a row per sequence, as with a cache of keys."""
    rotary, q, k = RotaryEmbedding(8, scaling=posref.YarnScaling(4.0, 64)), heads(2, 4, 9, 8), heads(2, 2, 9, 8)
    q, k = q.to(dtype), k.to(dtype)
    whole = rotary(q, k)
    for t in range(9):
        now = q[:, :, t : t + 1], k[:, :, t : t + 1]
        for positions in (t, torch.tensor([t]), torch.full((2, 1), t), torch.tensor([float(t)])):
            for got, expected in zip(rotary(*now, positions), whole, strict=True):
                assert torch.equal(got, expected[:, :, t : t + 1])


def test_types_of_q_and_k_are_kept_apart() -> None:
    q, k = heads(2, 4, 5, 8, dtype=torch.bfloat16), heads(2, 4, 5, 8)
    rotated_q, rotated_k = RotaryEmbedding(8)(q, k)
    assert (rotated_q.dtype, rotated_k.dtype) == (torch.bfloat16, torch.float32)
    assert far(rotated_k, k, np.arange(5), {}) <= 1.0


def test_tables_for_layers_that_share_them() -> None:
    rotary, x = RotaryEmbedding(8), heads(2, 4, 5, 8)
    cos, sin = rotary.cos_sin(x, torch.arange(10).reshape(2, 5))
    assert cos.shape == sin.shape == (2, 1, 5, 4)
    assert cos.dtype == torch.float32
    assert rotary.cos_sin(x.double())[0].dtype == torch.float64


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"dim": 7}, ValueError, "dim must be a positive even integer, got 7"),
        ({"dim": 8, "base": 1}, ValueError, "base must be a finite number > 1, got 1"),
        ({"dim": 8, "layout": "neox"}, ValueError, "layout must be one of 'half', 'interleaved', got 'neox'"),
        ({"dim": 8, "output_layout": "neox"}, ValueError, "output_layout must be one of"),
        ({"dim": 8, "offset": -1}, ValueError, "offset must be an integer >= 0, got -1"),
        ({"dim": 8, "scaling": {"type": "linear"}}, TypeError, "scaling must be None or one of posref's scaling records"),
        ({"dim": 6, "scaling": LONGROPE}, ValueError, "short_factor must have one number per pair"),
        ({"dim": 2, "scaling": posref.LongRopeScaling([1.0], [1.0], 64)}, ValueError, "must have factor or attention_factor"),
    ],
)  # fmt: skip
def test_bad_settings(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        RotaryEmbedding(**given)


@pytest.mark.parametrize(
    ("q", "k", "positions", "error", "says"),
    [
        ((2, 4, 5, 8), (2, 4, 6, 8), None, ValueError, r"same length, got \(2, 4, 5, 8\) and \(2, 4, 6, 8\)"),
        ((2, 4, 5, 8), (2, 5, 8), None, ValueError, "q and k must have the same axes"),
        ((8,), (8,), None, ValueError, r"x must be \(..., seq, channels\), got shape \(8,\)"),
        ((2, 4, 5, 8), (2, 4, 5, 8), -1, ValueError, "positions must be >= 0 .* got -1"),
        ((2, 4, 5, 8), (2, 4, 5, 8), 1.0, TypeError, "positions must be None, an integer or a tensor, got type float"),
        ((2, 4, 5, 8), (2, 4, 5, 8), True, TypeError, "positions must be None, an integer or a tensor, got type bool"),
        ((2, 4, 5, 8), (2, 4, 5, 8), torch.arange(6), ValueError, "must broadcast"),
        ((2, 4, 5, 8), (2, 4, 5, 8), torch.tensor(3), ValueError, r"positions must have \(seq,\), \(batch, seq\) or 3 axes"),
        ((2, 4, 5, 8), (2, 4, 5, 8), torch.ones(2, 5) > 0, TypeError, "positions must be an array of real numbers"),
        ((2, 4, 5, 6), (2, 4, 5, 6), None, ValueError, "cos and sin must have 1 to 3 pairs .* got 4"),
    ],
    ids=lambda v: str(v)[:20],
)  # fmt: skip
def test_bad_calls(q: Any, k: Any, positions: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        RotaryEmbedding(8)(torch.ones(q), torch.ones(k), positions)
    assert len(str(caught.value).splitlines()) == 1


def test_gradients_flow_to_q_and_k() -> None:
    q, k = heads(2, 4, 5, 8).requires_grad_(), heads(2, 4, 5, 8).requires_grad_()
    a, b = RotaryEmbedding(8)(q, k)
    (a * b).sum().backward()  # a rotation of both leaves their product as it is
    assert q.grad is not None
    # k rotated, and back: twice 2 * 2^-24 (|a| + |b|), the sum being 4 at most
    torch.testing.assert_close(q.grad, k.detach(), rtol=2.0**-20, atol=2.0**-20)


def test_its_line() -> None:
    assert repr(RotaryEmbedding(64, base=500000.0)) == "RotaryEmbedding(64, base=500000, scaling=None, layout='half')"
