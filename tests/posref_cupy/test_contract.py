"""What can be held without a device: names and signatures, the one-line reason, arguments that are refused."""

import ast
import contextlib
import inspect
import subprocess
import sys
import types
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import posref
import posref_array
import posref_cupy
from posref_conformance.cases import CASES
from posref_cupy import _bind, _device

CONTRACT = sorted(set(posref_array.__all__) - {"Backend", "bind"})
ARRAYS = {
    "positions",
    "inv_freq",
    "timesteps",
    "table",
    "slopes",
    "q_positions",
    "k_positions",
    "relative_position",
    "axis_map",
    "frequencies",
}
ARRAYS |= {"features", "w1", "b1", "w2", "index", "log_scale", "r1", "r2", "shift"}
ARRAYS |= {"mask", "x", "cos", "sin", "q", "k", "v"}
ARRAYS |= {"relative_position", "relative", "weights", "height_table", "width_table", "projection", "const", "bias"}
ARRAYS |= {"from_cls", "to_cls", "log_forget", "w", "beta"}
ARRAYS |= {"distances", "s", "cos_coef", "sin_coef", "weight", "cu_seqlens", "coordinates"}
NUMBERS = ("rope_attention_factor", "rope_softmax_factor", "length_scale")  # made on the host, of numbers


def parameters(function, without=()):
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in found if p.name not in without]


@pytest.mark.parametrize("name", CONTRACT)
def test_every_function_is_there_by_name_and_signature(name):
    assert name in posref_cupy.__all__
    ours = getattr(posref_cupy, name)
    assert parameters(ours) == parameters(getattr(posref_array, name), without={"xp"})
    assert parameters(ours, without={"dtype", "device"}) == parameters(getattr(posref, name))


def test_a_missing_keyword_would_be_seen():
    def rope_attention_factor(scaling, extra=None):
        return None

    assert parameters(rope_attention_factor) != parameters(posref_array.rope_attention_factor)


def test_all_is_complete():
    public = {n for n, v in vars(posref_cupy).items() if not n.startswith("_") and not isinstance(v, types.ModuleType)}
    assert public == set(posref_cupy.__all__)
    assert posref_cupy.arrays == "cupy"


def test_importing_imports_no_array_library():
    code = "import sys, posref_cupy; print(sorted({'cupy', 'torch', 'array_api_compat', 'jax'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_posref_array_asks_of_a_namespace_is_in_cupys():
    pytest.importorskip("cupy", reason="CuPy is not installed")
    import array_api_compat.cupy

    folder = Path(posref_array.__file__).parent
    trees = [ast.parse(f.read_text()) for f in folder.glob("*.py")]
    nodes = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    asked = {n.attr for n in nodes if isinstance(n.value, ast.Name) and n.value.id == "xp"}
    assert len(asked) > 20
    assert {name for name in asked if not hasattr(array_api_compat.cupy, name)} == set()


class CallsOfCuPy(types.ModuleType):
    """NumPy's namespace, but a call that CuPy's function of that name would not take is an error."""

    def __getattr__(self, name):
        import array_api_compat.cupy
        import array_api_compat.numpy

        ours, theirs = getattr(array_api_compat.numpy, name), getattr(array_api_compat.cupy, name)
        if isinstance(ours, type) or not callable(ours) or not isinstance(theirs, types.FunctionType):
            return ours  # types and constants; CuPy's ufuncs have no signature to hold a call to

        def call(*args, **kwargs):
            inspect.signature(theirs).bind(*args, **kwargs)
            return ours(*args, **kwargs)

        return call


@pytest.mark.parametrize("name", sorted({case.function for case in CASES}))
def test_every_call_is_one_that_cupys_functions_take(name):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    backend = posref_array.bind(CallsOfCuPy("array_api_compat.numpy"))
    calls = [c for case in CASES if case.function == name for dtype in case.dtypes[:1] for c in case.calls(dtype)]
    for call in calls:
        getattr(backend, name)(*call.args, **call.kwargs)
    assert calls


def test_a_keyword_that_cupy_lacks_would_be_seen():
    pytest.importorskip("cupy", reason="CuPy is not installed")
    x = np.ones(3)
    np.sum(x, where=x > 0)
    with pytest.raises(TypeError, match="where"):
        CallsOfCuPy("array_api_compat.numpy").sum(x, where=x > 0)


def test_bfloat16_is_in_cupys_functions_from_14_on():
    """What the module's docstring says, as far as it can be told without a device: which types a function has loops for."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    assert not hasattr(cupy, "bfloat16")
    for function in (cupy.multiply, cupy.add, cupy.subtract, cupy.cos, cupy.exp):  # "E" is ml_dtypes' bfloat16
        assert any("E" in loop for loop in function.types) == (int(cupy.__version__.split(".")[0]) >= 14)


# --- nothing to compute on ---------------------------------------------------------------------------------------------


class Problem(RuntimeError):
    """As CuPy's CUDARuntimeError."""


def fake_cupy(driver=12040, devices=1, nvrtc=(12, 4)):
    def answer(value):
        if isinstance(value, Exception):
            raise value
        return value

    runtime = types.SimpleNamespace(
        driverGetVersion=lambda: driver, getDeviceCount=lambda: answer(devices), CUDARuntimeError=Problem
    )
    compiler = types.SimpleNamespace(getVersion=lambda: answer(nvrtc))
    fake = types.ModuleType("cupy")
    fake.cuda = types.SimpleNamespace(runtime=runtime, nvrtc=compiler)
    return fake


@pytest.fixture
def unavailable(monkeypatch):
    """`unavailable()` for a module in CuPy's place."""

    def ask(module):
        monkeypatch.setitem(sys.modules, "cupy", module)
        _device.unavailable.cache_clear()
        return posref_cupy.unavailable()

    yield ask
    _device.unavailable.cache_clear()


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (None, "CuPy is not installed: pip install posref[cupy]"),
        (fake_cupy(driver=0), "no CUDA driver"),
        (fake_cupy(devices=0), "no CUDA device"),
        (
            fake_cupy(devices=Problem("cudaErrorNoDevice: no CUDA-capable device is detected")),
            "no CUDA device: cudaErrorNoDevice: no CUDA-capable device is detected",
        ),
        (
            fake_cupy(nvrtc=RuntimeError("libnvrtc.so.12\nnot found")),
            'no NVRTC, which CuPy compiles with: pip install "cupy-cuda12x[ctk]" (libnvrtc.so.12 not found)',
        ),
        (fake_cupy(), None),
    ],
)
def test_the_reason_in_one_line(unavailable, module, reason):
    assert unavailable(module) == reason


def test_a_cupy_that_does_not_import(tmp_path):
    (tmp_path / "cupy.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import posref_cupy; print(posref_cupy.unavailable())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "CuPy does not import: libcudart.so.12: cannot open shared object file\n"


def test_here_it_is_one_line_too():
    why = posref_cupy.unavailable()
    assert why is None or (why and "\n" not in why)


@pytest.mark.parametrize("name", [n for n in CONTRACT if n not in NUMBERS])
def test_a_call_without_a_device_says_so(unavailable, name):
    assert unavailable(fake_cupy(driver=0)) == "no CUDA driver"
    function = getattr(posref_cupy, name)
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    with pytest.raises(RuntimeError, match=r"^no CUDA driver$"):
        function(*(object() for _ in needed))


def test_the_attention_factor_needs_no_device(unavailable):
    unavailable(None)
    scaling = posref.YarnScaling(factor=4.0, original_max_position_embeddings=4096)
    assert posref_cupy.rope_attention_factor(scaling) == posref.rope_attention_factor(scaling)


# --- arguments that are refused ----------------------------------------------------------------------------------------


@pytest.fixture
def bound(cpu, monkeypatch):
    """The stand-in behind the functions that are bound to a namespace too; no function may get as far as computing."""
    cpu.cupy.__version__ = "13.6.0"
    monkeypatch.setattr(_bind, "ready", lambda: cpu.cupy)
    monkeypatch.setattr(_bind, "namespace", lambda: None)
    return cpu


WITHOUT_ARRAYS = (
    *NUMBERS,
    "rope_inv_freq",
    "rope_pixel_freq",
    "frequency_bands",
    "alibi_slopes",
    "query_positions",
    "relative_position_index",
    "rope_axis_map",
    "grid_positions",
    "grid_coordinates",
)


@pytest.mark.parametrize("name", [n for n in CONTRACT if n not in WITHOUT_ARRAYS])
def test_numpy_arrays_are_refused_by_name(bound, name):
    function = getattr(posref_cupy, name)
    needed = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    first = next(n for n in needed if n in ARRAYS)
    arguments = [bound.put(np.ones((4, 4))) if n in ARRAYS else 4 for n in needed]
    arguments[needed.index(first)] = np.ones((4, 4))
    with pytest.raises(TypeError, match=rf"^{first} must be a CuPy array, got type numpy\.ndarray$"):
        function(*arguments)


def test_bfloat16_is_refused_where_cupy_lacks_it(bound):
    message = (
        r"^dtype must not be bfloat16: CuPy has none of its own and takes ml_dtypes' from 14 on, this is 13\.6\.0$"
    )
    for dtype in (ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)):
        with pytest.raises(TypeError, match=message):
            posref_cupy.rope_inv_freq(8, dtype=dtype)
    bound.cupy.__version__ = "14.0.0"
    _bind.require_dtype(bound.cupy, ml_dtypes.bfloat16)


def test_functions_run_on_the_device_of_their_arrays(bound):
    entered = []

    class Device(contextlib.nullcontext):
        def __enter__(self):
            entered.append(self)

    array = bound.put(np.ones(3))
    array.device = Device()
    x, cos, sin = (bound.put(a) for a in (ONES, TABLE, TABLE))
    x.device = cos.device = sin.device = Device()
    posref_cupy.rope_apply(x, cos, sin)
    assert entered.pop() is x.device
    on_cupy = _bind.on_cupy(lambda factor, positions, *, xp: (factor, positions, xp))
    assert on_cupy(2, array) == (2, array, None)
    assert on_cupy(2, positions=array) == (2, array, None)
    assert entered == [array.device, array.device]


ONES = np.ones((5, 8), dtype=np.float32)
TABLE = np.ones((5, 4), dtype=np.float32)
REFUSED = [
    ({"x": np.ones((5, 8), dtype=np.int64)}, TypeError, "x must be a floating array, got type int64"),
    ({"cos": np.ones((5, 4), dtype=np.complex64)}, TypeError, "cos must be a floating array, got type complex64"),
    ({"x": np.array(1, dtype=np.float32)}, ValueError, "x must have a channel axis, got a scalar"),
    ({"sin": np.ones((5, 3))}, ValueError, r"cos and sin must have the same shape .*, got \(5, 4\) and \(5, 3\)"),
    ({"x": ONES[:, :7]}, ValueError, "cos and sin must have 1 to 3 pairs for x with 7 channels and offset 0, got 4"),
    ({"offset": 1}, ValueError, "cos and sin must have 1 to 3 pairs for x with 8 channels and offset 1, got 4"),
    ({"offset": -1}, ValueError, "offset must be an integer >= 0, got -1"),
    ({"offset": 0.0}, TypeError, "offset must be an integer >= 0, got 0.0"),
    ({"x": ONES[:4]}, ValueError, r"cos and sin of shape \(5, 4\) must broadcast against x.shape\[:-1\] = \(4,\)"),
    ({"layout": "neox"}, ValueError, "layout must be one of 'half', 'interleaved', got 'neox'"),
    ({"output_layout": "gptj"}, ValueError, "output_layout must be one of 'half', 'interleaved', got 'gptj'"),
    ({"inverse": 1}, TypeError, "inverse must be True or False, got 1"),
    ({"out": ONES[:4].copy()}, ValueError, r"out must have x's shape and type, \(5, 8\) float32, got \(4, 8\) float32"),
    ({"out": ONES.astype(np.float64)}, ValueError, r"out must have x's shape and type, .* float32, got .* float64"),
]


@pytest.mark.parametrize(("changed", "error", "message"), REFUSED)
def test_what_rope_apply_refuses(cpu, changed, error, message):
    arguments = {"x": ONES, "cos": TABLE, "sin": TABLE, "out": ONES.copy(), **changed}
    given = {n: cpu.put(a) if isinstance(a, np.ndarray) else a for n, a in arguments.items()}
    before = {n: a.copy() for n, a in given.items() if isinstance(a, np.ndarray)}
    with pytest.raises(error, match=f"^{message}"):
        posref_cupy.rope_apply(given.pop("x"), given.pop("cos"), given.pop("sin"), **given)
    for name, array in before.items():  # nothing half-done
        np.testing.assert_array_equal(array, cpu.get(given.get(name, array)))


def test_nothing_else_than_cupys_arrays(cpu):
    x, table = cpu.put(ONES), cpu.put(TABLE)
    for name, arguments in {
        "x": (ONES, table, table),
        "cos": (x, TABLE, table),
        "sin": (x, table, [[1.0] * 4] * 5),
    }.items():
        with pytest.raises(
            TypeError, match=rf"^{name} must be a CuPy array, got type (numpy\.ndarray|builtins\.list)$"
        ):
            posref_cupy.rope_apply(*arguments)
    with pytest.raises(TypeError, match=r"^out must be a CuPy array, got type numpy\.ndarray$"):
        posref_cupy.rope_apply(x, table, table, out=ONES.copy())


def test_arrays_of_two_devices_are_refused(cpu):
    x, table, elsewhere = cpu.put(ONES), cpu.put(TABLE), cpu.put(TABLE)
    elsewhere.device = "another device"
    with pytest.raises(ValueError, match=r"^sin must be on x's device, .*, got another device$"):
        posref_cupy.rope_apply(x, table, elsewhere)
