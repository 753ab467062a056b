"""Cases for factors on the attention logits that follow the position of the query or the length."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided

WHOLE = ("int64",)
EITHER = ("int64", "int32")
FLOATING = ("float64", "float32")
AROUND_L = [0, 1, 2, 4094, 4095, 4096, 8191, 100003, 4095, 7]  # unsorted, twice
STEPS = [0, 1, 8190, 8191, 8192, 16382, 16383, 16384, 131071, 262144]
FAR = [2**24 - 1, 2**24, 2**24 + 8191, 2**24 + 8192, 2**31 + 8190, 2**31 + 8191]  # float32 cannot tell some of these


def _log_n(i: Inputs, positions: Any, length: int = 4096, **options: Any) -> Call:
    return Call((i.typed(positions), length), options)


def _ssmax(i: Inputs, positions: Any, heads: int = 3, *, bias: bool = False) -> Call:
    s = i.data(heads)
    return Call((np.array(positions), s), {"bias": i.data(heads)} if bias else {})


def _llama4(i: Inputs, positions: Any, **options: Any) -> Call:
    return Call((i.typed(positions),), options)


def _inkling(i: Inputs, positions: Any, length: int = 4096, **options: Any) -> Call:
    return Call((i.typed(positions), length), options)


def _inkling_again(i: Inputs) -> list[Call]:
    return [
        _inkling(i, np.arange(7), 4),
        _inkling(i, [7], 4),
        _inkling(i, np.arange(7), 3),
        _inkling(i, np.arange(7) + 2, 4),
    ]


def _log_n_again(i: Inputs) -> list[Call]:
    """A prompt, a decode step, another length, and a later prompt of the first one."""
    prompt = np.arange(7)
    return [_log_n(i, prompt, 4), _log_n(i, [7], 4), _log_n(i, prompt, 3), _log_n(i, prompt + 2, 4)]


def _length(name: str, *args: int, **options: Any) -> Case:
    return one("length_scale", name, lambda i: Call(args, dict(options)), dtypes=("default",))


LOG_N, SSMAX, LLAMA_4, INKLING = "log_n_scale", "ssmax_scale", "llama4_scale", "inkling_scale"
ALL = ("float64", "float32", "float16", "bfloat16")

CASES: tuple[Case, ...] = (
    one(LOG_N, "around-length", lambda i: _log_n(i, AROUND_L), dtypes=EITHER),
    one(LOG_N, "small-length", lambda i: _log_n(i, np.arange(9), 2), dtypes=WHOLE),
    one(LOG_N, "unclipped", lambda i: _log_n(i, AROUND_L, clip=False), dtypes=WHOLE),
    one(LOG_N, "fractions", lambda i: _log_n(i, [0.0, 0.5, 4095.5, 5000.25]), dtypes=FLOATING),
    one(LOG_N, "batch", lambda i: _log_n(i, [[3, 4, 5], [7000, 0, 9]], 5), dtypes=WHOLE),
    one(LOG_N, "scalar", lambda i: _log_n(i, 9000), dtypes=WHOLE),
    one(LOG_N, "empty", lambda i: _log_n(i, np.zeros((2, 0))), dtypes=WHOLE),
    one(LOG_N, "read-only-strided", lambda i: Call((read_only(strided(np.arange(5))), 2)), dtypes=WHOLE),
    Case(LOG_N, "again", _log_n_again, dtypes=WHOLE),
    one(INKLING, "around-length", lambda i: _inkling(i, AROUND_L), dtypes=EITHER),
    one(INKLING, "alpha", lambda i: _inkling(i, AROUND_L, alpha=0.25), dtypes=WHOLE),
    one(INKLING, "length-1", lambda i: _inkling(i, np.arange(9), 1), dtypes=WHOLE),
    one(INKLING, "fractions", lambda i: _inkling(i, [0.0, 0.5, 4095.5, 5000.25]), dtypes=FLOATING),
    one(INKLING, "batch", lambda i: _inkling(i, [[3, 4, 5], [7000, 0, 9]], 5), dtypes=WHOLE),
    one(INKLING, "empty", lambda i: _inkling(i, np.zeros((2, 0))), dtypes=WHOLE),
    Case(INKLING, "again", _inkling_again, dtypes=WHOLE),
    one(SSMAX, "heads", lambda i: _ssmax(i, AROUND_L), dtypes=ALL),
    one(SSMAX, "bias", lambda i: _ssmax(i, AROUND_L, bias=True), dtypes=ALL),
    one(SSMAX, "one-head", lambda i: _ssmax(i, np.arange(5), 1), dtypes=ALL),
    one(SSMAX, "batch", lambda i: _ssmax(i, [[3, 4, 5, 0], [7000, 0, 9, 1]], 2), dtypes=ALL),
    one(SSMAX, "fractions", lambda i: _ssmax(i, [0.25, 100.5]), dtypes=FLOATING),
    one(SSMAX, "no-queries", lambda i: _ssmax(i, np.zeros(0, int)), dtypes=ALL),
    one(LLAMA_4, "llama-4", lambda i: _llama4(i, STEPS), dtypes=EITHER),
    one(LLAMA_4, "ministral-3", lambda i: _llama4(i, STEPS, floor_scale=16384, shift=0), dtypes=EITHER),
    one(LLAMA_4, "scale", lambda i: _llama4(i, STEPS, attn_scale=0.25), dtypes=WHOLE),
    one(LLAMA_4, "odd-length", lambda i: _llama4(i, np.arange(30), floor_scale=7), dtypes=WHOLE),
    one(
        LLAMA_4,
        "far",
        lambda i: _llama4(i, FAR),
        dtypes=WHOLE,
        note="at and beside the steps beyond 2**24: positions in float32 land on the wrong side",
    ),
    one(LLAMA_4, "fractions", lambda i: _llama4(i, [0.5, 8190.5, 8191.5, 8192.25]), dtypes=FLOATING),
    one(LLAMA_4, "batch", lambda i: _llama4(i, [[0, 9000], [8191, 70000], [1, 2]]), dtypes=WHOLE),
    one(LLAMA_4, "empty", lambda i: _llama4(i, np.zeros((0, 3))), dtypes=WHOLE),
    _length("within", 1024, 4096),
    _length("at", 4096, 4096),
    _length("qwen-1m", 1048576, 262144),
    _length("chunkllama", 100000, 4096, mscale=0.5),
    _length("just-beyond", 4097, 4096),
)
