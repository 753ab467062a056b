"""Distances that are not the difference of the positions, and scores at given ones, on CuPy. See posref."""

from posref_array import distance
from posref_cupy._bind import on_cupy

dual_chunk_distance = on_cupy(distance.dual_chunk_distance)
rerope_distance = on_cupy(distance.rerope_distance)
rope_scores = on_cupy(distance.rope_scores)
self_extend_distance = on_cupy(distance.self_extend_distance)
