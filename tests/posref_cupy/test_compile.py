"""The kernel's text through NVIDIA's compilers, which need no driver: NVRTC (as CuPy calls it) and nvcc."""

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from posref_cupy import _plan, kernels

ARCHITECTURES = ("75", "80", "90")
TYPES = tuple(kernels.TYPES)
PAIRS = [(dtype, table_dtype) for dtype in TYPES for table_dtype in TYPES]
NVCC = shutil.which("nvcc")


def packaged(*parts):
    """Folders of NVIDIA's Python packages: nvidia/<component>/<part> for CUDA 12, nvidia/cu13/<part> for CUDA 13."""
    spec = importlib.util.find_spec("nvidia")
    roots = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
    return [p for root in roots for p in sorted(Path(root).glob("/".join(("*", *parts))))]


def toolkits():
    named = [os.environ[v] for v in ("CUDA_PATH", "CUDA_HOME") if v in os.environ]
    return [Path(p) for p in [*named, *([Path(NVCC).resolve().parent.parent] if NVCC else []), "/usr/local/cuda"]]


def headers():
    """A folder with cuda_fp16.h and cuda_bf16.h, or None."""
    for folder in [*packaged("include"), *(t / "include" for t in toolkits())]:
        if (folder / "cuda_fp16.h").is_file() and (folder / "cuda_bf16.h").is_file():
            return folder
    return None


class Nvrtc:
    """NVRTC by ctypes."""

    def __init__(self, library):
        self.library = library

    def compile(self, text, options):
        """(error, log, code)"""
        program = ctypes.c_void_p()
        none = (ctypes.c_char_p * 0)()
        assert self.library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, none, none) == 0
        encoded = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        error = self.library.nvrtcCompileProgram(program, len(options), encoded)
        log = self.fetch(program, "ProgramLog")
        kind = "CUBIN" if any("sm_" in o for o in options) else "PTX"
        return error, log.decode(errors="replace"), b"" if error else self.fetch(program, kind)

    def fetch(self, program, what):
        size = ctypes.c_size_t()
        assert getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) == 0
        text = ctypes.create_string_buffer(size.value)
        assert getattr(self.library, f"nvrtcGet{what}")(program, text) == 0
        return text.raw


@pytest.fixture(scope="module")
def nvrtc():
    candidates = [*packaged("lib", "libnvrtc.so.*"), *(p for t in toolkits() for p in t.glob("lib64/libnvrtc.so"))]
    if not candidates:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")
    return Nvrtc(ctypes.CDLL(str(candidates[0])))


def options(dtype, table_dtype):
    """CuPy's own options for a RawKernel, as of 14, and the headers' folder for types that need one."""
    given = ["--std=c++17", "-ftz=true", "--device-as-default-execution-space"]
    if {dtype, table_dtype} & set(kernels.HEADERS):
        folder = headers()
        if folder is None:
            pytest.skip("cuda_fp16.h and cuda_bf16.h are not installed: pip install nvidia-cuda-runtime-cu12")
        given.append(f"-I{folder}")
    return given


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("dtype", "table_dtype"), PAIRS)
def test_nvrtc_makes_code_for_each_device(nvrtc, dtype, table_dtype, architecture):
    text = kernels.source("rope_apply", dtype=dtype, table_dtype=table_dtype)
    error, log, code = nvrtc.compile(text, [*options(dtype, table_dtype), f"-arch=sm_{architecture}"])
    assert error == 0, log
    assert not log.strip("\0 \n"), log  # no warning either
    assert code.startswith(b"\x7fELF")
    assert b".text.rope_apply" in code


@pytest.mark.parametrize(("dtype", "table_dtype"), PAIRS)
def test_the_compiled_kernel_takes_what_the_launch_passes(nvrtc, dtype, table_dtype):
    """Four pointers and a structure of the plan's size; float64 arithmetic only where float64 data ask for it."""
    text = kernels.source("rope_apply", dtype=dtype, table_dtype=table_dtype)
    error, log, code = nvrtc.compile(text, [*options(dtype, table_dtype), "-arch=compute_80"])
    assert error == 0, log
    ptx = code.decode()
    entry = re.search(r"\.entry rope_apply\((.*?)\)", ptx, re.DOTALL).group(1)
    assert len(re.findall(r"\.param \.u64", entry)) == 4
    assert re.search(r"\.param \.align 8 \.b8 \w+\[(\d+)\]", entry).group(1) == str(_plan.PLAN.itemsize)
    assert bool(re.search(r"\b(mul|fma|add|sub)\.\w*\.?f64", ptx)) == ("float64" in (dtype, table_dtype))


FAULTS = {
    "a name that is not declared": ("a * c", "a * q"),
    "a field that is not there": ("p.pairs;", "p.couples;"),
    "a missing semicolon": ("= from[channel];", "= from[channel]"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_nvrtc_notices_a_bad_source(nvrtc, fault):
    text = kernels.source("rope_apply", dtype="float32")
    assert FAULTS[fault][0] in text
    error, log, _ = nvrtc.compile(text.replace(*FAULTS[fault]), ["-arch=sm_80"])
    assert error != 0
    assert "error" in log


def nvcc(text, folder, *more):
    (folder / "kernel.cu").write_text(text)
    command = [NVCC, "-ptx", "-arch=compute_80", *more, "-o", str(folder / "kernel.ptx"), str(folder / "kernel.cu")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(NVCC is None, reason="nvcc, of the CUDA toolkit, is not installed")
@pytest.mark.parametrize(
    ("dtype", "table_dtype"), [("float32", "float64"), ("float16", "float32"), ("bfloat16", "bfloat16")]
)
def test_nvcc_compiles_it_too(tmp_path, dtype, table_dtype):
    done = nvcc(kernels.source("rope_apply", dtype=dtype, table_dtype=table_dtype), tmp_path, "-Werror", "all-warnings")
    assert done.returncode == 0, done.stderr
    assert ".entry rope_apply(" in (tmp_path / "kernel.ptx").read_text()


@pytest.mark.skipif(NVCC is None, reason="nvcc, of the CUDA toolkit, is not installed")
def test_nvcc_notices_a_bad_source(tmp_path):
    assert nvcc(kernels.source("rope_apply", dtype="float32").replace("a * c", "a * q"), tmp_path).returncode != 0


def test_unknown_kernels_and_types_are_refused():
    with pytest.raises(ValueError, match=r"^name must be one of rope_apply, got 'rope'$"):
        kernels.source("rope", dtype="float32")
    with pytest.raises(ValueError, match=r"^dtype must be one of float64, .*, got 'int32'$"):
        kernels.source("rope_apply", dtype="int32")
    with pytest.raises(ValueError, match=r"^table_dtype must be one of float64, .*, got 'half'$"):
        kernels.source("rope_apply", dtype="float32", table_dtype="half")
