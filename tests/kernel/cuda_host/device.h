// The words of CUDA C++ that kernels use, for g++. A word that is missing here can be added.
#pragma once

#include <math.h>
#include <stdint.h>

#include <bit>

#include "block.h"

#define __global__ __attribute__((noinline))
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
// One place for all blocks, as they run one after the other.
#define __shared__ __attribute__((section("shared_memory"))) static

#undef assert
#define assert(condition)                                                          \
  ((condition) ? void()                                                            \
               : cuda_host::fail(cuda_host::text(std::source_location::current()) + \
                                 ": assertion `" #condition "` failed"))

struct uint3 {
  unsigned x, y, z;
};
extern uint3 threadIdx, blockIdx, blockDim, gridDim;

#define VECTORS(name, Part, alignment2, alignment4)                           \
  struct alignas(alignment2) name##2 { Part x, y; };                          \
  struct alignas(alignment4) name##4 { Part x, y, z, w; };                    \
  inline name##2 make_##name##2(Part x, Part y) { return {x, y}; }            \
  inline name##4 make_##name##4(Part x, Part y, Part z, Part w) { return {x, y, z, w}; }
VECTORS(ushort, unsigned short, 4, 8)
VECTORS(int, int, 8, 16)
VECTORS(uint, unsigned, 8, 16)
VECTORS(float, float, 8, 16)
VECTORS(longlong, long long, 16, 16)
VECTORS(double, double, 16, 16)
#undef VECTORS

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }

inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }

template <typename Value> Value __ldg(const Value* address) { return *address; }

template <typename Value> Value min(Value one, Value other) { return other < one ? other : one; }

template <typename Value> Value max(Value one, Value other) { return one < other ? other : one; }

namespace cuda_host {

inline unsigned lane() { return block.current % kWarp; }

}  // namespace cuda_host

inline void __syncthreads(cuda_host::Site site = cuda_host::Site::current()) {
  cuda_host::give_way(cuda_host::State::at_block_barrier, site);
}

inline void __syncwarp(unsigned mask = 0xffffffffu,
                       cuda_host::Site site = cuda_host::Site::current()) {
  cuda_host::exchange(mask, 0, 0, site);
}

template <typename Value>
Value __shfl_sync(unsigned mask, Value value, unsigned from,
                  cuda_host::Site site = cuda_host::Site::current()) {
  return cuda_host::exchange(mask, value, from % 32, site);
}

template <typename Value>
Value __shfl_xor_sync(unsigned mask, Value value, unsigned bits,
                      cuda_host::Site site = cuda_host::Site::current()) {
  return cuda_host::exchange(mask, value, (cuda_host::lane() ^ bits) % 32, site);
}

template <typename Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned by,
                       cuda_host::Site site = cuda_host::Site::current()) {
  unsigned lane = cuda_host::lane();
  return cuda_host::exchange(mask, value, lane + by < 32 ? lane + by : lane, site);
}

template <typename Value>
Value __shfl_up_sync(unsigned mask, Value value, unsigned by,
                     cuda_host::Site site = cuda_host::Site::current()) {
  unsigned lane = cuda_host::lane();
  return cuda_host::exchange(mask, value, lane < by ? lane : lane - by, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              cuda_host::Site site = cuda_host::Site::current()) {
  unsigned votes = predicate ? 1u << cuda_host::lane() : 0u;
  for (unsigned bits = 1; bits < 32; bits *= 2) votes |= __shfl_xor_sync(mask, votes, bits, site);
  return votes;
}
