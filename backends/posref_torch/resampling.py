"""A learned table at another size, on torch. See posref for the formulas."""

from posref_array import resampling
from posref_torch._products import products_on_torch

resample_table = products_on_torch(resampling.resample_table)
