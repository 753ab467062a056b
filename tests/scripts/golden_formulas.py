"""Position encodings in mpmath, written from the papers' formulas: each function returns nested lists of real numbers.

Nothing here is shared with posref, so that an error would have to be made twice. Slow and plain on purpose. The arguments are
those of posref's functions, as JSON has them; every float counts as the exact number that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import mp, mpf

mp.dps = 60

Nested = Any  # a number, or a list of such; JSON's arrays
Record = dict[str, Any]


def each(function: Callable[[Any], Any], nested: Nested) -> Nested:
    """The function of every number in nested lists."""
    return [each(function, item) for item in nested] if isinstance(nested, list) else function(nested)


def geometric(base: float, n: int, denominator: float) -> list[Any]:
    return [mpf(base) ** (-mpf(k) / mpf(denominator)) for k in range(n)]


# --- rotary: frequencies ---------------------------------------------------------------------------------------------


def rope_inv_freq(dim: int, base: float, scaling: Record | None = None, seq_len: int | None = None) -> list[Any]:
    plain = geometric(base, dim // 2, mpf(dim) / 2)
    if scaling is None:
        return plain
    kind, length = scaling["kind"], scaling.get("original_max_position_embeddings", 0)
    if kind == "LongRopeScaling":
        divisors = scaling["long_factor" if seq_len is not None and seq_len > length else "short_factor"]
        return [w / mpf(e) for w, e in zip(plain, divisors, strict=True)]
    s = mpf(scaling["factor"])
    if kind == "LinearScaling":
        return [w / s for w in plain]
    if kind == "DynamicNTKScaling":
        s = s * max(seq_len or length, length) / length - (s - 1)
    if kind in ("NTKScaling", "DynamicNTKScaling"):
        return geometric(mpf(base) * s ** (mpf(dim) / (dim - 2)), dim // 2, mpf(dim) / 2)
    if kind == "Llama3Scaling":
        kept = [llama3_kept(length * w / (2 * mp.pi), scaling) for w in plain]
    elif scaling.get("ramp", "index") == "rotations":
        kept = [yarn_kept_by_rotations(length * w / (2 * mp.pi), scaling) for w in plain]
    else:
        kept = yarn_kept_by_index(dim, base, scaling)
    return [gamma * w + (1 - gamma) * w / s for gamma, w in zip(kept, plain, strict=True)]


def llama3_kept(rotations: Any, scaling: Record) -> Any:
    """Share of the plain frequency, decided on wavelengths as the released code does."""
    low, high = mpf(scaling["low_freq_factor"]), mpf(scaling["high_freq_factor"])
    wavelength = 1 / rotations  # in units of the original length
    if wavelength < 1 / high:
        return mpf(1)
    if wavelength > 1 / low:
        return mpf(0)
    return (rotations - low) / (high - low)


def yarn_kept_by_rotations(rotations: Any, scaling: Record) -> Any:
    """The paper's gamma, eq. 13, with alpha = beta_slow and beta = beta_fast."""
    alpha, beta = mpf(scaling.get("beta_slow", 1)), mpf(scaling.get("beta_fast", 32))
    if rotations > beta:
        return mpf(1)
    if rotations < alpha:
        return mpf(0)
    return (rotations - alpha) / (beta - alpha)


def yarn_kept_by_index(dim: int, base: float, scaling: Record) -> list[Any]:
    """The released code's ramp: linear in the index of the pair, between two indices that are rounded outwards."""
    length = scaling["original_max_position_embeddings"]

    def index(rotations: float) -> Any:  # where base ** (-2 index / dim) * length / 2 pi = rotations
        return mpf(dim) / 2 * mp.log(length / (2 * mp.pi * mpf(rotations)), mpf(base))

    first, last = index(scaling.get("beta_fast", 32)), index(scaling.get("beta_slow", 1))
    if scaling.get("truncate", True):
        first, last = mp.floor(first), mp.ceil(last)
    first, last = max(first, mpf(0)), min(last, mpf(dim - 1))
    if first == last:
        last += mpf("0.001")
    return [1 - min(max((i - first) / (last - first), mpf(0)), mpf(1)) for i in range(dim // 2)]


def rope_attention_factor(scaling: Record | None) -> Any:
    if scaling is None or scaling["kind"] not in ("YarnScaling", "LongRopeScaling"):
        return mpf(1)
    if scaling.get("attention_factor") is not None:
        return mpf(scaling["attention_factor"])
    s = mpf(scaling["factor"])
    if s <= 1:
        return mpf(1)
    if scaling["kind"] == "LongRopeScaling":
        return mp.sqrt(1 + mp.log(s) / mp.log(scaling["original_max_position_embeddings"]))
    magnitudes = [scaling.get("mscale"), scaling.get("mscale_all_dim")]
    over, under = (1 + m * mp.log(s) / 10 for m in (map(mpf, magnitudes) if all(magnitudes) else (mpf(1), mpf(0))))
    return over / under


# --- rotary: tables and rotation -------------------------------------------------------------------------------------


def tables(positions: Nested, frequencies: list[Any], a: Any) -> list[Nested]:
    sizes: list[float] = []
    each(lambda p: sizes.append(abs(p)), positions)
    with mp.workdps(60 + len(str(int(max(sizes))))):  # whole turns take digits away
        cos = each(lambda p: [a * mp.cos(mpf(p) * w) for w in frequencies], positions)
        sin = each(lambda p: [a * mp.sin(mpf(p) * w) for w in frequencies], positions)
    return [cos, sin]


def rope_cos_sin_exact(positions: Nested, dim: int, base: float) -> list[Nested]:
    return tables(positions, rope_inv_freq(dim, base), mpf(1))


def rope_cos_sin(positions: Nested, inv_freq: list[float], attention_factor: float) -> list[Nested]:
    return tables(positions, [mpf(w) for w in inv_freq], mpf(attention_factor))


def rope_table(
    positions: Nested,
    dim: int,
    base: float,
    scaling: Record | None,
    seq_len: int | None,
    attention_factor: float | None,
) -> list[Nested]:
    a = rope_attention_factor(scaling) if attention_factor is None else mpf(attention_factor)
    return tables(positions, rope_inv_freq(dim, base, scaling, seq_len), a)


def turned(x: Nested, cos: Nested, sin: Nested, place: Record) -> Nested:
    """Rotate the last axis; an axis that cos and sin lack, or have with length 1, is shared."""
    if isinstance(x[0], list):
        shared = depth(cos) < depth(x)
        if not shared and len(cos) == 1:
            cos, sin = cos * len(x), sin * len(x)
        return [turned(x[i], *((cos, sin) if shared else (cos[i], sin[i])), place) for i in range(len(x))]
    n, y = len(cos), [mpf(v) for v in x]
    source = channels(place.get("layout", "half"), n, place.get("offset", 0))
    target = channels(place.get("output_layout") or place.get("layout", "half"), n, place.get("offset", 0))
    for i in range(n):
        point = mp.mpc(x[source[i][0]], x[source[i][1]])
        turn = mp.mpc(cos[i], -mpf(sin[i]) if place.get("inverse") else sin[i])
        y[target[i][0]], y[target[i][1]] = (point * turn).real, (point * turn).imag
    return y


def channels(layout: str, pairs: int, offset: int) -> list[tuple[int, int]]:
    if layout == "half":
        return [(offset + i, offset + i + pairs) for i in range(pairs)]
    return [(offset + 2 * i, offset + 2 * i + 1) for i in range(pairs)]


def depth(nested: Nested) -> int:
    return 1 + depth(nested[0]) if isinstance(nested, list) else 0


def rope_apply(x: Nested, **rest: Any) -> Nested:
    """With cos and sin given, or with a position, from which they are made without rounding."""
    if "cos" in rest:
        return turned(x, rest["cos"], rest["sin"], rest)
    cos, sin = rope_table(rest["position"], rest["dim"], rest["base"], None, None, rest["attention_factor"])
    return turned(x, cos, sin, rest)


def rope(x: Nested, positions: Nested, dim: int | None, base: float, scaling: Record | None, **rest: Any) -> Nested:
    channel = x
    while isinstance(channel, list):
        width, channel = len(channel), channel[0]
    dim = width - rest["offset"] if dim is None else dim
    cos, sin = rope_table(positions, dim, base, scaling, rest["seq_len"], None)
    return turned(x, cos, sin, rest)


# --- additive --------------------------------------------------------------------------------------------------------


def sinusoidal(positions: Nested, dim: int, base: float, endpoint: bool, layout: str, order: str) -> Nested:
    frequencies = geometric(base, dim // 2, dim // 2 - 1 if endpoint else mpf(dim) / 2)
    functions = (mp.sin, mp.cos) if order == "sin_cos" else (mp.cos, mp.sin)

    def row(p: float) -> list[Any]:
        if layout == "concatenated":
            return [f(p * w) for f in functions for w in frequencies]
        return [f(p * w) for w in frequencies for f in functions]

    return each(lambda p: row(mpf(p)), positions)


def timestep_embedding(
    timesteps: Nested, dim: int, flip_sin_to_cos: bool, downscale_freq_shift: float, scale: float, max_period: float
) -> Nested:
    frequencies = geometric(max_period, dim // 2, dim // 2 - mpf(downscale_freq_shift))
    functions = (mp.cos, mp.sin) if flip_sin_to_cos else (mp.sin, mp.cos)
    padding = [mpf(0)] * (dim % 2)
    return each(lambda t: [f(mpf(scale) * mpf(t) * w) for f in functions for w in frequencies] + padding, timesteps)


def learned(table: Nested, positions: Nested) -> Nested:
    return each(lambda p: [mpf(v) for v in table[p]], positions)


# --- biases ----------------------------------------------------------------------------------------------------------


def alibi_slopes(num_heads: int) -> list[Any]:
    """The released code's recursion: other numbers than powers of two borrow every other slope of the next one."""
    closest = 1
    while 2 * closest <= num_heads:
        closest *= 2
    slopes = [mpf(2) ** (-mpf(8) * h / closest) for h in range(1, closest + 1)]
    return slopes if closest == num_heads else slopes + alibi_slopes(2 * closest)[0::2][: num_heads - closest]


def alibi_bias(q_positions: Nested, k_positions: Nested, form: str, **heads: Any) -> Nested:
    if isinstance(q_positions[0], list):
        return [alibi_bias(q, k, form, **heads) for q, k in zip(q_positions, k_positions, strict=True)]
    slopes = heads["slopes"] if "slopes" in heads else [float(m) for m in alibi_slopes(heads["num_heads"])]

    def bias(m: Any, q: Any, k: Any) -> Any:
        return {"distance": -m * abs(q - k), "signed": -m * (q - k), "key": m * k}[form]

    return [[[bias(mpf(m), mpf(q), mpf(k)) for k in k_positions] for q in q_positions] for m in slopes]


def t5_bucket(relative_position: Nested, bidirectional: bool, num_buckets: int, max_distance: int) -> Nested:
    return each(lambda r: t5_bucket_of(r, bidirectional, num_buckets, max_distance), relative_position)


def t5_bucket_of(relative: int, bidirectional: bool, num_buckets: int, max_distance: int) -> int:
    """The paper's logarithm, with digits enough to tell an integer from its neighbours.

    steps * ln(n / exact) / ln(D / exact) = j means n**steps * exact**j = D**j * exact**steps. Two integers below
    (D * exact)**steps that differ are told apart by that many digits.
    """
    first = 0
    if bidirectional:
        num_buckets //= 2
        first, distance = (num_buckets if relative > 0 else 0), abs(relative)
    else:
        distance = max(0, -relative)
    exact = num_buckets // 2
    if distance < exact:
        return first + distance
    if distance >= max_distance:
        return first + num_buckets - 1
    steps = num_buckets - exact
    digits = int(steps * mp.log10(max_distance * exact)) + 20
    with mp.workdps(2 * digits):
        j = steps * mp.log(mpf(distance) / exact) / mp.log(mpf(max_distance) / exact)
        whole = mp.nint(j)
        j = int(whole) if abs(j - whole) < mpf(10) ** -digits else int(mp.floor(j))
    return first + min(exact + j, num_buckets - 1)


def t5_bias(table: Nested, q_positions: Nested, k_positions: Nested, bidirectional: bool, max_distance: int) -> Nested:
    if isinstance(q_positions[0], list):
        rows = zip(q_positions, k_positions, strict=True)
        return [t5_bias(table, q, k, bidirectional, max_distance) for q, k in rows]

    def row(q: int, k: int) -> list[float]:
        found: list[float] = table[t5_bucket_of(k - q, bidirectional, len(table), max_distance)]
        return found

    return [[[mpf(row(q, k)[h]) for k in k_positions] for q in q_positions] for h in range(len(table[0]))]


# --- attention -------------------------------------------------------------------------------------------------------


def attention(q: Nested, k: Nested, v: Nested, bias: Nested, mask: Nested, scale: float | None) -> Nested:
    if isinstance(q[0][0], list):  # one leading axis; bias and mask of two axes are shared
        return [
            attention(
                q[i],
                k[i],
                v[i],
                bias[i] if depth(bias) == 3 else bias,
                mask[i] if depth(mask) == 3 else mask,
                scale,
            )
            for i in range(len(q))
        ]
    s = 1 / mp.sqrt(len(q[0])) if scale is None else mpf(scale)
    result = []
    for i, query in enumerate(q):
        seen = [j for j in range(len(k)) if mask is None or mask[i][j]]
        logits = {j: s * mp.fdot(query, k[j]) + (0 if bias is None else mpf(bias[i][j])) for j in seen}
        total = sum((mp.exp(logit) for logit in logits.values()), mpf(0))
        result.append([sum((mp.exp(logits[j]) / total * v[j][c] for j in seen), mpf(0)) for c in range(len(v[0]))])
    return result
