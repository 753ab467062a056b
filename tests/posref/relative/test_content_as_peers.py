"""What depends on the content, against the modules of transformers and of lucidrains' x-transformers, in float32."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posref import (
    bias_gate,
    cope_scores,
    decomposed_bias,
    forget_bias,
    relative_bias,
    relative_index,
    t5_bias,
)

torch = pytest.importorskip("torch", reason="needs torch, which the peers compute with")

pytestmark = pytest.mark.peers

U = 2.0**-24  # unit roundoff of float32, in which the peers compute
Floats = NDArray[Any]
DRAW = np.random.default_rng(61)
HEADS, D, N = 3, 8, 7


def modeling(name: str) -> Any:
    pytest.importorskip("transformers", reason="needs the peers extra (transformers)")
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def lucidrains() -> Any:
    pytest.importorskip("x_transformers", reason="needs the peers extra (x-transformers)")
    return importlib.import_module("x_transformers.x_transformers")


def normal(*shape: int) -> Any:
    """A tensor of random numbers; the reference takes the same ones."""
    return torch.tensor(DRAW.normal(size=shape), dtype=torch.float32)


def randomised(module: Any) -> Any:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(normal(*parameter.shape))
    return module.eval()


def array(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().double().numpy())


# --- decomposed ------------------------------------------------------------------------------------------------------


def decomposed(name: str, q: Any, tables: Any, q_size: tuple[int, int], k_size: tuple[int, int]) -> Floats:
    """Theirs, as (batch, queries, keys)."""
    if name == "sam":
        method = modeling("sam").SamVisionAttention.get_decomposed_rel_pos
        owner = modeling("sam").SamVisionAttention.__new__(modeling("sam").SamVisionAttention)
        theirs = method(owner, q, *tables, q_size, k_size)
        return array(theirs).reshape(len(q), q_size[0] * q_size[1], k_size[0] * k_size[1])
    zeros = torch.zeros(len(q), q_size[0] * q_size[1], k_size[0] * k_size[1])
    return array(modeling("vitdet").add_decomposed_relative_positions(zeros, q, *tables, q_size, k_size))


def tables_of(q_size: tuple[int, int], k_size: tuple[int, int]) -> list[Any]:
    return [normal(2 * max(a, b) - 1, D) for a, b in zip(q_size, k_size, strict=True)]


@pytest.mark.parametrize("name", ["sam", "vitdet"])
@pytest.mark.parametrize(
    ("q_size", "k_size"), [((3, 5), (3, 5)), ((4, 6), (2, 3)), ((2, 3), (6, 3)), ((1, 4), (1, 4)), ((8, 2), (8, 2))]
)
def test_decomposed_positions(name: str, q_size: tuple[int, int], k_size: tuple[int, int]) -> None:
    q, tables = normal(2, q_size[0] * q_size[1], D), tables_of(q_size, k_size)
    theirs = decomposed(name, q, tables, q_size, k_size)
    given = [array(t) for t in (q, *tables)]
    size = decomposed_bias(*map(np.abs, given), q_size, k_size)
    assert (np.abs(decomposed_bias(*given, q_size, k_size) - theirs) <= (D + 3) * U * size).all()
    other = decomposed_bias(given[0], given[1], given[2][::-1], q_size, k_size)
    assert (np.abs(other - theirs) > (D + 3) * U * size).any()


@pytest.mark.parametrize("name", ["sam", "vitdet"])
@pytest.mark.parametrize(("q_size", "k_size"), [((8, 2), (6, 2)), ((2, 22), (3, 15)), ((6, 7), (8, 10))])
def test_decomposed_positions_of_sizes_that_are_no_multiples(
    name: str, q_size: tuple[int, int], k_size: tuple[int, int]
) -> None:
    """They form the row in float32 and truncate it: of 8 queries and 6 keys it is one row low where 4/3 should come out whole."""
    q, tables = normal(2, q_size[0] * q_size[1], D), tables_of(q_size, k_size)
    theirs = decomposed(name, q, tables, q_size, k_size)
    given = [array(t) for t in (q, *tables)]
    most = (D + 3) * U * decomposed_bias(*map(np.abs, given), q_size, k_size, rule="float32")
    assert (np.abs(decomposed_bias(*given, q_size, k_size, rule="float32") - theirs) <= most).all()
    if (q_size, k_size) == ((8, 2), (6, 2)):
        assert (np.abs(decomposed_bias(*given, q_size, k_size) - theirs) > most).any()


# --- gates -----------------------------------------------------------------------------------------------------------


def test_the_gate_of_wavlm() -> None:
    """The bias that its attention adds: T5's, gated by the content of each query."""
    attention = randomised(modeling("wavlm").WavLMAttention(HEADS * D, HEADS, num_buckets=32, max_distance=80))
    hidden, seen = normal(2, N, HEADS * D), []

    def look(states: Any, mask: Any, bias: Any) -> Any:
        seen.append(array(bias).reshape(2, HEADS, N, N))
        return states, None

    attention.torch_multi_head_self_attention = look
    with torch.no_grad():
        attention(hidden)
        projection = attention.gru_rel_pos_linear(hidden.view(2, N, HEADS, D).transpose(1, 2))
    places = np.arange(N)
    bias = t5_bias(array(attention.rel_attn_embed.weight), places, places, max_distance=80)
    gate = bias_gate(array(projection), array(attention.gru_rel_pos_const).ravel())
    # sums of four in float32, two sigmoids: see the suite's budget for the gate; the product once more
    p, c = np.abs(array(projection)), np.abs(array(attention.gru_rel_pos_const)).reshape(HEADS, 1)
    sizes = [p[..., part].sum(axis=-1) for part in (slice(4), slice(4, 8))]
    off = U * ((1.25 * sizes[0] + 4) * (1 + c) + (1.25 * sizes[1] + 4) * c + 3 * (c + 3) + 3 * np.abs(gate))
    error = np.abs(gate[..., None] * bias - seen[0])
    assert (error <= off[..., None] * np.abs(bias)).all()
    assert np.abs(bias_gate(array(projection)[..., ::-1], c.ravel())[..., None] * bias - seen[0]).max() > 1e-3


# --- CoPE ------------------------------------------------------------------------------------------------------------


def cope_in_x_transformers(q: Any, logits: Any, rows: Any) -> Floats:
    module = lucidrains().CoPE(dim=D, heads=HEADS, max_pos=len(rows))
    with torch.no_grad():
        module.pos_emb.copy_(rows)
        return array(module(q, logits))


def cope_bound(q: Any, k: Any, rows: Any) -> Floats:
    """Content of D products; a gate within a quarter of its error and 4 u; a sum over the keys; a line between two rows."""
    x, y, t = (np.abs(array(a)) for a in (q, k, rows))
    content = (x @ y.swapaxes(-1, -2) * D**-0.5).sum(axis=-1, keepdims=True)
    z = (x @ t.T).max(axis=-1, keepdims=True)
    return np.asarray(U * ((D + 5) * content + ((D + 3) * content / 4 + 4 * N + N * N) * 2 * z + (D + 5) * z))


@pytest.mark.parametrize("rows", [16, 3])
def test_cope_of_x_transformers(rows: int) -> None:
    """Its logits are scaled, and masked where a key is later; what CoPE gives is added unscaled."""
    q, k, table = normal(2, HEADS, N, D), normal(2, HEADS, N, D), normal(rows, D)
    seen = np.tri(N, dtype=bool)
    logits = q @ k.mT * D**-0.5
    masked = logits.masked_fill(~torch.tensor(seen), -torch.finfo(torch.float32).max)
    theirs = array(logits) + cope_in_x_transformers(q, masked, table)
    given = [array(a) for a in (q, k, table)]
    ours = cope_scores(*given, mask=seen, scale_positions=False)
    assert (np.abs(ours - theirs) <= cope_bound(q, k, table))[..., seen].all()
    for other in (cope_scores(*given, mask=seen), cope_scores(*given, scale_positions=False)):
        assert (np.abs(other - theirs) > cope_bound(q, k, table))[..., seen].any()


# --- forget gates, Inkling -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [True, False])
def test_data_dependent_alibi_of_x_transformers(causal: bool) -> None:
    module = randomised(lucidrains().DataDependentAlibi(dim=D, heads=HEADS, causal=causal))
    x = normal(2, N, D)
    with torch.no_grad():
        theirs, gates = array(module(x)), array(module.to_forget_gates(x))
    forward, backward = gates[:, :HEADS], None if causal else gates[:, HEADS:]
    ours = forget_bias(forward, backward=backward)
    sums = np.cumsum(np.abs(gates), axis=-1).max(axis=-1).max()
    visible = np.tri(N, dtype=bool) if causal else np.ones((N, N), bool)
    bound = (N + 2) * U * 2 * sums
    assert (np.abs(ours - theirs) <= bound)[..., visible].all()
    assert np.abs(forget_bias(np.roll(forward, 1, axis=-1), backward=backward) - theirs)[..., visible].max() > bound


def test_inklings_bias_in_x_transformers() -> None:
    module = randomised(lucidrains().RelativeProjPositionalBias(dim=D, heads=HEADS, num_distance_basis=5, max_dist=4))
    x = normal(2, N, D)
    with torch.no_grad():
        theirs, weights = array(module(x, seq_len_k=N + 3)), array(module.to_distance_weights(x))
    rows = relative_index(np.arange(3, N + 3)[:, None] - np.arange(N + 3), 0, 3, outside="none")
    x, table = weights, array(module.distance_bank.T)
    size = relative_bias(np.abs(x), np.abs(table), rows)
    assert (np.abs(relative_bias(x, table, rows) - theirs) <= 7 * U * size).all()
    clipped = relative_bias(x, table, np.where(rows < 0, 3, rows))
    assert np.abs(clipped - theirs).max() > 0.1
