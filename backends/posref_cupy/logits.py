"""Factors on the attention logits, on CuPy. See posref for the formulas."""

from posref_array import logits
from posref_cupy._bind import on_cupy

inkling_scale = on_cupy(logits.inkling_scale)
log_n_scale = on_cupy(logits.log_n_scale)
ssmax_scale = on_cupy(logits.ssmax_scale)
llama4_scale = on_cupy(logits.llama4_scale)
