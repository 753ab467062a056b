// Enough of CUDA C++ to run a kernel's text on the CPU, one thread after the other. Built as
//     g++ -I<this folder> -include cuda_on_cpu.h -DKERNEL=<name> kernel.cpp
// Indices are unsigned and have 32 bits, as in CUDA: arithmetic on them wraps here where it wraps there.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#define __global__
#define __device__

struct dim3 {
    unsigned x, y, z;
};
static dim3 gridDim, blockDim, blockIdx, threadIdx;

template <class... A, std::size_t... I>
void run_thread(void (*kernel)(A...), void** arguments, std::index_sequence<I...>)
{
    kernel(*static_cast<std::remove_cv_t<A>*>(arguments[I])...);
}

// Blocks first .. first + count - 1 of a grid; in the opposite order, the threads' too, if backwards.
template <class... A>
void run(void (*kernel)(A...), dim3 grid, dim3 block, dim3 first, dim3 count, bool backwards, void** arguments)
{
    gridDim = grid;
    blockDim = block;
    const auto each = [backwards](dim3 start, dim3 n, dim3& index, auto body) {
        const unsigned long long all = 1ull * n.x * n.y * n.z;
        for (unsigned long long step = 0; step < all; ++step) {
            const unsigned long long i = backwards ? all - 1 - step : step;
            index = {unsigned(start.x + i % n.x), unsigned(start.y + i / n.x % n.y), unsigned(start.z + i / n.x / n.y)};
            body();
        }
    };
    each(first, count, blockIdx, [&] {
        each({0, 0, 0}, block, threadIdx, [&] { run_thread(kernel, arguments, std::index_sequence_for<A...>{}); });
    });
}

// A floating type of 16 bits: `digits` of significand (the leading one is not stored), smallest normal 2^lowest.
template <int digits, int lowest>
struct Small {
    unsigned short bits;
    Small() = default;
    Small(double value) // rounds once, to the nearest, ties to even
    {
        const int exponent_bits = 16 - digits;
        const unsigned sign = std::signbit(value) ? 0x8000u : 0u, infinity = ((1u << exponent_bits) - 1) << (digits - 1);
        const double size = std::fabs(value);
        if (std::isnan(value)) {
            bits = sign | infinity | 1u;
            return;
        }
        if (std::isinf(value)) {
            bits = sign | infinity;
            return;
        }
        const int exponent = size > 0 ? std::max(std::ilogb(size), lowest) : lowest;
        const double steps = std::nearbyint(std::ldexp(size, digits - 1 - exponent)); // at most 2^digits
        const unsigned code = unsigned(steps) + (unsigned(exponent - lowest) << (digits - 1)); // carries into the exponent
        bits = sign | (code < infinity ? code : infinity);
    }
    operator float() const
    {
        const int exponent_bits = 16 - digits;
        const unsigned fraction = bits & ((1u << (digits - 1)) - 1), code = bits >> (digits - 1) & ((1u << exponent_bits) - 1);
        const float sign = bits & 0x8000u ? -1.0f : 1.0f;
        if (code == (1u << exponent_bits) - 1)
            return fraction ? NAN : sign * INFINITY;
        const unsigned whole = code ? fraction + (1u << (digits - 1)) : fraction;
        return sign * std::ldexp(float(whole), (code ? int(code) - 1 : 0) + lowest - (digits - 1));
    }
};
