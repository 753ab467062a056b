"""A backend for posref's conformance suite: put your own kernels in, and run ``posref check my_backend.py``.

It has as many functions of the contract as you like, one is enough; what is missing is reported as not implemented. Names and
arguments are posref's: ``python -c "import posref; help(posref.rope_apply)"``. A keyword that you do not support can be left out
of the signature, or raise NotImplementedError.
"""

import numpy as np

arrays = "numpy"  # numpy | torch | cupy | jax, or an Array API namespace
# from_numpy, to_numpy = ..., ...      # for arrays of any other library: two functions
# device = "cuda"                      # where the suite puts its arrays
# dtypes = ["float32", "bfloat16"]     # default: every floating type of the library that the suite knows
# precision = "float32"                # the loosest you accept: "float32" | "table" | "native" (the default)
# expected_failures = {"rope_apply/large-values/float16": "overflows in the accumulator, see issue 12"}


def rope_apply(x, cos, sin, *, layout="half"):
    """Rotate pairs of channels; x is (..., sequence, channels), cos and sin have one column per pair."""
    if 2 * cos.shape[-1] != x.shape[-1]:
        raise NotImplementedError("partial rotary")
    cos, sin = cos.astype(np.float32), sin.astype(np.float32)
    if x.dtype == np.float64 or cos.shape[-1] == 0:
        raise NotImplementedError("float64")
    if layout == "half":
        a, b = np.split(x.astype(np.float32), 2, axis=-1)
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1).astype(x.dtype)
    a, b = x[..., 0::2].astype(np.float32), x[..., 1::2].astype(np.float32)
    return np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape).astype(x.dtype)


def alibi_slopes(num_heads):
    """Slopes of ALiBi: a power of two has one geometric sequence, other numbers interleave a second one."""
    power = 2 ** (num_heads.bit_length() - 1)
    heads = [h / power for h in range(1, power + 1)] + [h / (2 * power) for h in range(1, 2 * (num_heads - power), 2)]
    return 2.0 ** (-8.0 * np.array(heads))
