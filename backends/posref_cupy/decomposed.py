"""Bias of the content by height and by width, gates and resets of biases, on CuPy. See posref."""

from posref_array import decomposed
from posref_cupy._bind import on_cupy

bias_gate = on_cupy(decomposed.bias_gate)
decomposed_bias = on_cupy(decomposed.decomposed_bias)
reset_cls = on_cupy(decomposed.reset_cls)
