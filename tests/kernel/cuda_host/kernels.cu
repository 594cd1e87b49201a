// Small kernels for tests of the emulator, right ones and broken twins.
#include "numbers.cuh"

// One block of 64 threads: the sum of 64 numbers, by halves.
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
