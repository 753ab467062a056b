"""The CUDA C++ of the fused kernels, as text that anybody can read, compile or run elsewhere. Nothing is compiled here."""

from __future__ import annotations

TYPES = {"float64": "double", "float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16"}
HEADERS = {"float16": "#include <cuda_fp16.h>\n", "bfloat16": "#include <cuda_bf16.h>\n"}

ROPE_APPLY = """\
// Rotation of channel pairs: (a, b) -> (a cos - b sin, a sin + b cos), computed in W and rounded once, to X.
//
// A row is one vector of channels. The rows lie on three axes, each on one of the grid's: z, y, x. Threads along x of a
// block share a row, those along y take one row each. All loops go on in steps of the whole grid, so that any launch
// covers any shape. Lengths and strides count elements and have 64 bits. out may be x where every pair stays in its place.
struct Plan {
    long long size[3];                 // rows
    long long x[3], table[3], out[3];  // strides of the rows; 0 in table where cos and sin are broadcast
    long long pairs;
    long long offset;                  // first channel of the rotated block
    long long others;                  // channels outside of the block that have to be copied
    long long x_step, x_apart;         // pair n of x: channels offset + n x_step, and x_apart after it
    long long out_step, out_apart;     // where it goes
    long long inverse;                 // 1: the transpose
};

extern "C" __global__ void rope_apply(
    const X* x, const T* __restrict__ cos, const T* __restrict__ sin, X* out, const Plan p)
{
    const long long first_row = (long long)blockIdx.x * blockDim.y + threadIdx.y;
    const long long next_row = (long long)gridDim.x * blockDim.y;
    for (long long i = blockIdx.z; i < p.size[0]; i += gridDim.z)
    for (long long j = blockIdx.y; j < p.size[1]; j += gridDim.y)
    for (long long k = first_row; k < p.size[2]; k += next_row) {
        const X* from = x + i * p.x[0] + j * p.x[1] + k * p.x[2];
        X* to = out + i * p.out[0] + j * p.out[1] + k * p.out[2];
        const long long row = i * p.table[0] + j * p.table[1] + k * p.table[2];
        for (long long n = threadIdx.x; n < p.pairs; n += blockDim.x) {
            const W c = W(cos[row + n]);
            const W s = p.inverse ? -W(sin[row + n]) : W(sin[row + n]);
            const X* pair = from + p.offset + n * p.x_step;
            const W a = W(pair[0]), b = W(pair[p.x_apart]);
            X* turned = to + p.offset + n * p.out_step;
            turned[0] = X(a * c - b * s);
            turned[p.out_apart] = X(a * s + b * c);
        }
        for (long long n = threadIdx.x; n < p.others; n += blockDim.x) {
            const long long channel = n < p.offset ? n : n + 2 * p.pairs;
            to[channel] = from[channel];
        }
    }
}
"""

TEXTS = {"rope_apply": ROPE_APPLY}


def source(name: str, *, dtype: str, table_dtype: str = "float32") -> str:
    """Text of a kernel for given types, whole: with its headers and type names.

    Parameters
    ----------
    name
        ``"rope_apply"``, which is also the name of the ``extern "C"`` function.
    dtype
        Type of x and of the result: float64, float32, float16 or bfloat16.
    table_dtype
        Type of cos and sin: one of the same four.

    Returns
    -------
    str
        CUDA C++ with X (data), T (tables) and W (arithmetic: double if either is float64, else float) defined in front.

    Raises
    ------
    ValueError
        A name or type that there is no kernel for.
    """
    if name not in TEXTS:
        raise ValueError(f"name must be one of {', '.join(TEXTS)}, got {name!r}")
    for argument, given in (("dtype", dtype), ("table_dtype", table_dtype)):
        if given not in TYPES:
            raise ValueError(f"{argument} must be one of {', '.join(TYPES)}, got {given!r}")
    used = (dtype, table_dtype)
    headers = "".join(text for of, text in HEADERS.items() if of in used)
    work = "double" if "float64" in used else "float"
    return f"{headers}typedef {TYPES[dtype]} X;\ntypedef {TYPES[table_dtype]} T;\ntypedef {work} W;\n\n{TEXTS[name]}"
