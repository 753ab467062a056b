"""A function of posref_array as one of torch's."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import array_api_compat.torch as xp
import numpy as np
import torch
from torch.autograd import forward_ad

from posref_array._frequencies import CONSTANTS

for made_on_the_host in CONSTANTS:  # their digits need Decimal, which torch's compiler cannot follow
    # all that torch.compiler.assume_constant_result does once it has imported the compiler: two seconds for nothing
    made_on_the_host._dynamo_marked_constant = True  # type: ignore[union-attr]


def on_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function without ``xp``: on torch's namespace, with torch's default type where no other is given."""
    signature = inspect.signature(function)
    shown = signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "xp"])
    defaults = {name: p.default for name, p in shown.parameters.items() if p.default is not p.empty}
    names = tuple(shown.parameters)

    @functools.wraps(function)
    def bound(*args: Any, **kwargs: Any) -> Any:
        require_tensors({**dict(zip(names, args, strict=False)), **kwargs})
        if "dtype" in names and kwargs.get("dtype") is None:
            kwargs["dtype"] = torch.get_default_dtype()
        if torch.compiler.is_compiling():
            args = tuple(settled(value) for value in args)
            kwargs = {name: settled(value) for name, value in {**defaults, **kwargs}.items()}
        return function(*args, **kwargs, xp=xp)

    bound.__signature__ = shown  # type: ignore[attr-defined]
    bound.__module__ = function.__module__.replace("posref_array", "posref_torch")  # where it is found, for pickle
    return bound


def require_tensors(given: dict[str, Any]) -> None:
    """Refuse NumPy's arrays where a tensor is due."""
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            raise TypeError(f"{name} must be a torch.Tensor, got type numpy.{type(value).__name__}")


def traced() -> bool:
    """Whether a compiler, an export, a transform such as ``vmap`` or the forward mode watches: no place for shortcuts."""
    if torch.compiler.is_compiling():
        return True
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0  # neither has a public name


def settled(value: Any) -> Any:
    """A number as a constant of the graph, also inside a scaling.

    ``torch.compile(dynamic=True)`` makes symbols of all numbers that come from outside, and fails on the arithmetic of the
    frequencies. A symbol's ``hex`` and index are its value.
    """
    if isinstance(value, float):
        return float.fromhex(value.hex())
    if isinstance(value, int) and not isinstance(value, bool):
        return operator.index(value)
    if isinstance(value, tuple):
        return tuple(settled(v) for v in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: settled(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return type(value)(**fields)
    return value
