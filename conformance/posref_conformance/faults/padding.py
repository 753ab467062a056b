"""Positions among padding: what is counted, from where, and what the rest gets. Augmented positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import always, arguments, keywords, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions

POSITIONS, COORDINATES = ("mask_positions",), ("mask_coordinates",)


def _from_the_end(right: Any, xp: Any) -> Functions:
    def mask_positions(mask: Any, **kwargs: Any) -> Any:
        return xp.flip(right.mask_positions(xp.flip(mask, axis=-1), **kwargs), axis=-1)

    return {"mask_positions": mask_positions}


def _over_the_batch(right: Any, xp: Any) -> Any:
    def mask_positions(mask: Any, **kwargs: Any) -> Any:
        if mask.ndim < 2:
            return right.mask_positions(mask, **kwargs)
        return xp.moveaxis(right.mask_positions(xp.moveaxis(mask, 0, -1), **kwargs), -1, 0)

    return mask_positions


def _first_row_for_all(xp: Any, mask: Any) -> Any:
    return xp.broadcast_to(mask[:1, ...], mask.shape) if mask.ndim > 1 else mask


def _coordinates(formula: Callable[[Any, Any, float, float, float], Any], *, whole: bool = False) -> Any:
    """Scaled coordinates by ``formula(count, total, scale, shift, eps)``; ``whole`` counts padding for the total."""

    def make(right: Any, xp: Any) -> Any:
        def mask_coordinates(
            mask: Any, *, axes: int = 2, scale: float | None = None, shift: float = 0.0, eps: float = 1e-6
        ) -> Any:
            if scale is None:
                return right.mask_coordinates(mask, axes=axes, shift=shift)
            counts = right.mask_coordinates(mask, axes=axes)
            rows = []
            for a in range(axes):
                count = xp.astype(counts[a, ...], xp.float64)
                there = xp.ones_like(count) if whole else xp.astype(mask, xp.float64)
                total = xp.sum(there, axis=mask.ndim - axes + a, keepdims=True)
                rows.append(formula(count, total, scale, shift, eps))
            return xp.stack(rows)

        return mask_coordinates

    return replaced(mask_coordinates=make)


def _blocks(change: Callable[[Any, Any, Any, int], Any]) -> Any:
    """LongT5's blocks that are changed: ``change(xp, right, mask, size)``."""

    def make(right: Any, xp: Any) -> Any:
        return lambda mask, block_size: change(xp, right.long_t5_blocks, mask, block_size)

    return replaced(long_t5_blocks=make)


def _own_block_for_the_rest(xp: Any, right: Any, mask: Any, size: int) -> Any:
    y = right(mask, size)
    return xp.where(mask, xp.broadcast_to(xp.astype(xp.arange(mask.shape[-1]) // size, y.dtype), y.shape), y)


def _cape(formula: Callable[[Any, Any, Any, Any], Any]) -> Any:
    """CAPE by ``formula(xp, positions, shift, log_scale)``."""

    def make(right: Any, xp: Any) -> Any:
        def cape_positions(positions: Any, shift: Any, log_scale: Any, *, centre: bool = False) -> Any:
            p, d, s = (xp.astype(a, xp.float64) for a in (positions, shift, log_scale))
            if centre and p.shape[-1]:
                p = p - xp.mean(p, axis=-1, keepdims=True)
            return xp.astype(formula(xp, p, d, s), shift.dtype)

        return cape_positions

    return replaced(cape_positions=make)


FAULTS = (
    Fault(
        "padding-counted",
        "You count padding as tokens.",
        "Count what is there: cumsum(mask) - 1.",
        "huggingface/transformers issue #22161; unslothai/unsloth PR #3795; unslothai/unsloth PR #3803; "
        "TransformerLensOrg/TransformerLens issue #1609; TransformerLensOrg/TransformerLens PR #1610; "
        "tloen/alpaca-lora issue #315",
        arguments(
            {"mask_positions": (0,), "mask_coordinates": (0,), "long_t5_blocks": (0,)}, lambda xp, m: xp.ones_like(m)
        ),
    ),
    Fault(
        "counted-over-the-batch",
        "You sum the mask over the batch, not along the sequence.",
        "Sum along the last axis.",
        "tutorials",
        replaced(mask_positions=_over_the_batch),
    ),
    Fault(
        "padding-of-the-first-row",
        "You use the padding of the first row for the whole batch.",
        "Each row has a mask of its own.",
        "unslothai/unsloth PR #3803; unslothai/unsloth issue #3699",
        arguments({"mask_positions": (0,), "long_t5_blocks": (0,)}, _first_row_for_all),
    ),
    Fault(
        "padded-positions-from-1",
        "You forget to subtract 1 from the running sum of the mask.",
        "The first token has position 0, or first.",
        "unslothai/unsloth PR #3795",
        keywords(POSITIONS, lambda k: {**k, "first": k.get("first", 0) + 1}),
    ),
    Fault(
        "first-position-ignored",
        "You count from 0 whatever the first position is.",
        "Add first: RoBERTa's tokens start after its padding row.",
        "huggingface/sentence-transformers PR #3879",
        without(POSITIONS, "first"),
    ),
    Fault(
        "position-of-padding-ignored",
        "You give padding position 0 whatever padding says.",
        "Follow padding: a model's table has a row for it, or goes on counting.",
        "huggingface/sentence-transformers PR #3879",
        without(POSITIONS, "padding"),
    ),
    Fault(
        "padded-positions-not-limited",
        "You do not stop at the largest position.",
        "Follow largest.",
        "tutorials",
        without(POSITIONS, "largest"),
    ),
    Fault(
        "runs-not-restarted",
        "You count on over gaps, though each run is to start again.",
        "Follow restart.",
        "Abacus embeddings (2405.17399)",
        without(POSITIONS, "restart"),
    ),
    Fault(
        "padded-positions-from-the-end",
        "You count tokens from the end.",
        "The first token that is there comes first.",
        "tutorials",
        _from_the_end,
    ),
    Fault(
        "scaled-by-the-padded-size",
        "You divide by the size of the padded picture.",
        "Divide by the pixels that are there, along that axis.",
        "DETR (2005.12872)",
        _coordinates(lambda c, n, s, h, e: s * (c - h) / (n + e), whole=True),
    ),
    Fault(
        "half-a-pixel-of-the-scaled",
        "You subtract half a pixel after dividing by the size.",
        "Subtract shift from the count, then divide.",
        "IDEA-Research/DN-DETR issue #51",
        _coordinates(lambda c, n, s, h, e: s * (c / (n + e) - h)),
    ),
    Fault(
        "coordinates-not-scaled",
        "You return counts, though coordinates are to be scaled.",
        "Divide by the number of pixels along the axis and multiply by scale.",
        "DETR (2005.12872)",
        keywords(COORDINATES, lambda k: {n: v for n, v in k.items() if n not in ("scale", "eps")}),
    ),
    Fault(
        "shift-of-coordinates-ignored",
        "You ignore shift.",
        "Subtract it from the counts: Deformable DETR takes the centres of pixels.",
        "IDEA-Research/DN-DETR issue #51",
        without(COORDINATES, "shift"),
    ),
    Fault(
        "pixels-counted-from-0",
        "You count pixels from 0.",
        "The first pixel that is there has the count 1.",
        "tutorials",
        keywords(COORDINATES, lambda k: {**k, "shift": k.get("shift", 0.0) + 1.0}),
    ),
    Fault(
        "rows-of-coordinates-exchanged",
        "You return (x, y) for (y, x).",
        "Row a of the result belongs to axis a of the mask.",
        "IDEA-Research/DAB-DETR issue #36; HXMap/MapQR issue #17",
        results(COORDINATES, lambda xp, y: xp.flip(y, axis=0)),
    ),
    Fault(
        "queries-always-at-the-top",
        "You count queries from 0: they are aligned with the first keys.",
        "With a cache the queries are the last of the keys: i + n_k - n_q.",
        "RobertCsordas/moeut PR #6; lucidrains/rotary-embedding-torch PR #2",
        always(("query_positions",), align="top_left"),
    ),
    Fault(
        "queries-always-at-the-bottom",
        "You align queries with the last keys whatever is asked for.",
        "Follow align.",
        "tutorials",
        without(("query_positions",), "align"),
    ),
    Fault(
        "queries-and-keys-exchanged",
        "You exchange the number of queries and that of keys.",
        "There are num_queries positions; the last one is num_keys - 1.",
        "RobertCsordas/moeut PR #6",
        replaced(query_positions=lambda right, xp: lambda q, k, **kwargs: right.query_positions(k, q, **kwargs)),
    ),
    Fault(
        "block-for-the-rest",
        "You give the tokens after the last whole block a block of their own.",
        "They belong to the last whole one.",
        "LongT5 (2112.07916), sec. 3.1",
        _blocks(_own_block_for_the_rest),
    ),
    Fault(
        "padding-in-block-0",
        "You put padding into block 0.",
        "Padding has block -1.",
        "LongT5 (2112.07916), sec. 3.1",
        _blocks(lambda xp, right, mask, size: xp.where(mask, right(mask, size), 0)),
    ),
    Fault(
        "blocks-one-too-long",
        "You divide by block_size + 1.",
        "Token i is in block i // block_size.",
        "tutorials",
        _blocks(lambda xp, right, mask, size: right(mask, size + 1)),
    ),
    Fault(
        "scaled-before-the-shift",
        "You scale the positions and add the shift after that.",
        "Shift first: (p + shift) e ** log_scale.",
        "CAPE (2106.03143), sec. 3.1",
        _cape(lambda xp, p, d, s: p * xp.exp(s) + d),
    ),
    Fault(
        "log-scale-as-scale",
        "You multiply by the logarithm of the scale.",
        "Multiply by its exponential.",
        "CAPE (2106.03143), sec. 3.1",
        _cape(lambda xp, p, d, s: (p + d) * s),
    ),
    Fault(
        "shift-subtracted",
        "You subtract the shift.",
        "Add it.",
        "CAPE (2106.03143), sec. 3.1",
        _cape(lambda xp, p, d, s: (p - d) * xp.exp(s)),
    ),
    Fault(
        "positions-not-centred",
        "You do not subtract the mean position.",
        "Follow centre.",
        "CAPE (2106.03143), sec. 3.1",
        without(("cape_positions",), "centre"),
    ),
)
