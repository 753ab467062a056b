"""Biases out of tables for windows, on CuPy. See posref for the rules."""

from posref_array import windows
from posref_cupy._bind import on_cupy

relative_position_index = on_cupy(windows.relative_position_index)
indexed_bias = on_cupy(windows.indexed_bias)
