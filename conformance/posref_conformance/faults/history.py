"""What one call leaves behind for the next: memos, caches that grow, counters, buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import OF_ARRAYS, counted, narrow
from posref_conformance.faults._fault import Fault, Functions, Wrong

WITH_PARAMETERS = (  # keywords that change the result and no shape
    "alibi_slopes",
    "attention",
    "frequency_bands",
    "fourier_features",
    "grid_positions",
    "hierarchical_table",
    "length_scale",
    "mask_positions",
    "query_positions",
    "rerope_distance",
    "resample_table",
    "rope_apply_channels",
    "rope_axes_inv_freq",
    "rope_axes_table",
    "rope_axis_map",
    "rope_inv_freq",
    "rope_permute_weight",
    "rope_pixel_freq",
    "rope_scores",
    "rope_table",
    "sandwich_bias",
    "sinusoidal",
    "sinusoidal_axes",
    "t5_bucket",
    "timestep_embedding",
    "xpos_scale",
)


def _shape(a: Any) -> Any:
    return tuple(a.shape) if hasattr(a, "shape") else a


def _memo(key: Callable[..., Any], *names: str) -> Wrong:
    """Functions that keep what they made under a key that says too little."""

    def wrong(right: Any, xp: Any) -> Functions:
        def make(name: str) -> Callable[..., Any]:
            f, kept = getattr(right, name), dict[Any, Any]()

            def function(*args: Any, **kwargs: Any) -> Any:
                k = key(*args, **kwargs)
                if k not in kept:
                    kept[k] = f(*args, **kwargs)
                return kept[k]

            return function

        return {name: make(name) for name in names}

    return wrong


def _by_shape(*args: Any, **kwargs: Any) -> Any:
    return (*map(_shape, args), *sorted((k, _shape(v)) for k, v in kwargs.items() if isinstance(v, (str, bool))))


def _by_value_without_keywords(*args: Any, **kwargs: Any) -> Any:
    return tuple(str(a.tolist()) if hasattr(a, "tolist") else a for a in args)


def _rope_from_kept_table(key: Callable[..., Any]) -> Wrong:
    """A rotation whose table is kept under key(x, positions, kwargs)."""

    def wrong(right: Any, xp: Any) -> Functions:
        kept: dict[Any, Any] = {}

        def rope(x: Any, positions: Any, *, dim: int | None = None, offset: int = 0, **kwargs: Any) -> Any:
            of_table = {k: kwargs.pop(k) for k in ("base", "scaling", "seq_len") if k in kwargs}
            dim = dim or x.shape[-1] - offset
            k = (key(x, positions, of_table), dim, tuple(positions.shape))
            if k not in kept:
                kept[k] = tuple(xp.astype(t, x.dtype) for t in right.rope_table(positions, dim, **of_table))
            return right.rope_apply(x, *kept[k], offset=offset, **kwargs)

        return {"rope": rope}

    return wrong


def _longest(right: Any, xp: Any) -> Functions:
    def make(name: str) -> Callable[..., Any]:
        f, longest = getattr(right, name), dict[Any, int]()

        def function(*args: Any, scaling: Any = None, seq_len: int | None = None, **kwargs: Any) -> Any:
            if scaling is not None and seq_len is not None:
                longest[scaling] = seq_len = max(seq_len, longest.get(scaling, 0))
            return f(*args, scaling=scaling, seq_len=seq_len, **kwargs)

        return function

    return {name: make(name) for name in ("rope_inv_freq", "rope_table", "rope")}


def _rebuilt_in_16_bits(right: Any, xp: Any) -> Functions:
    def table() -> Callable[..., Any]:
        longest: list[int] = []

        def rope_table(positions: Any, dim: int, **kwargs: Any) -> Any:
            end = int(xp.max(positions)) + 1 if positions.shape and 0 not in positions.shape else 0
            w = right.rope_inv_freq(dim, **{k: v for k, v in kwargs.items() if k != "attention_factor"})
            if longest and end > longest[0]:
                w = narrow(xp, w, "bfloat16")
            longest[:] = longest or [end]
            return right.rope_cos_sin(positions, w)

        return rope_table

    of_rope = table()

    def rope(x: Any, positions: Any, *, base: float = 10000.0, layout: str = "half") -> Any:
        return right.rope_apply(x, *of_rope(positions, x.shape[-1], base=base), layout=layout)

    return {"rope_table": table(), "rope": rope}


def _own_counter(right: Any, xp: Any) -> Functions:
    seen = [0]

    def rope(x: Any, positions: Any, **kwargs: Any) -> Any:
        start, seen[0] = seen[0], seen[0] + x.shape[-2]
        return right.rope(x, counted(xp, positions) + start, **kwargs)

    return {"rope": rope}


def _one_buffer(right: Any, xp: Any) -> Functions:
    def make(name: str) -> Callable[..., Any]:
        f, buffers = getattr(right, name), dict[Any, Any]()

        def kept(which: int, y: Any) -> Any:
            buffer = buffers.setdefault((which, tuple(y.shape), str(y.dtype)), xp.asarray(y, copy=True))
            buffer[...] = y
            return buffer

        def function(*args: Any, **kwargs: Any) -> Any:
            y = f(*args, **kwargs)
            return tuple(kept(n, t) for n, t in enumerate(y)) if isinstance(y, tuple) else kept(0, y)

        return function

    return {name: make(name) for name in OF_ARRAYS}


FAULTS = (
    Fault(
        "kept-by-shape",
        "You keep what you made under the shapes alone: the same shapes with other values get it back.",
        "Put offset, base, type and device into the key, or keep nothing.",
        "lucidrains/rotary-embedding-torch issue #11; ml-explore/mlx PR #3071",
        _memo(_by_shape, *OF_ARRAYS),
    ),
    Fault(
        "kept-without-parameters",
        "You keep what you made without its parameters: another base gets it back.",
        "Put every parameter into the key.",
        "ml-explore/mlx PR #3071; lucidrains/rotary-embedding-torch issue #11",
        _memo(_by_value_without_keywords, *WITH_PARAMETERS),
    ),
    Fault(
        "table-kept-for-all-positions",
        "You keep the table of the first call for this length, wherever the next ones start.",
        "Put the offset into the key.",
        "lucidrains/rotary-embedding-torch issue #11",
        _rope_from_kept_table(lambda x, p, k: (str(x.dtype), str(k))),
    ),
    Fault(
        "table-kept-for-all-types",
        "You keep the table in the type of the first call.",
        "Put the type into the key, or keep it in float32.",
        "huggingface/transformers issue #28685; huggingface/transformers issue #25681",
        _rope_from_kept_table(lambda x, p, k: (str(p.tolist()), str(k))),
    ),
    Fault(
        "longest-length-kept",
        "You keep the frequencies of the longest call: a short one after a long one is wrong.",
        "Make them from this call's length.",
        "huggingface/transformers PR #27227; huggingface/transformers issue #27226; huggingface/transformers PR #27033",
        _longest,
    ),
    Fault(
        "cache-rebuilt-in-bfloat16",
        "Your table is right until it grows: then it is made from frequencies that had been cast.",
        "Keep the frequencies in float32 whatever the module's type is.",
        "huggingface/transformers issue #25681; huggingface/transformers issue #29496; huggingface/transformers issue #28685",
        _rebuilt_in_16_bits,
    ),
    Fault(
        "own-counter",
        "You count the tokens of all calls yourself and do not look at the positions.",
        "Use the given positions.",
        "rajveer43/VeloxQuant-MLX issue #389",
        _own_counter,
    ),
    Fault(
        "one-buffer-for-all-results",
        "You return the same memory each time: a later call overwrites an earlier result.",
        "Return new memory, or take it as out.",
        "ml-explore/mlx PR #3071; unslothai/unsloth issue #5001",
        _one_buffer,
    ),
)
