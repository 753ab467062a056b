"""Position ids, and coordinates of pixels among padding, on torch. See posref."""

from posref_array import positions
from posref_torch._bind import on_torch

cu_seqlens_positions = on_torch(positions.cu_seqlens_positions)
mask_positions = on_torch(positions.mask_positions)
mask_coordinates = on_torch(positions.mask_coordinates)
