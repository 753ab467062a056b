"""Factors on the attention logits, on torch. See posref for the formulas."""

from posref_array import logits
from posref_torch._bind import on_torch

inkling_scale = on_torch(logits.inkling_scale)
log_n_scale = on_torch(logits.log_n_scale)
ssmax_scale = on_torch(logits.ssmax_scale)
llama4_scale = on_torch(logits.llama4_scale)
