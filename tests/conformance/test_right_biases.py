"""Right implementations of biases, written as public code writes them, stay below 0.8 of their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posref_conformance.case import Call, one
from posref_conformance.cases import CASES

MOST = 0.8
REALS = pytest.mark.parametrize("real", [np.float32, np.float64])
Ratios = Callable[..., dict[str, float]]


def _worst(measured: dict[str, float]) -> str:
    check = max(measured, key=lambda c: measured[c])
    return f"{measured[check]:.2f} {check}"


def _outer(q: Any, k: Any, real: Any) -> Any:
    """|q - k|, (..., 1, q, k): exact, then in the working type."""
    return np.abs(q[..., None, :, None] - k[..., None, None, :]).astype(real)


def _work(array: Any, real: Any) -> Any:
    return array.astype(np.float64 if array.dtype == np.float64 else real)


@REALS
def test_kerple(ratios: Ratios, real: Any) -> None:
    def kerple_bias(r1: Any, r2: Any, q_positions: Any, k_positions: Any, *, form: str = "log") -> Any:
        """The released code: log(1 + a d), pow."""
        a, b = (_work(r, real)[:, None, None] for r in (r1, r2))
        d = _outer(q_positions, k_positions, a.dtype)
        return (-a * (d**b if form == "power" else np.log(1 + b * d))).astype(r1.dtype)

    def many(i: Any) -> Call:
        return Call((np.abs(i.data(8)), np.minimum(np.abs(i.data(8)), i.typed(1.5)), np.arange(100), np.arange(127)))

    measured = ratios({"kerple_bias": kerple_bias}, "float32", [*CASES, one("kerple_bias", "many", many)])
    print(f"kerple_bias {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@REALS
@pytest.mark.parametrize("cosines", [True, False])
def test_sandwich(ratios: Ratios, real: Any, cosines: bool) -> None:
    def sandwich_bias(
        num_heads: int, q_positions: Any, k_positions: Any, *, dim: int = 128, base: float = 1e4, start: int = 1
    ) -> Any:
        """NeMo: a sum of cosines; or of squared sines."""
        i = np.arange(start, start + dim // 2).astype(real)
        w = real(1) / real(base) ** (2 * i / real(dim))
        angle = _outer(q_positions, k_positions, real)[..., None] * w
        total = np.cos(angle).sum(axis=-1) - real(dim / 2) if cosines else -2 * (np.sin(angle / 2) ** 2).sum(axis=-1)
        return (total / (np.arange(1, num_heads + 1).astype(real) * 8 / num_heads)[:, None, None]).astype(real)

    measured = ratios({"sandwich_bias": sandwich_bias}, "float32")
    print(f"sandwich_bias {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@REALS
def test_fire(ratios: Ratios, real: Any) -> None:
    def fire_distance(
        q_positions: Any, k_positions: Any, c: float, length: float, *, limit: str = "max", eps: float = 1e-6
    ) -> Any:
        """The paper's listing."""
        q, gain = q_positions.astype(real), real(c)
        chosen = np.maximum if limit == "max" else np.minimum
        above = np.log(np.abs(gain * _outer(q_positions, k_positions, real)[..., 0, :, :]) + 1)
        return (above / (np.log(np.abs(gain * chosen(q, real(length))) + 1) + real(eps))[..., None]).astype(real)

    measured = ratios({"fire_distance": fire_distance}, "float32")
    print(f"fire_distance {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@REALS
def test_log_offset(ratios: Ratios, real: Any) -> None:
    def log_offset(relative_position: Any, *, extent: Any = None) -> Any:
        """Swin v2's released code, and its paper."""
        d = relative_position.astype(real)
        if extent is None:
            return (np.sign(d) * np.log(1 + np.abs(d))).astype(real)
        d = d / np.asarray(extent).astype(real) * 8
        return (np.sign(d) * np.log2(np.abs(d) + real(1)) / real(math.log2(8))).astype(real)

    measured = ratios({"log_offset": log_offset}, "float32")
    print(f"log_offset {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@REALS
def test_cosine_scale(ratios: Ratios, real: Any) -> None:
    def cosine_scale(log_scale: Any, *, largest: float = 100.0) -> Any:
        """Clamped before the exponential."""
        s = _work(log_scale, real)
        return np.exp(np.minimum(s, s.dtype.type(math.log(largest)))).astype(log_scale.dtype)

    measured = ratios({"cosine_scale": cosine_scale}, "float32")
    print(f"cosine_scale {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@pytest.mark.parametrize(("name", "profile"), [("float32", "float32"), ("native", "native")])
def test_position_mlp(ratios: Ratios, name: str, profile: str) -> None:
    """Linear layers of torch, in float32 or in the features' type."""
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    functional = torch.nn.functional

    def position_mlp(
        features: Any,
        w1: Any,
        b1: Any,
        w2: Any,
        *,
        b2: Any = None,
        activation: str = "relu",
        ceiling: Any = None,
        norm_weight: Any = None,
        norm_bias: Any = None,
        norm_eps: float = 1e-5,
    ) -> Any:
        kind = features.dtype
        work = kind if name == "native" or kind == torch.float64 else torch.float32
        x, w1, b1, w2 = (t.to(work) for t in (features, w1, b1, w2))
        phi = {"relu": functional.relu, "silu": functional.silu, "identity": lambda h: h}[activation]
        hidden = functional.linear(x, w1, b1)
        if norm_weight is not None:
            shift = None if norm_bias is None else norm_bias.to(work)
            hidden = functional.layer_norm(hidden, w1.shape[:1], norm_weight.to(work), shift, norm_eps)
        y = functional.linear(phi(hidden), w2, None if b2 is None else b2.to(work))
        return (y if ceiling is None else ceiling * torch.sigmoid(y)).to(kind)

    measured = ratios({"position_mlp": position_mlp}, profile, arrays="torch")
    print(f"position_mlp {name} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@REALS
def test_cape(ratios: Ratios, real: Any) -> None:
    def cape_positions(positions: Any, shift: Any, log_scale: Any, *, centre: bool = False) -> Any:
        """The released code: the mean, the shift, the scale."""
        d = _work(shift, real)
        p = positions.astype(d.dtype)
        p = p - p.mean(axis=-1, keepdims=True) if centre else p
        return ((p + d) * np.exp(log_scale.astype(d.dtype))).astype(shift.dtype)

    measured = ratios({"cape_positions": cape_positions}, "float32")
    print(f"cape_positions {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@REALS
def test_slopes_with_options(ratios: Ratios, real: Any) -> None:
    def alibi_slopes(
        num_heads: int, *, bias_max: float = 8.0, rule: str = "released", scale: float = 1.0, heads: Any = None
    ) -> Any:
        """MPT: all powers of the next power of two, every other one first."""
        n = num_heads if rule == "geometric" else 2 ** math.ceil(math.log2(num_heads))
        m = real(1) / np.power(real(2), np.arange(1, n + 1).astype(real) * real(bias_max / n))
        m = m if n == num_heads else np.concatenate([m[1::2], m[::2]])[:num_heads]
        return (m * real(scale)).astype(real)[slice(*(heads or (0, num_heads)))]

    measured = ratios({"alibi_slopes": alibi_slopes}, "float32")
    print(f"alibi_slopes {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


def _in_their_own_type() -> dict[str, Any]:
    """Torch operations on what comes, all in its type: distances too are rounded to it."""
    torch = pytest.importorskip("torch", reason="needs the torch extra")

    def distances(q: Any, k: Any) -> Any:
        return (q[..., :, None] - k[..., None, :]).abs().unsqueeze(-3)

    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any) -> Any:
        return -slopes[:, None, None] * distances(q_positions, k_positions).to(slopes.dtype)

    def kerple_bias(r1: Any, r2: Any, q_positions: Any, k_positions: Any, *, form: str = "log") -> Any:
        a, b, d = r1[:, None, None], r2[:, None, None], distances(q_positions, k_positions).to(r1.dtype)
        return -a * (torch.log(1 + b * d) if form == "log" else d**b)

    def cosine_scale(log_scale: Any) -> Any:
        return torch.clamp(log_scale, max=math.log(100.0)).exp()

    return {f.__name__: f for f in (alibi_bias, kerple_bias, cosine_scale)}


@pytest.mark.parametrize("function", ["alibi_bias", "kerple_bias", "cosine_scale"])
def test_all_in_the_type_of_the_result(ratios: Ratios, function: str) -> None:
    own = {function: _in_their_own_type()[function]}
    measured = ratios(own, "native", arrays="torch")
    print(f"{function} native {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)
    assert any(check.endswith("float16") for check in measured)
