"""The kernel's values: its text on the CPU through the real launch code, and the same on a CUDA device where there is one.

Budget A (float32, see the conformance suite's budgets): with S = g (|a| + |b|), g = max(|cos|, |sin|), the products err by
u_w |a c| and u_w |b s|, their sum by u_w |y|, the cast to x's type by u |y|: at most 2 u_w S + 1.5 u |y|, with or without
fma. float16 rounds to multiples of 2^-24 near zero: + 4 * 2^-25. The reference computes in float64 and is itself off by as
much as that: + 2^-53 (2 S + |y|). Channels that pass through have no error.
"""

import itertools

import array_api_compat.numpy
import numpy as np
import pytest

import posref
import posref_array
import posref_cupy
from posref_cupy import _bind, _plan, kernels, rotary

ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
LAYOUTS = ("half", "interleaved")
WAYS = [
    {"layout": a, "output_layout": b, "inverse": inverse}
    for a, b, inverse in itertools.product(LAYOUTS, (None, *LAYOUTS), (False, True))
]


def same(array):
    return array


# name: shape in memory, what is made of it, shape of the tables, what is made of them, first channel of the block
CASES = {
    "heads": ((2, 3, 5, 8), same, (5, 4), same, 0),
    "one row": ((8,), same, (4,), same, 0),
    "one pair": ((2, 7, 2), same, (7, 1), same, 0),
    "a long row": ((3, 1030), same, (3, 515), same, 0),
    "a table per batch": ((2, 3, 5, 8), same, (2, 1, 5, 4), same, 0),
    "a table per head": ((2, 3, 5, 8), same, (3, 1, 4), same, 0),
    "one table for all": ((2, 3, 5, 8), same, (1, 1, 1, 4), same, 0),
    "partial": ((2, 5, 13), same, (5, 3), same, 0),
    "partial, in the middle": ((2, 5, 13), same, (5, 3), same, 4),
    "partial, the tail": ((2, 5, 13), same, (5, 3), same, 7),
    "more channels left than turned": ((2, 5, 600), same, (5, 2), same, 3),
    "heads after the sequence": ((2, 5, 3, 8), lambda x: x.swapaxes(1, 2), (5, 4), same, 0),
    "channels apart": ((2, 5, 16), lambda x: x[..., ::2], (5, 4), same, 0),
    "backwards": ((2, 5, 8), lambda x: x[::-1, ::-1], (5, 4), lambda t: t[::-1], 0),
    "channels backwards": ((2, 5, 9), lambda x: x[..., ::-1], (5, 3), lambda t: t[:, ::-1], 1),
    "first axis fastest": ((2, 3, 5, 8), np.asfortranarray, (5, 4), np.asfortranarray, 0),
    "x broadcast": ((1, 5, 8), lambda x: np.broadcast_to(x, (4, 5, 8)), (5, 4), same, 0),
    "table broadcast along every other axis": ((2, 3, 2, 5, 8), same, (3, 1, 5, 4), same, 0),
    "every other axis, and channels apart": ((2, 3, 2, 5, 16), lambda x: x[..., ::2], (3, 1, 5, 4), same, 0),
    "every other row": ((4, 10, 8), lambda x: x[::2, ::2], (10, 8), lambda t: t[::2, ::2], 0),
    "no rows": ((2, 0, 8), same, (0, 4), same, 0),
    "no heads": ((0, 5, 8), same, (5, 4), same, 0),
}


def inputs(case, dtype, table_dtype, dtypes):
    """x, cos, sin, offset: random, and cos and sin not on the circle."""
    shape, view, table_shape, table_view, offset = CASES[case]
    rng = np.random.default_rng(20)
    x = view(rng.normal(size=shape).astype(dtypes[dtype]))
    cos, sin = (table_view(rng.uniform(-3, 3, size=table_shape).astype(dtypes[table_dtype])) for _ in range(2))
    return x, cos, sin, offset


def bound(x, cos, sin, y, dtype, work, *, offset=0, layout="half", output_layout=None, **_):
    g, pairs = np.maximum(np.abs(cos), np.abs(sin)), cos.shape[-1]
    channels = {
        "half": (np.arange(pairs), np.arange(pairs) + pairs),
        "interleaved": (2 * np.arange(pairs), 2 * np.arange(pairs) + 1),
    }
    first, second = (offset + c for c in channels[layout])
    s = g * (np.abs(x[..., first]) + np.abs(x[..., second]))
    allowed = np.zeros(x.shape)
    for c in channels[output_layout or layout]:
        size = np.abs(y[..., offset + c])
        allowed[..., offset + c] = (2 * ROUNDOFF[work] + 2.0**-52) * s + (1.5 * ROUNDOFF[dtype] + 2.0**-53) * size
        allowed[..., offset + c] += 4 * 2.0**-25 if dtype == "float16" else 0.0
    return allowed


def check(machine, case, dtypes, dtype="float32", table_dtype="float32", out=None, **way):
    """Rotate on the machine and hold the result against the reference; ``out``: None, "x", or what makes one of x's shape."""
    x, cos, sin, offset = inputs(case, dtype, table_dtype, dtypes)
    way["offset"] = offset
    exact = [np.asarray(a, dtype=np.float64) for a in (x, cos, sin)]
    y = posref.rope_apply(*exact, **way)
    arrays = [machine.put(a) for a in (x, cos, sin)]
    target = arrays[0] if out == "x" else None if out is None else machine.put(out(x))
    got = posref_cupy.rope_apply(*arrays, **way, out=target)
    assert target is None or got is target
    assert (got.shape, got.dtype) == (x.shape, x.dtype)
    work = "float64" if "float64" in (dtype, table_dtype) else "float32"
    result = machine.get(got)
    with np.errstate(invalid="ignore"):  # what a faulty kernel reads may be anything
        error = np.abs(result.astype(np.float64) - y)
    assert not (~(error <= bound(*exact, y, dtype, work, **way))).any(), (case, way)  # a NaN is no <=
    if machine.exact and work == "float64" and dtype != "bfloat16":  # the same two expressions, rounded once
        np.testing.assert_array_equal(result, y.astype(x.dtype))
    for given, array in zip((x, cos, sin), arrays, strict=True):
        assert array is target or (machine.get(array) == given).all()


@pytest.mark.parametrize("case", CASES)
def test_every_layout_way_and_shape(machine, dtypes, case):
    for way in WAYS:
        check(machine, case, dtypes, **way)


@pytest.mark.parametrize("dtype", ROUNDOFF)
def test_every_type(machine, dtypes, dtype):
    for case, table_dtype in itertools.product(("heads", "partial, in the middle"), ROUNDOFF):
        for way in WAYS:
            check(machine, case, dtypes, dtype, table_dtype, **way)


OUTS = {
    "like x": np.empty_like,
    "channels apart": lambda x: np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)[..., ::2],
    "first axis fastest": lambda x: np.empty(x.shape, x.dtype, order="F"),
    "x itself": "x",
}


@pytest.mark.parametrize("out", OUTS)
def test_into_an_array(machine, dtypes, out):
    for case, way in itertools.product((c for c in CASES if c != "x broadcast"), WAYS):
        check(machine, case, dtypes, out=OUTS[out], **way)


def overlapping(machine):
    """X and out, tables and out, in the same memory; what comes must be what comes without."""
    rng = np.random.default_rng(3)
    memory, table = rng.normal(size=(6, 8)).astype(np.float32), rng.normal(size=(5, 4)).astype(np.float32)
    for layout, output_layout in itertools.product(LAYOUTS, LAYOUTS):
        way = {"layout": layout, "output_layout": output_layout}
        cos, sin = machine.put(table.copy()), machine.put(2 * table)
        shifted = machine.put(memory.copy())
        expected = machine.get(posref_cupy.rope_apply(machine.put(memory[:5].copy()), cos, sin, **way))
        got = posref_cupy.rope_apply(shifted[:5], cos, sin, out=shifted[1:], **way)
        yield machine.get(got), expected
        out = machine.put(np.concatenate([table, 2 * table], axis=-1))
        x = machine.put(memory[:5].copy())
        yield machine.get(posref_cupy.rope_apply(x, out[:, :4], out[:, 4:], out=out, **way)), expected
        same_memory = machine.put(memory[:5].copy())
        yield machine.get(posref_cupy.rope_apply(same_memory, cos, sin, out=same_memory[...], **way)), expected
        same_array = machine.put(memory[:5].copy())
        yield machine.get(posref_cupy.rope_apply(same_array, cos, sin, out=same_array, **way)), expected


def test_out_may_share_memory_with_anything(machine):
    for got, expected in overlapping(machine):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("backwards", [False, True])
def test_that_would_fail_without_the_copies(cpu, monkeypatch, backwards):
    cpu.backwards = backwards
    monkeypatch.setattr(rotary, "_apart", lambda cupy, array, out: array)
    assert not all(np.array_equal(got, expected) for got, expected in overlapping(cpu))


def test_tables_of_two_types_and_layouts(machine):
    rng = np.random.default_rng(5)
    x, cos, sin = rng.normal(size=(3, 5, 8)), rng.normal(size=(5, 4)), rng.normal(size=(4, 5)).T
    got = posref_cupy.rope_apply(machine.put(x), machine.put(cos.astype(np.float32)), machine.put(sin))
    expected = posref.rope_apply(x, cos.astype(np.float32), sin)
    assert (
        np.abs(machine.get(got) - expected).max()
        <= 8 * 2.0**-53 * np.abs(x).max() * np.abs([cos, sin.T.reshape(5, 4)]).max()
    )


# --- any launch covers any shape ---------------------------------------------------------------------------------------

LAUNCHES = [
    ((1, 1, 1), (1, 1)),  # one thread does it all
    ((1, 1, 1), (7, 3)),  # one block
    ((3, 2, 2), (1, 1)),
    ((2, 5, 3), (5, 2)),
    ((64, 9, 5), (32, 8)),  # more of everything than there is to do
]


@pytest.mark.parametrize(("grid", "block"), LAUNCHES)
@pytest.mark.parametrize("backwards", [False, True])
def test_any_launch_and_order(cpu, dtypes, monkeypatch, grid, block, backwards):
    cpu.backwards = backwards
    monkeypatch.setattr(rotary, "launch_shape", lambda plan: (grid, block))
    for case in ("heads after the sequence", "a table per batch", "partial, in the middle", "a long row"):
        for way in WAYS[:6]:
            check(cpu, case, dtypes, **way)
            check(cpu, case, dtypes, out="x", **way)


def test_more_batches_than_a_grid_has_blocks_along_an_axis(machine):
    """70000 > 65535, three axes that are no fewer, real launch."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(70000, 5, 3, 2)).astype(np.float32).swapaxes(1, 2)
    cos, sin = np.cos(np.arange(5.0))[:, None], np.sin(np.arange(5.0))[:, None]
    got = machine.get(posref_cupy.rope_apply(machine.put(x), machine.put(cos), machine.put(sin)))
    # float64 arithmetic, rounded once to float32; |y| <= 8 sqrt(2)
    assert np.abs(got - posref.rope_apply(x, cos, sin)).max() <= 2.0**-24 * 8 * 2**0.5


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_rope_in_one_call(cpu, monkeypatch, dtype):
    """The table through NumPy's namespace in place of CuPy's, the rotation as above; every argument at another value."""
    monkeypatch.setattr(_bind, "ready", lambda: cpu.cupy)
    monkeypatch.setattr(_bind, "namespace", lambda: array_api_compat.numpy)
    scaling = posref.DynamicNTKScaling(factor=2.0, original_max_position_embeddings=512)
    way = {
        "dim": 6,
        "base": 500.0,
        "scaling": scaling,
        "seq_len": 4096,
        "layout": "interleaved",
        "output_layout": "half",
    }
    x, positions = np.random.default_rng(6).normal(size=(2, 5, 11)).astype(dtype), np.array([0, 4095, 1, -7, 1])
    for more in ({}, {"offset": 3, "inverse": True}, {"out": cpu.put(np.empty_like(x))}):
        got = posref_cupy.rope(cpu.put(x), cpu.put(positions), **way, **more)
        y = posref.rope(x, positions, **way, **{n: v for n, v in more.items() if n != "out"})
        # phase 4 u (1 + |theta|) S with |theta| <= 4095, budget A, and the table's own rounding, one more u_w S
        rounding = 4 * 2.0**-53 * 4096 + 3 * (2.0**-53 if dtype == "float64" else 2.0**-24)
        allowed = rounding * 2 * np.abs(x).max() + 1.5 * ROUNDOFF[dtype] * np.abs(y) + 2.0**-23 * (dtype == "float16")
        assert got.dtype == dtype
        assert (np.abs(cpu.get(got) - y) <= allowed).all()
    whole = posref_cupy.rope(cpu.put(x), cpu.put(positions), offset=1)  # dim: the ten channels from there on
    np.testing.assert_array_equal(cpu.get(whole), posref_array.rope(x, positions, offset=1, xp=array_api_compat.numpy))
    with pytest.raises(ValueError, match=r"^x's channels from offset on must be a positive even integer, got 11$"):
        posref_cupy.rope(cpu.put(x), cpu.put(positions))


# --- planted faults ----------------------------------------------------------------------------------------------------

FAULTS = {
    "sign of the first": ("a * c - b * s", "a * c + b * s"),
    "sign of the second": ("a * s + b * c", "b * c - a * s"),
    "no inverse": ("p.inverse ? -W", "p.inverse ? W"),
    "always inverse": ("p.inverse ? -W(sin[row + n]) :", "p.inverse ? -W(sin[row + n]) : -"),
    "reads as it writes": ("pair[p.x_apart]", "pair[p.out_apart]"),
    "writes as it reads": ("n * p.out_step", "n * p.x_step"),
    "second goes to the wrong place": ("turned[p.out_apart]", "turned[p.x_apart]"),
    "no offset in x": ("from + p.offset", "from"),
    "no offset in the result": ("to + p.offset", "to"),
    "copies over the block": ("n < p.offset ? n : n + 2 * p.pairs", "n"),
    "copies nothing": ("n < p.others", "n < 0"),
    "a row ends with the block": ("n < p.pairs; n += blockDim.x", "n < p.pairs; n += p.pairs"),
    "rows end with the grid": ("k += next_row", "k += p.size[2]"),
    "second axis ends with the grid": ("j += gridDim.y", "j += p.size[1]"),
    "first axis ends with the grid": ("i += gridDim.z", "i += p.size[0]"),
    "strides of the wrong array": ("k * p.x[2]", "k * p.out[2]"),
    "strides of the wrong axis": ("k * p.table[2]", "k * p.table[1]"),
    "one table for every batch": ("i * p.table[0] + j", "j"),
    "table rounded to x's type": ("W(cos[row + n])", "W(X(float(cos[row + n])))"),
    "arithmetic in float32": ("X(a * c - b * s)", "X(float(a * c - b * s))"),
    "reads what it wrote": ("a * s + b * c", "W(pair[0]) * s + b * c"),
}


def all_hold(machine, dtypes):
    """A small run of the checks above, in launches that are smaller and larger than the work."""
    for case, way in itertools.product(
        ("heads after the sequence", "a table per batch", "partial, in the middle"), WAYS
    ):
        for out in (None, "x"):
            check(machine, case, dtypes, "float16", "float32", out=out, **way)
            check(machine, case, dtypes, "float64", "float64", out=out, **way)


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_faults_in_the_text_are_found(cpu, dtypes, monkeypatch, fault):
    monkeypatch.setattr(rotary, "launch_shape", lambda plan: ((2, 1, 1), (2, 1)))
    if fault is None:
        all_hold(cpu, dtypes)
        return
    right, wrong = FAULTS[fault]
    assert kernels.ROPE_APPLY.count(right) == 1
    monkeypatch.setitem(kernels.TEXTS, "rope_apply", kernels.ROPE_APPLY.replace(right, wrong))
    with pytest.raises(AssertionError):
        all_hold(cpu, dtypes)


def test_faults_in_the_plan_are_found(cpu, dtypes, monkeypatch):
    for name, wrong in {
        "step_and_apart": lambda layout, pairs: (2, 1),
        "row_strides": lambda array, rows: [0] * len(rows),
        "fold": lambda lengths, *strides: [[1, 1, 1], *([0, 0, 0] for _ in strides)],
    }.items():
        with monkeypatch.context() as patch:
            patch.setattr(_plan, name, wrong)
            with pytest.raises(AssertionError):
                all_hold(cpu, dtypes)
