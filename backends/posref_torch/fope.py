"""FoPE, on torch. See posref."""

from posref_array import fope
from posref_torch._products import products_on_torch

fope_cos_sin = products_on_torch(fope.fope_cos_sin)
