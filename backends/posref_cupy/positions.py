"""Position ids of packed sequences, on CuPy. See posref."""

from posref_array import positions
from posref_cupy._bind import on_cupy

cu_seqlens_positions = on_cupy(positions.cu_seqlens_positions)
