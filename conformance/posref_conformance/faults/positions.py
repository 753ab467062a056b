"""Which position a token has."""

from __future__ import annotations

from typing import Any

from posref_conformance.faults._change import ABSOLUTE, OUTER, QUERIES, arguments, counted, positions, rotation
from posref_conformance.faults._fault import Fault, Functions

ROWS = {**ABSOLUTE, **QUERIES, "learned": (1,)}  # a batch axis may be among the positions' own
SEQUENCES = {n: i for n, i in ABSOLUTE.items() if n != "timestep_embedding"}  # whose last axis is the sequence
SEVERAL_AXES = ("rope_axes_cos_sin", "rope_axes_table", "rope_mixed_cos_sin", "sinusoidal_axes")
FAR = {n: i for n, i in ABSOLUTE.items() if n in ("rope_cos_sin", "rope_table", "rope", "sinusoidal", "llama4_scale")}
BATCHED = {n: i for n, i in ROWS.items() if n in ("rope_cos_sin", "rope", "sinusoidal", "learned", *QUERIES)}

HALVED = {"rope_cos_sin": (0,), "rope_table": (0,), "rope": (1,)}


def _rows_for_heads(right: Any, xp: Any, x: Any, cos: Any, sin: Any, **kwargs: Any) -> Any:
    if x.ndim > 2 and cos.ndim == 2 and cos.shape[0] == x.shape[-3]:
        cos, sin = cos[:, None, :], sin[:, None, :]
    return right.rope_apply(x, cos, sin, **kwargs)


def _first_row(xp: Any, p: Any) -> Any:
    return xp.broadcast_to(p[:1, ...], p.shape) if p.ndim > 1 else p


def _only_the_first(xp: Any, p: Any) -> Any:
    return xp.broadcast_to(p[..., :1], p.shape) if p.ndim else p


def _from_the_first(xp: Any, p: Any) -> Any:
    return p[..., :1] + counted(xp, p) if p.ndim and p.shape[-1] else p


def _by_rank(xp: Any, p: Any) -> Any:
    return xp.argsort(xp.argsort(p, axis=-1), axis=-1) if p.ndim else xp.zeros_like(p)


def _by_row(xp: Any, p: Any) -> Any:
    if p.ndim < 2:
        return p
    rows = xp.reshape(xp.arange(p.shape[0]), (-1,) + (1,) * (p.ndim - 1))
    return xp.broadcast_to(rows, p.shape)


def _axes_exchanged(xp: Any, p: Any) -> Any:
    if p.ndim < 2:
        return p
    return xp.reshape(xp.permute_dims(p, tuple(reversed(range(p.ndim)))), p.shape)


def _one_token_at_zero(xp: Any, p: Any) -> Any:
    return xp.zeros_like(p) if p.ndim and p.shape[-1] == 1 else p


def _wrapped(xp: Any, p: Any, size: int) -> Any:
    return xp.remainder(p, size)


def _int32(xp: Any, p: Any) -> Any:
    return xp.remainder(xp.astype(p, xp.float64) + 2.0**31, 2.0**32) - 2.0**31


def _plus_head(right: Any, xp: Any) -> Functions:
    def rope(x: Any, positions: Any, **kwargs: Any) -> Any:
        heads = xp.reshape(xp.arange(x.shape[-3]), (-1, 1)) if x.ndim > 2 else 0
        return right.rope(x, positions + heads, **kwargs)

    return {"rope": rope}


def _offsets_as_a_sequence(right: Any, xp: Any) -> Functions:
    def rope(x: Any, positions: Any, **kwargs: Any) -> Any:
        if positions.ndim > 1 and positions.shape[-1] == 1:
            positions = xp.reshape(positions, (-1,))
            x = xp.broadcast_to(x, (*x.shape[:-2], positions.shape[0], x.shape[-1]))
        return right.rope(x, positions, **kwargs)

    return {"rope": rope}


def _beyond_the_table(right: Any, xp: Any) -> Functions:
    def rope(x: Any, positions: Any, **kwargs: Any) -> Any:
        within = positions < 2048
        y = right.rope(x, positions, **{k: v for k, v in kwargs.items() if k not in ("out", "output_layout")})
        return xp.where(within[..., None], y, x)

    return {"rope": rope}


def _all_rows_up_to(right: Any, xp: Any) -> Functions:
    def make(name: str) -> Any:
        f = getattr(right, name)

        def function(positions: Any, *args: Any, **kwargs: Any) -> Any:
            if positions.ndim == 1 and positions.shape[0] and 0 <= int(xp.max(positions)) < 2048:
                positions = xp.astype(xp.arange(int(xp.max(positions)) + 1), positions.dtype)
            return f(positions, *args, **kwargs)

        return function

    return {name: make(name) for name in ("rope_cos_sin", "rope_table", "sinusoidal")}


def _heads_for_the_sequence(right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half") -> Any:
    if x.ndim < 3 or cos.ndim != 2 or cos.shape[0] != x.shape[-2]:
        return right.rope_apply(x, cos, sin, layout=layout)
    heads = xp.remainder(xp.arange(x.shape[-3]), cos.shape[0])
    row = (xp.take(t, heads, axis=0)[:, None, :] for t in (cos, sin))
    return right.rope_apply(x, *row, layout=layout)


def _runs_on_over_the_batch(right: Any, xp: Any) -> Functions:
    def rope(x: Any, positions: Any, **kwargs: Any) -> Any:
        if x.ndim > 2 and positions.ndim == 1:
            rows = xp.reshape(xp.arange(x.shape[0]), (-1,) + (1,) * (x.ndim - 2))
            positions = positions + x.shape[-2] * rows
        return right.rope(x, positions, **kwargs)

    return {"rope": rope}


def _first_table_for_all(
    right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0
) -> Any:
    first = (t[:1, ...] if t.ndim > 2 else t for t in (cos, sin))
    return right.rope_apply(x, *first, layout=layout, offset=offset)


FAULTS = (
    Fault(
        "positions-from-1",
        "You count positions from 1.",
        "The first token has position 0.",
        "huggingface/transformers issue #45325; huggingface/transformers PR #45330",
        positions(lambda xp, p: p + 1),
    ),
    Fault(
        "positions-one-behind",
        "You use the position before: each token is one too early.",
        "Take the offset after the new tokens have been appended, or do not subtract 1 twice.",
        "RobertCsordas/moeut PR #6",
        positions(lambda xp, p: xp.where(p > 0, p - 1, p)),
    ),
    Fault(
        "counts-from-0",
        "You count 0, 1, 2, ... whatever the positions are.",
        "Use the given positions: a decode step or a chunk does not start at 0.",
        "keras-team/keras-hub PR #1544; RobertCsordas/moeut PR #6; Blaizzy/mlx-vlm PR #1741; Blaizzy/mlx-vlm issue #1737; "
        "warpfront/hipfire PR #391; "
        "huggingface/transformers issue #22161; lucidrains/rotary-embedding-torch PR #2; NVIDIA/Megatron-LM issue #453",
        positions(counted, {n: i for n, i in SEQUENCES.items() if n not in SEVERAL_AXES}),
    ),
    Fault(
        "one-token-at-0",
        "You give a single token position 0.",
        "A decode step has the position of its token: keys before it plus one.",
        "keras-team/keras-hub PR #1544; RobertCsordas/moeut PR #6",
        positions(_one_token_at_zero, {n: i for n, i in SEQUENCES.items() if n not in ("log_n_scale", *SEVERAL_AXES)}),
    ),
    Fault(
        "first-position-for-all",
        "You give all tokens of a step the position of its first.",
        "Add 0, 1, 2, ... to the start.",
        "jundot/omlx PR #2363",
        positions(_only_the_first, SEQUENCES),
    ),
    Fault(
        "contiguous-from-the-first",
        "You look at the first position only and count on from it.",
        "Look at each position: they may have gaps, repeat, or be out of order.",
        "huggingface/transformers issue #22161; huggingface/transformers PR #22069; unslothai/unsloth PR #4078",
        positions(_from_the_first, SEQUENCES),
    ),
    Fault(
        "positions-by-slot",
        "You use the slot in the cache for the position: gaps are closed.",
        "Keep the true position of each token when others are evicted.",
        "rajveer43/VeloxQuant-MLX issue #389; warpfront/hipfire PR #391",
        positions(_by_rank, SEQUENCES),
    ),
    Fault(
        "first-row-for-all",
        "You use the positions of the first row for the whole batch.",
        "Each row has its own: with left padding cumsum(mask) - 1.",
        "huggingface/transformers issue #22161; huggingface/transformers PR #22069; ndif-team/nnsight PR #673; "
        "unslothai/unsloth PR #4078; unslothai/unsloth issue #3699",
        positions(_first_row, BATCHED),
    ),
    Fault(
        "first-table-for-all",
        "You use the cos and sin of the first row for the whole batch.",
        "Tables may have a batch axis: each row has its own.",
        "linkedin/Liger-Kernel PR #477",
        rotation(_first_table_for_all),
    ),
    Fault(
        "positions-run-on-over-the-batch",
        "You count on into the next row of the batch: its first token follows the last one before.",
        "Start again in each row.",
        "turboderp/exllama PR #101",
        _runs_on_over_the_batch,
    ),
    Fault(
        "position-of-the-row",
        "You index by the row of the batch instead of by the token.",
        "Take the position along the sequence axis.",
        "datawhalechina/hello-agents issue #61; KasperGroesLudvigsen/influenza_transformer issue #9",
        positions(_by_row, BATCHED),
    ),
    Fault(
        "batch-and-sequence-exchanged",
        "You exchange the batch and the sequence axis of the positions.",
        "Broadcast them as (batch, sequence): write [:, -1:], not [:, -1].",
        "bojone/rerope issue #17; Blaizzy/mlx-vlm PR #1883",
        positions(_axes_exchanged, {**BATCHED, **dict.fromkeys(OUTER, (0,))}),
    ),
    Fault(
        "offsets-as-a-sequence",
        "You take the rows' offsets for a sequence: one-token rows become a sequence as long as the batch.",
        "Add an axis: offsets[:, None] + arange(n).",
        "Blaizzy/mlx-vlm PR #1883",
        _offsets_as_a_sequence,
    ),
    Fault(
        "position-plus-head",
        "You add the index of the head to the position.",
        "All heads of a token have the same angle: read the axes in the order that x has.",
        "elixir-nx/emlx issue #121",
        _plus_head,
    ),
    Fault(
        "heads-for-the-sequence",
        "You take the row of the table by head, not by token.",
        "Take it by token: x is (..., sequence, channels).",
        "elixir-nx/emlx issue #121; ml-explore/mlx-lm PR #1553; mlfoundations/open_lm issue #4",
        rotation(_heads_for_the_sequence),
    ),
    Fault(
        "positions-clamped",
        "You give what lies beyond your table the row of its end.",
        "Make the table as long as the positions, a scaling's factor included, or refuse.",
        "vllm-project/vllm-ascend PR #1266",
        positions(lambda xp, p: xp.where(p > 2047, 2047 + xp.zeros_like(p), p)),
    ),
    Fault(
        "unrotated-beyond-the-table",
        "You return tokens beyond your table unrotated.",
        "Make the table as long as the positions, or refuse.",
        "microsoft/onnxruntime issue #28205",
        _beyond_the_table,
    ),
    Fault(
        "all-rows-up-to-the-last",
        "You return the rows of all positions up to the last one.",
        "Return the rows that were asked for: a slice has a start and an end.",
        "vllm-project/vllm PR #10388",
        _all_rows_up_to,
    ),
    Fault(
        "positions-mod-65536",
        "You keep positions in 16 bits: 65536 is 0 again.",
        "Use 32 or 64 bits, and split what exceeds a grid axis.",
        "microsoft/onnxruntime PR #20204",
        positions(lambda xp, p: _wrapped(xp, p, 65536), FAR),
    ),
    Fault(
        "positions-in-int32",
        "You keep positions or offsets in 32 bits: 2**31 becomes negative.",
        "Use 64 bits.",
        "microsoft/onnxruntime PR #31995; linkedin/Liger-Kernel PR #1342",
        positions(_int32, {"rope_cos_sin": (0,)}),
    ),
    Fault(
        "positions-truncated",
        "You cut off the fractions of positions.",
        "Multiply before you round, and keep positions real where they are real.",
        "huggingface/transformers PR #48669; EvolvingLMMs-Lab/lmms-eval issue #1393",
        positions(lambda xp, p: xp.trunc(p), {n: i for n, i in ABSOLUTE.items() if n != "llama4_scale"}),
    ),
    Fault(
        "positions-without-sign",
        "You drop the sign of positions.",
        "Keep it: positions before 0 turn backwards.",
        "tutorials",
        positions(lambda xp, p: xp.abs(p), {n: (i,) for n, i in (("rope_cos_sin", 0), ("rope_table", 0), ("rope", 1))}),
    ),
    Fault(
        "positions-halved",
        "You halve the positions.",
        "Scale them in one place alone, by the scaling that is given.",
        "tutorials",
        arguments(HALVED, lambda xp, p: xp.astype(p, xp.float64) / 2),
    ),
    Fault(
        "positions-rounded",
        "You round positions to integers.",
        "Keep positions real where they are real.",
        "EvolvingLMMs-Lab/lmms-eval issue #1393",
        positions(lambda xp, p: xp.round(p), {**HALVED, "timestep_embedding": (0,), "alibi_bias": (1, 2)}),
    ),
    Fault(
        "positions-doubled",
        "You double the positions.",
        "Scale them in one place alone.",
        "huggingface/transformers issue #45325; huggingface/lerobot issue #3648; huggingface/transformers issue #45381",
        positions(lambda xp, p: p + p),
    ),
    Fault(
        "positions-reversed",
        "You count the positions from the end.",
        "Use each token's own.",
        "tutorials",
        positions(lambda xp, p: xp.flip(p, axis=-1) if p.ndim else p, SEQUENCES),
    ),
    Fault(
        "rows-taken-for-heads",
        "You guess by the lengths which axis a table's rows are for, and take heads for tokens.",
        "A table (tokens, pairs) has no axis of heads: align it with the last axes of x.",
        "tutorials",
        rotation(_rows_for_heads),
    ),
)
