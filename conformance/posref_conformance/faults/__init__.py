"""Faults that were really made, as backends: what the suite must catch, and what it names when it does."""

from posref_conformance.faults import (
    additive,
    alibi,
    axes,
    bands,
    content,
    distance,
    features,
    frequencies,
    gradient,
    gradient_learned,
    history,
    kernels,
    layout,
    logits,
    magnitude,
    memory,
    padding,
    partial,
    positions,
    precision,
    relative,
    resampling,
    scaling,
    sign,
    softmax,
    t5,
    windows,
)
from posref_conformance.faults._fault import Fault, both
from posref_conformance.faults.textbook import TEXTBOOK
from posref_conformance.faults.unexpressed import UNEXPRESSED, Unexpressed

KINDS: dict[str, tuple[Fault, ...]] = {
    "textbook": TEXTBOOK,
    "layout": layout.FAULTS,
    "sign": sign.FAULTS,
    "positions": positions.FAULTS,
    "partial": partial.FAULTS,
    "frequencies": frequencies.FAULTS,
    "scaling": scaling.FAULTS + bands.FAULTS,
    "magnitude": magnitude.FAULTS,
    "axes": axes.FAULTS,
    "additive": additive.FAULTS,
    "features": features.FAULTS,
    "padding": padding.FAULTS,
    "resampling": resampling.FAULTS,
    "windows": windows.FAULTS,
    "alibi": alibi.FAULTS,
    "t5": t5.FAULTS,
    "kernels": kernels.FAULTS,
    "relative": relative.FAULTS,
    "content": content.FAULTS,
    "logits": logits.FAULTS + softmax.FAULTS,
    "distance": distance.FAULTS,
    "precision": precision.FAULTS,
    "history": history.FAULTS,
    "memory": memory.FAULTS,
    "gradient": gradient.FAULTS + gradient_learned.FAULTS,
}
FAULTS: dict[str, Fault] = {f.id: f for faults in KINDS.values() for f in faults}

__all__ = ["FAULTS", "KINDS", "UNEXPRESSED", "Fault", "Unexpressed", "both"]
