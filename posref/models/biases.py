"""Families whose positions are biases on the attention logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posref.bias.alibi import alibi_slopes
from posref.bias.t5 import t5_bucket
from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.records import AlibiEncoding, Bucket, Encoding, T5Encoding
from posref.models.tables import Learned

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
    slopes = None if heads is None else alibi_slopes(heads, bias_max=bias_max)
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


@dataclass(frozen=True)
class T5:
    """Reads T5 and its kin: a table per stack, none in the cross-attention; logits without 1/sqrt(head_dim).

    With ``shared`` all layers of a stack look up one table, else each has its own. ``heads`` and the others are the keys.
    """

    shared: bool = True
    heads: Sequence[str] = ("num_attention_heads", "num_heads")
    encoder: Sequence[str] = ("num_hidden_layers", "num_layers")
    decoder: Sequence[str] = ("num_decoder_layers",)

    def __call__(self, config: Block) -> list[Encoding]:
        """The two encodings of such a model."""
        heads = config.either(self.heads, most=shape.MOST_HEADS)
        if heads is None:
            config.note("unknown", f"the width of the table: {self.heads[-1]} is not given")
        num_buckets = config.integer_or("relative_attention_num_buckets", 32, most=MOST_BUCKETS)
        max_distance = config.integer_or("relative_attention_max_distance", 128, most=MOST_DISTANCE)
        encoder = shape.layers(config, self.encoder)
        decoder = encoder
        if any(config.raw(key) is not None for key in self.decoder):
            decoder = shape.layers(config, self.decoder)
        stacks = [("encoder", encoder, True), ("decoder", decoder, False)]
        return [
            t5_encoding(layers, stack, heads, (num_buckets, max_distance, bidirectional), shared=self.shared)
            for stack, layers, bidirectional in stacks
        ]


def t5_encoding(
    layers: tuple[int, ...] | None,
    stack: str,
    heads: int | None,
    rule: tuple[int, int, bool],
    *,
    shared: bool = True,
    scaled: bool = False,
) -> T5Encoding:
    """The record of a table by buckets; the rule is (num_buckets, max_distance, bidirectional)."""
    return T5Encoding(
        encoding="t5",
        component="text",
        part=None,
        layers=layers,
        stack=stack,
        num_heads=heads,
        num_buckets=rule[0],
        max_distance=rule[1],
        bidirectional=rule[2],
        buckets=buckets(*rule),
        shared=shared,
        scaled_logits=scaled,
    )


def longt5(config: Block) -> list[Encoding]:
    """LongT5: T5's rule among the keys that a block sees."""
    kind = config.word("encoder_attention_type")
    if kind == "transient-global":
        config.note("unusual", "the encoder has another table, for the summaries of blocks of 16 tokens")
    config.note("unusual", "the encoder sees keys up to local_radius away")
    return T5()(config)


def udop(config: Block) -> list[Encoding]:
    """UDOP: T5's tables, and in the encoder others by the boxes of the words."""
    config.note("not known yet", "text: the encoder's biases by horizontal and vertical distance")
    return T5()(config)


def pix2struct_text(config: Block) -> list[Encoding]:
    """Pix2Struct's decoder is T5's."""
    reader = T5(
        heads=("num_attention_heads", "num_heads", "decoder_attention_heads", "encoder_attention_heads"),
        encoder=("num_hidden_layers", "num_layers", "decoder_layers", "encoder_layers"),
    )
    return [e for e in reader(config) if isinstance(e, T5Encoding) and e.stack == "decoder"]


def mpnet(config: Block) -> list[Encoding]:
    """MPNet: a learned table and, in all layers, one table by T5's buckets, whose distance no key changes."""
    table = Learned(after_pad=True)(config)
    heads = config.integer("num_attention_heads", most=shape.MOST_HEADS)
    if heads is None:
        config.note("unknown", "the width of the table: num_attention_heads is not given")
    rows = config.integer_or("relative_attention_num_buckets", 32, most=MOST_BUCKETS)
    if rows != 32:
        config.note("unusual", f"relative_attention_num_buckets {rows}: the table has so many rows, 32 are used")
    bias = t5_encoding(shape.layers(config), "encoder", heads, (32, 128, True), scaled=True)
    return [*table, bias]


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
    "longt5": longt5,
    "mpnet": mpnet,
    "mpt": mpt,
    "mt5": T5(),
    "pix2struct_text_model": pix2struct_text,
    "pop2piano": T5(),
    "switch_transformers": T5(),
    "t5": T5(),
    "udop": udop,
    "umt5": T5(shared=False),
}
