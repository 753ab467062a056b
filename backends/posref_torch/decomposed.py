"""Bias of the content by height and by width, gates and resets of biases, on torch. See posref."""

from posref_array import decomposed
from posref_torch._bind import on_torch
from posref_torch._products import products_on_torch

bias_gate = on_torch(decomposed.bias_gate)
decomposed_bias = products_on_torch(decomposed.decomposed_bias)
reset_cls = on_torch(decomposed.reset_cls)
