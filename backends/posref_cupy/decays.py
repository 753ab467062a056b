"""Biases that decay with the distance, on CuPy. See posref for the formulas."""

from posref_array import decays
from posref_cupy._bind import on_cupy

kerple_bias = on_cupy(decays.kerple_bias)
sandwich_bias = on_cupy(decays.sandwich_bias)
fire_distance = on_cupy(decays.fire_distance)
