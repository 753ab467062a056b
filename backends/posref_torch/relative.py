"""Relative attention, on torch. See posref."""

from posref_array import relative
from posref_torch._bind import on_torch
from posref_torch._products import products_on_torch

relative_bias = products_on_torch(relative.relative_bias)
relative_index = on_torch(relative.relative_index)
relative_scores = products_on_torch(relative.relative_scores)
relative_shift = on_torch(relative.relative_shift)
relative_values = products_on_torch(relative.relative_values)
