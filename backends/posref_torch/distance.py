"""Distances that are not the difference of the positions, and scores at given ones, on torch. See posref."""

from posref_array import distance
from posref_torch._bind import on_torch
from posref_torch._products import products_on_torch

dual_chunk_distance = on_torch(distance.dual_chunk_distance)
rerope_distance = on_torch(distance.rerope_distance)
rope_scores = products_on_torch(distance.rope_scores)
self_extend_distance = on_torch(distance.self_extend_distance)
