"""rope_apply: where the result goes, how often it is rounded, and what it costs in memory."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from array_kit import outside, read, working
from torch.utils._python_dispatch import TorchDispatchMode

import posref
import posref_torch
from posref_torch import _rotation

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
LAYOUTS = ("half", "interleaved")
VARIANTS = [
    {"layout": a, "output_layout": b, "offset": c, "inverse": d}
    for a, b, c, d in itertools.product(LAYOUTS, LAYOUTS, (0, 3), (False, True))
]


def tensors(dtype: torch.dtype, *shape: int, pairs: int = 4, table: torch.dtype = torch.float32) -> tuple[Any, ...]:
    g = torch.Generator().manual_seed(5)
    x = torch.randn(*shape, generator=g).to(dtype)
    return x, *(torch.randn(shape[-2], pairs, generator=g).to(table) for _ in range(2))


def bound(x: Any, cos: Any, sin: Any, y: Any, variant: dict[str, Any], dtype: str) -> Any:
    """2 u_w S + 1.5 u_o |y|, float16's spacing near 0 added; nothing for what passes through. See array_kit."""
    g = np.maximum(np.abs(read(cos)), np.abs(read(sin)))
    zero, forth = np.zeros_like(g), {**variant, "inverse": False}
    size = np.abs(posref.rope_apply(np.abs(read(x)), g, zero, **forth))
    size += np.abs(posref.rope_apply(np.abs(read(x)), zero, g, **forth))
    start = variant["offset"]
    size[..., :start] = size[..., start + 2 * g.shape[-1] :] = 0.0
    u_o = {"float16": 2.0**-11, "bfloat16": 2.0**-8}.get(dtype, 0.0)
    return 2 * working(dtype) * size + (1.5 * u_o * np.abs(y) + (2.0**-24 if u_o else 0.0)) * (size > 0)


@pytest.mark.parametrize("gradient", [False, True], ids=["straight", "formula"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_rounding(dtype: torch.dtype, variant: dict[str, Any], gradient: bool) -> None:
    """float16 and bfloat16 are computed in float32, with and without a gradient."""
    x, cos, sin = tensors(dtype, 2, 3, 5, 11)
    y = posref.rope_apply(read(x), read(cos), read(sin), **variant)
    limit = bound(x, cos, sin, y, variant, str(dtype)[6:])
    out = None if gradient else torch.empty_like(x)
    result = posref_torch.rope_apply(x.requires_grad_(gradient), cos, sin, out=out, **variant)
    assert result.dtype == dtype
    assert result.is_contiguous()
    assert outside(result.detach(), y, limit) <= 1.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_arithmetic_in_16_bits_would_be_seen(dtype: torch.dtype) -> None:
    x, cos, sin = tensors(dtype, 2, 3, 50, 8)
    variant = VARIANTS[0]
    y = posref.rope_apply(read(x), read(cos), read(sin))
    limit = bound(x, cos, sin, y, variant, str(dtype)[6:])
    a, b = x.chunk(2, -1)
    c, s = cos.to(dtype), sin.to(dtype)
    assert outside(torch.cat([a * c - b * s, a * s + b * c], -1), y, limit) > 2.0
    assert outside(posref_torch.rope_apply(x, cos, sin), y, limit) <= 1.0


def shaped(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> dict[str, tuple[torch.Tensor, ...]]:
    """Tables with as many axes as there can be."""
    return {
        "sequence": (x, cos, sin),
        "one position": (x, cos[:1], sin[:1]),
        "a vector": (x, cos[0], sin[0]),
        "rows of a batch": (x, cos.expand(2, 1, *cos.shape) + 0, sin.expand(2, 1, *sin.shape) * 2),
        "heads": (x, cos.expand(3, *cos.shape) * 2, sin.expand(3, *sin.shape) + 0),
    }


@pytest.mark.parametrize("name", shaped(*tensors(torch.float32, 2, 3, 64, 11)))
@pytest.mark.parametrize("place", ["new", "out", "x"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_blocks_change_nothing(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, variant: dict[str, Any], place: str, name: str
) -> None:
    """Block by block or at once, to new memory, to ``out`` or to x: bit for bit the same."""
    x, cos, sin = shaped(*tensors(dtype, 2, 3, 64, 11))[name]
    whole = posref_torch.rope_apply(x, cos, sin, **variant)
    monkeypatch.setattr(_rotation, "BLOCK", 100)
    assert len(_rotation._blocks(x, x, cos, sin)) > 5
    given, out = x.clone(), {"new": None, "out": torch.full_like(x, 7.0), "x": x}[place]
    got = posref_torch.rope_apply(x, cos, sin, out=out, **variant)
    assert torch.equal(got, whole)
    assert place == "new" or got is out
    assert place == "x" or torch.equal(x, given)


def test_a_careless_rotation_in_place_would_be_seen() -> None:
    x, cos, sin = tensors(torch.float32, 2, 3, 5, 8)
    whole = posref_torch.rope_apply(x, cos, sin)
    a, b = x.chunk(2, -1)
    a.copy_(a * cos - b * sin)
    b.copy_(a * sin + b * cos)
    assert not torch.allclose(x, whole)


def views(x: torch.Tensor) -> dict[str, torch.Tensor]:
    """The same numbers, otherwise in memory."""
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
    wide[..., ::2] = x
    return {
        "heads after sequence": x.transpose(1, 2).contiguous().transpose(1, 2),
        "every other channel": wide[..., ::2],
        "channels first": x.transpose(-1, -2).contiguous().transpose(-1, -2),
        "part of a longer sequence": torch.cat([x, x], dim=-2)[..., : x.shape[-2], :],
        "parameter": torch.nn.Parameter(x, requires_grad=False),
    }


@pytest.mark.parametrize("name", views(torch.zeros(1, 1, 1, 2)))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_memory_order_of_x_and_out(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, layout: str, name: str) -> None:
    monkeypatch.setattr(_rotation, "BLOCK", 0)  # the path of large x
    x, cos, sin = tensors(dtype, 2, 3, 5, 8)
    expected, view = posref_torch.rope_apply(x, cos, sin, layout=layout), views(x)[name]
    assert torch.equal(view, x)
    result = posref_torch.rope_apply(view, cos, sin, layout=layout)
    assert torch.equal(result, expected)
    assert result.is_contiguous()
    assert result.stride() == posref_torch.rope_apply(view.detach().requires_grad_(), cos, sin, layout=layout).stride()
    assert torch.equal(posref_torch.rope_apply(x, cos, sin, layout=layout, out=view), expected)
    assert torch.equal(view, expected)


def test_an_expanded_x_and_expanded_tables() -> None:
    x, cos, sin = tensors(torch.float32, 1, 1, 5, 8)
    many = x.expand(3, 4, 5, 8)
    result = posref_torch.rope_apply(many, cos.expand(3, 4, 5, 4), sin.expand(3, 4, 5, 4))
    assert torch.equal(result, posref_torch.rope_apply(x, cos, sin).expand(3, 4, 5, 8))


@pytest.mark.parametrize("shape", [(0, 3, 5, 8), (2, 0, 5, 8), (2, 3, 0, 8)])
def test_empty_axes(shape: tuple[int, ...]) -> None:
    x, cos, sin = torch.zeros(shape), torch.ones(shape[-2], 4), torch.ones(shape[-2], 4)
    assert posref_torch.rope_apply(x, cos, sin).shape == shape
    assert posref_torch.rope_apply(x, cos, sin, out=x) is x


class Sizes(TorchDispatchMode):
    """Notes what every operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []
        self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.operations.append(func.overloadpacket.__name__)
        known = {
            t.untyped_storage().data_ptr() for t in (*args, *(kwargs or {}).values()) if isinstance(t, torch.Tensor)
        }
        if isinstance(result, torch.Tensor) and result.untyped_storage().data_ptr() not in known:  # no view, no out=
            self.largest = max(self.largest, result.numel())
        return result


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_bfloat16_prompt_is_never_copied_as_a_whole(monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    monkeypatch.setattr(_rotation, "BLOCK", 1024)
    x, cos, sin = tensors(torch.bfloat16, 1, 4, 512, 32, pairs=16)
    out = torch.empty_like(x)
    with Sizes() as straight:
        posref_torch.rope_apply(x, cos, sin, layout=layout, out=out)
    assert "cat" not in straight.operations
    assert straight.largest <= 1024 * torch.get_num_threads()
    with Sizes() as formula:  # the planted fault: what the plain formula does
        posref_torch.rope_apply(x.requires_grad_(), cos, sin, layout=layout)
    assert {"cat", "stack"} & {*formula.operations}
    assert formula.largest >= x.numel()
