"""Mistakes of widely copied tutorials."""

from __future__ import annotations

from typing import Any

from posref_conformance.faults._change import numbers
from posref_conformance.faults._fault import Fault, Functions


def _interleaved_in_halves_out(right: Any, xp: Any) -> Functions:
    def rope_apply(x: Any, cos: Any, sin: Any, *, layout: str = "half") -> Any:
        output = "half" if layout == "interleaved" else layout
        return right.rope_apply(x, cos, sin, layout=layout, output_layout=output)

    def rope(x: Any, positions: Any, *, base: float = 10000.0, layout: str = "half") -> Any:
        cos, sin = right.rope_table(positions, x.shape[-1], base=base)
        return rope_apply(x, cos, sin, layout=layout)

    return {"rope_apply": rope_apply, "rope": rope}


def _slopes_start_at_one(right: Any, xp: Any) -> Functions:
    def alibi_slopes(num_heads: int) -> Any:
        return numbers(xp, [2.0 ** (-8.0 * h / num_heads) for h in range(num_heads)])

    return {"alibi_slopes": alibi_slopes}


def _slopes_geometric_for_all(right: Any, xp: Any) -> Functions:
    def alibi_slopes(num_heads: int) -> Any:
        return numbers(xp, [2.0 ** (-8.0 * h / num_heads) for h in range(1, num_heads + 1)])

    return {"alibi_slopes": alibi_slopes}


def _no_slopes(right: Any, xp: Any) -> Functions:
    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any) -> Any:
        return right.alibi_bias(xp.ones_like(slopes), q_positions, k_positions)

    return {"alibi_bias": alibi_bias}


def _favours_distant_keys(right: Any, xp: Any) -> Functions:
    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any, *, form: str = "distance") -> Any:
        return -right.alibi_bias(slopes, q_positions, k_positions, form=form)

    return {"alibi_bias": alibi_bias}


def _no_slopes_and_favours_distant_keys(right: Any, xp: Any) -> Functions:
    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any) -> Any:
        return -right.alibi_bias(xp.ones_like(slopes), q_positions, k_positions)

    return {"alibi_bias": alibi_bias}


def _half_table_times_all_channels(right: Any, xp: Any) -> Functions:
    def rope_apply(x: Any, cos: Any, sin: Any) -> Any:
        first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
        return x * cos + xp.concat([-second, first], axis=-1) * sin  # dim channels against dim / 2 columns

    return {"rope_apply": rope_apply}


def _yarn_scales_fast_pairs(right: Any, xp: Any) -> Functions:
    def rope_inv_freq(dim: int, *, base: float = 10000.0, scaling: Any = None) -> Any:
        if type(scaling).__name__ != "YarnScaling":
            return right.rope_inv_freq(dim, base=base, scaling=scaling)
        stretched = base * scaling.factor ** (dim / (dim - 2))
        fast = right.rope_inv_freq(dim, base=stretched)
        plain = right.rope_inv_freq(dim, base=base)
        yarn = right.rope_inv_freq(dim, base=base, scaling=scaling)
        return yarn * fast / plain  # what YaRN leaves alone or blends, here with NTK's frequencies

    return {"rope_inv_freq": rope_inv_freq}


def _endpoint_sinusoid(right: Any, xp: Any) -> Functions:
    def sinusoidal(positions: Any, dim: int, *, base: float = 10000.0, layout: str = "interleaved") -> Any:
        return right.sinusoidal(positions, dim, base=base, layout=layout, endpoint=dim > 2)

    return {"sinusoidal": sinusoidal}


TEXTBOOK = (
    Fault(
        "interleaved-in-halves-out",
        "You rotate interleaved pairs and return the two halves one after the other.",
        "Put each pair back where it came from, or ask for output_layout='half' and permute whatever meets the result.",
        "tutorials; vllm-project/vllm-metal PR #44",
        _interleaved_in_halves_out,
    ),
    Fault(
        "alibi-slopes-start-at-one",
        "Your slopes start at 1; the first one is 2**(-8/n).",
        "Count the heads from 1: 2**(-8 h / n), h = 1 .. n.",
        "tutorials; ALiBi (2108.12409), sec. 3",
        _slopes_start_at_one,
    ),
    Fault(
        "alibi-slopes-one-sequence",
        "You use 2**(-8h/n) for every number of heads; it holds for powers of two.",
        "For others, take the slopes of the power of two below, then every second one of the power above.",
        "FlexAttention examples; ml-explore/mlx before PR #3071; the authors' code for the right rule",
        _slopes_geometric_for_all,
    ),
    Fault(
        "alibi-no-slopes",
        "Your bias has no slopes: every head gets the bare distance.",
        "Multiply the distance by each head's slope.",
        "tutorials",
        _no_slopes,
    ),
    Fault(
        "alibi-favours-distant-keys",
        "Your bias grows with the distance: distant keys are favoured.",
        "Negate it: -m |q - k|.",
        "tutorials",
        _favours_distant_keys,
    ),
    Fault(
        "alibi-no-slopes-favours-distant-keys",
        "Your bias is the bare distance with the sign that favours distant keys.",
        "Multiply it by minus each head's slope.",
        "tutorials",
        _no_slopes_and_favours_distant_keys,
    ),
    Fault(
        "half-table-times-all-channels",
        "You multiply all dim channels with tables of dim / 2 columns.",
        "Tables have one column per pair: repeat them over both halves, or rotate the halves apart.",
        "tutorials",
        _half_table_times_all_channels,
    ),
    Fault(
        "yarn-scales-fast-pairs",
        "Your YaRN applies NTK to the fast pairs; it leaves them alone.",
        "Keep base**(-2i/d) for pairs above beta_fast rotations and blend towards 1/factor below.",
        "tutorials; YaRN (2309.00071), sec. 3.2",
        _yarn_scales_fast_pairs,
    ),
    Fault(
        "sinusoid-endpoint-for-paper",
        "Your sinusoid ends at exactly 1/base; the paper's does not.",
        "Use base**(-2k/dim), or say endpoint=True where tensor2tensor's is meant.",
        "tutorials; Marian in transformers against Marian itself",
        _endpoint_sinusoid,
    ),
)
