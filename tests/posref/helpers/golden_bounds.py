"""How far the reference may be from golden values where it is not correctly rounded: first-order rounding errors.

Cos and sin are within 0.51 ulp, so 1.02 u of 1; products and sums each within u.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

U = 2.0**-53
Args = dict[str, Any]


def rope_scores(args: Args) -> float:
    """Per pair four products, two sums, cos and sin: 5.1 u of (|a| + |b|) (|a'| + |b'|); the sum over channels."""
    q, k = (np.abs(np.asarray(args[name])) for name in "qk")
    return float((q.shape[-1] + 6) * U * 2 * (q @ k.swapaxes(-1, -2)).max() * 2)


def fope_cos_sin(args: Args) -> float:
    """A sum of n products with cosines, which are within 1.02 u."""
    coefficients = np.abs([args["cos_coef"], args["sin_coef"]])
    return float((coefficients.shape[-2] + 2.1) * U * coefficients.sum(axis=-2).max())


def pope_apply(args: Args) -> float:
    """Softplus within 4 u, cos and sin of a sum of angles within 2 * 1.02 + 3 u and the bias's 2 u, a product."""
    return float(13 * U * np.logaddexp(0, np.abs(args["x"])).max())


def linear_attention(args: Args) -> float:
    """Weights as in scores, features within 2 u; sums over d channels and n keys on both sides of the quotient."""
    q, k, v = (np.asarray(args[name]) for name in "qkv")
    phi_q, phi_k = (np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k))
    plain = phi_q @ phi_k.swapaxes(-1, -2)
    # |a| |a'| + |b| |b'| + |a| |b'| + |b| |a'| summed over pairs is at most |phi_q|_1 times the largest |phi_k|
    sizes = phi_q.sum(axis=-1).max() * phi_k.sum(axis=-1).max() * k.shape[-2]
    least = plain.min(axis=-1).min()
    return float((q.shape[-1] + 2 * k.shape[-2] + 16) * U * (sizes / least + 1) * np.abs(v).max())


def relative_bias(args: Args) -> float:
    """A sum of d products."""
    x, table = np.abs(args["x"]), np.abs(args["table"])
    return float((x.shape[-1] + 2) * U * (x @ table.T).max())


def relative_values(args: Args) -> float:
    """A sum over the keys."""
    weights = np.abs(args["weights"])
    return float((weights.shape[-1] + 2) * U * weights.sum(axis=-1).max() * np.abs(args["table"]).max())


def relative_scores(args: Args) -> float:
    """Sums of d products, of queries that were rounded with their bias; the sum of up to three of them, and the scale."""
    q, k, table = (np.abs(np.asarray(args[name])) for name in ("q", "k", "table"))
    biases = [np.abs(np.asarray(args[name] or 0.0)).max() for name in ("content_bias", "position_bias")]
    d, largest = q.shape[-1], max(k.max(), table.max())
    size = d * ((q.max() + biases[0]) * k.max() + (q.max() + biases[1]) * table.max() + largest**2)
    return float((d + 6) * U * size * (args["scale"] or d**-0.5))


def disentangled_scores(args: Args) -> float:
    """Up to four sums of d products, their sum, and the scale."""
    arrays = [np.abs(np.asarray(args[name])) for name in ("q", "k", "pos_k", "pos_q") if args[name] is not None]
    d = arrays[0].shape[-1]
    return float((d + 6) * U * 4 * d * max(a.max() for a in arrays) ** 2 * (args["scale"] or d**-0.5))


def untied_scores(args: Args) -> float:
    """One or two sums of d products, their sum, and the scale."""
    arrays = [np.abs(np.asarray(args[name])) for name in ("q", "k", "pos_q", "pos_k") if args[name] is not None]
    d = arrays[0].shape[-1]
    return float((d + 4) * U * 2 * d * max(a.max() for a in arrays) ** 2 * (args["scale"] or (2 * d) ** -0.5))


def position_mlp(args: Args) -> float:
    """Hidden values within (n + 2) u of their terms, an activation that grows by 1.1 at most and adds 4 u, the sum over them;
    the logistic function has slope 1/4 and adds 4 u. A LayerNorm divides errors by the spread s, of which twice as much comes
    back by the mean and by s itself, and adds some H + 8 u.
    """
    x, w1, b1, w2 = (np.abs(np.asarray(args[name])) for name in ("features", "w1", "b1", "w2"))
    size = x @ w1.T + b1
    out = size @ w2.T + np.abs(np.asarray(args["b2"] or 0.0))
    off = U * ((1.1 * (w1.shape[1] + 2) + 4) * size @ w2.T + (w1.shape[0] + 2) * out)
    if args.get("norm_weight") is not None:
        z = np.asarray(args["features"]) @ np.asarray(args["w1"]).T + np.asarray(args["b1"])
        spread, gamma = z.std(axis=-1).min(), np.abs(args["norm_weight"]).max()
        most = (
            gamma * len(w1) ** 0.5 + np.abs(args.get("norm_bias") or 0.0).max()
        )  # |z - mean| / s is at most the root of H
        error = 3 * gamma * len(w1) ** 0.5 * (w1.shape[1] + len(w1) + 10) * size.max() / spread + 10 * most
        off = U * (1.1 * error + (len(w1) + 6) * most) * np.abs(w2).sum(axis=1)
    return float(off.max() if args["ceiling"] is None else args["ceiling"] * (off / 4 + 4 * U).max())


def decomposed_bias(args: Args) -> float:
    """Two sums of d products, and their sum."""
    q, d = np.abs(args["q"]).max(), len(args["q"][0])
    tables = sum(np.abs(args[name]).max() for name in ("height_table", "width_table"))
    return float((d + 3) * U * d * q * tables)


def cope_scores(args: Args) -> float:
    """Content of d products, a gate within a quarter of its error and 4 u, a sum over the keys, a line between two rows."""
    q, k, table = (np.asarray(args[name]) for name in ("q", "k", "table"))
    d, s = q.shape[-1], args["scale"] or q.shape[-1] ** -0.5
    content, z = s * (np.abs(q) @ np.abs(k).T).max(), np.abs(q) @ np.abs(table).T
    position = len(k) * (((d + 3) * content / 4 + 4) + min(len(k), len(table)))
    factor = max(s, 1.0)
    return float(U * ((d + 5) * content + factor * (position * 2 * z.max() + (d + 5) * z.max())))


def path_scores(args: Args) -> float:
    """As many steps as tokens, of 2 d + 5 roundings each, of sizes that grow by 1 + beta |w| |w| per step; and the gate."""
    q, k, w, beta = (np.abs(args[name]) for name in ("q", "k", "w", "beta"))
    n, d = q.shape
    growth = np.prod(1 + beta * (w.max(axis=-1) * w.sum(axis=-1)))
    gate = np.abs(args["log_forget"] or [0.0]).sum()
    size = (args["scale"] or d**-0.5) * d * q.max() * k.max() * growth
    return float(U * ((n * (2 * d + 5) + d + 2) * size + 2 * (n + 2) * gate))


def resample_table(args: Args) -> float:
    """Weights within u, products, and per axis a sum over its cells; sum |W| is at most 1.5 on each."""
    sizes = args["sizes"]
    return float(sum(n + 2 for n in sizes) * U * 1.5 ** len(sizes) * np.abs(args["table"]).max())


def hierarchical_table(args: Args) -> float:
    """Alpha / (1 - alpha) within 2 u, a difference, a product, a sum: 5 u of |p| + k (|p| + |p|)."""
    k = args["alpha"] / (1 - args["alpha"])
    return float(5 * U * (1 + 2 * k) * np.abs(args["table"]).max())


BOUNDS: dict[str, Callable[[Args], Any]] = {
    "cope_scores": cope_scores,
    "decomposed_bias": decomposed_bias,
    "disentangled_scores": disentangled_scores,
    "fope_cos_sin": fope_cos_sin,
    "hierarchical_table": hierarchical_table,
    "linear_attention": linear_attention,
    "path_scores": path_scores,
    "pope_apply": pope_apply,
    "position_mlp": position_mlp,
    "relative_bias": relative_bias,
    "relative_scores": relative_scores,
    "relative_values": relative_values,
    "untied_scores": untied_scores,
    "resample_table": resample_table,
    "rope_scores": rope_scores,
}
