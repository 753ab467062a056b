"""PermuteFormer's rows, on torch. See posref."""

from posref_array import permuted
from posref_torch._bind import on_torch

permuted_channels = on_torch(permuted.permuted_channels)
