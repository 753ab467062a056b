"""The page of known faults: what the suite plants and names, and what it cannot express."""

from __future__ import annotations

import importlib

from posref_conformance.faults import KINDS, UNEXPRESSED, Fault

WORDS = {
    "textbook": "Tutorials",
    "layout": "Pair layout",
    "sign": "Direction and formula of a pair",
    "positions": "Positions",
    "partial": "Partial rotary",
    "frequencies": "Frequencies",
    "scaling": "Scalings",
    "magnitude": "Attention and softmax factors",
    "axes": "Several axes",
    "additive": "Sinusoids, timesteps, learned tables",
    "features": "Sinusoids on axes, bands, Fourier features",
    "padding": "Padding, aligned and augmented positions",
    "resampling": "Resampled tables",
    "windows": "Windows",
    "alibi": "ALiBi",
    "t5": "T5",
    "kernels": "KERPLE, Sandwich, FIRE",
    "relative": "Relative attention",
    "content": "Forget gates, CoPE, PaTH, decomposed biases",
    "logits": "Factors on logits, attention",
    "distance": "Remapped distances, xPos, FoPE, PoPE, packing, weights",
    "precision": "Types that are too narrow",
    "history": "History: memos, caches, counters",
    "memory": "Memory",
    "gradient": "Gradients",
}

INTRO = """---
hide: [toc]
---

# Known faults

Mistakes that were really made, each a backend: `posref check fault:ID` holds it against the suite. In NumPy and torch, every
function that a fault makes wrong fails at least one check. When a check of yours fails, these mistakes, and pairs of them, are
tried on it: the report names the first that give what you gave.

To see which checks catch what: `python tests/scripts/fault_matrix.py`."""


def page() -> str:
    """All kinds, then what is not expressed."""
    sections = [_kind(kind, faults) for kind, faults in KINDS.items()]
    return "\n\n".join([INTRO, *sections, _unexpressed()]) + "\n"


def _kind(kind: str, faults: tuple[Fault, ...]) -> str:
    rows = "\n".join(_row(fault) for fault in faults)
    head = "| Id | What is wrong | What to do | Functions | Seen in |\n| --- | --- | --- | --- | --- |"
    return f"## {WORDS[kind]} {{#{kind}}}\n\n{head}\n{rows}"


def _row(fault: Fault) -> str:
    xp = importlib.import_module("array_api_compat.numpy")
    functions = ("rope_apply", "rope") if fault.needs else fault.functions(xp)
    cells = (f"`{fault.id}`", fault.sentence, fault.fix, ", ".join(f"`{f}`" for f in functions), fault.source)
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _unexpressed() -> str:
    rows = "\n".join(f"| {_cell(u.sentence)} | {_cell(u.reason)} | {_cell(u.source)} |" for u in UNEXPRESSED)
    head = "| What was wrong | Why no function of the contract shows it | Seen in |\n| --- | --- | --- |"
    return f"## What is not among them {{#not-expressed}}\n\n{head}\n{rows}"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("**", r"\*\*").replace(" * ", r" \* ")
