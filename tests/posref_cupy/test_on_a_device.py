"""What only a CUDA device can show: CuPy's own functions, launches by the driver, arrays of more than 2^31 elements."""

import subprocess
import sys

import numpy as np
import pytest

import posref
import posref_cupy

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(11)
POSITIONS = np.array([0, 1, 17, 4095, -3])
YARN = posref.YarnScaling(factor=4.0, original_max_position_embeddings=4096)
CALLS = {
    "rope_inv_freq": ((64,), {"scaling": YARN}),
    "rope_cos_sin": ((POSITIONS, posref.rope_inv_freq(64)), {"attention_factor": 1.5}),
    "rope_table": ((POSITIONS, 64), {"scaling": YARN}),
    "rope_apply": ((RNG.normal(size=(2, 5, 8)), RNG.normal(size=(5, 4)), RNG.normal(size=(5, 4))), {"inverse": True}),
    "rope": (
        (RNG.normal(size=(2, 5, 70)), POSITIONS),
        {"dim": 64, "offset": 3, "layout": "interleaved", "scaling": YARN},
    ),
    "sinusoidal": ((POSITIONS, 64), {"order": "cos_sin"}),
    "timestep_embedding": ((POSITIONS / 3, 65), {}),
    "sinusoidal_axes": ((np.stack([POSITIONS, POSITIONS / 3]), 17), {"layout": "wave_axis_band"}),
    "fourier_features": ((RNG.normal(size=(2, 5)), RNG.normal(size=3)), {"unit": "turns", "include_input": True}),
    "frequency_bands": ((5, 1, 9), {"spacing": "log"}),
    "resample_table": ((RNG.normal(size=(16, 4)), (3, 5), (2, 7)), {"prefix": 1}),
    "hierarchical_table": ((RNG.normal(size=(3, 4)), 8), {}),
    "mask_positions": ((POSITIONS > 0,), {"first": 2, "padding": 1}),
    "mask_coordinates": ((RNG.normal(size=(2, 3, 5)) > 0,), {"scale": 6.28}),
    "learned": ((RNG.normal(size=(9, 4)), np.array([[0, 8], [3, 3]])), {}),
    "alibi_slopes": ((12,), {}),
    "alibi_bias": ((RNG.normal(size=3), POSITIONS, POSITIONS / 2), {}),
    "relative_position_index": (((3, 4),), {"class_token": True}),
    "indexed_bias": ((RNG.normal(size=(9, 4)), np.array([[0, 8], [3, -1]])), {}),
    "log_offset": ((np.arange(-7, 8),), {"extent": 7}),
    "cosine_scale": ((RNG.normal(size=(4, 1)),), {}),
    "position_mlp": (tuple(RNG.normal(size=s) for s in ((5, 2), (7, 2), (7,), (3, 7))), {"ceiling": 16.0}),
    "kerple_bias": ((np.array([0.5, 2.0]), np.array([0.3, 1.5]), POSITIONS % 99, POSITIONS % 7), {"form": "power"}),
    "sandwich_bias": ((3, POSITIONS % 99, POSITIONS % 7), {}),
    "fire_distance": ((POSITIONS, POSITIONS // 2, 0.1, 512.0), {}),
    "cape_positions": ((POSITIONS % 99, RNG.normal(size=POSITIONS.shape), RNG.normal(size=1)), {"centre": True}),
    "query_positions": ((3, 7), {}),
    "long_t5_blocks": ((np.arange(40) < 37, 5), {}),
    "t5_bucket": ((np.arange(-300, 300),), {"num_buckets": 32}),
    "t5_bias": ((RNG.normal(size=(32, 3)), POSITIONS, POSITIONS), {}),
    "attention": ((RNG.normal(size=(2, 5, 4)), RNG.normal(size=(2, 7, 4)), RNG.normal(size=(2, 7, 3))), {}),
}
# cos and sin err by at most 4 u (1 + |theta|), |theta| <= 4095, a rotation by |a| + |b| <= 10 times that; all else by less
ERROR = 4 * 2.0**-53 * 4096 * 10


@pytest.mark.parametrize("name", CALLS)
def test_every_function_against_the_reference(gpu, name):
    args, kwargs = CALLS[name]
    arrays = [gpu.put(a) if isinstance(a, np.ndarray) else a for a in args]
    expected, got = getattr(posref, name)(*args, **kwargs), getattr(posref_cupy, name)(*arrays, **kwargs)
    if not isinstance(expected, tuple):
        expected, got = (expected,), (got,)
    for y, array in zip(expected, got, strict=True):
        assert isinstance(array, gpu.cupy.ndarray)
        assert array.shape == y.shape
        assert array.dtype.kind == y.dtype.kind
        assert np.abs(gpu.get(array) - y).max() <= (0 if y.dtype.kind == "i" else ERROR)


def test_more_than_2_to_the_31_elements(gpu):
    free, _ = gpu.cupy.cuda.runtime.memGetInfo()
    rows = 2**31 // 128 + 3
    if free < 2 * 128 * rows + 2**28:
        pytest.skip(f"{2 * 128 * rows + 2**28} bytes of device memory are needed, {free} are free")
    x = gpu.cupy.zeros((rows, 128), dtype=np.float16)
    ends = RNG.normal(size=(2, 3, 128)).astype(np.float16)
    x[:3], x[-3:] = gpu.put(ends[0]), gpu.put(ends[1])
    cos, sin = (RNG.normal(size=(1, 64)).astype(np.float32) for _ in range(2))
    posref_cupy.rope_apply(x, gpu.put(cos), gpu.put(sin), out=x)
    got = np.stack([gpu.get(x[:3]), gpu.get(x[-3:])])
    y = posref.rope_apply(ends, cos, sin)
    assert np.abs(got - y).max() <= 1.01 * 2.0**-11 * np.abs(y).max()  # one rounding, float32's own are far below


def test_the_conformance_suite(gpu):
    code = "import sys; from posref.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, "check", "cupy"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
