"""What happens to modules between calls: casts, copies, files, the meta device, growth, compilation."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import FakeTensorMode

import posref
from posref_torch import _rotation
from posref_torch.nn import ALiBi, LearnedEncoding, PositionEncoding, RotaryEmbedding, SinusoidalEncoding, T5Bias

X = torch.randn(2, 3, 600, 8, generator=torch.Generator().manual_seed(2))
YARN = posref.YarnScaling(4.0, 64)


@pytest.fixture(autouse=True)
def eager_to_write_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small as they are, tensors here take the path of large ones wherever nothing forbids it."""
    monkeypatch.setattr(_rotation, "BLOCK", 2000)


class Model(nn.Module):
    """One of each."""

    def __init__(self) -> None:
        super().__init__()
        self.rotary, self.sinusoidal = RotaryEmbedding(8, scaling=YARN), SinusoidalEncoding(8)
        self.alibi, self.t5, self.learned = ALiBi(3), T5Bias(3), LearnedEncoding(600, 8)
        self.anything = PositionEncoding(8, strategy="rope")

    def forward(self, x: torch.Tensor, start: int = 0) -> torch.Tensor:
        q, k = self.rotary(self.sinusoidal(x, start), self.anything(self.learned(x, start), start), start)
        n = x.shape[-2]
        bias = self.alibi(n, dtype=x.dtype, device=x.device) + self.t5(n).to(x.dtype)
        return q @ k.transpose(-1, -2) + bias


def fixed(model: Model, x: torch.Tensor, start: int = 0) -> torch.Tensor:
    """What does not depend on parameters."""
    return torch.cat([*model.rotary(x, x, start), model.sinusoidal(x, start), model.anything(x, start)])


CASTS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "half": nn.Module.half,
    "bfloat16": nn.Module.bfloat16,
    "half and float": lambda m: m.half().float(),
    "to float64 and back": lambda m: m.to(torch.float64).to(torch.float32),
    "to meta and to_empty": lambda m: m.to("meta").to_empty(device="cpu"),
    "requires_grad_": lambda m: m.requires_grad_(False),
}


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("cast", CASTS)
def test_no_cast_changes_a_table(cast: str, warm: bool) -> None:
    expected, model = fixed(Model(), X), Model()
    if warm:
        fixed(model, X)
    CASTS[cast](model)
    assert torch.equal(fixed(model, X), expected)
    bias = ALiBi(3)(5)
    assert torch.equal(model.alibi(5), bias)


def test_a_buffer_would_be_changed() -> None:
    """The planted fault: the table as a buffer, as most implementations have it."""

    class Faulty(RotaryEmbedding):
        def __init__(self) -> None:
            super().__init__(8)
            self.register_buffer("cos", self.table(torch.arange(600), torch.float32)[0], persistent=False)

    module = Faulty()
    before = module.cos.clone()
    assert not torch.equal(module.half().float().cos, before)


def test_there_are_no_buffers_and_only_learned_numbers_in_the_state() -> None:
    model = Model()
    fixed(model, X)
    assert [*model.buffers()] == []
    assert {*model.state_dict()} == {"t5.weight", "learned.weight"}


ORDERS = [*itertools.permutations([3, 300, 599]), (599,), (300, 599)]


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_no_row_depends_on_what_came_before(order: tuple[int, ...]) -> None:
    """Growth in any order, through other types and devices, gives the same bits."""
    model, fresh = Model(), Model()
    for i, length in enumerate(order):
        fixed(model, X[..., :length, :])
        if i == 0:
            fixed(model, X[..., :2, :].double(), 70)
            fixed(model.half(), X[..., :2, :].half())
            fixed(model, X[..., :2, :].to("meta"))
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        assert torch.equal(fixed(model, X.to(dtype)), fixed(fresh, X.to(dtype)))
        one = fixed(Model(), X[..., 77:78, :].to(dtype), 77)  # a module that has never seen more
        assert torch.equal(one, fixed(model, X.to(dtype))[..., 77:78, :])


def test_rows_are_made_once() -> None:
    rotary, made = RotaryEmbedding(8), []
    table = rotary.table
    rotary.table = lambda p, dtype: (made.append(p.shape[0]), table(p, dtype))[1]  # type: ignore[method-assign]
    for length in (5, 200, 256, 257, 500, 3, 600, 512):
        rotary.rotate(X[..., :length, :])
    assert made == [256, 512, 1024]


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_meta_device_start(warm: bool) -> None:
    """As large models are started: shapes first, memory next, numbers last."""
    source = Model()
    with torch.device("meta"):
        model = Model()
        if warm:
            assert fixed(model, torch.empty(X.shape)).is_meta
    assert {p.device.type for p in model.parameters()} == {"meta"}
    model.to_empty(device="cpu")
    model.load_state_dict(source.state_dict())
    assert torch.equal(model(X), source(X))
    with torch.device("meta"):
        assigned = Model()
    assigned.load_state_dict(
        source.state_dict(), assign=True
    )  # which leaves buffers on the meta device, if there are any
    assert torch.equal(assigned(X), source(X))


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_copies_and_files(warm: bool) -> None:
    model = Model()
    expected = model(X) if warm else Model.forward(copy.deepcopy(model), X)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.load(file, weights_only=False)):
        assert torch.equal(other(X), expected)
        assert {*other.state_dict()} == {*model.state_dict()}
    assert len(pickle.dumps(model.rotary)) < 4000  # the table is not in the file
    other = Model()
    assert not torch.equal(other(X), expected)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(X), expected)


def test_a_copy_has_its_own_table() -> None:
    rotary = RotaryEmbedding(8)
    rotary.rotate(X)
    other = copy.deepcopy(rotary)
    other.rotate(X[..., :5, :])
    assert other._kept[0].shape[0] < rotary._kept[0].shape[0]


def test_training_after_inference_mode() -> None:
    """Tensors that are made in inference mode cannot be saved for a gradient: the table must not be one."""
    model = Model()
    with torch.inference_mode():
        model(X)
        assert not any(t.is_inference() for t in model.rotary._kept)
        made_in_it = model.rotary.table(torch.arange(600), torch.float32)
    x = X.clone().requires_grad_()
    model(x).sum().backward()
    assert x.grad is not None
    with pytest.raises(RuntimeError, match=r"[Ii]nference tensors"):  # the planted fault
        (x[..., :4] * made_in_it[0]).sum().backward()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_nothing_of_a_transform_is_kept() -> None:
    model = Model()
    torch.func.grad(lambda x: fixed(model, x).sum())(X)
    torch.func.vmap(lambda x: fixed(model, x))(X)
    torch.func.jvp(lambda x: fixed(model, x), (X,), (X,))
    with FakeTensorMode():
        fixed(model, torch.empty(2, 3, 600, 8))
    assert model.rotary._kept == ()
    assert torch.equal(fixed(model, X), fixed(Model(), X))
    with FakeTensorMode():  # nor is what was kept given to one
        assert fixed(model, torch.empty(2, 3, 600, 8)).shape == (8, 3, 600, 8)


def test_autocast_changes_no_table() -> None:
    expected, model = fixed(Model(), X), Model()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(fixed(model, X), expected)
        assert model.rotary._kept[0].dtype == torch.float32
        assert fixed(model, X.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_a_default_type_changes_no_table(dtype: torch.dtype) -> None:
    expected = fixed(Model(), X)
    torch.set_default_dtype(dtype)
    try:
        model = Model()
        assert torch.equal(fixed(model, X), expected)
        assert {p.dtype for p in model.parameters()} == {dtype}
    finally:
        torch.set_default_dtype(torch.float32)


def test_one_graph_of_all_modules(traced: str) -> None:
    model = Model()
    for reserved in (False, True):
        if reserved:
            for module in (model.rotary, model.sinusoidal, model.anything.encoding):
                module.reserve(600)
        compiled = torch.compile(model, fullgraph=True, backend=traced)
        # a score of 8 products of values below 5, and a bias to 600 / 4: sums below 256, in another order of roundings
        torch.testing.assert_close(compiled(X), model(X), rtol=2.0**-18, atol=2.0**-16)


def test_steady_state_of_decoding(traced: str) -> None:
    """One graph for the first token, one for all later ones: neither the position nor a longer cache makes a new one."""
    rotary, counter = RotaryEmbedding(8), CompileCounterWithBackend(traced)
    rotary.reserve(600)
    compiled, x = torch.compile(rotary, fullgraph=True, backend=counter), X[..., :1, :]
    for t in (1, 2, 3, 50, 599):
        for got, expected in zip(compiled(x, x, t), rotary(x, x, t), strict=True):
            # a rotation in another order of roundings: 2 * 2^-24 (|a| + |b|), values being below 4
            torch.testing.assert_close(got, expected, rtol=2.0**-20, atol=2.0**-20)
    assert counter.frame_count == 2
    for t in (1, 2, 3, 50, 599):  # a row per sequence
        compiled(x, x, torch.tensor([[t], [t + 1]]))
    assert counter.frame_count == 3


def test_a_graph_reads_the_kept_rows_and_adds_none(traced: str) -> None:
    def functions(rotary: RotaryEmbedding) -> set[str]:
        seen: set[str] = set()

        def backend(graph: Any, _: Any) -> Any:
            seen.update(getattr(node.target, "__name__", str(node.target)) for node in graph.graph.nodes)
            return graph.forward

        torch.compile(rotary, fullgraph=True, backend=backend)(X, X)
        return seen

    cold, warm = RotaryEmbedding(8), RotaryEmbedding(8)
    warm.reserve(600)
    assert "cos" in functions(cold)
    assert cold._kept == ()
    torch._dynamo.reset()
    assert "cos" not in functions(warm)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "non-strict"])
@pytest.mark.usefixtures("traced")
def test_export_of_a_module_that_has_rows(strict: bool) -> None:
    """Its kept rows must not bound the exported lengths."""
    rotary = RotaryEmbedding(8)
    rotary.rotate(X)
    length = torch.export.Dim("length", min=2, max=100000)
    shapes = {"q": {2: length}, "k": {2: length}}
    exported = torch.export.export(rotary, (X, X), dynamic_shapes=shapes, strict=strict).module()
    x = torch.randn(2, 3, 2000, 8)
    for got, expected in zip(exported(x, x), rotary(x, x), strict=True):
        # a rotation, 2^-20 as above, and tables to position 2000 that are made in the graph: a last bit of 2^-24 times 4, times 2
        torch.testing.assert_close(got, expected, rtol=2.0**-18, atol=2.0**-18)


@pytest.mark.usefixtures("traced")
def test_one_dynamic_graph_with_its_gradient() -> None:
    """All of torch.compile but the machine code."""
    rotary = RotaryEmbedding(8, layout="interleaved")
    rotary.reserve(600)
    compiled = torch.compile(rotary, fullgraph=True, dynamic=True, backend="aot_eager")
    for x in (X, X[..., :7, :]):
        q, k = x.clone().requires_grad_(), x.clone().requires_grad_()
        for got, expected in zip(compiled(q, k, 1), rotary(q, k, 1), strict=True):
            # a rotation in another order of roundings: 2 * 2^-24 (|a| + |b|), values being below 4
            torch.testing.assert_close(got, expected, rtol=2.0**-20, atol=2.0**-20)
        (compiled(q, k, 1)[0] * k.detach()).sum().backward()
        assert q.grad is not None
        # three rotations that cancel, each within 2^-20
        torch.testing.assert_close(rotary.rotate(q.grad, 1), k.detach(), rtol=2.0**-18, atol=2.0**-18)


def test_reserve() -> None:
    rotary = RotaryEmbedding(8)
    rotary.reserve(1000, dtype=torch.float64)
    assert rotary._kept[0].shape == (1024, 4)
    assert rotary._kept[0].dtype == torch.float64
    with pytest.raises(ValueError, match="length must be an integer >= 1, got 0"):
        rotary.reserve(0)
