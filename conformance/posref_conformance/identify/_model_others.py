"""Whether slopes, biases, buckets and sinusoids are those of a config: parameter by parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posref.models.records import AlibiEncoding, Encoding, SinusoidalEncoding, T5Encoding
from posref_conformance.identify import Found
from posref_conformance.identify._finding import Finding
from posref_conformance.identify._model import Verdict

KINDS: dict[str, type[Encoding]] = {
    "alibi_slopes": AlibiEncoding,
    "alibi_bias": AlibiEncoding,
    "t5_bucket": T5Encoding,
    "t5_bias": T5Encoding,
    "sinusoidal": SinusoidalEncoding,
}


def other_verdict(found: Found, encodings: Sequence[Encoding]) -> Verdict:
    """Of the model's encodings of this kind, whether one has these parameters."""
    meant = [e for e in encodings if isinstance(e, KINDS[found.finding.what])]
    if not meant:
        return Verdict(False, f"the model has no {found.finding.what.replace('_', ' ')}")
    differences = [_differences(found.finding, one) for one in meant]
    if not found.finding.found:
        return Verdict(False, "these numbers are of no known kind", found.finding)
    if not all(differences):
        return Verdict(True, "this is the model's")
    fewest = min(differences, key=len)
    mistake = ", ".join(f"{name} {here} in place of {there}" for name, here, there in fewest)
    return Verdict(False, f"the model has another one: this is {mistake}", None, mistake)


def _differences(finding: Finding, one: Encoding) -> list[tuple[str, Any, Any]]:
    """Name, what was found and what the model has."""
    found = []
    for name, (key, there) in _wanted(finding.what, one).items():
        here = finding.parameters.get(key)
        if isinstance(there, bool):
            here = bool(here)
        if there is not None and here != there:
            found.append((name, here, there))
    return found


def _wanted(what: str, one: Encoding) -> dict[str, tuple[str, Any]]:
    """Name -> the finding's parameter, and the model's value; None where the file does not tell."""
    if isinstance(one, AlibiEncoding):
        heads = {"heads": ("heads", one.num_heads)}
        return heads if what == "alibi_slopes" else {**heads, "form": ("form", one.form)}
    if isinstance(one, T5Encoding):
        return {
            "num_buckets": ("buckets", one.num_buckets),
            "max_distance": ("max_distance", one.max_distance),
            "bidirectional": ("bidirectional", one.bidirectional),
        }
    assert isinstance(one, SinusoidalEncoding)
    return {
        "base": ("base", one.base),
        "endpoint": ("endpoint", one.endpoint),
        "layout": ("layout", one.layout),
        "order": ("order", one.order),
    }
