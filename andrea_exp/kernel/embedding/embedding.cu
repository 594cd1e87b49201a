// Token gather with position rows, and the gradient of the token table.
//
// One thread owns a few neighbouring features, a part, of whatever it reads and writes: 16 bytes,
// which memory delivers at once, or a single number where the width or an address does not allow
// more. Threads next to each other own parts next to each other.
#include "numbers.cuh"

constexpr int kSequences = 4;  // of a batch, that share what is added to their vectors
constexpr int kTile = 32;      // occurrences of one id that are summed beforehand
constexpr int kInFlight = 4;   // rows that are on their way from memory at a time
constexpr double kTurn = 6.283185307179586;

// Numbers as they lie in memory. Its alignment lets them be loaded and stored at once.
template <typename Stored, int count> struct alignas(count * sizeof(Stored)) Vector {
  Stored number[count];
};

// The same numbers as they are computed with.
template <typename Number, int count> struct Part {
  Number number[count];

  __device__ void add(const Part& other) {
#pragma unroll
    for (int i = 0; i < count; ++i) number[i] += other.number[i];
  }

  __device__ void multiply(Number factor) {
#pragma unroll
    for (int i = 0; i < count; ++i) number[i] *= factor;
  }
};

template <int count, typename Stored>
__device__ Part<computed<Stored>, count> load(const Stored* address) {
  const auto vector = *reinterpret_cast<const Vector<Stored, count>*>(address);
  Part<computed<Stored>, count> part;
#pragma unroll
  for (int i = 0; i < count; ++i) part.number[i] = widen(vector.number[i]);
  return part;
}

template <typename Stored, int count>
__device__ void store(Stored* address, const Part<computed<Stored>, count>& part) {
  Vector<Stored, count> vector;
#pragma unroll
  for (int i = 0; i < count; ++i) vector.number[i] = narrow<Stored>(part.number[i]);
  *reinterpret_cast<Vector<Stored, count>*>(address) = vector;
}

// Which part of a matrix a thread owns: some features from `e` on of one row.
struct Place {
  long long row, e;
};

template <int count> __device__ Place own_place(long long width) {
  const long long parts = width / count;
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  return {thread / parts, thread % parts * count};
}

// Adds a row to the vectors of one place in all sequences.
template <typename Number, int count>
__device__ void add_to_all(Part<Number, count>* vectors, const Part<Number, count>& row) {
#pragma unroll
  for (int s = 0; s < kSequences; ++s) vectors[s].add(row);
}

// What is added to them: nothing, ...
template <typename Stored> struct NoRows {
  template <int count>
  __device__ void add_to(Part<computed<Stored>, count>*, const Place&, long long) const {}
};

// ... a row in memory, ...
template <typename Stored> struct WrittenRows {
  const Stored* rows;

  template <int count>
  __device__ void add_to(Part<computed<Stored>, count>* vectors, const Place& place,
                         long long width) const {
    add_to_all(vectors, load<count>(rows + place.row * width + place.e));
  }
};

__device__ inline float sine(float angle) { return sinf(angle); }

__device__ inline double sine(double angle) { return sin(angle); }

// ... or a row of the sinusoid.
template <typename Stored> struct ComputedRows {
  const long long* index;
  double log2_base;
  double amplitude;

  template <int count>
  __device__ void add_to(Part<computed<Stored>, count>* vectors, const Place& place,
                         long long width) const {
    const double position = index[place.row];
    Part<computed<Stored>, count> row;
#pragma unroll
    for (int i = 0; i < count; ++i) row.number[i] = feature(position, place.e + i, width);
    row.multiply(amplitude);
    add_to_all(vectors, row);
  }

  // The sine of position * base^(-2k/width), k = e / 2, or for odd e its cosine. The angle is
  // reduced in double, as a part of a turn from -1/4 to 1/4, and only then narrowed: as a float it
  // would be off by more than the sine may be, from some hundred positions on.
  __device__ computed<Stored> feature(double position, long long e, long long width) const {
    const double even = e - e % 2;
    double turns = position * exp2(-log2_base * even / width) / kTurn;
    turns += e % 2 / 4.0;  // cos a = sin (a + 1/4 turn)
    turns -= rint(turns);
    if (fabs(turns) > 0.25) turns = copysign(0.5, turns) - turns;  // has the same sine
    return sine(static_cast<computed<Stored>>(turns * kTurn));
  }
};

// multiplier * table[ids] + rows. A thread serves one place t of kSequences sequences.
template <int count, typename Stored, typename Rows>
__device__ void gather(Stored* output, const long long* ids, const Stored* table, const Rows& rows,
                       long long batch, long long length, long long vocab, long long width,
                       double multiplier) {
  const Place place = own_place<count>(width);
  const long long first = static_cast<long long>(blockIdx.y) * kSequences;
  if (place.row >= length) return;
  long long token[kSequences];
  bool known = true;
#pragma unroll
  for (int s = 0; s < kSequences; ++s) {
    token[s] = first + s < batch ? ids[(first + s) * length + place.row] : 0;
    known = known && token[s] >= 0 && token[s] < vocab;
  }
  assert(known && "a token id is outside the token table");
  Part<computed<Stored>, count> vectors[kSequences];
#pragma unroll
  for (int s = 0; s < kSequences; ++s) {
    vectors[s] = load<count>(table + token[s] * width + place.e);
    vectors[s].multiply(multiplier);
  }
  rows.add_to(vectors, place, width);
#pragma unroll
  for (int s = 0; s < kSequences; ++s) {
    if (first + s == batch) return;
    store(output + ((first + s) * length + place.row) * width + place.e, vectors[s]);
  }
}

// Adds to `total`, one by one, rows first..end-1 of `source`, or those that `order` puts there.
template <int count, typename Number, typename Stored>
__device__ void add_rows(Part<Number, count>& total, const Stored* source, const long long* order,
                         long long first, long long end, long long e, long long width) {
#pragma unroll 1  // unrolled, it takes more registers, and fewer threads fit
  for (; first < end; first += kInFlight) {
    Part<Number, count> part[kInFlight] = {};
#pragma unroll
    for (int ahead = 0; ahead < kInFlight; ++ahead) {
      const long long at = first + ahead;
      if (at < end) part[ahead] = load<count>(source + (order ? order[at] : at) * width + e);
    }
#pragma unroll
    for (int ahead = 0; ahead < kInFlight; ++ahead) total.add(part[ahead]);
  }
}

// The sum of `upstream` at kTile occurrences in a row, if all of them are of one id. So an id that
// stands everywhere is no more work for the threads that own its table row than others.
template <int count, typename Stored>
__device__ void sum_tile(computed<Stored>* sums, const long long* ids, const Stored* upstream,
                         const long long* order, long long tiles, long long width) {
  const Place place = own_place<count>(width);
  const long long first = place.row * kTile;
  if (place.row >= tiles || ids[order[first]] != ids[order[first + kTile - 1]]) return;
  Part<computed<Stored>, count> total = {};
  add_rows(total, upstream, order, first, first + kTile, place.e, width);
  store(sums + place.row * width + place.e, total);
}

// One part of one table row: multiplier times the sum of its occurrences in order, 0 without any.
// Tiles that lie within the occurrences have been summed already.
template <int count, typename Stored>
__device__ void sum_row(Stored* gradient, const Stored* upstream, const long long* order,
                        const long long* starts, const computed<Stored>* sums, long long vocab,
                        long long width, double multiplier) {
  const Place place = own_place<count>(width);
  if (place.row >= vocab) return;
  const long long start = starts[place.row], end = starts[place.row + 1];
  const long long first_tile = (start + kTile - 1) / kTile, end_tile = end / kTile;
  const long long before = min(first_tile * kTile, end), after = max(end_tile * kTile, before);
  Part<computed<Stored>, count> total = {};
  add_rows(total, upstream, order, start, before, place.e, width);
  add_rows(total, sums, nullptr, first_tile, end_tile, place.e, width);
  add_rows(total, upstream, order, after, end, place.e, width);
  total.multiply(multiplier);
  store(gradient + place.row * width + place.e, total);
}

// `wide`: the width is a multiple of 16 bytes and so are all addresses.
#define BY_WIDTH(function, Stored, ...) \
  wide ? function<16 / sizeof(Stored)>(__VA_ARGS__) : function<1>(__VA_ARGS__)

#define KERNELS(name, Stored)                                                                     \
  extern "C" __global__ void gather_##name(                                                       \
      Stored* output, const long long* ids, const Stored* table, long long batch,                 \
      long long length, long long vocab, long long width, double multiplier, long long wide) {    \
    const NoRows<Stored> none;                                                                    \
    BY_WIDTH(gather, Stored, output, ids, table, none, batch, length, vocab, width, multiplier);  \
  }                                                                                               \
                                                                                                  \
  extern "C" __global__ void gather_with_rows_##name(                                             \
      Stored* output, const long long* ids, const Stored* table, long long batch,                 \
      long long length, long long vocab, long long width, double multiplier, const Stored* rows,  \
      long long wide) {                                                                           \
    const WrittenRows<Stored> added{rows};                                                        \
    BY_WIDTH(gather, Stored, output, ids, table, added, batch, length, vocab, width, multiplier); \
  }                                                                                               \
                                                                                                  \
  extern "C" __global__ void gather_with_sinusoid_##name(                                         \
      Stored* output, const long long* ids, const Stored* table, long long batch,                 \
      long long length, long long vocab, long long width, double multiplier,                      \
      const long long* index, double log2_base, double amplitude, long long wide) {               \
    const ComputedRows<Stored> added{index, log2_base, amplitude};                                \
    BY_WIDTH(gather, Stored, output, ids, table, added, batch, length, vocab, width, multiplier); \
  }                                                                                               \
                                                                                                  \
  extern "C" __global__ void sum_tiles_##name(                                                    \
      computed<Stored>* sums, const long long* ids, const Stored* upstream,                       \
      const long long* order, long long tiles, long long width, long long wide) {                 \
    BY_WIDTH(sum_tile, Stored, sums, ids, upstream, order, tiles, width);                         \
  }                                                                                               \
                                                                                                  \
  extern "C" __global__ void sum_rows_##name(                                                     \
      Stored* gradient, const Stored* upstream, const long long* order, const long long* starts,  \
      const computed<Stored>* sums, long long vocab, long long width, double multiplier,          \
      long long wide) {                                                                           \
    BY_WIDTH(sum_row, Stored, gradient, upstream, order, starts, sums, vocab, width, multiplier); \
  }

KERNELS(f32, float)
KERNELS(bf16, bfloat16)
KERNELS(f64, double)
