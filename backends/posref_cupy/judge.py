"""Plain attention, on CuPy. See posref for the formula."""

from posref_array import judge
from posref_cupy._bind import on_cupy

attention = on_cupy(judge.attention)
