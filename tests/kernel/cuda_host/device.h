// The words of CUDA C++ that kernels use, for g++.
#pragma once

#include <math.h>
#include <stdint.h>

#include <bit>

#include "block.h"

#define __global__ __attribute__((noinline))
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
// One place for all blocks, since they run one after the other; see poison_shared_memory.
#define __shared__ __attribute__((section("shared_memory"))) static

#undef assert
#define assert(condition)                                                                   \
  ((condition) ? void() : cuda_host::fail(cuda_host::place(std::source_location::current()) + \
                                          ": assertion `" #condition "` failed"))

struct uint3 { unsigned x, y, z; };
using dim3 = uint3;
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = cuda_host::kWarp;

#define VECTOR_TYPES(name, Part)                                                                \
  struct alignas(2 * sizeof(Part)) name##2 { Part x, y; };                                      \
  struct alignas(sizeof(Part) == 8 ? 16 : 4 * sizeof(Part)) name##4 { Part x, y, z, w; };       \
  inline name##2 make_##name##2(Part x, Part y) { return {x, y}; }                              \
  inline name##4 make_##name##4(Part x, Part y, Part z, Part w) { return {x, y, z, w}; }
VECTOR_TYPES(int, int)
VECTOR_TYPES(uint, unsigned)
VECTOR_TYPES(float, float)
VECTOR_TYPES(double, double)
VECTOR_TYPES(longlong, long long)
VECTOR_TYPES(ushort, unsigned short)
#undef VECTOR_TYPES

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }

template <typename Value> Value __ldg(const Value* address) { return *address; }

template <typename Value> Value min(Value a, Value b) { return b < a ? b : a; }
template <typename Value> Value max(Value a, Value b) { return a < b ? b : a; }

using Site = std::source_location;

inline void __syncthreads(Site site = Site::current()) {
  cuda_host::give_way(cuda_host::State::at_block_barrier, site);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, Site site = Site::current()) {
  cuda_host::exchange(mask, 0, [](unsigned lane) { return lane; }, site);
}

template <typename Value>
Value __shfl_sync(unsigned mask, Value value, unsigned source, Site site = Site::current()) {
  return cuda_host::exchange(mask, value, [=](unsigned) { return source % 32; }, site);
}

template <typename Value>
Value __shfl_xor_sync(unsigned mask, Value value, unsigned bits, Site site = Site::current()) {
  return cuda_host::exchange(mask, value, [=](unsigned lane) { return (lane ^ bits) % 32; }, site);
}

template <typename Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned by, Site site = Site::current()) {
  auto from = [=](unsigned lane) { return lane + by < 32 ? lane + by : lane; };
  return cuda_host::exchange(mask, value, from, site);
}

template <typename Value>
Value __shfl_up_sync(unsigned mask, Value value, unsigned by, Site site = Site::current()) {
  auto from = [=](unsigned lane) { return lane >= by ? lane - by : lane; };
  return cuda_host::exchange(mask, value, from, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, Site site = Site::current()) {
  unsigned bits = predicate ? 1u << (cuda_host::block.current % 32) : 0;
  for (unsigned step = 1; step < 32; step *= 2) bits |= __shfl_xor_sync(mask, bits, step, site);
  return bits;
}
