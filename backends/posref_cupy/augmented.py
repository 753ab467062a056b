"""CAPE, on CuPy. See posref for the formula."""

from posref_array import augmented
from posref_cupy._bind import on_cupy

cape_positions = on_cupy(augmented.cape_positions)
