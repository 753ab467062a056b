"""The rope types of config files: from the keys of a rope block to a scaling record.

To add one, write its function and its line in ``KINDS``. Defaults and precedence are transformers'; each default is noted. What
other frameworks do otherwise is in :mod:`posref.models.frameworks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from posref.models._reading import Block, NotKnown, Untold
from posref.rotary.scaling import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    ProportionalScaling,
    Scaling,
    YarnScaling,
)

MOST_PAIRS = 1024  # of a head: what real models have, times four; more only costs time


@dataclass(frozen=True)
class Source:
    """Where a scaling's parameters stand."""

    config: Block  # the model's block, with the lengths
    block: Block  # the rope block
    original: int | None = None  # the family's original_max_position_embeddings, where the model's block has none
    nested: bool = False  # the rope block is that of a layer type
    partial: float | None = None
    mla: bool = False

    @property
    def longest(self) -> int | None:
        """``max_position_embeddings``, which may or may not include the scaling already."""
        return self.config.integer("max_position_embeddings")

    def needed(self, key: str, kind: str) -> float:
        """A number that the rope type cannot do without."""
        value = self.block.number(key)
        if value is None:
            raise ValueError(f"{self.block.name(key)} must be given for rope type {kind!r}, got nothing")
        if key == "factor" and value < 1:
            self.block.note("unusual", f"{self.block.name(key)} {value:g} is below 1")
        return value

    def truncate(self) -> bool:
        """``truncate``, which transformers looks for beside the layer types' blocks and not in them."""
        if not self.nested or self.config.reading.framework != "transformers":
            return self.block.boolean_or("truncate", True)
        if self.block.boolean("truncate") is False:
            name = self.block.name("truncate")
            self.block.note("unusual", f"{name} is false, which transformers does not look at in a layer type's block")
        return True

    def told_length(self) -> int | None:
        """The original length as the file has it: the model's key, which wins, or the rope block's."""
        key = "original_max_position_embeddings"
        config, block = self.config, self.block
        outer, inner = None if self.nested else config.integer(key), block.integer(key)
        if outer is None and self.original is not None:
            outer = config.integer_or(key, self.original)
        if outer is not None and inner is not None and outer != inner:
            block.note("contradictory", f"{config.name(key)} {outer} and {block.name(key)} {inner}; the former is used")
        return inner if outer is None else outer

    def original_length(self) -> int:
        """The original length, or the longest length in its place, which is noted."""
        key = "original_max_position_embeddings"
        told = self.told_length()
        if told is not None:
            return told
        if self.longest is None:
            raise Untold(f"neither {key} nor max_position_embeddings is given")
        name = self.block.name(key)
        self.block.note("defaulted", f"{name} is absent, max_position_embeddings {self.longest} stands in for it")
        return self.longest


def linear(source: Source) -> LinearScaling:
    """Position interpolation."""
    return LinearScaling(source.needed("factor", "linear"))


def dynamic(source: Source) -> Scaling:
    """Dynamic NTK, from max_position_embeddings on."""
    factor, longest = source.needed("factor", "dynamic"), source.longest
    if longest is None:
        raise Untold("max_position_embeddings, from which dynamic scaling starts, is not given")
    return DynamicNTKScaling(factor, longest)


def by_alpha(source: Source) -> Scaling:
    """HunYuan's ``dynamic``: NTK with ``alpha`` for the factor, whatever the length; without it dynamic NTK."""
    alpha = source.block.number("alpha")
    if alpha is None:
        return dynamic(source)
    source.block.note("unusual", f"{source.block.name('alpha')} {alpha:g} is the factor of NTK scaling at any length")
    return NTKScaling(alpha)


def ntk(source: Source) -> Scaling:
    """``ntk`` of gte's code and vLLM: the "fixed" form, or the "mixed" one where ``mixed_b`` is given."""
    factor, mixed = source.needed("factor", "ntk"), source.block.number("mixed_b")
    return NTKScaling(factor, "fixed") if mixed is None else NTKScaling(factor, "mixed", mixed)


def yarn(source: Source) -> YarnScaling:
    """YaRN."""
    block, longest, original = source.block, source.longest, source.original_length()
    if "factor" in block.values and block.raw("factor") is None and longest is not None:
        factor = longest / original
        block.note("defaulted", f"{block.name('factor')} is null, max_position_embeddings / original is {factor:g}")
    else:
        factor = source.needed("factor", "yarn")
        if longest is not None and longest / original not in (1, factor):  # 1: the length does not include the scaling
            told = f"{block.name('factor')} {factor:g}, max_position_embeddings / original {longest / original:g}"
            block.note("contradictory", f"{told}; the former is used")
    fast, slow = betas(block)
    return YarnScaling(
        factor,
        original,
        fast,
        slow,
        truncate=source.truncate(),
        attention_factor=block.number("attention_factor", least=0),
        mscale=block.number("mscale", least=0),
        mscale_all_dim=block.number("mscale_all_dim", least=0),
    )


def betas(block: Block) -> tuple[float, float]:
    """YaRN's ``beta_fast`` and ``beta_slow``."""
    fast = block.number("beta_fast", least=0) or _assumed(block, "beta_fast", 32.0)
    slow = block.number("beta_slow", least=0) or _assumed(block, "beta_slow", 1.0)
    if fast == slow:
        block.note("unusual", f"beta_fast and beta_slow are both {fast:g}: the ramp is a step")
    return fast, slow


def _assumed(block: Block, key: str, default: float) -> float:
    block.note_default(key, f"{default:g}")  # transformers takes 0 for absent
    return default


def llama3(source: Source) -> Scaling:
    """Llama 3.1's blend."""
    block, factor, original = source.block, source.needed("factor", "llama3"), source.original_length()
    low, high = source.needed("low_freq_factor", "llama3"), source.needed("high_freq_factor", "llama3")
    if low == high:
        block.note("unusual", f"low_freq_factor and high_freq_factor are both {low:g}: the blend is a step")
    return Llama3Scaling(factor, original, low, high)


def longrope(source: Source) -> Scaling:
    """LongRoPE."""
    block, longest, original = source.block, source.longest, source.original_length()
    short, long = factor_lists(block)
    factor, own = block.number("factor"), block.number("attention_factor", least=0)
    if factor is None and longest is not None:
        factor = longest / original
        if own is None:
            told = f"{block.name('factor')} is absent, max_position_embeddings / original_max_position_embeddings"
            block.note("defaulted", f"{told} is {factor:g}")
    return LongRopeScaling(short, long, original, factor, own)


def longrope_with_mscales(source: Source) -> LongRopeScaling:
    """Phi-3-small's and PhiMoE's: ``short_mscale`` and ``long_mscale`` are the attention factor, by the length."""
    short, long = factor_lists(source.block)
    return LongRopeScaling(
        short,
        long,
        source.original_length(),
        short_mscale=source.needed("short_mscale", "longrope"),
        long_mscale=source.needed("long_mscale", "longrope"),
    )


def always_short(source: Source) -> Fixed:
    """PhiMoE's in transformers: only the attention factor follows the length, the divisors are the short ones."""
    scaling = longrope_with_mscales(source)
    source.block.note("unusual", "long_factor is not looked at: transformers' PhiMoE has the short ones at any length")
    if source.config.reading.seq_len is None:
        told = f"the attention factor depends on the length; this one holds up to {source.original_length()}"
        source.block.note("seq_len", told)
    return Fixed(scaling, scaling.original_max_position_embeddings)


def mscales_alone(source: Source) -> None:
    """PhiMoE's other types: its class lets the two mscales stand for the attention factor of any type."""
    raise NotKnown("a rope type other than 'default' and 'longrope'")


def factor_lists(block: Block) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """LongRoPE's divisors for short and long texts."""
    return block.numbers("short_factor", most=MOST_PAIRS), block.numbers("long_factor", most=MOST_PAIRS)


def proportional(source: Source) -> ProportionalScaling:
    """The fastest pairs of the whole head."""
    factor = source.block.number("factor")
    return ProportionalScaling(1.0 if source.partial is None else source.partial, 1.0 if factor is None else factor)


def plain(source: Source) -> None:
    """No scaling."""


@dataclass(frozen=True)
class Fixed:
    """A scaling whose length a framework sets by itself, whatever the length of a text."""

    scaling: Scaling
    seq_len: int


Kind = Callable[[Source], "Scaling | Fixed | None"]
KINDS: Mapping[str, Kind] = {
    "default": plain,
    "linear": linear,
    "dynamic": dynamic,
    "yarn": yarn,
    "llama3": llama3,
    "longrope": longrope,
    "proportional": proportional,
    "gptj": plain,  # mlc-llm's word for interleaved pairs
}
PHIMOE: Mapping[str, Kind] = {
    **dict.fromkeys(("linear", "dynamic", "yarn", "llama3", "proportional"), mscales_alone),
    "longrope": always_short,
}
PHI3_SMALL: Mapping[str, Kind] = {"longrope": longrope_with_mscales}
GTE: Mapping[str, Kind] = {"ntk": ntk}
BY_ALPHA: Mapping[str, Kind] = {"dynamic": by_alpha, "xdrope": by_alpha}  # HunYuan's
SINGLE = ("ntk", "xdrope", "mrope", "deepseek_yarn", "su")  # rope types of single models or frameworks
