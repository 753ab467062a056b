"""Rotary on several axes, on torch. See posref for the formulas.

All of it compiles without a graph break, but for ladders per axis or dealt: these look at the values of ``axis_map``.
"""

from __future__ import annotations

from posref_array import axes
from posref_torch._bind import on_torch

rope_axis_map = on_torch(axes.rope_axis_map)
rope_axes_inv_freq = on_torch(axes.rope_axes_inv_freq)
rope_axes_cos_sin = on_torch(axes.rope_axes_cos_sin)
rope_axes_table = on_torch(axes.rope_axes_table)
rope_mixed_cos_sin = on_torch(axes.rope_mixed_cos_sin)
rope_apply_channels = on_torch(axes.rope_apply_channels)
grid_positions = on_torch(axes.grid_positions)
grid_coordinates = on_torch(axes.grid_coordinates)
