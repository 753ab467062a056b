"""The CPU stand-in itself: its 16-bit types round as NumPy's and ml_dtypes' do."""

import ml_dtypes
import numpy as np
import pytest

from posref_cupy import kernels

CONVERT = """
extern "C" __global__ void convert(const X* x, const T* numbers, double* widened, X* rounded, const long long* count)
{
    for (long long i = 0; i < *count; ++i) {
        widened[i] = float(x[i]);
        rounded[i] = X(numbers[i]);
    }
}
"""


# ml_dtypes goes to bfloat16 through float32, so the numbers beside the ties are no finer than that
@pytest.mark.parametrize(
    ("name", "dtype", "nudge"), [("float16", np.float16, 2.0**-40), ("bfloat16", ml_dtypes.bfloat16, 2.0**-12)]
)
@np.errstate(all="ignore")
def test_small_types_convert_as_numpys_do(cpu, monkeypatch, name, dtype, nudge):
    monkeypatch.setitem(kernels.TEXTS, "convert", CONVERT)
    kernel = cpu.raw_kernel(kernels.source("convert", dtype=name, table_dtype="float64"), "convert")
    every = np.arange(2**16, dtype=np.uint16).view(dtype)
    finite = np.unique(every.astype(np.float64)[np.isfinite(every.astype(np.float64))])
    ties = finite[:-1] / 2 + finite[1:] / 2  # every other one goes up
    numbers = np.concatenate(
        [finite, ties, ties * (1 + nudge), ties * (1 - nudge), [np.inf, -np.inf, np.nan, 1e300, -1e300]]
    )
    x = np.resize(every, len(numbers))
    widened, rounded = np.zeros(len(numbers)), np.zeros(len(numbers), dtype=dtype)
    arrays = [cpu.put(a) for a in (x, numbers, widened, rounded, np.array([len(numbers)]))]
    kernel((1,), (1,), arrays)
    widened, rounded = (cpu.get(a) for a in arrays[2:4])
    np.testing.assert_array_equal(widened, x.astype(np.float64))
    expected = numbers.astype(dtype)
    np.testing.assert_array_equal(rounded.astype(np.float64), expected.astype(np.float64))
    np.testing.assert_array_equal(np.signbit(rounded.astype(np.float64)), np.signbit(expected.astype(np.float64)))
