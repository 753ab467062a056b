"""What may have gone wrong: the faults of the catalogue, pairs of them, and faults with a parameter."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

from posref_conformance.faults import FAULTS, KINDS, Fault, both
from posref_conformance.faults._change import ABSOLUTE, always, positions
from posref_conformance.faults.frequencies import WITH_BASE

BASES = (10.0, 100.0, 1e3, 1e4, 5e4, 1e5, 1.5e5, 1.6e5, 2.5e5, 5e5, 1e6, 2e6, 5e6, 1e7, 1e8, 10001.0)
SHIFTS = (-3, -2, 2, 3, 256)
# Kinds that are likely to come together: of the one each, with all of the other.
FIRST = (*KINDS["layout"], FAULTS["interleaved-in-halves-out"], FAULTS["turns-backwards"], FAULTS["minus-in-both"])
SECOND = (
    FAULTS["turns-backwards"],
    *KINDS["positions"],
    *KINDS["partial"],
    *KINDS["frequencies"],
    FAULTS["scaling-ignored"],
    FAULTS["scaling-factor-squared"],
    FAULTS["attention-factor-left-out"],
    FAULTS["attention-factor-squared"],
    *KINDS["precision"],
)
OTHERS = ("alibi", "t5", "additive", "axes", "logits", "distance")  # kinds whose own members come in pairs


@functools.cache
def fast() -> ModuleType:
    """NumPy that says it is being compiled: the adapters then compute their frequencies in floats, not in decimals."""
    numpy = importlib.import_module("array_api_compat.numpy")
    namespace = ModuleType("numpy")
    vars(namespace).update({k: v for k, v in vars(numpy).items() if not k.startswith("__")})
    vars(namespace)["compiler"] = SimpleNamespace(is_compiling=lambda: True)
    return namespace


@functools.cache
def affected() -> dict[str, tuple[Fault, ...]]:
    """The catalogue by the function that comes out wrong, those of a parameter after it."""
    found: dict[str, list[Fault]] = {}
    for fault in (*FAULTS.values(), *_parametric()):
        for name in fault.functions(fast()) if not fault.needs else ("rope_apply", "rope"):
            found.setdefault(name, []).append(fault)
    return {name: tuple(faults) for name, faults in found.items()}


def _parametric() -> Iterator[Fault]:
    for base in BASES:
        yield Fault(
            f"base-{base:g}",
            f"You use base {base:g} whatever base is given.",
            "Pass the model's rope_theta on to where the frequencies are made.",
            "NVIDIA/TransformerEngine issue #849",
            always(WITH_BASE, base=base),
        )
    for shift in SHIFTS:
        yield Fault(
            f"positions-{'plus' if shift > 0 else 'minus'}-{abs(shift)}",
            f"You use positions that are {abs(shift)} too {'large' if shift > 0 else 'small'}.",
            "The first token has position 0; an offset is added once.",
            "huggingface/transformers issue #45325",
            positions(functools.partial(_moved, shift), ABSOLUTE),
        )

    for dtype, first, count in (("int16", -(2**15), 2**16), ("uint8", 0, 2**8), ("int8", -(2**7), 2**8)):
        yield Fault(
            f"positions-in-{dtype}",
            f"You keep positions in {dtype}: they wrap around.",
            "Use 32 or 64 bits.",
            "microsoft/onnxruntime PR #20204",
            positions(functools.partial(_whole_and_wrapped, first, count), ABSOLUTE),
        )


def _whole_and_wrapped(first: int, count: int, xp: Any, p: Any) -> Any:
    return xp.remainder(xp.trunc(p) - first, count) + first


def _moved(shift: int, xp: Any, p: Any) -> Any:
    return p + shift


def singles(function: str) -> tuple[Fault, ...]:
    """Every fault that makes a function wrong, in the order of the catalogue."""
    return affected().get(function, ())


def with_another(function: str, one: Fault) -> Iterator[Fault]:
    """A fault and one more, in the order of the catalogue."""
    before = True
    for other in singles(function):
        if other.id == one.id:
            before = False
        elif not other.needs:
            yield both(other, one) if before else both(one, other)


def pairs(function: str) -> Iterator[Fault]:
    """Two faults at once, of kinds that are likely to come together."""
    makes_wrong = {fault.id for fault in singles(function)}
    for first in FIRST:
        for second in SECOND:
            if first.id in makes_wrong and second.id in makes_wrong and first.id != second.id:
                yield both(first, second)
    shared = (*KINDS["textbook"], FAULTS["base-ignored"], FAULTS["positions-from-1"])
    for kind in OTHERS:
        mine = [f for f in (*shared, *KINDS[kind]) if f.id in makes_wrong]
        for n, first in enumerate(mine):
            for second in mine[n + 1 :]:
                yield both(first, second)
