"""posref_array on NumPy: the backend that ``posref check numpy`` means."""

import array_api_compat.numpy

from posref_array import bind

backend = bind(array_api_compat.numpy)
backend.arrays = "numpy"
