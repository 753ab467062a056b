"""CAPE, on torch. See posref for the formula."""

from posref_array import augmented
from posref_torch._bind import on_torch

cape_positions = on_torch(augmented.cape_positions)
