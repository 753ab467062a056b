"""Checks of arguments. Each error is one line that names the argument, what came and what was expected."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST_POSITION = 2**53  # beyond it neighbouring integers are no longer distinct float64 numbers

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


def shown(value: object) -> str:
    """What came, short enough for one line."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape} and type {value.dtype}"
    return " ".join(_short.repr(value).split())


def shortened(text: str) -> str:
    """A message of somebody else's, on one line: its first sentence."""
    return " ".join(text.split()).split(". ")[0]


def integer(value: object, name: str, *, least: int = 1, most: int | None = None) -> int:
    """A whole number from ``least`` to ``most``; a float or a bool is a TypeError."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer >= {least}, got {shown(value)}") from None
    if number < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {shown(number)}")
    if most is not None and number > most:
        raise ValueError(f"{name} must be an integer <= {most}, got {shown(number)}")
    return number


def even(value: object, name: str = "dim") -> int:
    """A positive even number of channels."""
    number = integer(value, name)
    if number % 2:
        raise ValueError(f"{name} must be a positive even integer, got {shown(number)}")
    return number


def number(value: object, name: str, *, above: float = -math.inf, least: float = -math.inf) -> float:
    """A finite real number, greater than ``above`` and at least ``least``."""
    wanted = (
        f"a finite number{f' > {above:g}' if above > -math.inf else ''}{f' >= {least:g}' if least > -math.inf else ''}"
    )
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be {wanted}, got {shown(value)}")
    try:
        real = float(value)
    except OverflowError:
        real = math.inf
    if not -math.inf < real < math.inf or real <= above or real < least:  # not isfinite: torch.compile cannot trace it
        raise ValueError(f"{name} must be {wanted}, got {shown(value)}")
    return real


def boolean(value: object, name: str) -> bool:
    """True or False, and nothing that merely counts as such."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def choice(value: object, name: str, options: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in options:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name} must be one of {', '.join(map(repr, options))}, got {shown(value)}")
    return value


def floating(
    value: ArrayLike, name: str, *, ndim: int | None = None, finite: bool = False, copy: bool = True
) -> NDArray[np.float64]:
    """Real values as float64, exactly; complex numbers, strings, bools and objects are a TypeError.

    No copy where nobody writes to it.
    """
    array = as_array(value, name)
    if array.dtype.kind not in "iu" and not is_floating(array.dtype):
        raise TypeError(f"{name} must be an array of real numbers, got type {array.dtype}")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} {'axis' if ndim == 1 else 'axes'}, got shape {array.shape}")
    reals: NDArray[np.float64] = array.astype(np.float64, copy=copy)
    if finite and not np.isfinite(reals).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return reals


def positions(value: ArrayLike, name: str = "positions", *, whole: bool = False) -> NDArray[Any]:
    """Positions as int64 (integers to 2^53 in magnitude) or float64 (finite)."""
    array = as_array(value, name)
    if array.dtype.kind in "iuO":
        if array.dtype.kind == "O" and not all(type(p) is int for p in array.flat):
            raise TypeError(f"{name} must be real numbers, got {shown(value)}")
        largest = max(int(array.max()), int(array.min()), key=abs) if array.size else 0
        if abs(largest) > LARGEST_POSITION:
            raise ValueError(
                f"{name} must be at most 2**53 in magnitude, where integers are exact, got {shown(largest)}"
            )
        return array.astype(np.int64, copy=False)  # nobody writes to positions
    if whole and array.size:
        raise TypeError(f"{name} must be integers, got type {array.dtype}")
    if not is_floating(array.dtype):
        raise TypeError(f"{name} must be real numbers, got type {array.dtype}")
    reals = array.astype(np.float64, copy=False)
    if not np.isfinite(reals).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return reals.astype(np.int64) if whole else reals  # whole and here: an empty list, which NumPy makes float


def broadcasts(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether NumPy's rules stretch ``shape`` to ``target``, and ``target`` stays as it is."""
    return len(shape) <= len(target) and all(
        n == 1 or n == m for n, m in zip(reversed(shape), reversed(target), strict=False)
    )


def require_positions_of(x: Sequence[int], positions: Sequence[int]) -> None:
    """Refuse positions that NumPy's rules do not stretch to x's rows."""
    if not broadcasts(positions, x[:-1]):
        got = f"positions of shape {tuple(positions)}"
        raise ValueError(f"{got} must broadcast against x.shape[:-1] = {tuple(x[:-1])}")


def require_queries_and_keys(q: Sequence[int], k: Sequence[int]) -> None:
    """Refuse shapes of positions without a sequence axis, or whose batch axes NumPy's rules do not stretch to each other."""
    for name, shape in (("q_positions", q), ("k_positions", k)):
        if not len(shape):
            raise ValueError(f"{name} must have a sequence axis, got a scalar")
    for n, m in zip(reversed(q[:-1]), reversed(k[:-1]), strict=False):
        if n != m and 1 not in (n, m):
            got = f"{tuple(q)} and {tuple(k)}"
            raise ValueError(f"q_positions and k_positions must have batch axes that broadcast, got {got}")


def rotary_dim(dim: int | None, x: Sequence[int], offset: int) -> int:
    """How many of x's channels rotate: those asked for, or all from ``offset`` on."""
    there = (x[-1] if len(x) else 0) - integer(offset, "offset", least=0)
    if dim is None:
        return even(there, "x's channels from offset on")
    if even(dim) > there:
        raise ValueError(f"dim must fit into the {max(0, there)} channels of x from offset on, got {dim}")
    return dim


def rotated_pairs(x: Sequence[int], cos: Sequence[int], sin: Sequence[int], offset: int) -> int:
    """The number of pairs that a rotation turns, once the three shapes are known to fit each other."""
    if not len(x):
        raise ValueError("x must have a channel axis, got a scalar")
    if not len(cos) or tuple(cos) != tuple(sin):
        raise ValueError(f"cos and sin must have the same shape (..., pairs), got {tuple(cos)} and {tuple(sin)}")
    pairs, most = cos[-1], max(0, (x[-1] - offset) // 2)
    if not 1 <= pairs <= most:
        wanted = f"1 to {most} pairs for x with {x[-1]} channels and offset {offset}"
        raise ValueError(f"cos and sin must have {wanted}, got {pairs}")
    if not broadcasts(cos[:-1], x[:-1]):
        raise ValueError(f"cos and sin of shape {tuple(cos)} must broadcast against x.shape[:-1] = {tuple(x[:-1])}")
    return pairs


def as_array(value: ArrayLike, name: str) -> NDArray[Any]:
    """What NumPy makes of it; what NumPy cannot take is a TypeError."""
    try:
        return np.asarray(value)
    except Exception as problem:  # a stranger's __array__ raises what it likes; torch RuntimeError over a gradient
        raise TypeError(f"{name} must be an array of numbers, got {shown(value)} ({shortened(str(problem))})") from None


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether it is a real floating type: NumPy's own, or one of ml_dtypes'."""
    # bfloat16 and the 8-bit floats come from ml_dtypes; to NumPy they are opaque types that know how to become float64
    opaque = dtype.kind == "V" and dtype.names is None and dtype.name.startswith(("bfloat", "float"))
    return dtype.kind == "f" or opaque
