"""The ways in which a right function is made wrong: a change of its keywords, its arguments, its result or one of its stages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ml_dtypes

import posref
from posref_conformance.backend import missing_keyword
from posref_conformance.contract import FUNCTIONS
from posref_conformance.faults._fault import Functions, Wrong

ROTATIONS = ("rope_apply", "rope")
LAYOUTS = ("rope_apply", "rope", "rope_apply_channels", "rope_scores", "linear_attention")
TABLES = ("rope_cos_sin", "rope_table", "rope_axes_cos_sin", "rope_axes_table", "rope_mixed_cos_sin", "fope_cos_sin")
ABSOLUTE: dict[str, tuple[int, ...]] = {  # where a position itself counts, and which argument it is
    "rope_cos_sin": (0,),
    "rope_table": (0,),
    "rope": (1,),
    "rope_axes_cos_sin": (0,),
    "rope_axes_table": (0,),
    "rope_mixed_cos_sin": (0,),
    "fope_cos_sin": (0,),
    "pope_apply": (1,),
    "xpos_scale": (0,),
    "sinusoidal": (0,),
    "timestep_embedding": (0,),
    "log_n_scale": (0,),
    "ssmax_scale": (0,),
    "llama4_scale": (0,),
    "inkling_scale": (0,),
    "sinusoidal_axes": (0,),
    "cape_positions": (0,),
}
QUERIES = {"alibi_bias": (1,), "t5_bias": (1,), "kerple_bias": (2,), "sandwich_bias": (1,), "fire_distance": (0,)}
KEYS = {"alibi_bias": (2,), "t5_bias": (2,), "kerple_bias": (3,), "sandwich_bias": (2,), "fire_distance": (1,)}
OF_ARRAYS = tuple(  # what takes an array
    name
    for name in FUNCTIONS
    if any("ArrayLike" in str(p.annotation) for p in inspect.signature(getattr(posref, name)).parameters.values())
)
OUTER = {"rerope_distance": (0, 1), "self_extend_distance": (0, 1), "dual_chunk_distance": (0, 1)}


def keywords(names: Iterable[str], change: Callable[[dict[str, Any]], dict[str, Any]]) -> Wrong:
    """Functions that are called with other keywords than they were given."""

    def wrong(right: Any, xp: Any) -> Functions:
        def make(name: str) -> Callable[..., Any]:
            f = getattr(right, name)
            return lambda *args, **kwargs: f(*args, **change(kwargs))

        return {name: make(name) for name in names}

    return wrong


def without(names: Iterable[str], *keys: str) -> Wrong:
    """Functions that do not look at some keywords."""
    return keywords(names, lambda k: {name: value for name, value in k.items() if name not in keys})


def always(names: Iterable[str], **fixed: Any) -> Wrong:
    """Functions that have some keywords fixed."""
    return keywords(names, lambda k: {**k, **fixed})


def arguments(where: Mapping[str, tuple[int, ...]], change: Callable[[Any, Any], Any]) -> Wrong:
    """Functions whose arguments at some places are replaced by ``change(xp, argument)``."""

    def wrong(right: Any, xp: Any) -> Functions:
        def make(name: str, places: tuple[int, ...]) -> Callable[..., Any]:
            f = getattr(right, name)

            def function(*args: Any, **kwargs: Any) -> Any:
                return f(*(change(xp, a) if n in places else a for n, a in enumerate(args)), **kwargs)

            return function

        return {name: make(name, places) for name, places in where.items()}

    return wrong


def positions(change: Callable[[Any, Any], Any], where: Mapping[str, tuple[int, ...]] = ABSOLUTE) -> Wrong:
    """Functions that see other positions, of the same type."""
    return arguments(where, lambda xp, p: xp.astype(change(xp, p), p.dtype))


def results(names: Iterable[str], change: Callable[[Any, Any], Any]) -> Wrong:
    """Functions that return ``change(xp, result)``, of each of several results."""

    def wrong(right: Any, xp: Any) -> Functions:
        def make(name: str) -> Callable[..., Any]:
            f = getattr(right, name)

            def function(*args: Any, **kwargs: Any) -> Any:
                y = f(*args, **kwargs)
                return tuple(change(xp, t) for t in y) if isinstance(y, tuple) else change(xp, y)

            return function

        return {name: make(name) for name in names}

    return wrong


def replaced(**made: Callable[[Any, Any], Callable[..., Any]]) -> Wrong:
    """Functions of which each is made anew: ``name=maker``, where ``maker(right, xp)`` gives the wrong one."""
    return lambda right, xp: {name: make(right, xp) for name, make in made.items()}


# --- the stages of a rotary encoding: what is wrong in one is wrong in the calls that do several at once -------------


def frequencies(change: Callable[..., Any]) -> Wrong:
    """``change(right, xp, dim, **kwargs)`` gives float64 frequencies."""

    def wrong(right: Any, xp: Any) -> Functions:
        def rope_inv_freq(dim: int, **kwargs: Any) -> Any:
            return change(right, xp, dim, **kwargs)

        return _from(right, rope_inv_freq=rope_inv_freq)

    return wrong


def factor(change: Callable[..., float]) -> Wrong:
    """``change(right, scaling, seq_len)`` gives the factor on cos and sin that follows from a scaling."""

    def wrong(right: Any, xp: Any) -> Functions:
        def rope_attention_factor(scaling: Any, *, seq_len: int | None = None) -> float:
            return change(right, scaling, seq_len)

        return _from(right, rope_attention_factor=rope_attention_factor)

    return wrong


def tables(change: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Wrong:
    """``change(xp, cos, sin)`` gives the tables, of all kinds of rotary encodings."""

    def wrong(right: Any, xp: Any) -> Functions:
        def make(name: str) -> Callable[..., Any]:
            f = getattr(right, name)
            return lambda *args, **kwargs: change(xp, *f(*args, **kwargs))

        changed = {name: make(name) for name in TABLES}
        return {**changed, "rope": _rope(right, rope_table=changed["rope_table"])}

    return wrong


def angles(change: Callable[[Any, Any, Any], Any]) -> Wrong:
    """``change(xp, positions, frequencies)`` gives float64 angles (..., pairs), whose cos and sin are right."""

    def wrong(right: Any, xp: Any) -> Functions:
        def rope_cos_sin(p: Any, inv_freq: Any, *, attention_factor: float = 1.0) -> Any:
            angle = change(xp, xp.astype(p, xp.float64), xp.astype(inv_freq, xp.float64))
            cos, sin = (xp.astype(attention_factor * t(angle), inv_freq.dtype) for t in (xp.cos, xp.sin))
            return cos, sin

        return _from(right, rope_cos_sin=rope_cos_sin)

    return wrong


def rotation(change: Callable[..., Any]) -> Wrong:
    """``change(right, xp, x, cos, sin, **kwargs)`` gives the rotated x; keywords that it lacks are not implemented."""
    shown = inspect.signature(change)
    shown = shown.replace(parameters=list(shown.parameters.values())[2:])

    def wrong(right: Any, xp: Any) -> Functions:
        def rope_apply(x: Any, cos: Any, sin: Any, **kwargs: Any) -> Any:
            if missing_keyword(rope_apply, kwargs):
                raise NotImplementedError
            return change(right, xp, x, cos, sin, **kwargs)

        rope_apply.__signature__ = shown  # type: ignore[attr-defined]
        return _from(right, rope_apply=rope_apply)

    return wrong


def pairwise(formula: Callable[[Any, Any, Any, Any], tuple[Any, Any]]) -> Wrong:
    """A rotation by another formula: ``formula(a, b, cos, sin)`` gives both members of the pairs."""

    def change(
        right: Any, xp: Any, x: Any, cos: Any, sin: Any, *, layout: str = "half", offset: int = 0, inverse: bool = False
    ) -> Any:
        work = xp.float64 if x.dtype == xp.float64 else xp.float32
        cos, sin = xp.astype(cos, work), xp.astype(-sin if inverse else sin, work)
        first, second = members(cos.shape[-1], layout, offset)
        a, b = formula(xp.astype(x[..., first], work), xp.astype(x[..., second], work), cos, sin)
        y = xp.asarray(x, copy=True)
        y[..., first], y[..., second] = xp.astype(a, x.dtype), xp.astype(b, x.dtype)
        return y

    return rotation(change)


def _from(right: Any, **stage: Callable[..., Any]) -> Functions:
    """A wrong stage, and the calls that contain it."""
    if "rope_apply" in stage:
        return {**stage, "rope": _rope(right, **stage)}
    table = _table(right, **stage)
    return {**stage, "rope_table": table, "rope": _rope(right, rope_table=table)}


def _table(right: Any, **stage: Callable[..., Any]) -> Callable[..., Any]:
    inv_freq, factor_of, cos_sin = (
        stage.get(name, getattr(right, name)) for name in ("rope_inv_freq", "rope_attention_factor", "rope_cos_sin")
    )

    def rope_table(
        positions: Any,
        dim: int,
        *,
        base: float = 10000.0,
        scaling: Any = None,
        seq_len: int | None = None,
        attention_factor: float | None = None,
    ) -> Any:
        w = inv_freq(dim, base=base, scaling=scaling, seq_len=seq_len)
        own = factor_of(scaling, seq_len=seq_len) if attention_factor is None else attention_factor
        return cos_sin(positions, w, attention_factor=own)

    return rope_table


def _rope(right: Any, **stage: Callable[..., Any]) -> Callable[..., Any]:
    rope_table, rope_apply = (stage.get(name, getattr(right, name)) for name in ("rope_table", "rope_apply"))

    def rope(
        x: Any,
        positions: Any,
        *,
        dim: int | None = None,
        base: float = 10000.0,
        scaling: Any = None,
        seq_len: int | None = None,
        **of_rotation: Any,
    ) -> Any:
        dim = dim or x.shape[-1] - of_rotation.get("offset", 0)
        cos, sin = rope_table(positions, dim, base=base, scaling=scaling, seq_len=seq_len)
        return rope_apply(x, cos, sin, **of_rotation)

    return rope


# --- small things that several faults need --------------------------------------------------------------------------


def members(pairs: int, layout: str, offset: int = 0) -> tuple[slice, slice]:
    """Which channels are the first and which the second members of the pairs."""
    middle, end = offset + pairs, offset + 2 * pairs
    if layout == "half":
        return slice(offset, middle), slice(middle, end)
    return slice(offset, end, 2), slice(offset + 1, end, 2)


def counted(xp: Any, p: Any) -> Any:
    """0, 1, 2, ... along the sequence, of the shape of p."""
    if not p.ndim:
        return xp.zeros_like(p)
    return xp.broadcast_to(xp.astype(xp.arange(p.shape[-1]), p.dtype), p.shape)


def numbers(xp: Any, values: Iterable[float]) -> Any:
    """Plain numbers as float64: some libraries would make float32 of them."""
    return xp.asarray(list(values), dtype=xp.float64)


def narrow(xp: Any, array: Any, dtype: str) -> Any:
    """The values as a narrower type has them, in the type that they had. What is too large for it is its largest."""
    kind = getattr(xp, dtype, None) or getattr(ml_dtypes, dtype)
    wide = xp.astype(array, xp.float64)
    if dtype == "float16":
        wide = xp.clip(wide, -65504.0, 65504.0)
    return xp.astype(xp.astype(wide, kind), array.dtype)
