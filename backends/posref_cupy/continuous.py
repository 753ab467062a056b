"""Biases that a small network makes of offsets, on CuPy. See posref for the formulas."""

from posref_array import continuous
from posref_cupy._bind import on_cupy

log_offset = on_cupy(continuous.log_offset)
cosine_scale = on_cupy(continuous.cosine_scale)
position_mlp = on_cupy(continuous.position_mlp)
