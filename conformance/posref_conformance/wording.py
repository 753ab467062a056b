"""Text that came from a backend, made fit for one line of a report."""

from __future__ import annotations

LONGEST = 300


def one_line(text: object) -> str:
    """The text of anything, on one line: no control characters, no surrogates, and no failure if it has no text."""
    try:
        words = " ".join(str(text)[: 10 * LONGEST].split())[:LONGEST]
    except Exception:
        return f"({type(text).__name__}, whose text cannot be had)"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)


def problem_line(problem: BaseException) -> str:
    """An exception as Python's last line has it: ``ValueError: dim must be even``."""
    return f"{type(problem).__name__}: {one_line(problem)}".removesuffix(": ")
