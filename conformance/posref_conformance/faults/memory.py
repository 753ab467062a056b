"""Memory: inputs that are written to, strides that are not looked at, results that are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import OF_ARRAYS, ROTATIONS, rotation, without
from posref_conformance.faults._fault import Fault, Functions


def _over_the_input(right: Any, xp: Any) -> Functions:
    def make(name: str) -> Callable[..., Any]:
        f = getattr(right, name)

        def function(x: Any, *args: Any, **kwargs: Any) -> Any:
            y = f(x, *args, **kwargs)
            x[...] = y
            return x

        return function

    return {name: make(name) for name in ROTATIONS}


def _scratch(right: Any, xp: Any) -> Functions:
    """Right, and an input is used as scratch memory on the way."""

    def make(name: str) -> Callable[..., Any]:
        f = getattr(right, name)

        def function(*args: Any, **kwargs: Any) -> Any:
            y = f(*args, **kwargs)
            arrays = [a for a in args if hasattr(a, "shape") and 0 not in a.shape]
            for victim in arrays[1:2] or arrays:
                victim[...] = 0 * victim + 1
            return y

        return function

    return {name: make(name) for name in OF_ARRAYS}


def _as_dense(xp: Any, a: Any) -> Any:
    """What stands in the memory of an array, if its strides were those of a dense one of its shape."""
    if not hasattr(a, "shape") or not a.shape or 0 in a.shape:
        return a
    strides: list[int] = []
    n = 1
    for size in reversed(a.shape):
        strides.insert(0, n)
        n *= size
    if hasattr(a, "as_strided"):  # torch
        return a if a.is_contiguous() else a.as_strided(a.shape, strides)
    if a.flags.c_contiguous:
        return a
    from numpy.lib.stride_tricks import as_strided

    return as_strided(a, a.shape, [s * a.itemsize for s in strides])


def _strides_ignored(right: Any, xp: Any) -> Functions:
    def make(name: str) -> Callable[..., Any]:
        f = getattr(right, name)
        return lambda *args, **kwargs: f(*(_as_dense(xp, a) for a in args), **kwargs)

    return {name: make(name) for name in OF_ARRAYS}


def _rows_left(right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half") -> Any:
    y = right.rope_apply(x, cos, sin, layout=layout)
    rows = 1
    for n in x.shape[:-1]:
        rows *= n
    if rows <= 65535:
        return y
    flat, given = (xp.reshape(t, (rows, x.shape[-1])) for t in (y, x))
    return xp.reshape(xp.concat([flat[:65535, ...], given[65535:, ...]], axis=0), x.shape)


def _multiples_of(size: int) -> Any:
    def change(right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half") -> Any:
        y = right.rope_apply(x, cos, sin, layout=layout)
        whole = x.shape[-2] // size * size if x.ndim > 1 else 0
        if x.ndim < 2 or x.shape[-2] < size:
            return y
        return xp.concat([y[..., :whole, :], x[..., whole:, :]], axis=-2)

    return rotation(change)


def _vectors_of_4(right: Any, xp: Any, x: Any, cos: Any, sin: Any, **kwargs: Any) -> Any:
    whole = xp.arange(cos.shape[-1]) < cos.shape[-1] // 4 * 4
    cos, sin = xp.where(whole, cos, xp.ones_like(cos)), xp.where(whole, sin, xp.zeros_like(sin))
    return right.rope_apply(x, cos, sin, **kwargs)


FAULTS = (
    Fault(
        "written-over-the-input",
        "You write the result over x.",
        "Write to new memory, or to out where it is given.",
        "unslothai/unsloth issue #5001; lucidrains/rotary-embedding-torch PR #31",
        _over_the_input,
    ),
    Fault(
        "input-as-scratch-memory",
        "You return the right result and leave other values in an input.",
        "Use memory of your own.",
        "unslothai/unsloth issue #5001; lucidrains/rotary-embedding-torch PR #31",
        _scratch,
    ),
    Fault(
        "strides-ignored",
        "You read memory as if it were dense.",
        "Use the strides of each array, of queries, keys and positions, or copy first.",
        "vllm-project/vllm PR #17091; vllm-project/vllm issue #16658; vllm-project/vllm-ascend PR #2388; "
        "sgl-project/sglang issue #20559; sgl-project/sglang PR #20598",
        _strides_ignored,
    ),
    Fault(
        "rows-beyond-65535",
        "You leave rows beyond 65535 as they are: a grid axis has ended.",
        "Put the rows on the axis without that limit, or loop.",
        "microsoft/onnxruntime PR #20204",
        rotation(_rows_left),
    ),
    Fault(
        "last-block-left-out",
        "You leave the tokens after the last whole block of 64 as they are.",
        "Mask the last block; do not skip it.",
        "microsoft/onnxruntime PR #20204",
        _multiples_of(64),
    ),
    Fault(
        "last-pairs-left-out",
        "You leave the pairs after the last whole vector of 4 as they are.",
        "Finish the row with a scalar loop, or mask the last vector.",
        "microsoft/onnxruntime PR #20204",
        rotation(_vectors_of_4),
    ),
    Fault(
        "out-ignored",
        "You return a new array and do not write to out.",
        "Write to out, and return it.",
        "unslothai/unsloth issue #5001",
        without(ROTATIONS, "out"),
    ),
)
