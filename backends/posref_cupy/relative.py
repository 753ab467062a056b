"""Relative attention, on CuPy. See posref."""

from posref_array import relative
from posref_cupy._bind import on_cupy

relative_bias = on_cupy(relative.relative_bias)
relative_index = on_cupy(relative.relative_index)
relative_scores = on_cupy(relative.relative_scores)
relative_shift = on_cupy(relative.relative_shift)
relative_values = on_cupy(relative.relative_values)
