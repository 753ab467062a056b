"""Whether what was found is what a config means, and if not, which of the usual mistakes makes it so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posref.models import read_config
from posref.models.records import Encoding, RopeEncoding
from posref_conformance.identify import Found
from posref_conformance.identify._finding import Finding, Values, compared, off, precision_of
from posref_conformance.identify._ladder import Ladder
from posref_conformance.identify._mistakes import Meant, at_other_positions, mistakes
from posref_conformance.identify._turns import Guess, Turns, against, at, placed, through
from posref_conformance.roundings import ROUNDOFF
from posref_conformance.schemas import WrongFile
from posref_conformance.wording import one_line


@dataclass(frozen=True)
class Verdict:
    """The answer to whether numbers are the model's.

    Parameters
    ----------
    model
        Yes or no.
    sentence
        What the model has, or what is wrong.
    distance
        How far the numbers are from the model's; None where that has no number.
    mistake
        The usual mistake that gives these numbers.
    """

    model: bool
    sentence: str
    distance: Finding | None = None
    mistake: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        distance = None if self.distance is None else self.distance.distance()
        return {"model": self.model, "verdict": self.sentence, "mistake": self.mistake, "distance": distance}


def encodings_of(path: Path, seq_len: int | None) -> list[Encoding]:
    """What a config means; where frequencies follow the length and none is given, at the lengths where they change.

    Raises
    ------
    WrongFile
        It cannot be read, or has no encoding that posref knows.
    """
    found = _read(path, seq_len)
    if not found:
        raise WrongFile(f"{path}: this model has no position encoding that posref knows")
    if seq_len is None:
        for length in sorted({n for e in found if isinstance(e, RopeEncoding) for n in _lengths(e)}):
            found += [e for e in _read(path, length) if isinstance(e, RopeEncoding)]
    return list(dict.fromkeys(found))


def _read(path: Path, seq_len: int | None) -> list[Encoding]:
    try:
        return list(read_config(path, seq_len=seq_len).encodings)
    except OSError as problem:
        raise WrongFile(f"{path}: {problem.strerror or one_line(problem)}") from None
    except (ValueError, TypeError) as problem:
        raise WrongFile(f"{path}: {one_line(problem)}") from None


def _lengths(encoding: RopeEncoding) -> Iterator[int]:
    """Just beyond the original length, that times the factor, and the longest text."""
    kind = type(encoding.scaling).__name__
    if kind.startswith(("Dynamic", "LongRope")):
        original = int(getattr(encoding.scaling, "original_max_position_embeddings", 0))
        yield original + 1
        yield int(original * (getattr(encoding.scaling, "factor", None) or 1))
        yield encoding.max_position_embeddings or 1


def meant(encodings: Sequence[Encoding]) -> list[Meant]:
    """The rotations among them whose frequencies are known."""
    return [Meant.of(e) for e in encodings if isinstance(e, RopeEncoding) and e.inv_freq]


def rotary_verdict(found: Found, rights: Sequence[Meant], positions: Values | None) -> Verdict:
    """Whether frequencies, tables or a rotation are those of one of the model's encodings."""
    if not rights:
        return Verdict(False, "the model has no rotary encoding")
    nearest: Finding | None = None
    for right in rights:
        here = _against(found.seen, right, positions, far=True)
        if here is not None and here.found:
            return _yes(found, right)
        if here is not None and (nearest is None or off(here) < off(nearest)):
            nearest = here
    for right in rights:
        for words, wrong, where in _wrong(right, positions):
            there = _against(found.seen, wrong, where, narrow="16 bits" in words)
            if there is not None and there.found:
                how = words if "16 bits" not in words else there.parameters["precision"].partition(" of ")[2]
                return _no(rights, nearest, how)
    return _no(rights, nearest, None)


def _yes(found: Found, right: Meant) -> Verdict:
    layout = found.finding.parameters.get("layout")
    if found.finding.what == "rope" and layout != right.encoding.layout:
        mistake = f"{layout} layout, and not {right.encoding.layout} (right only for weights that were permuted)"
        return Verdict(False, f"this is the model's ({right.ladder.words()}) but for {mistake}", None, mistake)
    return Verdict(True, f"this is the model's: {right.ladder.words()}")


def _no(rights: Sequence[Meant], nearest: Finding | None, mistake: str | None) -> Verdict:
    words = " or ".join(dict.fromkeys(right.ladder.words() for right in rights))
    by = (
        ""
        if nearest is None
        else f"; off by up to {nearest.error:.3g} at {nearest.where}, allowed {nearest.allowed:.3g}"
    )
    as_if = "" if mistake is None else f"; this is what it gives with {mistake}"
    return Verdict(False, f"the model has {words}{by}{as_if}", nearest, mistake)


def _wrong(right: Meant, positions: Values | None) -> Iterator[tuple[str, Meant, Values | None]]:
    """One mistake, or one together with positions that are off by one; simplest first."""
    yield from ((words, right, p) for words, p in at_other_positions(positions))
    for words, wrong in mistakes(right):
        yield words, wrong, positions
    yield "16 bits", right, positions
    for words, wrong in mistakes(right):
        for more, p in at_other_positions(positions):
            yield f"{words} and {more}", wrong, p


def _against(
    seen: Turns | Values, right: Meant, positions: Values | None, *, narrow: bool = False, far: bool = False
) -> Finding | None:
    """How far what was seen is from what is meant; None where it has another number of pairs, or where it is not near.

    With ``far``, it is compared where it is not near, too.
    """
    try:
        if not isinstance(seen, Turns):
            return _frequencies(seen, right.ladder, narrow)
        right.ladder.quick(seen.cos.shape[1])
    except ValueError:
        return None
    sign = -1.0 if right.backwards else 1.0
    if positions is not None:
        guess = at(seen, right.ladder, positions, sign)
    else:
        guess = next(placed(seen, [right.ladder], sign), None)
    if guess is None and (far or narrow):  # frequencies that were rounded are found nowhere
        guess = Guess(right.ladder, np.arange(len(seen.cos)) if positions is None else positions, sign)
    return None if guess is None else against(seen, guess, right.factor, narrow=narrow)


def _frequencies(values: Values, ladder: Ladder, narrow: bool) -> Finding:
    """In float32 at least; ``narrow``: as they come out of 16 bits."""
    w, c_w = ladder.exact(values.size)
    kinds = ("bfloat16", "float16") if narrow else (precision_of(values),)
    found = []
    for kind in kinds:
        u = min(ROUNDOFF[kind], 2.0**-24)
        told = {"precision": f"values of frequencies in {kind}"}
        bound = np.abs(w) * (0.0 if narrow else (c_w + 2) * u)
        found.append(compared("rope_inv_freq", values, through(w, kind) if narrow else w, bound, **told))
    return min(found, key=off)
