"""Gradients: of every function, of gradients, forward, and through ``out``."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck

import posref_torch
from posref_torch import _rotation

# torch's own forward mode is made with torch.jit, which torch itself calls deprecated
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

D = torch.float64
P = torch.tensor([0, 3, 1])


@pytest.fixture(autouse=True)
def eager_to_write_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small as they are, tensors here take the path of large ones wherever nothing forbids it, row by row."""
    monkeypatch.setattr(_rotation, "BLOCK", 0)


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=D, generator=torch.Generator().manual_seed(sum(shape)), requires_grad=True)


MASK = torch.tensor([[False, False, False], [True, False, False], [True, True, False]])  # one query sees nothing
DIFFERENTIABLE: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "rope_cos_sin": (lambda w, p: posref_torch.rope_cos_sin(p, w, attention_factor=1.5), (rand(3), rand(2, 2))),
    "rope_table": (lambda p: posref_torch.rope_table(p, 6, dtype=D), (rand(2, 2),)),
    "rope": (lambda x, p: posref_torch.rope(x, p, dim=4, offset=1), (rand(2, 3, 6), rand(3))),
    "sinusoidal": (lambda p: posref_torch.sinusoidal(p, 4, dtype=D), (rand(3),)),
    "timestep_embedding": (lambda t: posref_torch.timestep_embedding(t, 5, dtype=D), (rand(3),)),
    "learned": (lambda t: posref_torch.learned(t, torch.tensor([[3, 0], [3, 1]])), (rand(4, 2),)),
    "sinusoidal_axes": (lambda p: posref_torch.sinusoidal_axes(p, 8, dtype=D), (rand(2, 3),)),
    "fourier_features": (
        lambda x, f: posref_torch.fourier_features(x, f, unit="half_turns", include_input=True),
        (rand(2, 3), rand(2, 4)),
    ),
    "resample_table": (lambda t: posref_torch.resample_table(t, (2, 3), (3, 2), prefix=1), (rand(7, 2),)),
    "hierarchical_table": (lambda t: posref_torch.hierarchical_table(t, 7), (rand(3, 2),)),
    "alibi_bias": (lambda m, q, k: posref_torch.alibi_bias(m, q, k), (rand(2), rand(3), rand(4))),
    "alibi_bias, key": (lambda m, k: posref_torch.alibi_bias(m, P, k, form="key"), (rand(2), rand(4))),
    "alibi_bias, sqrt": (lambda m: posref_torch.alibi_bias(m, P, P, form="sqrt"), (rand(2),)),
    "alibi_bias, two sides": (lambda m, n: posref_torch.alibi_bias(m, P, P, future_slopes=n), (rand(2), rand(2))),
    "indexed_bias": (lambda t: posref_torch.indexed_bias(t, torch.tensor([[3, 0], [-1, 1]])), (rand(4, 2),)),
    "kerple_bias": (lambda a, b: posref_torch.kerple_bias(a, b, P, P), (rand(2), rand(2))),
    "kerple_bias, power": (lambda a, b: posref_torch.kerple_bias(a, b, P, P, form="power"), (rand(2), rand(2))),
    "cape_positions": (lambda p, d, s: posref_torch.cape_positions(p, d, s, centre=True), (rand(3), rand(3), rand(1))),
    "cosine_scale": (posref_torch.cosine_scale, (rand(3),)),
    "log_offset": (lambda d: posref_torch.log_offset(d, extent=7, dtype=D), (rand(3),)),
    "position_mlp": (
        lambda x, w1, b1, w2, b2: posref_torch.position_mlp(x, w1, b1, w2, b2=b2, activation="silu", ceiling=16.0),
        (rand(2, 2), rand(3, 2), rand(3), rand(2, 3), rand(2)),
    ),
    "t5_bias, scaled": (lambda t: posref_torch.t5_bias(t, P, P, layout="heads_first", scale=0.3), (rand(2, 32),)),
    "t5_bias": (lambda t: posref_torch.t5_bias(t, P, P, max_distance=5), (rand(8, 2),)),
    "attention": (
        lambda q, k, v, b: posref_torch.attention(q, k, v, bias=b, mask=MASK),
        (rand(2, 3, 4), rand(2, 3, 4), rand(2, 3, 5), rand(3, 3)),
    ),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str) -> None:
    function, given = DIFFERENTIABLE[name]
    assert gradcheck(function, given, check_forward_ad=True)


LAYOUTS = ("half", "interleaved")
ROTATIONS = [
    {"layout": a, "output_layout": b, "offset": c, "inverse": d}
    for a, b, c, d in itertools.product(LAYOUTS, LAYOUTS, (0, 1), (False, True))
]


@pytest.mark.parametrize("variant", ROTATIONS, ids=str)
def test_gradients_of_the_rotation(variant: dict[str, Any]) -> None:
    def function(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return posref_torch.rope_apply(x, cos, sin, **variant)

    given = rand(2, 3, 6), rand(3, 2), rand(3, 2)
    assert gradcheck(function, given, check_forward_ad=True)
    assert gradgradcheck(function, given)


def test_a_lost_gradient_would_be_seen() -> None:
    def faulty(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return posref_torch.rope_apply(x, cos, sin.detach())

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(faulty, (rand(2, 3, 6), rand(3, 2), rand(3, 2)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_the_gradient_of_a_rotation_is_the_inverse_rotation(dtype: torch.dtype) -> None:
    """Also in 16 bits: computed in float32 and rounded once, so that the two are equal up to float32's roundings."""
    x, g = rand(2, 3, 8).detach().to(dtype).requires_grad_(), rand(3, 2, 8).detach().reshape(2, 3, 8).to(dtype)
    cos, sin = posref_torch.rope_table(P, 8)
    posref_torch.rope_apply(x, cos, sin).backward(g)
    assert x.grad is not None
    assert x.grad.dtype == dtype
    wide = posref_torch.rope_apply(g.double(), cos, sin, inverse=True)
    u = torch.finfo(dtype).eps / 2
    size = wide.abs() * u * 1.5 + 4 * 2.0**-24 * g.double().abs().amax() * 2  # a cast, and four float32 roundings
    assert ((x.grad.double() - wide).abs() <= size).all()


def test_gradients_reach_only_what_asks() -> None:
    x, cos, sin = rand(2, 3, 4).detach(), rand(3, 2), rand(3, 2).detach()
    posref_torch.rope_apply(x, cos, sin).sum().backward()
    assert cos.grad is not None
    assert x.grad is None
    assert sin.grad is None
    with torch.no_grad():
        assert not posref_torch.rope_apply(x, cos, sin).requires_grad


def test_gradients_through_out() -> None:
    x, cos, sin = rand(2, 3, 6), rand(3, 2).detach(), rand(3, 2).detach()
    expected = torch.autograd.grad(posref_torch.rope_apply(x, cos, sin, offset=1).square().sum(), x)[0]
    out = torch.zeros(2, 3, 6, dtype=D)
    posref_torch.rope_apply(x, cos, sin, offset=1, out=out)
    assert torch.equal(torch.autograd.grad(out.square().sum(), x)[0], expected)
    y = x * 1.0  # x itself is a leaf, which torch lets nobody write to
    posref_torch.rope_apply(y, cos, sin, offset=1, out=y)
    assert torch.equal(torch.autograd.grad(y.square().sum(), x)[0], expected)


def test_a_dual_number_without_a_gradient() -> None:
    """The straight path sees no requires_grad here, and must not lose the tangent."""
    x, t, cos, sin = (rand(*s).detach() for s in ((2, 3, 6), (3, 2, 6), (3, 2), (3, 2)))
    t = t.reshape(x.shape)
    with forward_ad.dual_level():
        y = posref_torch.rope_apply(forward_ad.make_dual(x, t), cos, sin, offset=1)
        tangent = forward_ad.unpack_dual(y).tangent
    assert tangent is not None
    torch.testing.assert_close(tangent, posref_torch.rope_apply(t, cos, sin, offset=1))


def test_double_backward_reaches_the_tables() -> None:
    """The mixed derivative of sum(y) / dx dcos is 1 for both members of a pair."""
    x, cos, sin = rand(1, 4), rand(1, 2), rand(1, 2)
    (dx,) = torch.autograd.grad(posref_torch.rope_apply(x, cos, sin).sum(), x, create_graph=True)
    (mixed,) = torch.autograd.grad(dx.sum(), cos)
    assert torch.equal(mixed, torch.full((1, 2), 2.0, dtype=D))
