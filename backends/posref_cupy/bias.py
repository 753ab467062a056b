"""Encodings that are added to the attention logits, on CuPy. See posref for the formulas."""

from posref_array import bias
from posref_cupy._bind import on_cupy

alibi_slopes = on_cupy(bias.alibi_slopes)
alibi_bias = on_cupy(bias.alibi_bias)
t5_bucket = on_cupy(bias.t5_bucket)
t5_bias = on_cupy(bias.t5_bias)
query_positions = on_cupy(bias.query_positions)
long_t5_blocks = on_cupy(bias.long_t5_blocks)
