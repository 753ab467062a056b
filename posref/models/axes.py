"""M-RoPE: positions of several axes, and which pair of a head takes which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from posref._arguments import shown
from posref.models._reading import Block, NotKnown, Refused
from posref.models.frameworks import framework_of
from posref.models.records import Axes
from posref.rotary.axis_maps import rope_axis_map

MOST_SECTIONS = 16
TIME_FIRST = ("time", "height", "width")


@dataclass(frozen=True)
class MRope:
    """How a family spreads its pairs over the axes: the rule is the class's, whatever ``mrope_interleaved`` says.

    ``sections`` are those of the family where the file has none; None: then it has one axis only. Rule ``"channels"`` is
    transformers' XD-RoPE.
    """

    sections: tuple[int, ...] | None
    rule: str = "chunked"
    names: tuple[str, ...] = TIME_FIRST
    keys: Sequence[str] = ("mrope_section",)


def axes_of(block: Block, mrope: MRope, pairs: int | None) -> Axes | None:
    """The axes of a rotation of so many pairs; None where there is but one, or where the file does not tell."""
    given = [(key, block.integers(key, most=MOST_SECTIONS)) for key in mrope.keys]
    key, sections = next(((key, value) for key, value in given if value is not None), (mrope.keys[0], None))
    rule = _rule(block, mrope)
    if sections is None:
        if mrope.sections is None:
            return None
        block.note_default(key, shown(list(mrope.sections)))
        sections = mrope.sections
    if len(sections) != len(mrope.names):
        wanted = f"{len(mrope.names)} pairs per axis: {', '.join(mrope.names)}"
        raise ValueError(f"{block.name(key)} must be {wanted}, got {shown(list(sections))}")
    if pairs is None or rule is None:
        return None
    if sum(sections) != pairs:
        _wrong_sum(block, key, sections, pairs, rule)
    names = (*mrope.names, "none") if rule == "interleaved_spare" else mrope.names
    return Axes(names, sections, rule, "shared", _axis_map(sections, pairs, rule))


def _rule(block: Block, mrope: MRope) -> str | None:
    """The framework's rule for these sections; None: it has positions of text only."""
    how, flag = framework_of(block).axes, block.boolean("mrope_interleaved")
    if how == "class":
        if flag is not None and flag != (mrope.rule != "chunked"):
            told = (
                f"{block.name('mrope_interleaved')} is {str(flag).lower()}, but this model's sections are {mrope.rule}"
            )
            block.note("contradictory", told)
        return mrope.rule
    if how == "text":
        block.note("unusual", "mlx-lm has positions of text only: all pairs take the same")
        return None
    if mrope.rule not in ("chunked", "interleaved"):
        raise NotKnown(f"sections that are {mrope.rule}, in {block.reading.framework}")
    if how == "flag":
        return "interleaved" if flag else "chunked"
    if mrope.rule == "interleaved":
        block.note("unusual", "ggml gives pairs beyond their section to a fourth axis, which llama.cpp sets to 0")
        return "interleaved_spare"
    return mrope.rule


def _wrong_sum(block: Block, key: str, sections: Sequence[int], pairs: int, rule: str) -> None:
    told = f"{block.name(key)} {shown(list(sections))} does not sum up to {pairs} pairs"
    if block.reading.framework != "transformers":
        raise Refused(told) if block.reading.framework == "vllm" else NotKnown(f"sections of a wrong sum: {told}")
    if rule != "interleaved":  # transformers stops at others
        raise ValueError(f"{block.name(key)} must sum up to {pairs} pairs, got {shown(list(sections))}")
    block.note("unusual", f"{told}: the rest is the first axis's")


def _axis_map(sections: Sequence[int], pairs: int, rule: str) -> tuple[int, ...]:
    if rule == "channels":
        return tuple(rope_axis_map([2 * section for section in sections]).tolist())
    if rule == "interleaved":  # the first axis has what the others leave, whatever its section says
        n = len(sections)
        return tuple(i % n if i < n * sections[i % n] else 0 for i in range(pairs))
    return tuple(rope_axis_map(sections, rule=rule).tolist())
