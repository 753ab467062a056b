"""More rotary frequencies and factors in mpmath: formulas and cases in the manner of golden_formulas and golden_cases.

Nothing here is shared with posref. The formulas are written as the released code has them: reciprocal frequencies, masks that are
multiplied, bases that grow.
"""

from __future__ import annotations

from typing import Any

from golden_formulas import Nested, Record, geometric, tables
from golden_rotary_cases import LONG, SHORT, Args, Case, scaling
from mpmath import mp, mpf

# --- frequencies -----------------------------------------------------------------------------------------------------


def rope_inv_freq(dim: int, base: float, scaling: Record, seq_len: int | None) -> list[Any]:
    kind, length = scaling["kind"], scaling.get("original_max_position_embeddings")
    wavelengths = [1 / w for w in geometric(base, dim // 2, mpf(dim) / 2)]  # over 2 pi
    if kind == "DynamicLinearScaling":
        shrunk = min(mpf(1), mpf(length) / (seq_len or length))  # what positions are multiplied by
        return [shrunk / v for v in wavelengths]
    if kind == "NTKScaling":
        return ntk(dim, base, scaling)
    if kind == "NTKByPartsScaling":
        return by_parts(dim, base, scaling)
    if kind == "ProportionalScaling":
        rotated = scaling["partial_rotary_factor"] * dim  # in floating point, as in all code
        pairs = int(rotated // 2) if scaling.get("rounding", "floor") == "floor" else (int(rotated) + 1) // 2
        return [1 / (v * mpf(scaling.get("factor", 1))) for v in wavelengths[:pairs]] + [mpf(0)] * (dim // 2 - pairs)
    s = yarn_factor(scaling, seq_len)
    extrapolated, interpolated = [1 / v for v in wavelengths], [1 / (s * v) for v in wavelengths]
    mask = [mpf(scaling.get("extrapolation_factor", 1)) * (1 - r) for r in ramp(dim, base, scaling, "beta")]
    return [i * (1 - m) + e * m for i, e, m in zip(interpolated, extrapolated, mask, strict=True)]


def ntk(dim: int, base: float, scaling: Record) -> list[Any]:
    """Kexue's derivation: position n is written in base beta * lambda_1 ... lambda_m, whose product is the factor."""
    k, half = mpf(scaling["factor"]), dim // 2
    if scaling["form"] == "base":
        return geometric(mpf(base) * k, half, half)
    b = mpf(scaling["mixed_b"]) if scaling["form"] == "mixed" else mpf(1)
    a = mp.log(k) / mpf(half) ** b
    return [w * mp.exp(-a * mpf(i + 1) ** b) for i, w in enumerate(geometric(base, half, half))]


def by_parts(dim: int, base: float, scaling: Record) -> list[Any]:
    s = mpf(scaling["factor"])
    plain = geometric(base, dim // 2, mpf(dim) / 2)
    grown = geometric(mpf(base) * s ** (mpf(dim) / (dim - 2)), dim // 2, mpf(dim) / 2)
    defaults = {"beta_0": 1.25, "beta_1": 0.75, "gamma_0": 16, "gamma_1": 2} | scaling
    mask = [mpf(scaling.get("ntk_factor", 1)) * (1 - r) for r in between(dim, base, defaults, "beta_0", "beta_1")]
    mixed = [w / s * (1 - m) + n * m for w, n, m in zip(plain, grown, mask, strict=True)]
    keep = mpf(scaling.get("extrapolation_factor", 1))
    mask = [keep * (1 - r) for r in between(dim, base, defaults, "gamma_0", "gamma_1")]
    return [x * (1 - m) + w * m for x, w, m in zip(mixed, plain, mask, strict=True)]


def ramp(dim: int, base: float, scaling: Record, name: str) -> list[Any]:
    filled = {f"{name}_fast": 32, f"{name}_slow": 1} | scaling
    if filled.get("ramp", "index") == "index":
        return between(dim, base, filled, f"{name}_fast", f"{name}_slow")
    low, high = mpf(filled[f"{name}_slow"]), mpf(filled[f"{name}_fast"])
    turns = [filled["original_max_position_embeddings"] * w / (2 * mp.pi) for w in geometric(base, dim // 2, dim // 2)]
    return [1 - min(max((t - low) / (high - low), mpf(0)), mpf(1)) for t in turns]


def between(dim: int, base: float, scaling: Record, first: str, last: str) -> list[Any]:
    """The linear_ramp_mask of jquesnelle/yarn between the two correction dims; D20's readings where its ends are reversed."""
    length = scaling["original_max_position_embeddings"]
    ends = [
        dim * mp.log(mpf(length) / (mpf(scaling[key]) * 2 * mp.pi)) / (2 * mp.log(mpf(base))) for key in (first, last)
    ]
    if scaling.get("truncate", True):
        ends = [mp.floor(ends[0]), mp.ceil(ends[1])]
    low, high = max(ends[0], mpf(0)), min(ends[1], mpf(dim - 1))
    if low == high or scaling.get("reversed_range") == "step":
        high = max(low + mpf("0.001"), high)
    return [min(max((i - low) / (high - low), mpf(0)), mpf(1)) for i in range(dim // 2)]


def rope_pixel_freq(dim: int, max_freq: float, spacing: str) -> list[Any]:
    n, most = dim // 2, mpf(max_freq)
    step = [mpf(i) / (n - 1) if n > 1 else mpf(0) for i in range(n)]
    if spacing == "linear":
        return [mp.pi * (1 + (most / 2 - 1) * t) for t in step]
    return [mp.pi * mpf(2) ** ((mp.log(most, 2) - 1) * t) for t in step]


# --- factors ---------------------------------------------------------------------------------------------------------


def yarn_factor(scaling: Record, seq_len: int | None) -> Any:
    if scaling["kind"] == "YarnScaling":
        return mpf(scaling["factor"])
    length = scaling["original_max_position_embeddings"]
    return max(mpf(scaling.get("least_factor", 1)), mpf(seq_len or length) / length)


def get_mscale(scale: Any, mscale: Any) -> Any:
    return mpf(1) if scale <= 1 else mpf(mscale) * mp.log(scale) / 10 + 1


def rope_attention_factor(scaling: Record, seq_len: int | None) -> Any:
    if scaling["kind"] == "LongRopeScaling":
        long = seq_len is not None and seq_len > scaling["original_max_position_embeddings"]
        own = scaling.get("long_mscale" if long else "short_mscale")
        if own is not None:
            return mpf(own)
        return mp.sqrt(1 + mp.log(mpf(scaling["factor"])) / mp.log(scaling["original_max_position_embeddings"]))
    if scaling["kind"] not in ("YarnScaling", "DynamicYarnScaling"):
        return mpf(1)
    if scaling.get("attention_factor") is not None:
        return mpf(scaling["attention_factor"])
    s, times = yarn_factor(scaling, seq_len), mpf(scaling.get("attn_factor", 1))
    mscale, all_dim, rule = (scaling.get(key) for key in ("mscale", "mscale_all_dim", "mscale_rule"))
    if rule == "always":  # yarn_get_mscale(factor, mscale or its default 1) / yarn_get_mscale(factor, .. 0)
        return times * get_mscale(s, 1 if mscale is None else mscale) / get_mscale(s, 0 if all_dim is None else all_dim)
    if (rule == "given" and None not in (mscale, all_dim)) or (rule in (None, "nonzero") and mscale and all_dim):
        return times * get_mscale(s, mscale) / get_mscale(s, all_dim)
    return times * get_mscale(s, 1)


def rope_softmax_factor(scaling: Record | None) -> Any:
    if scaling is None or scaling["kind"] != "YarnScaling" or not scaling.get("mscale_all_dim"):
        return mpf(1)
    return get_mscale(mpf(scaling["factor"]), scaling["mscale_all_dim"]) ** 2


def rope_table(
    positions: Nested,
    dim: int,
    base: float,
    scaling: Record,
    seq_len: int | None,
    attention_factor: float | None,
) -> list[Nested]:
    a = rope_attention_factor(scaling, seq_len) if attention_factor is None else mpf(attention_factor)
    return tables(positions, rope_inv_freq(dim, base, scaling, seq_len), a)


# --- cases -----------------------------------------------------------------------------------------------------------


def inv_freq(note: str, dim: int, record: Args, seq_len: int | None = None, base: float = 10000.0) -> Case:
    return note, {"dim": dim, "base": base, "scaling": record, "seq_len": seq_len}


def ntk_form(form: str, factor: float, mixed_b: float = 0.75) -> Args:
    return scaling("NTKScaling", factor, form=form, mixed_b=mixed_b)


DYNAMIC_LINEAR = scaling("DynamicLinearScaling", None, 2048)
DYNAMIC_YARN = scaling("DynamicYarnScaling", None, 2048)
FINETUNED = scaling("DynamicYarnScaling", None, 4096, least_factor=16.0, attn_factor=0.5)
PARTS = scaling("NTKByPartsScaling", 8.0, 2048)
EIGHT = scaling("YarnScaling", 8.0, 4096)
REVERSED = scaling("YarnScaling", 8.0, 4096, beta_fast=1.0, beta_slow=32.0)
GEMMA_4 = scaling("ProportionalScaling", partial_rotary_factor=0.25)

FREQUENCIES = [
    inv_freq("ntk, the base times the factor: diffusers", 64, ntk_form("base", 4.0)),
    inv_freq("ntk fixed, kexue's k = 12", 128, ntk_form("fixed", 12.0)),
    inv_freq("ntk fixed, one pair", 2, ntk_form("fixed", 4.0)),
    inv_freq("ntk mixed, kexue's k = 12", 128, ntk_form("mixed", 12.0)),
    inv_freq("ntk mixed, another b", 64, ntk_form("mixed", 2.5, 0.3), base=500000.0),
    inv_freq("dynamic linear, within", 64, DYNAMIC_LINEAR, 2048),
    inv_freq("dynamic linear, no length given", 64, DYNAMIC_LINEAR),
    inv_freq("dynamic linear, beyond", 64, DYNAMIC_LINEAR, 5000),
    inv_freq("dynamic yarn, within: plain", 128, DYNAMIC_YARN, 1000),
    inv_freq("dynamic yarn, a factor that is no short number", 128, DYNAMIC_YARN, 7001),
    inv_freq("dynamic yarn, finetuned: its own factor within", 64, FINETUNED, 8192),
    inv_freq("dynamic yarn, finetuned: beyond", 64, FINETUNED, 70000),
    inv_freq("dynamic yarn by rotations", 64, DYNAMIC_YARN | {"ramp": "rotations"}, 9999),
    inv_freq("ntk by parts", 128, PARTS),
    inv_freq("ntk by parts, in part", 64, PARTS | {"ntk_factor": 0.7, "extrapolation_factor": 0.4}),
    inv_freq("ntk by parts, other rotations", 64, PARTS | {"beta_0": 3.0, "gamma_0": 40.0, "gamma_1": 4.0}),
    inv_freq("proportional, half a head of 8", 8, scaling("ProportionalScaling", partial_rotary_factor=0.5)),
    inv_freq("proportional, Gemma 4", 512, GEMMA_4, base=1000000.0),
    inv_freq("proportional, a factor", 64, GEMMA_4 | {"factor": 8.0}, base=1000000.0),
    inv_freq("proportional, nothing rotates", 8, scaling("ProportionalScaling", partial_rotary_factor=0.0)),
    inv_freq("proportional, an odd number of channels", 24, GEMMA_4 | {"partial_rotary_factor": 0.3}),
    inv_freq(
        "proportional, an odd number of channels: up", 24, GEMMA_4 | {"partial_rotary_factor": 0.3, "rounding": "ceil"}
    ),
    inv_freq("yarn, half of the fast pairs' frequency", 64, EIGHT | {"extrapolation_factor": 0.5}),
    inv_freq("yarn, a reversed range: downwards", 64, REVERSED | {"reversed_range": "slope"}),
    inv_freq("yarn, a reversed range: a step", 64, REVERSED | {"reversed_range": "step"}),
    inv_freq(
        "yarn, a range that is reversed once clamped",
        8,
        EIGHT | {"original_max_position_embeddings": 10**8, "reversed_range": "slope"},
        base=1.5,
    ),
]


def factor(note: str, record: Args, seq_len: int | None = None) -> Case:
    return note, {"scaling": record, "seq_len": seq_len}


def yarn(s: float, **others: Any) -> Args:
    return scaling("YarnScaling", s, 4096, **others)


PHI_MOE = scaling(
    "LongRopeScaling", 32.0, 4096, short_factor=SHORT, long_factor=LONG, short_mscale=1.243163121, long_mscale=1.3
)
DEEPSEEK_V2_LITE = yarn(40.0, mscale=0.707, mscale_all_dim=0.707)

FACTORS = [
    factor("dynamic yarn, within", DYNAMIC_YARN, 2048),
    factor("dynamic yarn, beyond", DYNAMIC_YARN, 7001),
    factor("dynamic yarn, finetuned", FINETUNED),
    factor("dynamic linear: none of its own", DYNAMIC_LINEAR, 9999),
    factor("yarn, sglang: mscale_all_dim 0 counts", yarn(40.0, mscale=0.707, mscale_all_dim=0.0, mscale_rule="given")),
    factor("yarn, sglang: mscale alone does not", yarn(40.0, mscale=0.707, mscale_rule="given")),
    factor("yarn, mlx-lm and Megatron: mscale alone counts", yarn(40.0, mscale=0.707, mscale_rule="always")),
    factor("yarn, mscale_all_dim alone, always", yarn(40.0, mscale_all_dim=0.707, mscale_rule="always")),
    factor("yarn, exllamav3 with Mistral's keys", yarn(40.0, mscale=1.0, mscale_all_dim=1.0, mscale_rule="never")),
    factor("yarn, TeleChat3", yarn(4.0, mscale=0.7, mscale_rule="always")),
    factor("yarn, attn_factor", yarn(16.0, attn_factor=0.75)),
    factor("yarn, attn_factor and a ratio", yarn(40.0, mscale=1.0, mscale_all_dim=0.5, attn_factor=1.5)),
    factor("longrope, PhiMoE, short", PHI_MOE, 4096),
    factor("longrope, PhiMoE, long", PHI_MOE, 4097),
]

SOFTMAX: list[Case] = [
    ("DeepSeek-V3", {"scaling": yarn(40.0, mscale=1.0, mscale_all_dim=1.0)}),
    ("DeepSeek-V2-Lite", {"scaling": DEEPSEEK_V2_LITE}),
    ("mscale alone does not count", {"scaling": yarn(40.0, mscale=1.0)}),
    ("below factor 1", {"scaling": yarn(0.5, mscale=1.0, mscale_all_dim=1.0)}),
    ("another scaling", {"scaling": scaling("LinearScaling", 4.0)}),
    ("no scaling", {"scaling": None}),
]

PIXELS: list[Case] = [
    (note, {"dim": dim, "max_freq": most, "spacing": spacing})
    for note, dim, most in (
        ("lucidrains' default", 4, 10.0),
        ("timm's default", 32, 224.0),
        ("one pair", 2, 10.0),
        ("falling", 6, 0.7),
    )
    for spacing in ("linear", "log")
]

TABLES = [
    (
        note,
        {"positions": [0, 17, 65535], "dim": 16, "base": 10000.0, "scaling": record, "seq_len": seq_len}
        | {"attention_factor": None},
    )
    for note, record, seq_len in (
        ("dynamic yarn with its own factor", DYNAMIC_YARN, 65536),
        ("dynamic linear", DYNAMIC_LINEAR, 65536),
        ("ntk by parts", PARTS, None),
        ("ntk mixed", ntk_form("mixed", 12.0), None),
        ("proportional: pairs that do not turn", GEMMA_4, None),
    )
]

CASES: dict[str, list[Case]] = {
    "rope_attention_factor": FACTORS,
    "rope_inv_freq": FREQUENCIES,
    "rope_pixel_freq": PIXELS,
    "rope_softmax_factor": SOFTMAX,
    "rope_table": TABLES,
}
