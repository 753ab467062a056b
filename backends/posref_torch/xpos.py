"""xPos, on torch. See posref."""

from posref_array import xpos
from posref_torch._bind import on_torch

xpos_scale = on_torch(xpos.xpos_scale)
