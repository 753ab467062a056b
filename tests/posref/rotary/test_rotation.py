"""What makes a rotation one: norms, relative scores, the inverse, layouts. Beside each property a fault that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref

Floats = NDArray[np.float64]
Rotation = Callable[..., Any]

U = 2.0**-53
# A rotated pair errs by at most 3.1 u (|a| + |b|) per channel (test_golden.py derives it): by 3.1 sqrt(2) sqrt(2) u of its norm.
PAIR = 6.2 * U

seeds = st.integers(0, 2**32 - 1)
pair_counts = st.integers(1, 12)
layouts = st.sampled_from(["half", "interleaved"])
bases = st.floats(1.5, 1e7)
anywhere = st.integers(-(2**50), 2**50)


def draw(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape)


# --- faults that were really made ------------------------------------------------------------------------------------


def mixed_layouts(x: Floats, positions: Any, **how: Any) -> Floats:
    """The interleaved layout's table with the half layout's rotation."""
    cos, sin = (np.repeat(t, 2, axis=-1) for t in posref.rope_table(positions, x.shape[-1], base=how["base"]))
    a, b = np.split(x, 2, axis=-1)
    return np.asarray(x * cos + np.concatenate([-b, a], axis=-1) * sin)


def mirrored(x: Floats, positions: Any, **how: Any) -> Floats:
    """One sign wrong: a reflection, which keeps norms and relative scores, and undoes itself."""
    cos, sin = posref.rope_table(positions, x.shape[-1], base=how["base"])
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos + b * sin, a * sin - b * cos], axis=-1)


def angle_in_float32(x: Floats, positions: Any, **how: Any) -> Floats:
    angle = np.float32(positions)[:, None] * posref.rope_inv_freq(x.shape[-1], base=how["base"]).astype(np.float32)
    return np.asarray(posref.rope_apply(x, np.cos(angle.astype(float)), np.sin(angle.astype(float))))


def halves_out(x: Floats, positions: Any, **how: Any) -> Floats:
    """The tutorials' slip: interleaved pairs in, the two halves concatenated out."""
    return np.asarray(posref.rope(x, positions, **how | {"output_layout": "half"}))


def deaf_to_inverse(x: Floats, positions: Any, **how: Any) -> Floats:
    return np.asarray(posref.rope(x, positions, **how | {"inverse": False}))


def from_channel_zero(x: Floats, positions: Any, **how: Any) -> Floats:
    return np.asarray(posref.rope(x, positions, **how | {"offset": 0}))


def scale_the_rest(x: Floats, positions: Any, **how: Any) -> Floats:
    """Channels outside of the block go through a multiplication by one that is not quite one."""
    y = np.asarray(posref.rope(x, positions, **how))
    y[..., : how["offset"]] *= 1 - U
    return y


def one_step_late(x: Floats, positions: Any, **how: Any) -> Floats:
    cos, sin = posref.rope_table(np.asarray(positions) + 1, x.shape[-1], base=how["base"])
    return np.asarray(posref.rope_apply(x, cos, sin, layout=how["layout"]))


# --- properties ------------------------------------------------------------------------------------------------------


@given(seed=seeds, pairs=pair_counts, layout=layouts, base=bases, position=anywhere)
def norms_are_kept(rotate: Rotation, seed: int, pairs: int, layout: str, base: float, position: int) -> None:
    x = draw(seed, 3, 2 * pairs)
    before = np.linalg.norm(x, axis=-1)
    after: Any = np.linalg.norm(rotate(x, [position], layout=layout, base=base), axis=-1)
    assert (np.abs(after - before) <= (PAIR + (2 * pairs + 4) * U) * before).all()  # and two norms of 2 pairs squares


@given(seed=seeds, pairs=pair_counts, layout=layouts, base=bases, m=anywhere, n=anywhere, shift=anywhere)
def score_depends_on_the_difference(
    rotate: Rotation, seed: int, pairs: int, layout: str, base: float, m: int, n: int, shift: int
) -> None:
    """At any distance from the origin."""
    q, k = draw(seed, 2, 1, 2 * pairs)
    here, there = (
        float(np.vdot(rotate(q, [m + s], layout=layout, base=base), rotate(k, [n + s], layout=layout, base=base)))
        for s in (0, shift)
    )
    rounding = 2 * (2 * PAIR + 2 * pairs * U)  # of two vectors and of their product, here and there
    assert abs(here - there) <= rounding * np.linalg.norm(q) * np.linalg.norm(k)


@given(seed=seeds, pairs=pair_counts, layout=layouts, base=bases, position=st.floats(-1e6, 1e6))
def inverse_undoes(rotate: Rotation, seed: int, pairs: int, layout: str, base: float, position: float) -> None:
    x = draw(seed, 2, 2 * pairs)
    y = rotate(x, [position], layout=layout, base=base)
    back = rotate(y, [position], layout=layout, base=base, inverse=True)
    assert np.abs(back - x).max() <= 2 * PAIR * 2 * np.abs(x).max()  # twice, each within PAIR of a norm <= sqrt(2) max


@given(seed=seeds, pairs=pair_counts, base=bases, position=anywhere)
def layouts_are_permutations_of_each_other(rotate: Rotation, seed: int, pairs: int, base: float, position: int) -> None:
    """To the last bit: the arithmetic is the same."""
    x = draw(seed, 2, 2 * pairs)
    order = np.arange(2 * pairs).reshape(2, pairs).T.ravel()  # half's channels in the interleaved order
    half = rotate(x, [position], layout="half", base=base)
    interleaved = rotate(x[:, order], [position], layout="interleaved", base=base)
    assert np.array_equal(half[:, order], interleaved)


@given(
    seed=seeds, pairs=pair_counts, layout=layouts, offset=st.integers(1, 5), tail=st.integers(0, 5), position=anywhere
)
def other_channels_are_untouched(
    rotate: Rotation, seed: int, pairs: int, layout: str, offset: int, tail: int, position: int
) -> None:
    """To the last bit, and the block is rotated as if it were alone."""
    x = draw(seed, 2, offset + 2 * pairs + tail)
    block = slice(offset, offset + 2 * pairs)
    y = rotate(x, [position], dim=2 * pairs, offset=offset, layout=layout)
    assert np.array_equal(np.delete(y, block, axis=-1), np.delete(x, block, axis=-1))
    assert np.array_equal(y[:, block], posref.rope(x[:, block], [position], layout=layout))


@given(seed=seeds, pairs=pair_counts, layout=layouts, base=bases)
def position_zero_is_the_identity(rotate: Rotation, seed: int, pairs: int, layout: str, base: float) -> None:
    x = draw(seed, 2, 2 * pairs)
    assert np.array_equal(rotate(x, [0], layout=layout, base=base), x)


PROPERTIES = [
    norms_are_kept,
    score_depends_on_the_difference,
    inverse_undoes,
    layouts_are_permutations_of_each_other,
    other_channels_are_untouched,
    position_zero_is_the_identity,
]


@pytest.mark.parametrize("holds", PROPERTIES)
def test_the_reference_has_the_property(holds: Callable[[Rotation], None]) -> None:
    holds(posref.rope)


@pytest.mark.parametrize(
    ("holds", "fault"),
    [
        (norms_are_kept, mixed_layouts),
        (score_depends_on_the_difference, mixed_layouts),
        (score_depends_on_the_difference, angle_in_float32),
        (inverse_undoes, deaf_to_inverse),
        (layouts_are_permutations_of_each_other, halves_out),
        (layouts_are_permutations_of_each_other, mixed_layouts),
        (other_channels_are_untouched, from_channel_zero),
        (other_channels_are_untouched, scale_the_rest),
        (position_zero_is_the_identity, halves_out),
        (position_zero_is_the_identity, one_step_late),
        (position_zero_is_the_identity, mirrored),
    ],
)
def test_a_fault_lacks_the_property(holds: Callable[[Rotation], None], fault: Rotation) -> None:
    with pytest.raises(AssertionError):
        holds(fault)


# --- what has no fault of its own: equal to the last bit, or not -----------------------------------------------------

X = draw(1, 2, 3, 5, 12)  # (batch, heads, sequence, channels)
P = np.array([7, 7, 0, -3, 4100])


def test_a_magnitude_is_not_undone() -> None:
    """The inverse is the transpose: with cos and sin scaled by a it gives a**2 x."""
    yarn = posref.YarnScaling(16.0, 4096)
    a = posref.rope_attention_factor(yarn)
    back = posref.rope(posref.rope(X, P, scaling=yarn), P, scaling=yarn, inverse=True)
    np.testing.assert_allclose(back, a**2 * X, rtol=0, atol=4 * PAIR * a**2 * np.abs(X).max())
    assert np.abs(back - X).max() > 0.5


def test_inverse_is_the_rotation_by_the_negative_position() -> None:
    assert np.array_equal(posref.rope(X, P, inverse=True), posref.rope(X, -P))
    assert not np.array_equal(posref.rope(X, P, inverse=True), posref.rope(X, P))


@pytest.mark.parametrize(("layout", "output_layout"), [("half", "interleaved"), ("interleaved", "half")])
def test_output_layout_is_a_permutation(layout: str, output_layout: str) -> None:
    plain = posref.rope(X, P, dim=8, offset=2, layout=layout)
    moved = posref.rope(X, P, dim=8, offset=2, layout=layout, output_layout=output_layout)
    order = np.arange(8).reshape(2, 4).T.ravel()  # the half layout's channels in the interleaved order
    half, interleaved = (plain, moved) if layout == "half" else (moved, plain)
    assert np.array_equal(half[..., 2:10][..., order], interleaved[..., 2:10])
    assert np.array_equal(plain[..., [0, 1, 10, 11]], moved[..., [0, 1, 10, 11]])
    assert not np.array_equal(plain, moved)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_output_layout_of_the_input_is_the_default(layout: str) -> None:
    same = posref.rope(X, P, layout=layout, output_layout=layout)
    assert np.array_equal(same, posref.rope(X, P, layout=layout))


@pytest.mark.parametrize("scaling", [None, posref.YarnScaling(16.0, 64), posref.DynamicNTKScaling(2.0, 64)])
def test_the_fused_form_is_the_three_steps(scaling: posref.Scaling | None) -> None:
    cos, sin = posref.rope_table(P, 8, base=500.0, scaling=scaling, seq_len=99)
    place: dict[str, Any] = {"layout": "interleaved", "output_layout": "half", "offset": 3, "inverse": True}
    steps = posref.rope_apply(X, cos, sin, **place)
    assert np.array_equal(posref.rope(X, P, dim=8, base=500.0, scaling=scaling, seq_len=99, **place), steps)
    assert not np.array_equal(posref.rope(X, P, dim=8, base=501.0, scaling=scaling, seq_len=99, **place), steps)


@pytest.mark.parametrize(
    "positions",
    [np.array([4]), P, P.reshape(1, 5), np.arange(10).reshape(2, 1, 5), np.arange(30).reshape(2, 3, 5), np.array(4)],
    ids=lambda p: f"{p.shape}",
)
def test_positions_broadcast_by_numpys_rules(positions: NDArray[np.int64]) -> None:
    y = posref.rope(X, positions)
    everywhere = np.broadcast_to(positions, X.shape[:-1])
    for index in np.ndindex(*X.shape[:-1]):
        assert np.array_equal(y[index], posref.rope(X[index], everywhere[index])), index


@pytest.mark.parametrize(("batch", "sequence"), [(0, 5), (2, 0), (0, 0)])
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_empty_axes(batch: int, sequence: int, layout: str) -> None:
    """No batch, no token: nothing to rotate, and nothing wrong."""
    x = X[:batch, :, :sequence]
    out = np.empty_like(x)
    assert posref.rope(x, P[:sequence], dim=8, offset=1, layout=layout, out=out) is out
    cos, sin = posref.rope_table(P[:sequence], 8)
    assert posref.rope_apply(x, cos, sin, layout=layout, output_layout="half", inverse=True).shape == x.shape


def test_a_table_off_the_circle_is_used_as_it_is() -> None:
    y = posref.rope_apply([[1.0, 10.0]], [[2.0]], [[3.0]])
    assert y.tolist() == [[1 * 2.0 - 10 * 3.0, 1 * 3.0 + 10 * 2.0]]


# Worked by hand at x = (1, 2, 3, 4), base 10000, position 1: frequencies 1 and 0.01, cos 1 = 0.540302306, sin 1 = 0.841470985.
WORKED = {
    ("half", None): [-1.984110649, 1.959900667, 2.462377902, 4.019799668],
    ("interleaved", None): [-1.142639664, 1.922075597, 2.959850668, 4.029799502],
    ("interleaved", "half"): [-1.142639664, 2.959850668, 1.922075597, 4.029799502],
}


@pytest.mark.parametrize("layout", WORKED)
def test_worked_example(layout: tuple[str, str | None]) -> None:
    y = posref.rope([[1.0, 2.0, 3.0, 4.0]], [1], layout=layout[0], output_layout=layout[1])
    matches = [name for name, expected in WORKED.items() if np.abs(y - expected).max() < 6e-10]  # nine digits
    assert matches == [layout]
