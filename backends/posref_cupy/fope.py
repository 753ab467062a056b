"""FoPE, on CuPy. See posref."""

from posref_array import fope
from posref_cupy._bind import on_cupy

fope_cos_sin = on_cupy(fope.fope_cos_sin)
