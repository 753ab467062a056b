"""Positions that depend on what lies between query and key, on torch. See posref."""

from posref_array import content
from posref_torch._bind import on_torch
from posref_torch._products import products_on_torch

cope_scores = products_on_torch(content.cope_scores)
forget_bias = on_torch(content.forget_bias)
path_scores = products_on_torch(content.path_scores)
