"""Weights for the other pair layout, on CuPy. See posref."""

from posref_array import weights
from posref_cupy._bind import on_cupy

rope_permute_weight = on_cupy(weights.rope_permute_weight)
