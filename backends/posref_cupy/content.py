"""Positions that depend on what lies between query and key, on CuPy. See posref."""

from posref_array import content
from posref_cupy._bind import on_cupy

cope_scores = on_cupy(content.cope_scores)
forget_bias = on_cupy(content.forget_bias)
path_scores = on_cupy(content.path_scores)
