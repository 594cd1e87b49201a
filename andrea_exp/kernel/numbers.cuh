// Numbers as they are stored and as they are computed with. The only header that kernels include.
//
// Kernels are compiled without contraction: a product and a sum are rounded one after the other
// wherever the source does not say fmaf.
#pragma once

// The upper half of a float32.
using bfloat16 = unsigned short;

// What a stored number is computed with.
template <typename Stored> struct Computed { using type = Stored; };
template <> struct Computed<bfloat16> { using type = float; };
template <typename Stored> using computed = typename Computed<Stored>::type;

__device__ inline float widen(float value) { return value; }

__device__ inline double widen(double value) { return value; }

__device__ inline float widen(bfloat16 value) {
  return __uint_as_float(static_cast<unsigned>(value) << 16);
}

// The stored number next to a computed one; the even one of two that are equally near.
template <typename Stored> __device__ inline Stored narrow(computed<Stored> value) { return value; }

template <> __device__ inline bfloat16 narrow<bfloat16>(float value) {
  unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;  // NaN, which rounding could make infinite
  return static_cast<bfloat16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
