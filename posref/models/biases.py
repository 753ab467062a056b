"""Families whose positions are biases on the attention logits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posref.bias.alibi import alibi_slopes
from posref.bias.t5 import t5_bucket
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.records import AlibiEncoding, Bucket, Encoding, T5Encoding

MOST_BUCKETS = 1024  # real ones have 32; more only cost time
MOST_DISTANCE = 2**20


def alibi(
    config: Block,
    head_keys: Sequence[str],
    layer_keys: Sequence[str],
    *,
    bias_max: float = 8,
    scale: float | None = 1.0,
) -> AlibiEncoding:
    """ALiBi that is linear in the key's position. ``bias_max`` is MPT's: the smallest slope is 2**-bias_max."""
    heads = config.either(head_keys, most=shape.MOST_HEADS)
    if heads is None:
        config.note("unknown", f"the slopes: {config.name(head_keys[0])} is not given")
    slopes = None if heads is None else alibi_slopes(heads) ** (bias_max / 8)
    return AlibiEncoding(
        encoding="alibi",
        component="text",
        part=None,
        layers=shape.layers(config, layer_keys),
        num_heads=heads,
        slopes=None if slopes is None else tuple(slopes.tolist()),
        form="key",
        scale=scale,
    )


def bloom(config: Block) -> list[Encoding]:
    """BLOOM: ALiBi as above."""
    return [alibi(config, ("num_attention_heads", "n_head"), ("num_hidden_layers", "n_layer"))]


def mpt(config: Block) -> list[Encoding]:
    """MPT: ALiBi as above, less each head's value at the last key, which softmax does not see."""
    attention = config.block("attn_config") or Block({}, config.reading, "attn_config")
    if not attention.boolean_or("alibi", True):
        config.note("contradictory", "attn_config.alibi is false, but transformers' MPT has ALiBi all the same")
    bias_max = attention.number("alibi_bias_max")
    if bias_max is None:
        attention.note_default("alibi_bias_max", "8")
    names = ("num_attention_heads", "n_heads"), ("num_hidden_layers", "n_layers")
    return [alibi(config, *names, bias_max=8 if bias_max is None else bias_max)]


def t5(config: Block) -> list[Encoding]:
    """T5: one table per stack, looked up by all layers of it; none in the cross-attention; logits without 1/sqrt(head_dim)."""
    heads = config.either(("num_attention_heads", "num_heads"), most=shape.MOST_HEADS)
    if heads is None:
        config.note("unknown", "the width of the table: num_heads is not given")
    num_buckets = config.integer_or("relative_attention_num_buckets", 32, most=MOST_BUCKETS)
    max_distance = config.integer_or("relative_attention_max_distance", 128, most=MOST_DISTANCE)
    encoder = shape.layers(config, ("num_hidden_layers", "num_layers"))
    decoder = encoder
    if config.raw("num_decoder_layers") is not None:
        decoder = shape.layers(config, ("num_decoder_layers",))
    stacks = [("encoder", encoder, True), ("decoder", decoder, False)]
    return [
        T5Encoding(
            encoding="t5",
            component="text",
            part=None,
            layers=layers,
            stack=stack,
            num_heads=heads,
            num_buckets=num_buckets,
            max_distance=max_distance,
            bidirectional=bidirectional,
            buckets=buckets(num_buckets, max_distance, bidirectional),
        )
        for stack, layers, bidirectional in stacks
    ]


def buckets(num_buckets: int, max_distance: int, bidirectional: bool) -> tuple[Bucket, ...]:
    """The range of relative positions of each bucket that any falls into, by bucket."""
    relative = np.arange(-max_distance, max_distance + 1)
    index = t5_bucket(relative, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance)
    starts = np.flatnonzero(np.diff(index, prepend=-1))  # buckets are runs of neighbouring positions
    ends = np.append(starts[1:], index.size) - 1
    found = [
        Bucket(
            bucket=int(index[start]),
            first=None if start == 0 else int(relative[start]),
            last=None if end == index.size - 1 else int(relative[end]),
        )
        for start, end in zip(starts, ends, strict=True)
    ]
    return tuple(sorted(found, key=lambda run: run.bucket))


FAMILIES: dict[str, Reader] = {
    "bloom": bloom,
    "mpt": mpt,
    "t5": t5,
}
