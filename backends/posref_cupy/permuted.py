"""PermuteFormer's rows, on CuPy. See posref."""

from posref_array import permuted
from posref_cupy._bind import on_cupy

permuted_channels = on_cupy(permuted.permuted_channels)
