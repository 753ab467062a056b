"""For every check, faults that it is there to catch, planted into a right backend: each makes this very check fail.

A fault *applies* to a case if the case's inputs give it something to be wrong about; then the case must catch it. Where it does
not, ``HARMLESS`` says why that is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from posref_array.on_numpy import backend as right
from posref_conformance.backend import describe
from posref_conformance.case import Call, Case
from posref_conformance.cases import CASES
from posref_conformance.verdict import FAILED, LIKE_FIRST, PASSED, run

Function = Callable[..., Any]
TABLES = ("rope_cos_sin", "rope_table", "rope_axes_cos_sin", "rope_axes_table", "rope_mixed_cos_sin")
POSITIONS = {  # arguments that are positions
    "rope_cos_sin": (0,),
    "rope_table": (0,),
    "rope_axes_cos_sin": (0,),
    "rope_axes_table": (0,),
    "rope_mixed_cos_sin": (0,),
    "rope": (1,),
    "sinusoidal": (0,),
    "timestep_embedding": (0,),
    "learned": (1,),
    "sinusoidal_axes": (0,),
    "alibi_bias": (1, 2),
    "kerple_bias": (2, 3),
    "sandwich_bias": (1, 2),
    "fire_distance": (0, 1),
    "cape_positions": (0,),
    "t5_bucket": (0,),
    "t5_bias": (1, 2),
    "log_n_scale": (0,),
    "ssmax_scale": (0,),
    "llama4_scale": (0,),
    "inkling_scale": (0,),
    "rerope_distance": (0, 1),
    "self_extend_distance": (0, 1),
    "dual_chunk_distance": (0, 1),
    "xpos_scale": (0,),
    "fope_cos_sin": (0,),
    "pope_apply": (1,),
    "relative_index": (0,),
    "deberta_bucket": (0,),
}


# --- the faults: a name, and a wrong version of a function, for each way in which it applies to a case --------------


def _arguments(change: Callable[[int, Any], Any]) -> Callable[[Function], Function]:
    """The function, with its arguments changed first."""
    return lambda f: lambda *args, **kwargs: f(*(change(n, a) for n, a in enumerate(args)), **kwargs)


def _result(change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """The function, with something done to what comes back."""

    def wrong(f: Function) -> Function:
        def function(*args: Any, **kwargs: Any) -> Any:
            y = f(*args, **kwargs)
            return tuple(map(change, y)) if isinstance(y, tuple) else change(y)

        return function

    return wrong


def _one_off(y: Any) -> Any:
    if not np.ndim(y):
        return 1.5 * y + 1
    y = y.copy()
    y.flat[y.size // 2] = 1.5 * float(y.flat[y.size // 2]) + 1
    return y


def _without(keyword: str) -> Callable[[Function], Function]:
    return lambda f: lambda *args, **kwargs: f(*args, **{k: v for k, v in kwargs.items() if k != keyword})


def _stale(f: Function) -> Function:
    """What was made for some shapes is given for the same shapes again."""
    made: dict[Any, Any] = {}

    def function(*args: Any, **kwargs: Any) -> Any:
        key = tuple(np.shape(a) if isinstance(a, np.ndarray) else a for a in args)
        return made.setdefault(key, f(*args, **kwargs))

    return function


def _as_contiguous(n: int, a: Any) -> Any:
    """The memory, as if it had no gaps."""
    if not isinstance(a, np.ndarray) or a.flags.c_contiguous:
        return a
    dense = np.empty(a.shape, a.dtype)
    return np.lib.stride_tricks.as_strided(a, a.shape, dense.strides)


def _writing(f: Function) -> Function:
    """Writes into its inputs on the way, and leaves them as they were."""

    def function(*args: Any, **kwargs: Any) -> Any:
        for a in args:
            if isinstance(a, np.ndarray):
                a[...] = a.copy()
        return f(*args, **kwargs)

    return function


def _damaging(f: Function) -> Function:
    """Right, and then uses an input as scratch memory."""

    def function(*args: Any, **kwargs: Any) -> Any:
        y = f(*args, **kwargs)
        victim = next(a for a in args if isinstance(a, np.ndarray) and a is not kwargs.get("out"))
        victim[...] = ~victim if victim.dtype == bool else 1 - victim
        return y

    return function


def _refusing_empty(f: Function) -> Function:
    def function(*args: Any, **kwargs: Any) -> Any:
        for a in args:
            if isinstance(a, np.ndarray):
                a.max()  # to know how large a table is needed
        return f(*args, **kwargs)

    return function


def _position(index: int, change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    return _arguments(lambda n, a: np.asarray(change(a)).astype(a.dtype) if n == index else a)


def _counted(p: Any) -> Any:
    """Positions taken for granted: 0, 1, 2, ..."""
    return np.broadcast_to(np.arange(p.shape[-1]), p.shape) if p.ndim else np.zeros_like(p)


def _from_first(p: Any) -> Any:
    """Only the first position is looked at."""
    return p[..., :1] + _counted(p) if p.ndim and p.size else p


POSITION_FAULTS: dict[str, Callable[[Any], Any]] = {
    "counts from 0": _counted,
    "looks at the first position only": _from_first,
    "takes the first row for all": lambda p: np.broadcast_to(p[:1], p.shape) if p.ndim > 1 else p,
    "drops fractions": np.floor,
    "drops signs": np.abs,
}


def _faults(case: Case, calls: list[Call]) -> Iterator[tuple[str, Callable[[Function], Function]]]:
    """The faults that apply to a case."""
    arrays = [a for call in calls for a in call.args if isinstance(a, np.ndarray)]
    results = [y for call in calls for y in _outputs(case, call)]
    if any(np.any(y != 0) for y in results):
        yield "negates", _result(lambda y: -y)
    if any(y.size for y in results):
        yield "one element off", _result(_one_off)
    else:
        yield "squeezes", _result(lambda y: y.reshape(-1))
        yield "refuses empty arrays", _refusing_empty
    if case.function in LIKE_FIRST:
        yield "another type", _result(lambda y: y.astype("float16" if y.dtype != "float16" else "float32"))
    if case.function in TABLES and any(y.size for y in results):
        yield "sin before cos", lambda f: lambda *args, **kwargs: f(*args, **kwargs)[::-1]
    if case.function == "rope_apply" and any(y.size for y in results):
        yield "sin for cos", lambda f: lambda x, cos, sin, **kwargs: f(x, sin, cos, **kwargs)
        yield "turns backwards", lambda f: lambda x, cos, sin, **kwargs: f(x, cos, -sin, **kwargs)
    for keyword in dict.fromkeys(k for call in calls for k in call.kwargs):
        yield f"ignores {keyword}", _without(keyword)
    if len(calls) > 1:
        yield "keeps what it made for these shapes", _stale
    if not all(a.flags.c_contiguous for a in arrays):
        yield "takes memory as contiguous", _arguments(_as_contiguous)
    if not all(a.flags.writeable for a in arrays):
        yield "writes into its inputs", _writing
    elif any(a.size for a in arrays[:1]) and not any(call.args[0] is call.kwargs.get("out") for call in calls):
        yield "damages an input", _damaging
    for index in POSITIONS.get(case.function, ()):
        for name, change in POSITION_FAULTS.items():
            if any(np.any(change(call.args[index]) != call.args[index]) for call in calls):
                yield f"{name}, argument {index}", _position(index, change)


def _outputs(case: Case, call: Call) -> list[Any]:
    y = getattr(right, case.function)(*call.args, **{k: v for k, v in call.kwargs.items() if k != "out"})
    return [np.asarray(t) for t in (y if isinstance(y, tuple) else (y,))]


HARMLESS: dict[str, tuple[set[str], str]] = {
    "rope_inv_freq/dynamic-ntk-within": ({"ignores scaling", "ignores seq_len"}, "plain within the original length"),
    "rope_inv_freq/dynamic-ntk-unsaid": ({"ignores scaling"}, "plain if no length is given"),
    "rope_inv_freq/longrope-at-original": ({"ignores seq_len"}, "the last length that has the short factors"),
    "rope_inv_freq/dynamic-linear-within": ({"ignores scaling", "ignores seq_len"}, "plain within the original length"),
    "rope_inv_freq/dynamic-linear-unsaid": ({"ignores scaling"}, "plain if no length is given"),
    "rope_inv_freq/dynamic-yarn-within": ({"ignores scaling", "ignores seq_len"}, "plain within the original length"),
    "rope_inv_freq/dynamic-yarn-finetuned": ({"ignores seq_len"}, "the factor that it was finetuned for"),
    "rope_inv_freq/proportional-all": ({"ignores scaling"}, "all of a head is plain"),
    "rope_attention_factor/dynamic-linear": ({"ignores seq_len"}, "none at any length"),
    "rope_attention_factor/dynamic-yarn-finetuned": ({"ignores seq_len"}, "the factor that it was finetuned for"),
    "rope_pixel_freq/log-one-pair": ({"ignores spacing"}, "one pair has half a turn"),
    "llama4_scale/fractions": ({"drops fractions, argument 0"}, "no fraction crosses a whole step"),
    "cu_seqlens_positions/no-tokens": ({"squeezes", "refuses empty arrays"}, "one axis, and the input is not empty"),
    "cu_seqlens_positions/no-sequences": ({"squeezes", "refuses empty arrays"}, "one axis, and the input is not empty"),
    "rope_table/dynamic-ntk-within": ({"ignores scaling", "ignores seq_len"}, "plain within the original length"),
    "rope_table/dynamic-ntk-unsaid": ({"ignores scaling"}, "plain if no length is given"),
    "rope_table/longrope-at-original": ({"ignores seq_len"}, "the last length that has the short factors"),
    "relative_position_index/empty": ({"refuses empty arrays"}, "no array comes in"),
    "resample_table/empty": ({"refuses empty arrays"}, "no empty array comes in"),
    "hierarchical_table/none": ({"refuses empty arrays"}, "no empty array comes in"),
    "grid_positions/empty": ({"refuses empty arrays"}, "no array comes in"),
    "rope/longrope-at-original": ({"ignores seq_len"}, "the last length that has the short factors"),
    "rope/length-unused": ({"ignores seq_len"}, "no scaling that would follow it"),
    "rope/tail": ({"ignores dim"}, "dim channels are all that there are from the offset on"),
    "rope/tail-interleaved": ({"ignores dim"}, "dim channels are all that there are from the offset on"),
    "alibi_bias/decode-signed": ({"ignores form"}, "no key is later than the query"),
    "alibi_bias/key-last": ({"counts from 0, argument 1"}, "the form does not look at the query"),
    "alibi_bias/key-last-batch": (
        {"counts from 0, argument 1", "takes the first row for all, argument 1"},
        "the form does not look at the query",
    ),
    "alibi_bias/key-first-batch": ({"looks at the first position only, argument 1"}, "as the form does"),
    "alibi_bias/past-no-queries": ({"ignores form"}, "nothing comes out"),
    "alibi_bias/key-last-no-keys": ({"ignores form"}, "nothing comes out"),
    "alibi_bias/decode-key": ({"counts from 0, argument 1"}, "the form does not look at the query"),
    "cope_scores/one-row": ({"ignores mask"}, "every position has the one row"),
    "deberta_bucket/two": ({"ignores max_distance"}, "a single logarithmic bucket has no limit"),
    "disentangled_scores/no-queries": ({"ignores pos_k", "ignores pos_q"}, "no entry"),
    "disentangled_scores/no-keys": ({"ignores pos_k", "ignores pos_q"}, "no entry"),
    "t5_bucket/few": ({"ignores max_distance"}, "a single logarithmic bucket has no limit"),
    "t5_bucket/decoder-few": ({"ignores max_distance"}, "a single logarithmic bucket has no limit"),
}

ON_NUMPY = [c for c in CASES if not any(call.cotangent is not None for call in c.calls(c.dtypes[0]))]


def _name(case: Case) -> str:
    return f"{case.function}/{case.name}"


def _verdict(case: Case, dtype: str, wrong: Callable[[Function], Function] = lambda f: f) -> Any:
    namespace = SimpleNamespace(**{case.function: wrong(getattr(right, case.function))})
    return run(describe("planted", namespace), case, dtype)


@pytest.mark.parametrize("case", ON_NUMPY, ids=_name)
def test_every_check_catches_what_applies_to_it(case: Case) -> None:
    for dtype in case.dtypes:
        assert _verdict(case, dtype).status == PASSED
        faults = dict(_faults(case, case.calls(dtype)))
        missed = {name for name, wrong in faults.items() if _verdict(case, dtype, wrong).status != FAILED}
        harmless, _ = HARMLESS.get(_name(case), (set(), ""))
        assert missed == harmless, f"{case.check_id(dtype)} does not notice what it has the inputs to notice"
        assert set(faults) - harmless


# --- faults that only some cases are made for -----------------------------------------------------------------------


def _stretches_always(f: Function) -> Function:
    """Dynamic NTK that does not ask for the length."""

    def function(*args: Any, scaling: Any, seq_len: Any = None, **kwargs: Any) -> Any:
        return f(*args, scaling=scaling, seq_len=int(scaling.factor) * 2048, **kwargs)

    return function


def _one_too_early(f: Function) -> Function:
    """>= for >: the long factors at the original length already."""
    return lambda *args, seq_len, **kwargs: f(*args, seq_len=seq_len + 1, **kwargs)


@pytest.mark.parametrize("function", ["rope_inv_freq", "rope_table"])
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("dynamic-ntk-within", _stretches_always),
        ("dynamic-ntk-unsaid", _stretches_always),
        ("longrope-at-original", _one_too_early),
    ],
)
def test_cases_that_lie_just_within_a_length(function: str, name: str, wrong: Callable[[Function], Function]) -> None:
    (case,) = (c for c in CASES if _name(c) == f"{function}/{name}")
    assert _verdict(case, case.dtypes[0], wrong).status == FAILED


ROTATED = [c for c in CASES if c not in ON_NUMPY and c.function in ("rope", "rope_apply") and "by-" not in c.name]
GRADIENTS = [c for c in ROTATED if "twice" not in c.name]


@pytest.mark.parametrize("case", GRADIENTS, ids=_name)
@pytest.mark.parametrize("wrong", ["turns forward again", "divides by the magnitude", "leaves the rest out"])
def test_gradients_alone(case: Case, wrong: str) -> None:
    """Right values, and a derivative that is not the transpose."""
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    from posref_array import bind

    on_torch = bind(pytest.importorskip("array_api_compat.torch"))
    given = getattr(on_torch, case.function)

    def function(x: Any, *args: Any, **kwargs: Any) -> Any:
        back = dict(kwargs)
        turned = bool(back.pop("inverse", False))
        if back.get("output_layout"):
            back["layout"], back["output_layout"] = back["output_layout"], back.get("layout", "half")

        class Rotation(torch.autograd.Function):
            @staticmethod
            def forward(context: Any, x: Any) -> Any:
                return given(x, *args, **kwargs)

            @staticmethod
            def backward(context: Any, g: Any) -> Any:
                transposed = given(g, *args, **back, inverse=not turned)
                if wrong == "right":
                    return transposed
                if wrong == "turns forward again":
                    return given(g, *args, **back, inverse=turned)
                if wrong == "divides by the magnitude":  # the inverse, as if tables were on the circle
                    return (
                        transposed / 1.01
                        if case.function == "rope"
                        else transposed / (args[0] ** 2 + args[1] ** 2).mean()
                    )
                transposed[..., -1] = 0
                return transposed

        return Rotation.apply(x)

    def verdict() -> str:
        namespace = SimpleNamespace(arrays="torch", **{case.function: function})
        return run(describe("planted", namespace), case, "float32").status

    assert verdict() == FAILED
    wrong = "right"
    assert verdict() == PASSED
