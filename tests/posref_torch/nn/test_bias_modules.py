"""ALiBi and T5Bias: values, alignment of decoding steps, types."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from array_kit import U, once, outside, read

import posref
from posref_torch.nn import ALiBi, T5Bias

FORMS = ("distance", "signed", "key", "past", "sqrt", "key_last", "key_first")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("heads", [1, 6, 8])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_alibi(dtype: torch.dtype, heads: int, form: str) -> None:
    """Rounded once: slopes in 16 bits would be wrong by another ulp."""
    module, name = ALiBi(heads, form=form), str(dtype)[6:]
    y = posref.alibi_bias(posref.alibi_slopes(heads), np.arange(60, 70), np.arange(70), form=form)
    bias = module(10, 70, dtype=dtype)
    assert bias.dtype == dtype
    assert outside(bias, y, 4 * U * np.abs(y) + once(name, y)) <= 1.0
    if heads == 6 and dtype in (torch.float16, torch.bfloat16):  # the planted fault
        slopes = torch.tensor(posref.alibi_slopes(16)).to(dtype)
        exact = posref.alibi_bias(posref.alibi_slopes(16), [299], np.arange(300))
        assert outside(slopes[:, None, None] * (torch.arange(300) - 299).to(dtype), exact, once(name, exact)) > 1.0
        assert outside(ALiBi(16)(1, 300, dtype=dtype), exact, 4 * U * np.abs(exact) + once(name, exact)) <= 1.0


@pytest.mark.parametrize(
    "module", [ALiBi(4), ALiBi(4, form="signed"), T5Bias(4), T5Bias(4, bidirectional=False)], ids=repr
)
def test_a_decoding_step_is_the_last_row(module: torch.nn.Module) -> None:
    """The query of a step is the last of the keys: not the first, which a bias of (1, k) from position 0 would make it."""
    with torch.no_grad():
        whole = module(9)
        assert whole.shape == (4, 9, 9)
        for t in range(1, 10):
            assert torch.equal(module(1, t), whole[:, t - 1 : t, :t])
        assert torch.equal(module(3, 9), whole[:, -3:])
        assert not torch.equal(module(1, 9), whole[:, :1])
        assert module(0, 4).shape == (4, 0, 4)


@pytest.mark.parametrize("module", [ALiBi(4), T5Bias(4)], ids=["alibi", "t5"])
def test_positions_of_rows(module: torch.nn.Module) -> None:
    """Left-padded rows of a batch."""
    q, k = torch.tensor([[3, 4], [1, 2]]), torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]])
    with torch.no_grad():
        bias = module(q, k)
        assert bias.shape == (2, 4, 2, 5)
        for i in range(2):
            assert torch.equal(bias[i], module(q[i], k[i]))
        assert torch.equal(bias[0], module(2, 5))


def test_alibi_of_fractions() -> None:
    q, k = torch.tensor([0.5, -2.25]), torch.tensor([0, 1, 7])
    expected = posref.alibi_bias(posref.alibi_slopes(4), q.numpy(), k.numpy())
    # fractions come in float32: slope, difference, product and the conversion, each within U
    np.testing.assert_allclose(read(ALiBi(4)(q, k, dtype=torch.float64)), expected, rtol=4 * U)


def test_alibi_goes_where_it_is_told() -> None:
    assert ALiBi(4)(3, device="meta").is_meta
    assert ALiBi(4)(torch.arange(3, device="meta"), torch.arange(3, device="meta")).is_meta
    assert ALiBi(4)(3).dtype == torch.get_default_dtype()


def test_attention_takes_the_bias() -> None:
    """With PyTorch's own attention, a mask, and the type of its queries."""
    q = torch.randn(2, 4, 6, 8, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(6, 6, dtype=torch.bool).tril()
    bias = ALiBi(4)(6).masked_fill(~mask, -torch.inf)
    got = torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=bias)
    x, exact = read(q), posref.alibi_bias(posref.alibi_slopes(4), np.arange(6), np.arange(6))
    expected = posref.attention(x, x, x, bias=exact, mask=mask.numpy())
    # a logit of 8 products, magnitudes below 8 in all, errs by 12 * 8 * 2^-24, a weight by twice that and 26 * 2^-24 of itself,
    # and so does a mean of values below 2 or so: 436 * 2^-24
    np.testing.assert_allclose(read(got), expected, atol=2.0**-15)


@pytest.mark.parametrize("both_ways", [True, False])
def test_t5(both_ways: bool) -> None:
    module = T5Bias(3, bidirectional=both_ways, num_buckets=8, max_distance=20)
    table = read(module.weight.detach())
    expected = posref.t5_bias(table, np.arange(30, 40), np.arange(40), bidirectional=both_ways, max_distance=20)
    bias = module(10, 40)
    assert outside(bias.detach(), expected, 0.0) == 0.0
    flipped = posref.t5_bias(table, np.arange(40), np.arange(30, 40), bidirectional=both_ways, max_distance=20)
    assert not np.array_equal(read(bias.detach()), flipped.swapaxes(-1, -2))  # the planted fault: the other sign
    assert module.weight.shape == (8, 3)


def test_t5_keeps_the_type_and_device_of_its_table() -> None:
    assert T5Bias(3).bfloat16()(2).dtype == torch.bfloat16
    assert T5Bias(3).to("meta")(2).is_meta


def test_t5_gradients_count_the_pairs() -> None:
    module = T5Bias(2, bidirectional=False, num_buckets=4, max_distance=6)
    module(3).sum().backward()
    # distances 0 0 0, 1 1, 2, and the future in bucket 0 as well, three times
    assert module.weight.grad is not None
    assert module.weight.grad[:, 0].tolist() == [6, 2, 1, 0]


def test_t5_starts_with_0_02() -> None:
    torch.manual_seed(0)
    weight = T5Bias(1000, num_buckets=1000, max_distance=2000).weight
    assert abs(weight.mean().item()) < 5 * 0.02e-3  # as in the test of LearnedEncoding
    assert abs(weight.std().item() - 0.02) < 5 * 0.02e-3 / 2**0.5


@pytest.mark.parametrize(
    ("q", "k", "error", "says"),
    [
        (5, 3, ValueError, "q must be >= 0 and at most k, of which it is the end, got 5 and 3"),
        (-1, 3, ValueError, "q must be >= 0 and at most k, of which it is the end, got -1 and 3"),
        (1.0, 3, TypeError, "two lengths or two tensors of positions, got types float and int"),
        (1, torch.arange(3), TypeError, "two lengths or two tensors of positions, got types int and Tensor"),
        (torch.arange(3), None, TypeError, "two lengths or two tensors of positions, got types Tensor and Tensor"),
    ],
)
@pytest.mark.parametrize("module", [ALiBi(4), T5Bias(4)], ids=["alibi", "t5"])
def test_bad_calls(module: torch.nn.Module, q: object, k: object, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        module(q, k)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ALiBi(0), "num_heads must be an integer >= 1, got 0"),
        (
            lambda: ALiBi(4, form="bloom"),
            f"form must be one of {', '.join(map(repr, FORMS))}, got 'bloom'",
        ),
        (lambda: T5Bias(0), "num_heads must be an integer >= 1, got 0"),
        (lambda: T5Bias(4, num_buckets=3), "num_buckets must be >= 4 with bidirectional=True, got 3"),
        (lambda: T5Bias(4, max_distance=8), "max_distance must be > 8"),
    ],
)
def test_bad_settings(make: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()  # type: ignore[operator]
