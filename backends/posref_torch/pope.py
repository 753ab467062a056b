"""PoPE, on torch. See posref."""

from posref_array import pope
from posref_torch._bind import on_torch

pope_apply = on_torch(pope.pope_apply)
