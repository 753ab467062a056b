"""What the catalogue says of an encoding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Encoding:
    """What an encoding is, and where to find it.

    Parameters
    ----------
    id
        Short and stable.
    family
        How position enters: ``additive`` (to the embeddings), ``rotary`` (queries and keys turn), ``bias`` (to the logits),
        ``relative`` (to the logits, by the content of queries or keys too),
        ``logits`` (a factor on the logits).
    functions
        Names in posref, the first is the one to start with.
    formula
        LaTeX, without delimiters.
    source
        Paper or code that defines it.
    used_by
        Models and libraries.
    presets
        Name -> the arguments that a named model means.
    disagreements
        Where public implementations differ, one sentence each.
    not_a_rotation
        Of the rotary ones: that pairs do more than turn and grow, so that norms, or scores at equal differences, change.
    """

    id: str
    family: str
    title: str
    functions: tuple[str, ...]
    formula: str
    source: str
    used_by: str
    presets: tuple[tuple[str, str], ...] = ()
    disagreements: tuple[str, ...] = ()
    not_a_rotation: bool = False
