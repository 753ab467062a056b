"""Position ids of packed sequences, on torch. See posref."""

from posref_array import positions
from posref_torch._bind import on_torch

cu_seqlens_positions = on_torch(positions.cu_seqlens_positions)
