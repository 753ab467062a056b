"""PoPE, on CuPy. See posref."""

from posref_array import pope
from posref_cupy._bind import on_cupy

pope_apply = on_cupy(pope.pope_apply)
