"""Relative attention against transformers' own modules, on random inputs in float32."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posref import (
    deberta_bucket,
    disentangled_scores,
    relative_bias,
    relative_index,
    relative_scores,
    relative_shift,
    relative_values,
    sinusoidal,
)

torch = pytest.importorskip("torch", reason="needs torch, which transformers computes with")
pytest.importorskip("transformers", reason="needs the peers extra (transformers)")

pytestmark = pytest.mark.peers

U = 2.0**-24  # unit roundoff of float32, in which transformers computes
Floats = NDArray[Any]
DRAW = np.random.default_rng(43)
HEADS, D, LENGTH = 3, 8, 7


def modeling(name: str) -> Any:
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def configured(name: str, config: str, **values: Any) -> Any:
    return getattr(importlib.import_module(f"transformers.models.{name}.configuration_{name}"), config)(**values)


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


def near(got: Floats, theirs: Any, size: Floats, terms: int) -> None:
    """Sums of so many terms of that size, in float32; and a table with a row changed would be noticed."""
    assert np.shape(got) == tuple(theirs.shape)
    error, bound = np.abs(got - array(theirs)), terms * U * size
    assert (error <= bound).all(), (error / bound).max()
    assert (np.abs(np.roll(got, 1, axis=-1) - array(theirs)) > bound).any()


def scored(theirs: Any, q: Any, k: Any, table: Any, rows: Any, *, terms: int = D + 6, **options: Any) -> None:
    """Against all of the logits."""
    given = [array(t) for t in (q, k, table)]
    options = {name: array(v) if torch.is_tensor(v) else v for name, v in options.items()}
    sizes = {name: np.abs(v) if isinstance(v, np.ndarray) else v for name, v in options.items()}
    near(relative_scores(*given, rows, **options), theirs,
         relative_scores(*map(np.abs, given), rows, **sizes), terms)  # fmt: skip


def apart(q: int, k: int) -> Floats:
    return np.arange(k)[None] - np.arange(q)[:, None]


def test_relative_keys_with_two_ends() -> None:
    """Wav2Vec2-BERT: k - q from -left to right, each term scaled on its own."""
    q, k = normal(2, HEADS, 5, D), normal(2, HEADS, 9, D)
    weight = normal(3 + 2 + 1, D)
    module = torch.nn.Module()
    module.left_max_position_embeddings, module.right_max_position_embeddings = 3, 2
    module.distance_embedding, module.scaling = torch.nn.Embedding.from_pretrained(weight), D**-0.5
    same_q, bias = modeling("wav2vec2_bert")._apply_relative_key_position_encoding(module, q, k)
    scored(same_q @ k.mT * module.scaling + bias, q, k, weight, relative_index(apart(5, 9), 3, 2))


@pytest.mark.parametrize("name", ["wav2vec2_conformer", "wav2vec2_bert"])
def test_the_conformers_shift(name: str) -> None:
    values = {"hidden_size": HEADS * D, "num_attention_heads": HEADS, "position_embeddings_type": "relative"}
    config = {"wav2vec2_bert": "Wav2Vec2BertConfig", "wav2vec2_conformer": "Wav2Vec2ConformerConfig"}[name]
    modules = modeling(name)
    attention = getattr(modules, config.replace("Config", "SelfAttention"))(configured(name, config, **values))
    embedding = getattr(modules, config.replace("Config", "RelPositionalEmbedding"))(configured(name, config, **values))
    module = randomised(attention)
    q, k = normal(2, HEADS, LENGTH, D), normal(2, HEADS, LENGTH, D)
    sinusoids = embedding(torch.zeros(1, LENGTH, HEADS * D))
    biased, bias = modules._apply_relative_position_encoding(module, q, k, sinusoids)
    theirs = biased @ k.mT * module.scaling + bias
    distances = np.arange(LENGTH - 1, -LENGTH, -1)
    ours = sinusoidal(distances, HEADS * D)
    # an angle below 7 made in float32, then sin: (2 + 7) u and the cast
    assert np.abs(ours - array(sinusoids)[0]).max() <= 12 * U
    table = module.linear_pos(sinusoids).view(2 * LENGTH - 1, HEADS, D).transpose(0, 1)
    rows = relative_index(apart(LENGTH, LENGTH), LENGTH - 1, LENGTH - 1)
    scored(theirs, q, k, table, rows, content_bias=module.pos_bias_u, position_bias=module.pos_bias_v)


@pytest.mark.parametrize(("q", "k"), [(7, 7), (3, 7), (1, 7), (5, 5)])
def test_the_shift_of_xlnet(q: int, k: int) -> None:
    """With memory there are more keys than queries; the table has a row for klen down to -qlen + 1."""
    attention = modeling("xlnet").XLNetRelativeAttention
    x = normal(2, HEADS, q, q + k)
    theirs = attention.rel_shift_bnij(x, klen=k)
    assert np.array_equal(relative_shift(array(x), k, rule="xlnet"), array(theirs))
    assert q == 1 or not np.array_equal(relative_shift(array(x), k), array(theirs))


def funnel(kind: str, tokens: int) -> tuple[Any, Any]:
    """The attention of its second block, and what it is told of positions where the queries alone are pooled."""
    modeling_funnel = modeling("funnel")
    config = configured(
        "funnel",
        "FunnelConfig",
        block_sizes=[1, 1],
        d_model=6,
        n_head=HEADS,
        d_head=D,
        hidden_dropout=0.0,
        attention_type=kind,
        separate_cls=False,
    )
    attention, structure = (
        modeling_funnel.FunnelRelMultiheadAttention(config, 1),
        modeling_funnel.FunnelAttentionStructure,
    )
    randomised(attention)
    structure = structure(config)
    given = structure.init_attention_inputs(torch.zeros(1, tokens, 6))
    return attention, structure.pre_attention_pooling(torch.zeros(1, tokens, 6), given)[1][0]


@pytest.mark.parametrize("kind", ["relative_shift", "factorized"])
@pytest.mark.parametrize("tokens", [6, 7])
def test_funnels_pooled_queries(kind: str, tokens: int) -> None:
    """Queries at every other key. Both of its forms are one row of W R per pair, q - k; the shift is XLNet's in steps of 2."""
    attention, pooled = funnel(kind, tokens)
    q = normal(1, (tokens + 1) // 2, HEADS, D)
    theirs = array(attention.relative_positional_attention(pooled, q, tokens))[0]
    apart = 2 * np.arange(q.shape[1])[:, None] - np.arange(tokens)
    most, columns = 2 * q.shape[1], 2 * q.shape[1] + tokens
    sinusoids = sinusoidal(np.arange(most, most - columns, -1), 6, layout="concatenated")
    table = np.einsum("td,dnh->nth", sinusoids, array(attention.r_kernel))
    queries = (array(q)[0] + array(attention.r_r_bias) * D**-0.5).swapaxes(0, 1)
    ours = relative_bias(queries, table, most - apart)
    # angles to 2 most of float32 each, then two sums of products
    bound = (2 * most + 6 + D + 8) * U * relative_bias(np.abs(queries), np.einsum(
        "td,dnh->nth", np.ones_like(sinusoids), np.abs(array(attention.r_kernel))), most - apart)  # fmt: skip
    assert (np.abs(ours - theirs) <= bound).all()
    shifted = relative_shift(queries @ table.swapaxes(-1, -2), tokens, rule="xlnet", stride=2)
    assert np.abs(shifted - ours).max() < 1e-12
    assert (np.abs(relative_shift(queries @ table.swapaxes(-1, -2), tokens, rule="xlnet") - theirs) > bound).any()


def test_xlnets_scores() -> None:
    q, k, table = normal(2, HEADS, 3, D), normal(2, HEADS, LENGTH, D), normal(HEADS, LENGTH + 3, D)
    u, v = normal(HEADS, D), normal(HEADS, D)
    shifted = modeling("xlnet").XLNetRelativeAttention.rel_shift_bnij((q + v[:, None]) @ table.mT, klen=LENGTH)
    theirs = ((q + u[:, None]) @ k.mT + shifted) * D**-0.5
    rows = relative_index(apart(3, LENGTH) - (LENGTH - 3), LENGTH, 3 - 1)
    scored(theirs, q, k, table, rows, content_bias=u, position_bias=v)


def test_vits_has_no_row_beyond_its_window() -> None:
    """Shaw's keys and values within 4 tokens; further away there is none of either, where Shaw has the last one."""
    module = modeling("vits").VitsAttention(configured("vits", "VitsConfig", hidden_size=3 * D, num_attention_heads=3))
    module.eval()
    x = normal(2, 11, 3 * D)
    with torch.no_grad():
        out, weights = module(x, output_attentions=True)
        q, k, v = (
            array(layer(x).view(2, 11, 3, D).transpose(1, 2)) for layer in (module.q_proj, module.k_proj, module.v_proj)
        )
    of_keys, of_values = array(module.emb_rel_k)[0], array(module.emb_rel_v)[0]

    def attended(outside: str) -> Any:
        rows = relative_index(apart(11, 11), 4, 4, outside=outside)
        logits = relative_scores(q, k, of_keys, rows)
        w = np.exp(logits - logits.max(axis=-1, keepdims=True))
        w /= w.sum(axis=-1, keepdims=True)
        heads = w @ v + relative_values(w, of_values, rows)
        joined = heads.transpose(0, 2, 1, 3).reshape(2, 11, 3 * D)
        return w, joined @ array(module.out_proj.weight).T + array(module.out_proj.bias)

    # float32 of some 50 operations on numbers near 1
    for ours, theirs in zip(attended("none"), (weights, out), strict=True):
        np.testing.assert_allclose(array(theirs), ours, rtol=0, atol=1e-6)
    assert np.abs(attended("clip")[1] - array(out)).max() > 1e-3


def test_speecht5_has_one_row_less_on_the_right() -> None:
    embedding = randomised(modeling("speecht5").SpeechT5RelativePositionalEncoding(D, max_length=4))
    theirs = array(embedding(torch.zeros(1, 11, 1)))
    rows, table = relative_index(-apart(11, 11), 4, 3), array(embedding.pe_k.weight)
    assert np.array_equal(table[rows], theirs)
    assert not np.array_equal(np.concatenate([table, table[:1]])[relative_index(-apart(11, 11), 4, 4)], theirs)


def test_inklings_bias_is_0_beyond_its_extent() -> None:
    module = randomised(modeling("inkling").InklingRelativeLogits(D, 4))
    states, at = normal(2, 5, HEADS, D), np.arange(5) + 6
    theirs = module(states, torch.tensor(at), torch.arange(11))
    rows = relative_index(at[:, None] - np.arange(11), 0, 3, outside="none")
    x, table = array(states.transpose(1, 2)), array(module.proj.T)
    assert (array(theirs)[..., rows < 0] == 0).all()
    near(relative_bias(x, table, rows), theirs, relative_bias(np.abs(x), np.abs(table), rows), D + 2)


@pytest.mark.parametrize(("left", "right"), [(4, 2), (5, 0), (1, 3)])
def test_the_blocks_of_gemma_3n(left: int, right: int) -> None:
    values = {"hidden_size": HEADS * D, "conf_num_attention_heads": HEADS}
    context = {"conf_attention_context_left": left, "conf_attention_context_right": right}
    module = modeling("gemma3n").Gemma3nAudioRelativePositionEmbedding(
        configured("gemma3n", "Gemma3nAudioConfig", **values, **context)
    )
    module = randomised(module)
    back, width = left - 1, 3
    keys = width + back + right
    q, k = normal(2, 2, width, HEADS, D), normal(2, 2, keys, HEADS, D)  # (batch, blocks, places, heads, channels)
    theirs = module(q, k)
    signal = sinusoidal(np.arange(back, -right - 1, -1), HEADS * D, endpoint=True, layout="concatenated")
    table = module.pos_proj(torch.tensor(signal, dtype=torch.float32)).reshape(-1, HEADS, D).transpose(0, 1)
    rows = relative_index(np.arange(keys)[None] - (np.arange(width)[:, None] + back), back, right, outside="none")
    of_heads = [t.permute(0, 1, 3, 2, 4) for t in (q, k)]  # (batch, blocks, heads, places, channels)
    # their signal is made in float32, with angles up to 4 u 5: 30 u of the signal, times a projection of 24 channels
    weight = array(module.pos_proj.weight)
    slack = 30 * 24 * np.abs(weight).max() * np.abs(array(q)).max() * D
    given = [array(t) for t in (*of_heads, table)]
    size = relative_scores(*map(np.abs, given), rows, scale=1.0) + slack / (D + 6)
    near(relative_scores(*given, rows, scale=1.0), theirs.permute(0, 2, 1, 3, 4), size, D + 6)


def test_relative_values_are_shaws() -> None:
    """In torch, as tensor2tensor has it: rows gathered for all pairs, then a product per query."""
    w, table = torch.softmax(normal(2, HEADS, 5, LENGTH), dim=-1), normal(7, D)
    rows = relative_index(apart(5, LENGTH), 3, 3)
    theirs = torch.einsum("bhqk,qkd->bhqd", w, table[torch.tensor(rows)])
    size = relative_values(array(w), np.abs(array(table)), rows)
    near(relative_values(array(w), array(table), rows), theirs, size, LENGTH + 2)


# --- DeBERTa ---------------------------------------------------------------------------------------------------------


def of_heads(x: Any) -> Any:
    return x.view(*x.shape[:-1], HEADS, D).transpose(-2, -3)


def deberta_v1(q: Any, k: Any, most: int) -> tuple[Any, Any, Any]:
    """The logits of transformers, and the two projected tables of the relative positions within the span."""
    values = {"hidden_size": HEADS * D, "num_attention_heads": HEADS, "max_relative_positions": most}
    config = configured("deberta", "DebertaConfig", relative_attention=True, pos_att_type="c2p|p2c", **values)
    module = randomised(modeling("deberta").DisentangledSelfAttention(config))
    table, span = normal(2 * most, HEADS * D), min(max(q.shape[-2], k.shape[-2]), most)
    scaled = q / (3 * D) ** 0.5
    relative = modeling("deberta").build_relative_position(q, k)
    theirs = scaled @ k.mT + module.disentangled_att_bias(scaled, k, relative, table, 3)
    rows = table[most - span : most + span]
    return theirs, of_heads(module.pos_proj(rows)), of_heads(module.pos_q_proj(rows))


def deberta_v2(q: Any, k: Any, buckets: int, most: int) -> tuple[Any, Any, Any]:
    values = {"hidden_size": HEADS * D, "num_attention_heads": HEADS, "max_relative_positions": most}
    values |= {"position_buckets": buckets, "pos_att_type": "p2c|c2p", "share_att_key": True}
    config = configured("deberta_v2", "DebertaV2Config", relative_attention=True, **values)
    module = randomised(modeling("deberta_v2").DisentangledSelfAttention(config))
    table = normal(2 * buckets, HEADS * D)
    flat_q, flat_k = q.flatten(0, 1), k.flatten(0, 1)
    content = flat_q @ flat_k.mT / (3 * D) ** 0.5
    theirs = content + module.disentangled_attention_bias(flat_q, flat_k, None, table, 3)
    return theirs.unflatten(0, q.shape[:2]), of_heads(module.key_proj(table)), of_heads(module.query_proj(table))


def disentangled(theirs: Any, q: Any, k: Any, relative: Any, pos_k: Any, pos_q: Any, p2c: str = "code") -> None:
    given = [array(t) for t in (q, k)]
    tables = {"pos_k": array(pos_k), "pos_q": array(pos_q)}
    size = disentangled_scores(*map(np.abs, given), relative, p2c=p2c, **{n: np.abs(t) for n, t in tables.items()})
    near(disentangled_scores(*given, relative, p2c=p2c, **tables), theirs, size, D + 8)


@pytest.mark.parametrize("length", [5, 9])
def test_deberta(length: int) -> None:
    """D23: the code's row for p2c, and not the paper's; also beyond the span."""
    q, k = normal(2, HEADS, length, D), normal(2, HEADS, length, D)
    theirs, pos_k, pos_q = deberta_v1(q, k, 6)
    disentangled(theirs, q, k, -apart(length, length), pos_k, pos_q)
    with pytest.raises(AssertionError):
        disentangled(theirs, q, k, -apart(length, length), pos_k, pos_q, p2c="paper")


def test_deberta_v2_with_buckets() -> None:
    """D24: keys that are 12 or more in the future have row 0, as the buckets grow on; clamped they would have row 1."""
    q, k = normal(2, HEADS, 17, D), normal(2, HEADS, 17, D)
    theirs, pos_k, pos_q = deberta_v2(q, k, 8, 12)
    buckets = {beyond: deberta_bucket(-apart(17, 17), num_buckets=8, max_distance=12, beyond=beyond) for beyond in
               ("clamp", "grow")}  # fmt: skip
    assert (np.clip(buckets["grow"], -8, 7) != np.clip(buckets["clamp"], -8, 7)).any()
    disentangled(theirs, q, k, buckets["grow"], pos_k, pos_q)
    with pytest.raises(AssertionError):
        disentangled(theirs, q, k, buckets["clamp"], pos_k, pos_q)


@pytest.mark.parametrize(("buckets", "most"), [(256, 512), (32, 128), (8, 20), (6, 100), (128, 512)])
def test_their_logarithm_is_the_integer_rule(buckets: int, most: int) -> None:
    distances = np.arange(-most + 1, most)
    theirs = modeling("deberta_v2").make_log_bucket_position(torch.tensor(distances), buckets, most)
    assert np.array_equal(deberta_bucket(distances, num_buckets=buckets, max_distance=most), array(theirs))
    other = deberta_bucket(distances, num_buckets=buckets, max_distance=most + most // 2)
    assert not np.array_equal(other, array(theirs))


@pytest.mark.xfail(strict=True, raises=(AssertionError, RuntimeError), reason="transformers swaps position_buckets and "
                   "max_relative_positions where there are fewer queries than keys, and broadcasts one row to all")  # fmt: skip
@pytest.mark.parametrize("queries", [1, 3])
def test_deberta_v2_with_fewer_queries_than_keys(queries: int) -> None:
    q, k = normal(2, HEADS, queries, D), normal(2, HEADS, 7, D)
    theirs, pos_k, pos_q = deberta_v2(q, k, 8, 12)
    relative = deberta_bucket(-apart(queries, 7), num_buckets=8, max_distance=12, beyond="grow")
    disentangled(theirs, q, k, relative, pos_k, pos_q)
