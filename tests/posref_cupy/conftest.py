"""Two machines for the same tests: a CUDA device, where there is one, and the CPU, which runs the kernel's text built by g++.

On the CPU a stand-in for CuPy holds NumPy arrays. Only what the launch code asks of CuPy is there: `empty`, `RawKernel`, ...
So the launch code and the kernel's text are the real ones; CuPy, the compiler for the device and the device are not.
"""

import contextlib
import ctypes
import functools
import hashlib
import shutil
import subprocess
import types
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import posref_cupy
import posref_cupy.rotary

SHIM = Path(__file__).parent / "shim"
COMPILER = shutil.which("g++")
LAUNCH = """
extern "C" void launch(const dim3* d, int backwards, void** arguments)
{
    run(KERNEL, d[0], d[1], d[2], d[3], backwards, arguments);
}
"""
DTYPES = {name: np.dtype(name) for name in ("float64", "float32", "float16")} | {
    "bfloat16": np.dtype(ml_dtypes.bfloat16)
}
GUARD = 256  # bytes: a multiple of every alignment


def memory_of(array):
    """The bytes that an array spans, copied, and where its first element is among them."""
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
    span = (ctypes.c_char * (high - low)).from_address(low)
    return np.frombuffer(bytes(span), dtype=np.uint8), array.__array_interface__["data"][0] - low if array.size else 0


class Here(contextlib.nullcontext, str):
    """NumPy's name for its device, that can be entered as CuPy's can."""


class OnCpu(np.ndarray):
    """NumPy's array, with a device as CuPy's have."""

    device = Here("cpu")


class Builder:
    """Kernel texts as functions of shared libraries, each built once."""

    def __init__(self, folder):
        self.folder = folder

    @functools.cache  # noqa: B019  one builder per session
    def function(self, text, name):
        stem = self.folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        stem.with_suffix(".cpp").write_text(text + LAUNCH)
        # no contraction to fma: the results are those of NumPy's own expressions
        flags = "-std=c++17 -O1 -shared -fPIC -ffp-contract=off -Wall -Werror -Wno-misleading-indentation -Wno-unused-variable"
        command = [COMPILER, *flags.split(), f"-I{SHIM}", "-include", "cuda_on_cpu.h", f"-DKERNEL={name}"]
        subprocess.run([*command, str(stem.with_suffix(".cpp")), "-o", f"{stem}.so"], check=True)
        return ctypes.CDLL(f"{stem}.so").launch


class CpuKernel:
    """`cupy.RawKernel`, built by g++; `first` and `count` take a part of the grid's blocks."""

    def __init__(self, builder, text, name):
        self.function = builder.function(text, name)
        self.backwards = False

    def __call__(self, grid, block, arguments, first=(0, 0, 0), count=None):
        pointers = (ctypes.c_void_p * len(arguments))()
        kept = []  # ctypes keeps no reference
        for i, argument in enumerate(arguments):
            if isinstance(argument, OnCpu):  # an array: by its address
                kept.append(ctypes.c_void_p(argument.ctypes.data))
                pointers[i] = ctypes.addressof(kept[-1])
            else:  # a structure: by value
                pointers[i] = argument.ctypes.data
        dims = np.ones((4, 3), dtype=np.uint32)
        dims[0, : len(grid)], dims[1, : len(block)], dims[2], dims[3] = grid, block, first, count or grid
        self.function(dims.ctypes.data_as(ctypes.c_void_p), int(self.backwards), pointers)


class Cpu:
    """The kernel's text on the CPU, behind posref_cupy's own launch code; all arrays lie between guards."""

    name, exact = "cpu", True

    def __init__(self, builder):
        self.builder = builder
        self.backwards = False
        self.buffers = []
        self.cupy = types.SimpleNamespace(
            ndarray=OnCpu,
            RawKernel=self.raw_kernel,
            empty=lambda shape, dtype: self.put(np.full(shape, np.nan, dtype=dtype)),  # what is left out shows
            ascontiguousarray=lambda a: self.put(np.ascontiguousarray(a)),
            broadcast_to=lambda a, shape: np.broadcast_to(a, shape).view(OnCpu),
            may_share_memory=np.may_share_memory,
            float32=np.float32,
            float64=np.float64,
        )

    def raw_kernel(self, text, name):
        kernel = CpuKernel(self.builder, text, name)
        kernel.backwards = self.backwards
        return kernel

    def put(self, array):
        memory, start = memory_of(array)
        buffer = np.full(len(memory) + 2 * GUARD, 0xA5, dtype=np.uint8)
        buffer[GUARD:-GUARD] = memory
        self.buffers.append(buffer)
        return np.ndarray(array.shape, array.dtype, buffer, GUARD + start, array.strides).view(OnCpu)

    def get(self, array):
        buffers, self.buffers = self.buffers, []
        assert all((b[:GUARD] == 0xA5).all() and (b[-GUARD:] == 0xA5).all() for b in buffers), "written out of bounds"
        return np.asarray(array)


class Device:
    """The CUDA device and CuPy themselves."""

    name, exact = "gpu", False  # the device's compiler contracts to fma

    def __init__(self):
        import cupy

        self.cupy = cupy

    def put(self, array):
        """The same strides too."""
        if array.dtype == DTYPES["bfloat16"] and int(self.cupy.__version__.split(".")[0]) < 14:
            pytest.skip(f"CuPy {self.cupy.__version__} knows no bfloat16, 14 does")
        if not array.size:
            return self.cupy.asarray(array)
        memory, start = memory_of(array)
        return self.cupy.ndarray(array.shape, array.dtype, self.cupy.asarray(memory).data + start, array.strides)

    def get(self, array):
        return self.cupy.asnumpy(array)


@pytest.fixture
def dtypes():
    return DTYPES


@pytest.fixture(scope="session")
def builder(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("g++ is not installed: nothing builds the kernel's text for the CPU")
    return Builder(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def cpu(builder, monkeypatch):
    machine = Cpu(builder)
    monkeypatch.setattr(posref_cupy.rotary, "ready", lambda: machine.cupy)
    posref_cupy.rotary.kernel.cache_clear()
    yield machine
    posref_cupy.rotary.kernel.cache_clear()


@pytest.fixture
def gpu():
    if posref_cupy.unavailable() is not None:
        pytest.skip(posref_cupy.unavailable())
    return Device()


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request):
    """Each in turn."""
    return request.getfixturevalue(request.param)
