// Small kernels for tests of the emulator and of the compiler, with broken twins.
#include "numbers.cuh"

// The sum of 64 numbers, by halves.
template <bool waits> __device__ void sum_by_halves(float* sum, const float* numbers) {
  __shared__ float part[64];
  part[threadIdx.x] = numbers[threadIdx.x];
  __syncthreads();
  for (unsigned half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    if (waits) __syncthreads();
  }
  if (threadIdx.x == 0) *sum = part[0];
}

extern "C" __global__ void sum_f32(float* sum, const float* numbers) {
  sum_by_halves<true>(sum, numbers);
}

extern "C" __global__ void sum_without_waiting(float* sum, const float* numbers) {
  sum_by_halves<false>(sum, numbers);
}

// What each lane of two warps gets from others, one row per way to ask.
extern "C" __global__ void ask_lanes(double* got, const double* shown) {
  unsigned all = 0xffffffffu, thread = threadIdx.x;
  double own = shown[thread];
  got[thread] = __shfl_sync(all, own, 5);
  got[64 + thread] = __shfl_xor_sync(all, own, 9);
  got[128 + thread] = __shfl_down_sync(all, own, 3);
  got[192 + thread] = __shfl_up_sync(all, own, 3);
  got[256 + thread] = __ballot_sync(all, own < 0);
}

// Numbers of the block and of the thread, one row of five per thread.
extern "C" __global__ void where(long long* places) {
  long long block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  long long* place = places + 5 * (block * blockDim.x + threadIdx.x);
  place[0] = blockIdx.x, place[1] = blockIdx.y, place[2] = blockIdx.z;
  place[3] = threadIdx.x, place[4] = threadIdx.y + threadIdx.z;
}

#define SCALE(suffix, Stored)                                                                   \
  extern "C" __global__ void __launch_bounds__(64)                                              \
      scale_##suffix(Stored* scaled, const Stored* numbers, long long count, double factor) {   \
    long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;            \
    if (index >= count) return;                                                                 \
    scaled[index] = narrow<Stored>(widen(numbers[index]) * static_cast<computed<Stored>>(factor)); \
  }
SCALE(f32, float)
SCALE(f64, double)
SCALE(bf16, bfloat16)

extern "C" __global__ void widen_bf16(float* wide, const bfloat16* numbers, long long count) {
  for (long long index = threadIdx.x; index < count; index += blockDim.x) {
    wide[index] = widen(numbers[index]);
  }
}

extern "C" __global__ void narrow_bf16(bfloat16* narrowed, const float* numbers, long long count) {
  for (long long index = threadIdx.x; index < count; index += blockDim.x) {
    narrowed[index] = narrow<bfloat16>(numbers[index]);
  }
}

// A product and a sum, rounded once each, and both at once.
extern "C" __global__ void round_twice_or_once(float* results, const float* numbers) {
  results[0] = numbers[0] * numbers[1] + numbers[2];
  results[1] = fmaf(numbers[0], numbers[1], numbers[2]);
}

extern "C" __global__ void demand(const long long* numbers, long long limit) {
  assert(numbers[threadIdx.x] < limit);
}

// The first warp waits for the second, which has ended.
extern "C" __global__ void wait_for_the_ended(float* numbers) {
  if (threadIdx.x >= 32) return;
  __syncthreads();
  numbers[threadIdx.x] = 1;
}

extern "C" __global__ void wait_apart(float* numbers) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    numbers[threadIdx.x] = 1;
    __syncthreads();
  }
}

extern "C" __global__ void ask_a_lane_that_waits(float* numbers) {
  if (threadIdx.x != 7) numbers[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 0);
  __syncthreads();
}

extern "C" __global__ void ask_half_a_warp(float* numbers) {
  if (threadIdx.x < 16) numbers[threadIdx.x] = __shfl_sync(0xffffu, 1.0f, 0);
}

extern "C" __global__ void write_at(float* numbers, long long place) {
  if (threadIdx.x == 0) numbers[place] += 1;
}

extern "C" __global__ void copy_at(float* numbers, const float* others, long long place) {
  if (threadIdx.x == 0) numbers[place] = others[place];
}

extern "C" __global__ void read_four(float* numbers, long long place) {
  float4 four = *reinterpret_cast<const float4*>(numbers + place);
  if (threadIdx.x == 0) numbers[0] = four.x + four.y + four.z + four.w;
}

extern "C" __global__ void index_an_array(float* numbers, long long place) {
  __shared__ float part[64];
  part[threadIdx.x] = 1;
  __syncthreads();
  numbers[threadIdx.x] = part[threadIdx.x + place];
}

extern "C" __global__ void read_the_unwritten(float* numbers) {
  __shared__ float part[64];
  if (threadIdx.x == 0) numbers[blockIdx.x] = part[0];
  part[threadIdx.x] = 1;
}

// Each block adds its number to twice what the one before it left.
extern "C" __global__ void depend_on_other_blocks(float* number) {
  if (threadIdx.x == 0) *number = 2 * *number + blockIdx.x;
}
