"""Weights for the other pair layout, on torch. See posref."""

from posref_array import weights
from posref_torch._bind import on_torch

rope_permute_weight = on_torch(weights.rope_permute_weight)
