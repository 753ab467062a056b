"""Position ids, and coordinates of pixels among padding, on CuPy. See posref."""

from posref_array import positions
from posref_cupy._bind import on_cupy

cu_seqlens_positions = on_cupy(positions.cu_seqlens_positions)
mask_positions = on_cupy(positions.mask_positions)
mask_coordinates = on_cupy(positions.mask_coordinates)
