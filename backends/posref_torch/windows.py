"""Biases out of tables for windows, on torch. See posref for the rules."""

from posref_array import windows
from posref_torch._bind import on_torch

relative_position_index = on_torch(windows.relative_position_index)
indexed_bias = on_torch(windows.indexed_bias)
