// The rows of `cross_entropy`: one block per row of logits, of any length.
#include "numbers.cuh"

// The sum of exp(x) over some logits x, as total * exp(peak). All sums are taken in an order that
// depends on the row's length and address alone, so that two runs give the same bits.
template <typename Real> struct Sum {
  Real peak;
  Real total;
};

template <typename Real> __device__ Sum<Real> nothing();
template <> __device__ inline Sum<float> nothing() { return {-3.4028234e38f, 0}; }
template <> __device__ inline Sum<double> nothing() { return {-1.7976931348623157e308, 0}; }

template <typename Real> __device__ Sum<Real> joined(Sum<Real> one, Sum<Real> other) {
  Real peak = max(one.peak, other.peak);
  return {peak, one.total * exp(one.peak - peak) + other.total * exp(other.peak - peak)};
}

// The sum of all lanes' sums, in every lane.
template <typename Real> __device__ Sum<Real> of_warp(Sum<Real> sum) {
  for (int bits = 16; bits > 0; bits /= 2) {
    sum = joined(sum, {__shfl_xor_sync(0xffffffffu, sum.peak, bits),
                       __shfl_xor_sync(0xffffffffu, sum.total, bits)});
  }
  return sum;
}

// The sum of all threads' sums, in every thread.
template <typename Real> __device__ Sum<Real> of_block(Sum<Real> sum) {
  __shared__ Sum<Real> of_warps[32];
  unsigned lane = threadIdx.x % 32;
  sum = of_warp(sum);
  if (lane == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  return of_warp(lane < blockDim.x / 32 ? of_warps[lane] : nothing<Real>());
}

// Sixteen bytes: what one thread moves at a time.
template <typename Stored> struct alignas(16) Pack {
  static constexpr long long kLength = 16 / sizeof(Stored);
  Stored each[kLength];
};

// Calls function(logit, id) for the thread's share of a row; the logits can be changed if kChanges.
// Logits before and after the row's whole packs go one by one.
template <bool kChanges, typename Stored, typename Function>
__device__ void walk(Stored* row, long long vocab, Function function) {
  constexpr long long kLength = Pack<Stored>::kLength;
  long long beyond = reinterpret_cast<unsigned long long>(row) % 16 / sizeof(Stored);
  long long first = min(vocab, (kLength - beyond) % kLength);
  long long packs = (vocab - first) / kLength;
  long long last = first + packs * kLength;
  for (long long id = threadIdx.x; id < first; id += blockDim.x) function(row[id], id);
  for (long long index = threadIdx.x; index < packs; index += blockDim.x) {
    Pack<Stored>* address = reinterpret_cast<Pack<Stored>*>(row + first) + index;
    Pack<Stored> pack = *address;
    for (int part = 0; part < kLength; ++part) {
      function(pack.each[part], first + index * kLength + part);
    }
    if (kChanges) *address = pack;
  }
  for (long long id = last + threadIdx.x; id < vocab; id += blockDim.x) function(row[id], id);
}

template <typename Stored>
__device__ Sum<computed<Stored>> of_row(Stored* row, long long vocab) {
  using Real = computed<Stored>;
  Sum<Real> sum = nothing<Real>();
  walk<false>(row, vocab, [&](Stored& logit, long long) {
    Real x = widen(logit);
    if (x > sum.peak) sum = {x, sum.total * exp(sum.peak - x)};
    sum.total += exp(x - sum.peak);
  });
  return of_block(sum);
}

template <typename Stored>
__device__ void losses(Stored* logits, const long long* targets, computed<Stored>* nats,
                       long long vocab) {
  Stored* row = logits + blockIdx.x * vocab;
  Sum<computed<Stored>> sum = of_row(row, vocab);
  if (threadIdx.x > 0) return;
  nats[blockIdx.x] = log(sum.total) + (sum.peak - widen(row[targets[blockIdx.x]]));
}

template <typename Stored>
__device__ void gradient(Stored* logits, const long long* targets,
                         const computed<Stored>* upstream, long long vocab) {
  using Real = computed<Stored>;
  Stored* row = logits + blockIdx.x * vocab;
  Sum<Real> sum = of_row(row, vocab);
  long long target = targets[blockIdx.x];
  Real factor = upstream[blockIdx.x];
  walk<true>(row, vocab, [&](Stored& logit, long long id) {
    Real share = exp(widen(logit) - sum.peak) / sum.total;
    logit = narrow<Stored>(factor * (share - (id == target ? 1 : 0)));
  });
}

#define KERNELS(suffix, Stored)                                                            \
  extern "C" __global__ void losses_##suffix(Stored* logits, const long long* targets,     \
                                             computed<Stored>* nats, long long vocab) {    \
    losses(logits, targets, nats, vocab);                                                  \
  }                                                                                        \
  extern "C" __global__ void gradient_##suffix(Stored* logits, const long long* targets,   \
                                               const computed<Stored>* upstream,           \
                                               long long vocab) {                          \
    gradient(logits, targets, upstream, vocab);                                            \
  }
KERNELS(f32, float)
KERNELS(bf16, bfloat16)
KERNELS(f64, double)
