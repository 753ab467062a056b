"""Right sinusoids, biases and attention stay within 0.8 of their bounds. ``pytest -rP`` prints the worst of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posref_conformance.case import Call, one
from posref_conformance.cases import CASES

MOST = 0.8


def _worst(measured: dict[str, float]) -> str:
    check = max(measured, key=lambda c: measured[c])
    return f"{measured[check]:.2f} {check}"


# --- sinusoids --------------------------------------------------------------------------------------------------------


def _exp(base: float, half: int, shift: float, real: Any) -> Any:
    return np.exp(np.arange(half, dtype=real) * real(-math.log(base) / (half - shift)))


def _power(base: float, half: int, shift: float, real: Any) -> Any:
    return (real(1) / real(base) ** (np.arange(half, dtype=real) / real(half - shift))).astype(real)


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("ladder", [_exp, _power])
def test_sinusoids_within_0_8(ratios: Any, ladder: Callable[..., Any], real: Any) -> None:
    def sinusoidal(
        positions: Any,
        dim: int,
        *,
        base: float = 1e4,
        endpoint: bool = False,
        layout: str = "interleaved",
        order: str = "sin_cos",
    ) -> Any:
        angle = positions.astype(real)[..., None] * ladder(base, dim // 2, int(endpoint), real)
        parts = [np.sin(angle), np.cos(angle)][:: 1 if order == "sin_cos" else -1]
        if layout == "concatenated":
            return np.concatenate(parts, axis=-1)
        return np.stack(parts, axis=-1).reshape(*positions.shape, dim)

    many = one("sinusoidal", "many", lambda i: Call((i.rng.integers(0, 10**6, 400), 128)), dtypes=("int64",))
    measured = ratios({"sinusoidal": sinusoidal}, "float32", [*CASES, many])
    print(f"sinusoidal {ladder.__name__[1:]:6} {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("scaled", ["angle", "timestep"])
def test_timesteps_within_0_8(ratios: Any, scaled: str, real: Any) -> None:
    def timestep_embedding(
        timesteps: Any,
        dim: int,
        *,
        flip_sin_to_cos: bool = False,
        downscale_freq_shift: float = 1.0,
        scale: float = 1.0,
        max_period: float = 1e4,
    ) -> Any:
        """diffusers; some scale the timestep before it meets the frequency."""
        half = dim // 2
        w = np.exp(real(-math.log(max_period)) * np.arange(half, dtype=real) / real(half - downscale_freq_shift))
        t = timesteps.astype(real)[..., None]
        angle = real(scale) * (t * w) if scaled == "angle" else (real(scale) * t) * w
        parts = [np.sin(angle), np.cos(angle)][:: -1 if flip_sin_to_cos else 1]
        return np.concatenate([*parts, np.zeros((*timesteps.shape, dim % 2), real)], axis=-1)

    def many(i: Any) -> Call:
        return Call((i.rng.random(400), 128), {"scale": 1000.0, "downscale_freq_shift": 0.0})

    cases = [*CASES, one("timestep_embedding", "many", many, dtypes=("float64",))]
    measured = ratios({"timestep_embedding": timestep_embedding}, "float32", cases)
    print(f"timestep_embedding scaled {scaled:8} {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


# --- biases -----------------------------------------------------------------------------------------------------------


def _bloom(heads: int, real: Any) -> Any:
    """Powers of a first slope that is rounded."""
    power = 2 ** math.floor(math.log2(heads))
    first = real(2 ** (-(2 ** -(math.log2(power) - 3))))
    slopes = first ** np.arange(1, 1 + power, dtype=np.int32).astype(real)
    if power != heads:
        extra = real(2 ** (-(2 ** -(math.log2(2 * power) - 3))))
        slopes = np.concatenate([slopes, extra ** np.arange(1, 1 + 2 * (heads - power), 2).astype(real)])
    return slopes.astype(real)


def _authors(heads: int, real: Any) -> Any:
    """A geometric sequence in Python's float64."""

    def sequence(n: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    power = 2 ** math.floor(math.log2(heads))
    return np.array(sequence(power) + sequence(2 * power)[0::2][: heads - power], real)


def _recursive(heads: int, real: Any) -> Any:
    """One multiplication after the other, in the type itself."""
    power = 2 ** math.floor(math.log2(heads))

    def sequence(n: int) -> Any:
        return np.multiply.accumulate(np.full(n, 2.0 ** (-8 / n), real))

    return np.concatenate([sequence(power), sequence(2 * power)[0::2][: heads - power]])


def _powers(heads: int, real: Any) -> Any:
    power = 2 ** math.floor(math.log2(heads))
    exponents = [h / power for h in range(1, power + 1)] + [h / (2 * power) for h in range(1, 2 * (heads - power), 2)]
    return (real(2) ** (real(-8) * np.array(exponents, real))).astype(real)


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("slopes", [_bloom, _authors, _recursive, _powers])
def test_slopes_within_0_8(ratios: Any, slopes: Callable[..., Any], real: Any) -> None:
    measured = ratios({"alibi_slopes": lambda n: slopes(n, real)}, "float32")
    print(f"alibi_slopes {slopes.__name__[1:]:10} {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@pytest.mark.parametrize("how", ["wide", "narrow"])
def test_alibi_within_0_8(ratios: Any, how: str) -> None:
    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any, *, form: str = "distance") -> Any:
        """Exact distances; the product in float32, or in the slopes' own type where that holds the distances."""
        if how == "narrow" and max(np.abs(p).max(initial=0) for p in (q_positions, k_positions)) > 128:
            raise NotImplementedError("distances beyond what bfloat16 holds")
        if form not in ("distance", "signed", "key"):
            raise NotImplementedError(form)
        work = slopes.dtype if how == "narrow" or slopes.dtype == np.float64 else np.dtype("f")
        q, k = q_positions[..., None, :, None], k_positions[..., None, None, :]
        linear = {"distance": -np.abs(q - k), "signed": k - q, "key": k + 0 * q}[form].astype(work)
        return (slopes.astype(work)[:, None, None] * linear).astype(slopes.dtype)

    def many(i: Any) -> Call:
        return Call((np.abs(i.data(8)), np.arange(100), np.arange(127)))

    measured = ratios({"alibi_bias": alibi_bias}, "float32", [*CASES, one("alibi_bias", "many", many)])
    print(f"alibi_bias {how:7} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_the_floating_logarithm_of_t5_is_exact_for_the_usual_sizes(ratios: Any, real: Any) -> None:
    def t5_bucket(relative: Any, *, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128) -> Any:
        """mesh-tensorflow and transformers."""
        buckets = np.where(relative > 0, num_buckets // 2, 0) if bidirectional else np.zeros_like(relative)
        n = np.abs(relative) if bidirectional else -np.minimum(relative, 0)
        num_buckets //= 2 if bidirectional else 1
        exact = num_buckets // 2
        with np.errstate(divide="ignore"):
            log = np.log(n.astype(real) / real(exact)) / real(math.log(max_distance / exact))
        large = exact + np.where(n < exact, 0, log * (num_buckets - exact)).astype(np.int64)
        return buckets + np.where(n < exact, n, np.minimum(large, num_buckets - 1))

    measured = ratios({"t5_bucket": t5_bucket}, "float32")
    assert {c for c, r in measured.items() if r} == set()


# --- attention --------------------------------------------------------------------------------------------------------


def _torch() -> Any:
    return pytest.importorskip("torch", reason="needs the torch extra")


def _eager(work: Any, weights: Any = None, *, query_first: bool = False) -> Callable[..., Any]:
    """Plain attention in ``work``, or in the inputs' type; ``weights`` is the softmax's type."""

    def attention(q: Any, k: Any, v: Any, *, bias: Any = None, mask: Any = None, scale: float | None = None) -> Any:
        torch = _torch()
        kind = q.dtype
        if mask is not None and not bool(mask.any(dim=-1).all()):
            raise NotImplementedError("a row without keys")
        if not k.shape[-2]:
            raise NotImplementedError("no keys")
        own = work if work is not None and kind != torch.float64 else kind
        q, k, v = (t.to(own) for t in (q, k, v))
        factor = q.shape[-1] ** -0.5 if scale is None else scale
        logits = (q * factor) @ k.mT if query_first else (q @ k.mT) * factor
        logits = logits if bias is None else logits + bias.to(own)
        logits = logits if mask is None else logits.masked_fill(~mask, torch.finfo(own).min)
        soft = torch.softmax(logits, dim=-1, dtype=weights if kind != torch.float64 else None)
        return (soft.to(own) @ v).to(kind)

    return attention


def _fused(q: Any, k: Any, v: Any, *, bias: Any = None, mask: Any = None, scale: float | None = None) -> Any:
    """The fused attention of torch."""
    torch = _torch()
    if not k.shape[-2] or not q.shape[-2] or (mask is not None and not bool(mask.any(dim=-1).all())):
        raise NotImplementedError("nothing to attend to")
    if bias is not None and mask is not None:
        bias, mask = bias.masked_fill(~mask, float("-inf")), None
    bias = bias if mask is None else mask
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("float32", "float32"),
        ("fused", "native"),
        ("native", "native"),
        ("query first", "native"),
        ("float32 softmax", "native"),
    ],
)
def test_attention_within_0_8(ratios: Any, name: str, profile: str) -> None:
    torch = _torch()
    attention = {
        "float32": _eager(torch.float32),
        "fused": _fused,
        "native": _eager(None),
        "query first": _eager(None, query_first=True),
        "float32 softmax": _eager(None, torch.float32),
    }[name]

    def many(i: Any) -> Call:
        return Call((i.data(4, 33, 64), i.data(4, 47, 64), i.data(4, 47, 16)), {"bias": i.data(4, 33, 47)})

    measured = ratios({"attention": attention}, profile, [*CASES, one("attention", "many", many)], arrays="torch")
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        print(f"attention {name:16} {_worst({c: r for c, r in measured.items() if c.endswith(dtype)})}")
    assert max(measured.values()) <= MOST, _worst(measured)
