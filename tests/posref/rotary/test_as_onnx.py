"""The rotation against the standard's: ONNX's reference of RotaryEmbedding-23, in NumPy, with tables off the circle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posref import rope_apply

pytestmark = pytest.mark.peers

U = 2.0**-53
HEADS, LENGTH, ROWS = 3, 5, 11


def theirs(x: Any, cos: Any, sin: Any, **how: Any) -> Any:
    """X is (batch, heads, sequence, channels), the tables (rows, pairs)."""
    reference = pytest.importorskip("onnx.reference.ops.op_rotary_embedding", reason="needs the peers extra (onnx)")
    return reference.rotary_embedding(x, cos, sin, **how)


@given(
    seed=st.integers(0, 2**32 - 1),
    pairs=st.integers(1, 6),
    rest=st.integers(0, 3),
    interleaved=st.booleans(),
    by_id=st.booleans(),
)
def test_the_standards_rotation(seed: int, pairs: int, rest: int, interleaved: bool, by_id: bool) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, HEADS, LENGTH, 2 * pairs + rest))
    ids = rng.integers(0, ROWS, (2, LENGTH))
    cos, sin = rng.standard_normal((2, ROWS, pairs))
    layout, other = ("interleaved", "half") if interleaved else ("half", "interleaved")
    options = {"interleaved": int(interleaved), "rotary_embedding_dim": 2 * pairs}
    if by_id:  # a row of the tables for each batch and token
        found = theirs(x, cos, sin, position_ids=ids, **options)
    else:
        found = theirs(x, cos[ids], sin[ids], **options)
    tables = cos[ids][:, None], sin[ids][:, None]  # (batch, 1, sequence, pairs)
    y = rope_apply(x, *tables, layout=layout)
    size = np.abs(x).max() * max(np.abs(cos).max(), np.abs(sin).max())
    assert np.abs(found - y).max() <= 4 * 2 * size * U  # two products and a sum, twice
    if pairs > 1:
        assert np.abs(found - rope_apply(x, *tables, layout=other)).max() > 1e-6
