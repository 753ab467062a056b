"""TUPE's scores, on CuPy. See posref."""

from posref_array import untied
from posref_cupy._bind import on_cupy

untied_scores = on_cupy(untied.untied_scores)
