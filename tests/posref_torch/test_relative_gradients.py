"""Gradients of relative and content-dependent attention, backward and forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck

import posref_torch

# torch's own forward mode is made with torch.jit, which torch itself calls deprecated
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")


def rand(*shape: int) -> torch.Tensor:
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))
    return x.requires_grad_()


ROWS = torch.tensor([[0, 1, -1, 2], [1, 1, 0, -1], [2, 0, 1, 1]])
AWAY = torch.arange(3)[:, None] - torch.arange(4)
SEEN = torch.ones(3, 4, dtype=torch.bool).tril(1)
Function = Callable[..., Any]
DIFFERENTIABLE: dict[str, tuple[Function, tuple[torch.Tensor, ...]]] = {
    "relative_shift": (lambda x: posref_torch.relative_shift(x, 4), (rand(2, 3, 5),)),
    "relative_bias": (lambda x, t: posref_torch.relative_bias(x, t, ROWS), (rand(2, 3, 5), rand(3, 5))),
    "relative_bias of keys": (
        lambda x, t: posref_torch.relative_bias(x, t, ROWS, side="key"),
        (rand(2, 4, 5), rand(2, 3, 5)),
    ),
    "relative_values": (lambda w, t: posref_torch.relative_values(w, t, ROWS), (rand(2, 3, 4), rand(3, 5))),
    "relative_scores": (
        lambda q, k, t, u, v: posref_torch.relative_scores(
            q, k, t, ROWS, content_bias=u, position_bias=v, key_term=True
        ),
        (rand(2, 3, 5), rand(2, 4, 5), rand(3, 5), rand(2, 5), rand(5)),
    ),
    "disentangled_scores": (
        lambda q, k, a, b: posref_torch.disentangled_scores(q, k, AWAY, pos_k=a, pos_q=b, p2p=True),
        (rand(2, 3, 5), rand(2, 4, 5), rand(6, 5), rand(2, 6, 5)),
    ),
    "untied_scores": (
        lambda q, k, a, b: posref_torch.untied_scores(q, k, pos_q=a, pos_k=b),
        (rand(2, 3, 5), rand(2, 4, 5), rand(3, 5), rand(4, 5)),
    ),
    "decomposed_bias": (
        lambda q, h, w: posref_torch.decomposed_bias(q, h, w, (2, 2), (1, 2)),
        (rand(2, 4, 3), rand(3, 3), rand(3, 3)),
    ),
    "bias_gate": (lambda p, c: posref_torch.bias_gate(p, c), (rand(2, 3, 8), rand(2))),
    "reset_cls": (lambda b, f, t: posref_torch.reset_cls(b, f, t), (rand(2, 3, 4), rand(2), rand(2))),
    "forget_bias": (lambda f, b: posref_torch.forget_bias(f, backward=b, num_queries=2), (rand(2, 4), rand(2, 4))),
    "cope_scores": (
        lambda q, k, t: posref_torch.cope_scores(q, k, t, mask=SEEN),
        (rand(2, 3, 5), rand(2, 4, 5), rand(6, 5)),  # positions between rows, where the line is smooth
    ),
    "path_scores": (
        lambda q, k, w, b, f: posref_torch.path_scores(q, k, w, b, log_forget=f),
        (rand(2, 3, 4), rand(2, 3, 4), rand(3, 4), rand(2, 3), rand(2, 3)),
    ),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str) -> None:
    function, given = DIFFERENTIABLE[name]
    assert gradcheck(function, given, check_forward_ad=True)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_lost_gradient_would_be_seen(name: str) -> None:
    function, given = DIFFERENTIABLE[name]
    with pytest.raises(RuntimeError, match=r"Jacobian mismatch|not.*part of the graph|require"):
        gradcheck(lambda *args: function(args[0].detach() + 0 * args[0], *args[1:]), given)
