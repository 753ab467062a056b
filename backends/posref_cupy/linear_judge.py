"""Linear attention, on CuPy. See posref."""

from posref_array import linear_judge
from posref_cupy._bind import on_cupy

linear_attention = on_cupy(linear_judge.linear_attention)
