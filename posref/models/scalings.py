"""The rope types of config files: from the keys of a rope block to a scaling record.

To add one, write its function and its line in ``KINDS``. Defaults and precedence are transformers'; each default is noted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from posref.models._reading import Block, Untold
from posref.rotary.scaling import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    Scaling,
    YarnScaling,
)

MOST_PAIRS = 8192  # of a head: what real models have, times thirty; more only costs time


@dataclass(frozen=True)
class Source:
    """Where a scaling's parameters stand."""

    config: Block  # the model's block, with the lengths
    block: Block  # rope_scaling or rope_parameters
    original: int | None  # the family's original_max_position_embeddings, where the model's block has none

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

    def original_length(self) -> int:
        """The model's key, which wins; then the rope block's; then the longest length, which is noted."""
        key = "original_max_position_embeddings"
        config, block = self.config, self.block
        outer, inner = config.integer(key), block.integer(key)
        if outer is None and self.original is not None:
            outer = config.integer_or(key, self.original)
        if outer is not None and inner is not None and outer != inner:
            block.note("contradictory", f"{config.name(key)} {outer} and {block.name(key)} {inner}; the former is used")
        told = inner if outer is None else outer
        if told is not None:
            return told
        if self.longest is None:
            raise Untold(f"neither {key} nor max_position_embeddings is given")
        block.note("defaulted", f"{block.name(key)} is absent, max_position_embeddings {self.longest} stands in for it")
        return self.longest


def _linear(source: Source) -> Scaling:
    return LinearScaling(source.needed("factor", "linear"))


def _dynamic(source: Source) -> Scaling:
    factor, longest = source.needed("factor", "dynamic"), source.longest
    if longest is None:
        raise Untold("max_position_embeddings, from which dynamic scaling starts, is not given")
    return DynamicNTKScaling(factor, longest)


def _yarn(source: Source) -> Scaling:
    block, longest, original = source.block, source.longest, source.original_length()
    if "factor" in block.values and block.raw("factor") is None and longest is not None:
        factor = longest / original
        block.note("defaulted", f"{block.name('factor')} is null, max_position_embeddings / original is {factor:g}")
    else:
        factor = source.needed("factor", "yarn")
        if longest is not None and longest / original not in (1, factor):  # 1: the length does not include the scaling
            told = f"{block.name('factor')} {factor:g}, max_position_embeddings / original {longest / original:g}"
            block.note("contradictory", f"{told}; the former is used")
    fast = block.number("beta_fast", least=0) or _assumed(block, "beta_fast", 32.0)
    slow = block.number("beta_slow", least=0) or _assumed(block, "beta_slow", 1.0)
    if fast == slow:
        block.note("unusual", f"beta_fast and beta_slow are both {fast:g}: the ramp is a step")
    return YarnScaling(
        factor,
        original,
        fast,
        slow,
        truncate=block.boolean_or("truncate", True),
        attention_factor=block.number("attention_factor", least=0),
        mscale=block.number("mscale", least=0),
        mscale_all_dim=block.number("mscale_all_dim", least=0),
    )


def _assumed(block: Block, key: str, default: float) -> float:
    block.note_default(key, f"{default:g}")  # transformers takes 0 for absent
    return default


def _llama3(source: Source) -> Scaling:
    block, factor, original = source.block, source.needed("factor", "llama3"), source.original_length()
    low, high = source.needed("low_freq_factor", "llama3"), source.needed("high_freq_factor", "llama3")
    if low == high:
        block.note("unusual", f"low_freq_factor and high_freq_factor are both {low:g}: the blend is a step")
    return Llama3Scaling(factor, original, low, high)


def _longrope(source: Source) -> Scaling:
    block, longest, original = source.block, source.longest, source.original_length()
    short, long = (block.numbers(key, most=MOST_PAIRS) for key in ("short_factor", "long_factor"))
    factor, own = block.number("factor"), block.number("attention_factor", least=0)
    if factor is None and longest is not None:
        factor = longest / original
        if own is None:
            told = f"{block.name('factor')} is absent, max_position_embeddings / original_max_position_embeddings"
            block.note("defaulted", f"{told} is {factor:g}")
    return LongRopeScaling(short, long, original, factor, own)


KINDS: dict[str, Callable[[Source], Scaling | None]] = {
    "default": lambda source: None,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "llama3": _llama3,
    "longrope": _longrope,
}
