"""Disentangled attention and its buckets, on torch. See posref."""

from posref_array import disentangled
from posref_torch._bind import on_torch
from posref_torch._products import products_on_torch

deberta_bucket = on_torch(disentangled.deberta_bucket)
disentangled_scores = products_on_torch(disentangled.disentangled_scores)
