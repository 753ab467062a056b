"""Encodings that are added to the embeddings, on CuPy. See posref for the formulas."""

from posref_array import additive
from posref_cupy._bind import on_cupy

sinusoidal = on_cupy(additive.sinusoidal)
timestep_embedding = on_cupy(additive.timestep_embedding)
hierarchical_table = on_cupy(additive.hierarchical_table)
learned = on_cupy(additive.learned)
