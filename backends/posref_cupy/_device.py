"""Whether there is anything to compute on, and CuPy once there is."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def unavailable() -> str | None:
    """Why nothing can be computed here, in one line; None if it can."""
    try:
        import cupy
    except ModuleNotFoundError as problem:
        if problem.name == "cupy":
            return "CuPy is not installed: pip install posref[cupy]"
        return f"CuPy does not import: {_line(problem)}"
    except Exception as problem:  # a shared library that is not there, two CuPys at once, ...
        return f"CuPy does not import: {_line(problem)}"
    runtime = cupy.cuda.runtime
    if not runtime.driverGetVersion():
        return "no CUDA driver"
    try:
        if not runtime.getDeviceCount():
            return "no CUDA device"
    except runtime.CUDARuntimeError as problem:
        return f"no CUDA device: {_line(problem)}"
    try:
        cupy.cuda.nvrtc.getVersion()
    except Exception as problem:  # CuPy compiles every kernel when it is first used
        return f'no NVRTC, which CuPy compiles with: pip install "cupy-cuda12x[ctk]" ({_line(problem)})'
    return None


def ready() -> Any:
    """CuPy, or a RuntimeError that says why there is nothing to compute on."""
    why = unavailable()
    if why is not None:
        raise RuntimeError(why)
    import cupy

    return cupy


def namespace() -> Any:
    """CuPy as an Array API namespace, which it is not by itself."""
    import array_api_compat.cupy

    return array_api_compat.cupy


def _line(problem: BaseException) -> str:
    return " ".join(str(problem).split())[:120] or type(problem).__name__
