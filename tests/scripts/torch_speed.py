"""How fast rope_apply of posref_torch is, in ratios to a copy and to what is usually written.

    python tests/scripts/torch_speed.py [--threads N] [--rounds N] [--compile]

All candidates take turns within a round, and a ratio is the median over rounds of ratios within one round: what else the
machine does falls on all of them. transformers is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

import posref_torch

SHAPES = {"prefill": (1, 32, 4096, 128), "decode": (8, 32, 1, 128)}
FLOOR, USUAL = "copy_ to memory that is there", "two halves + cat"
Candidates = dict[str, Callable[[], object]]


def main() -> None:
    """Print a table per shape and type."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--compile", action="store_true", help="torch.compile of rope_apply as well")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.set_grad_enabled(False)
    print(f"torch {torch.__version__}, {given.threads} threads, {given.rounds} rounds")
    for name, shape in SHAPES.items():
        for dtype in (torch.float32, torch.bfloat16):
            calls = candidates(shape, dtype, compiled=given.compile)
            times = measured(calls, given.rounds, repeats=1 if name == "prefill" else 500)
            report(f"{name} {shape} {str(dtype)[6:]}", times)


def candidates(shape: tuple[int, ...], dtype: torch.dtype, *, compiled: bool) -> Candidates:
    """Everything that is timed, for float32 tables where it takes them and for tables of x's type where it does not."""
    x, out = torch.randn(shape).to(dtype), torch.empty(shape, dtype=dtype)
    again = x.clone()
    cos, sin = posref_torch.rope_table(torch.arange(100, 100 + shape[-2]), shape[-1])
    narrow_cos, narrow_sin = cos.to(dtype), sin.to(dtype)
    calls: Candidates = {
        FLOOR: lambda: out.copy_(x),
        "clone": lambda: x.clone(),
        "rope_apply": lambda: posref_torch.rope_apply(x, cos, sin),
        "rope_apply, out=": lambda: posref_torch.rope_apply(x, cos, sin, out=out),
        "rope_apply, in place": lambda: posref_torch.rope_apply(again, cos, sin, out=again),
        "rope_apply, interleaved, out=": lambda: posref_torch.rope_apply(x, cos, sin, layout="interleaved", out=out),
        USUAL: lambda: two_halves(x, narrow_cos, narrow_sin),
    }
    if dtype != torch.float32:
        calls["two halves + cat in float32"] = lambda: two_halves(x.float(), cos, sin).to(dtype)
    if compiled:
        function = torch.compile(posref_torch.rope_apply, fullgraph=True, dynamic=False)
        calls["rope_apply, compiled"] = lambda: function(x, cos, sin)
        calls["rope_apply, compiled, out="] = lambda: function(x, cos, sin, out=out)
    try:
        from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
    except ImportError:
        return calls
    wide_cos, wide_sin = (torch.cat([t, t], dim=-1)[None] for t in (narrow_cos, narrow_sin))
    calls["transformers (with one head of keys)"] = lambda: apply_rotary_pos_emb(x, x[:, :1], wide_cos, wide_sin)
    return calls


def two_halves(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """The plain eager formula."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def measured(calls: Candidates, rounds: int, repeats: int) -> dict[str, list[float]]:
    """Seconds per call, for each round; one round before that does not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for n in range(rounds + 1):
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(repeats):
                call()
            if n:
                times[name].append((time.perf_counter() - begin) / repeats)
    return times


def report(title: str, times: dict[str, list[float]]) -> None:
    """Medians: microseconds, times the copy, times the usual formula."""
    print(f"\n{title}\n{'':38}{'us':>10}{'x copy_':>9}{'x usual':>9}")
    for name, own in times.items():
        ratios = (statistics.median(a / b for a, b in zip(own, times[base], strict=True)) for base in (FLOOR, USUAL))
        print(f"{name:38}{statistics.median(own) * 1e6:10.1f}" + "".join(f"{r:9.2f}" for r in ratios))


if __name__ == "__main__":
    main()
