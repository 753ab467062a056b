"""Linear attention, on torch. See posref."""

from posref_array import linear_judge
from posref_torch._products import products_on_torch

linear_attention = products_on_torch(linear_judge.linear_attention)
