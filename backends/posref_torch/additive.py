"""Encodings that are added to the embeddings, on torch. See posref for the formulas."""

from posref_array import additive
from posref_torch._bind import on_torch

sinusoidal = on_torch(additive.sinusoidal)
timestep_embedding = on_torch(additive.timestep_embedding)
learned = on_torch(additive.learned)
