"""Right values with a wrong derivative; torch alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posref_conformance.faults._fault import Fault, Functions, Wrong


def _backward(change: Callable[..., Any]) -> Wrong:
    """Rotations whose backward pass is ``change(rotate, g, args, kwargs)``; kwargs are those of the transposed rotation."""

    def wrong(right: Any, xp: Any) -> Functions:
        import torch

        def make(name: str) -> Callable[..., Any]:
            f = getattr(right, name)

            def function(x: Any, *args: Any, **kwargs: Any) -> Any:
                transposed = {**kwargs, "inverse": not kwargs.get("inverse", False)}
                if kwargs.get("output_layout"):
                    transposed |= {"layout": kwargs["output_layout"], "output_layout": kwargs.get("layout", "half")}

                class Rotation(torch.autograd.Function):
                    @staticmethod
                    def forward(context: Any, x: Any) -> Any:
                        return f(x, *args, **kwargs)

                    @staticmethod
                    def backward(context: Any, g: Any) -> Any:
                        return change(f, g, args, transposed)

                return Rotation.apply(x)  # type: ignore[no-untyped-call]

            return function

        return {name: make(name) for name in ("rope_apply", "rope")}

    return wrong


def _forward_again(rotate: Any, g: Any, args: Any, kwargs: Any) -> Any:
    return rotate(g, *args, **{**kwargs, "inverse": not kwargs["inverse"]})


def _other_layout(rotate: Any, g: Any, args: Any, kwargs: Any) -> Any:
    other = {"half": "interleaved", "interleaved": "half"}[kwargs.get("layout", "half")]
    return rotate(g, *args, **{**kwargs, "layout": other})


def _inverse_for_transpose(rotate: Any, g: Any, args: Any, kwargs: Any) -> Any:
    """The inverse, as if the tables lay on the circle: its magnitude is taken for 1 where it is not."""
    y = rotate(g, *args, **kwargs)
    return y / (args[0] ** 2 + args[1] ** 2).mean() if len(args) > 1 else y * 1.05


def _rest_without(rotate: Any, g: Any, args: Any, kwargs: Any) -> Any:
    y = rotate(g, *args, **kwargs).clone()
    y[..., -1] = 0
    return y


def _undefined(rotate: Any, g: Any, args: Any, kwargs: Any) -> Any:
    raise NameError("name 'interleaved' is not defined")


BACKWARD = "The gradient is the transposed rotation of the cotangent: -sin, with the same layout, offset and factor."
FAULTS = (
    Fault(
        "gradient-turns-forward",
        "You rotate forward again in the backward pass.",
        BACKWARD,
        "PaddlePaddle/Paddle PR #74716",
        _backward(_forward_again),
        needs="torch",
    ),
    Fault(
        "gradient-passes-through",
        "You return the cotangent unrotated in the backward pass.",
        BACKWARD,
        "PaddlePaddle/Paddle PR #74716",
        _backward(lambda rotate, g, args, kwargs: g.clone()),
        needs="torch",
    ),
    Fault(
        "gradient-in-the-other-layout",
        "You pair other channels in the backward pass than in the forward one.",
        BACKWARD,
        "Dao-AILab/flash-attention PR #569",
        _backward(_other_layout),
        needs="torch",
    ),
    Fault(
        "gradient-without-the-factor",
        "You use the inverse in the backward pass, without the factor on cos and sin.",
        BACKWARD,
        "ggml-org/llama.cpp PR #3974; ggml-org/llama.cpp PR #11240; NVIDIA/apex PR #1750",
        _backward(_inverse_for_transpose),
        needs="torch",
    ),
    Fault(
        "gradient-of-the-rest-lost",
        "You give no gradient to the last channel.",
        BACKWARD,
        "PaddlePaddle/Paddle PR #74716",
        _backward(_rest_without),
        needs="torch",
    ),
    Fault(
        "gradient-raises",
        "You have a backward pass that cannot be run.",
        "Run it in a test, for both layouts.",
        "Dao-AILab/flash-attention PR #569",
        _backward(_undefined),
        needs="torch",
    ),
)
