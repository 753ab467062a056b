"""TUPE's scores, on torch. See posref."""

from posref_array import untied
from posref_torch._products import products_on_torch

untied_scores = products_on_torch(untied.untied_scores)
