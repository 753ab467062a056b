"""Disentangled attention and its buckets, on CuPy. See posref."""

from posref_array import disentangled
from posref_cupy._bind import on_cupy

deberta_bucket = on_cupy(disentangled.deberta_bucket)
disentangled_scores = on_cupy(disentangled.disentangled_scores)
