"""A picture of an encoding, drawn from the reference itself. Encodings without one have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import svg
from numpy.typing import NDArray

import posref
from posref import DynamicNTKScaling, LinearScaling, Llama3Scaling, NTKScaling, YarnScaling

DIM = 128
LENGTH = 4096


def sinusoidal() -> str:
    """Some channels over the position."""
    p = np.arange(101)
    table = posref.sinusoidal(p, 32)
    series = [(f"channel {c}", p.tolist(), table[:, c].tolist()) for c in (0, 8, 16, 24)]
    return svg.lines(
        series, "position", "Four of 32 channels: each is a sine of the position, with its own wavelength."
    )


def timestep() -> str:
    """Some channels over the time."""
    t = np.arange(0, 1001, 5)
    table = posref.timestep_embedding(t, 320, flip_sin_to_cos=True, downscale_freq_shift=0.0)
    series = [(f"cos {k}", t.tolist(), table[:, k].tolist()) for k in (80, 100, 120, 140)]
    return svg.lines(series, "timestep", "Four of 320 channels, with Stable Diffusion's arguments.")


def mean_cosine(distance: NDArray[Any], base: float = 10000.0) -> NDArray[Any]:
    """The score of equal query and key vectors, all pairs of one length, at a distance; 1 at distance 0."""
    return np.asarray(posref.rope_table(distance, DIM, base=base)[0].mean(axis=-1))


def rope() -> str:
    """The score of equal vectors over the distance."""
    d = np.arange(513)
    series = [(f"base {base:g}", d.tolist(), mean_cosine(d, base).tolist()) for base in (1e4, 5e5)]
    return svg.lines(
        series,
        "distance",
        f"Mean of cos(distance w) over the {DIM // 2} pairs: the score of a query and a key whose pairs are all equal.",
    )


def t5() -> str:
    """The bucket over the distance."""
    n = np.unique(np.geomspace(1, 300, 200).astype(int))
    series = [
        (name, n.tolist(), posref.t5_bucket(-n, bidirectional=both).tolist())
        for name, both in (("encoder", True), ("decoder", False))
    ]
    return svg.lines(
        series,
        "distance",
        "Bucket of a key in the past: one per distance near by, then ever wider ones.",
        log=True,
        steps=True,
    )


def alibi() -> str:
    """The bias over the distance."""
    slopes = posref.alibi_slopes(8)
    d = np.arange(65)
    bias = posref.alibi_bias(slopes, [64], 64 - d)[:, 0]
    series = [(f"head {h + 1} of 8", d.tolist(), bias[h].tolist()) for h in (0, 1, 2, 4)]
    return svg.lines(
        series, "distance", "Bias on the logits: a straight line per head, the first head's is the steepest."
    )


def kerple() -> str:
    """Both kernels over the distance."""
    d = np.arange(65)
    series = [
        ("logarithm, r1 = 2, r2 = 1", d.tolist(), posref.kerple_bias([2.0], [1.0], [64], 64 - d)[0, 0].tolist()),
        (
            "power, r1 = 1, r2 = 0.5",
            d.tolist(),
            posref.kerple_bias([1.0], [0.5], [64], 64 - d, form="power")[0, 0].tolist(),
        ),
    ]
    return svg.lines(series, "distance", "Bias on the logits: both kernels fall ever more slowly.")


def sandwich() -> str:
    """The bias over the distance, from both starts of the sum."""
    d = np.arange(257)
    series = [
        (f"from i = {s} on", d.tolist(), posref.sandwich_bias(8, [256], 256 - d, start=s)[7, 0].tolist())
        for s in (1, 0)
    ]
    return svg.lines(series, "distance", "Bias of the last of 8 heads: much like a logarithm, with ripples.")


def fire() -> str:
    """The share of the distance, for queries within and beyond the length."""
    series = []
    for q in (100, 512, 2000):
        k = np.linspace(0, q, 65)
        series.append((f"query {q}", (k / q).tolist(), posref.fire_distance([q], k, 0.1, 512.0)[0].tolist()))
    return svg.lines(
        series, "key / query", "Share of the distance, c = 0.1 and L = 512: 1 at the start from query L on."
    )


def swin_v2() -> str:
    """Both logarithms over the offset."""
    d = np.arange(-15, 16)
    series = [
        ("paper", d.tolist(), posref.log_offset(d).tolist()),
        ("released code, window 8", d.tolist(), posref.log_offset(d, extent=7).tolist()),
        ("released code, window 16", d.tolist(), posref.log_offset(d, extent=15).tolist()),
    ]
    return svg.lines(series, "offset", "Coordinates that the network is fed with: other functions, not other scales.")


def _scaled(make: Callable[[float], posref.Scaling], values: Sequence[float], name: str, base: float = 10000.0) -> str:
    plain = posref.rope_inv_freq(DIM, base=base)
    pairs = np.arange(DIM // 2).tolist()
    series = []
    for value in values:
        seq_len = round(value * LENGTH) if name == "length" else None
        ratio = posref.rope_inv_freq(DIM, scaling=make(value), seq_len=seq_len, base=base) / plain
        label = f"length {value:g} L" if name == "length" else f"factor {value:g}"
        series.append((label, pairs, ratio.tolist()))
    return svg.lines(
        series, "pair", "Scaled frequency over plain frequency, pair by pair: the fast pairs are on the left."
    )


PICTURES: dict[str, Callable[[], str]] = {
    "sinusoidal": sinusoidal,
    "timestep": timestep,
    "rope": rope,
    "rope-linear": lambda: _scaled(LinearScaling, (2, 4, 8), "factor"),
    "rope-ntk": lambda: _scaled(NTKScaling, (2, 4, 8), "factor"),
    "rope-dynamic-ntk": lambda: _scaled(lambda _: DynamicNTKScaling(2.0, LENGTH), (1, 2, 4), "length"),
    "rope-yarn": lambda: _scaled(lambda s: YarnScaling(s, LENGTH), (2, 4, 8), "factor"),
    "rope-llama3": lambda: _scaled(lambda s: Llama3Scaling(s, 8192, 1.0, 4.0), (2, 4, 8), "factor", base=500000.0),
    "alibi": alibi,
    "t5": t5,
    "kerple": kerple,
    "sandwich": sandwich,
    "fire": fire,
    "swin-v2": swin_v2,
}
