"""Rotary on several axes, on CuPy. See posref for the formulas."""

from __future__ import annotations

from posref_array import axes
from posref_cupy._bind import on_cupy

rope_axis_map = on_cupy(axes.rope_axis_map)
rope_axes_inv_freq = on_cupy(axes.rope_axes_inv_freq)
rope_axes_cos_sin = on_cupy(axes.rope_axes_cos_sin)
rope_axes_table = on_cupy(axes.rope_axes_table)
rope_mixed_cos_sin = on_cupy(axes.rope_mixed_cos_sin)
rope_apply_channels = on_cupy(axes.rope_apply_channels)
grid_positions = on_cupy(axes.grid_positions)
grid_coordinates = on_cupy(axes.grid_coordinates)
