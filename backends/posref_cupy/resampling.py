"""A learned table at another size, on CuPy. See posref for the formulas."""

from posref_array import resampling
from posref_cupy._bind import on_cupy

resample_table = on_cupy(resampling.resample_table)
