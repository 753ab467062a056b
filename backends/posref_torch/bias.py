"""Encodings that are added to the attention logits, on torch. See posref for the formulas."""

from posref_array import bias
from posref_torch._bind import on_torch

alibi_slopes = on_torch(bias.alibi_slopes)
alibi_bias = on_torch(bias.alibi_bias)
t5_bucket = on_torch(bias.t5_bucket)
t5_bias = on_torch(bias.t5_bias)
query_positions = on_torch(bias.query_positions)
long_t5_blocks = on_torch(bias.long_t5_blocks)
