"""A function of posref_array with matrix products as one of torch's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch import Tensor

from posref_torch._bind import on_torch
from posref_torch.judge import as_typed


def products_on_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `on_torch`, and the same inside ``torch.autocast``, which would take the products in 16 bits."""
    plain = on_torch(function)

    @functools.wraps(plain)
    def bound(*args: Any, **kwargs: Any) -> Any:
        with as_typed(next((value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)), None)):
            return plain(*args, **kwargs)

    return bound
