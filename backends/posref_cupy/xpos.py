"""xPos, on CuPy. See posref."""

from posref_array import xpos
from posref_cupy._bind import on_cupy

xpos_scale = on_cupy(xpos.xpos_scale)
