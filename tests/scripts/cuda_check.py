"""For a machine with a CUDA device: everything that other machines skip, in one run, with a short report.

    python tests/scripts/cuda_check.py

Runs the tests of posref_cupy on the device, `posref check cupy`, and times the fused rotation against the unfused array
path and against a copy from device memory to device memory, the least that any rotation has to move.
Exit status: 0 all is right; 1 something is not; 2 there is no device.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import posref_array
import posref_cupy

ROOT = Path(__file__).parents[2]
TESTS = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", str(ROOT / "tests" / "posref_cupy")]
SUITE = [sys.executable, "-c", "import sys; from posref.cli import main; sys.exit(main())", "check", "cupy"]
SHAPES = {"prefill": (1, 32, 4096, 128), "decode": (8, 32, 1, 128)}
DTYPES = ("float32", "float16", "bfloat16")


def main() -> int:
    """Print the report."""
    why = posref_cupy.unavailable()
    if why is not None:
        print(f"unavailable: {why}")
        return 2
    import cupy

    print(machine(cupy))
    verdicts = {"tests on the device": run(TESTS), "posref check cupy": run(SUITE)}
    for name, shape in SHAPES.items():
        for dtype in DTYPES:
            if dtype == "bfloat16" and int(cupy.__version__.split(".")[0]) < 14:
                print(f"{name:8} {dtype:9} not with CuPy {cupy.__version__}: 14 knows bfloat16")
                continue
            print(line(name, dtype, times(cupy, shape, dtype)))
    for what, passed in verdicts.items():
        print(f"{what}: {'passed' if passed else 'FAILED'}")
    return 0 if all(verdicts.values()) else 1


def machine(cupy: Any) -> str:
    """The device and the versions, in one line."""
    runtime, nvrtc = cupy.cuda.runtime, cupy.cuda.nvrtc.getVersion()
    name = runtime.getDeviceProperties(0)["name"].decode()
    return f"{name}, CuPy {cupy.__version__}, driver for CUDA {runtime.driverGetVersion()}, NVRTC {nvrtc[0]}.{nvrtc[1]}"


def run(command: list[str]) -> bool:
    """Whether a command passes; its output goes where ours goes."""
    print("$", " ".join(command), flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def times(cupy: Any, shape: tuple[int, ...], dtype: str) -> dict[str, float]:
    """Median milliseconds of each way, all into an array that is there; the table is float32, as it is in use."""
    import array_api_compat.cupy
    import ml_dtypes
    import numpy as np

    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = cupy.asarray(np.random.default_rng(0).normal(size=shape).astype(kind))
    out = cupy.empty_like(x)
    cos, sin = posref_cupy.rope_table(cupy.arange(shape[-2]), shape[-1], dtype=cupy.float32)

    def unfused(layout: str) -> None:
        posref_array.rope_apply(x, cos, sin, layout=layout, out=out, xp=array_api_compat.cupy)

    return {
        "copy": timed(cupy, lambda: cupy.copyto(out, x)),
        "fused half": timed(cupy, lambda: posref_cupy.rope_apply(x, cos, sin, out=out)),
        "fused interleaved": timed(cupy, lambda: posref_cupy.rope_apply(x, cos, sin, layout="interleaved", out=out)),
        "unfused half": timed(cupy, lambda: unfused("half")),
        "unfused interleaved": timed(cupy, lambda: unfused("interleaved")),
    }


def timed(cupy: Any, call: Callable[[], object], repeats: int = 30) -> float:
    """Median milliseconds on the device's own clock, launches included, after three calls to warm up."""
    for _ in range(3):
        call()
    taken = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        taken.append(cupy.cuda.get_elapsed_time(begin, end))
    return float(statistics.median(taken))


def line(name: str, dtype: str, taken: dict[str, float]) -> str:
    """Milliseconds of the copy, and each other way as a multiple of it."""
    ratios = ", ".join(f"{way} x{ms / taken['copy']:.2f}" for way, ms in taken.items() if way != "copy")
    return f"{name:8} {dtype:9} copy {taken['copy']:.4f} ms; {ratios}"


if __name__ == "__main__":
    sys.exit(main())
