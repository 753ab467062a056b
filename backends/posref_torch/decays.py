"""Biases that decay with the distance, on torch. See posref for the formulas."""

from posref_array import decays
from posref_torch._bind import on_torch

kerple_bias = on_torch(decays.kerple_bias)
sandwich_bias = on_torch(decays.sandwich_bias)
fire_distance = on_torch(decays.fire_distance)
