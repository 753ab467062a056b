"""Biases that a small network makes of offsets, on torch. See posref for the formulas."""

from posref_array import continuous
from posref_torch._bind import on_torch
from posref_torch._products import products_on_torch

position_mlp = products_on_torch(continuous.position_mlp)
log_offset = on_torch(continuous.log_offset)
cosine_scale = on_torch(continuous.cosine_scale)
