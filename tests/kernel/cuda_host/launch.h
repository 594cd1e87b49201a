// Finds a kernel by its name, hands it its arguments and runs its blocks.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>

#include "device.h"

uint3 threadIdx, blockIdx, blockDim, gridDim;

// Where the linker puts what is `__shared__`; null if nothing is.
extern "C" {
extern char __start_shared_memory[] __attribute__((weak, visibility("hidden")));
extern char __stop_shared_memory[] __attribute__((weak, visibility("hidden")));
}

namespace cuda_host {

enum class Order { ascending, descending, shuffled };

struct Argument {
  char kind;  // p, i or f: a pointer, a long long or a double
  union {
    void* pointer;
    long long integer;
    double real;
  };
};

using Arguments = std::vector<Argument>;

// A kernel's name -> what binds arguments to it, or leaves an error.
inline std::map<std::string, std::function<void(const Arguments&)>> kernels;

template <typename Parameter> Parameter unpacked(const Argument& argument) {
  constexpr bool is_pointer = std::is_pointer_v<Parameter>;
  constexpr bool is_integer = std::is_same_v<Parameter, long long>;
  static_assert(is_pointer || is_integer || std::is_same_v<Parameter, double>,
                "the parameters of a kernel are pointers, long long and double");
  constexpr char kind = is_pointer ? 'p' : is_integer ? 'i' : 'f';
  if (argument.kind != kind) {
    block.error = std::string("an argument is of kind ") + argument.kind + ", not " + kind;
  }
  if constexpr (is_pointer) return static_cast<Parameter>(argument.pointer);
  else if constexpr (is_integer) return argument.integer;
  else return argument.real;
}

template <typename... Parameters, size_t... index>
void take(void (*kernel)(Parameters...), const Arguments& arguments,
          std::index_sequence<index...>) {
  std::tuple<Parameters...> values{unpacked<Parameters>(arguments[index])...};
  block.kernel = [=] { std::apply(kernel, values); };
}

template <typename... Parameters> bool enter(const char* name, void (*kernel)(Parameters...)) {
  kernels[name] = [=](const Arguments& arguments) {
    constexpr size_t count = sizeof...(Parameters);
    if (arguments.size() == count) {
      take(kernel, arguments, std::make_index_sequence<count>());
    } else {
      block.error = std::to_string(arguments.size()) + " arguments, not " + std::to_string(count);
    }
  };
  return true;
}

// A block finds anything in its shared memory. Here it is -1 as an integer and NaN as a float.
inline void poison_shared_memory() {
  if (__start_shared_memory != nullptr) {
    memset(__start_shared_memory, 0xff, __stop_shared_memory - __start_shared_memory);
  }
}

inline std::vector<unsigned> counted(unsigned count, Order order) {
  std::vector<unsigned> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  if (order == Order::descending) std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

inline void run_grid(Order order, unsigned seed) {
  std::mt19937 random(seed);
  auto shuffle = [&](std::vector<unsigned>& turns) {
    if (order == Order::shuffled) std::shuffle(turns.begin(), turns.end(), random);
  };
  std::vector<unsigned> threads = counted(blockDim.x, order);
  std::vector<unsigned> blocks = counted(gridDim.x * gridDim.y * gridDim.z, order);
  shuffle(blocks);
  for (unsigned index : blocks) {
    blockIdx = {index % gridDim.x, index / gridDim.x % gridDim.y, index / gridDim.x / gridDim.y};
    poison_shared_memory();
    run_block(threads, shuffle, [](unsigned thread) { threadIdx = {thread, 0, 0}; });
    if (block.error.empty()) continue;
    block.error += " (block";
    for (unsigned part : {blockIdx.x, blockIdx.y, blockIdx.z}) {
      block.error += " " + std::to_string(part);
    }
    block.error += ", thread " + std::to_string(block.current) + ")";
    discard_fibers();  // they have not come to their ends
    return;
  }
}

}  // namespace cuda_host

// Runs one kernel on a grid. Returns what went wrong, or an empty text, until the next call.
extern "C" __attribute__((visibility("default"))) const char* launch(
    const char* name, const unsigned* grid, unsigned threads, const cuda_host::Argument* arguments,
    size_t count, cuda_host::Order order, unsigned seed) {
  using namespace cuda_host;
  block.error.clear();
  auto found = kernels.find(name);
  if (found == kernels.end()) {
    block.error = "there is no such kernel";
  } else {
    found->second(Arguments(arguments, arguments + count));
  }
  if (block.error.empty()) {
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {threads, 1, 1};
    make_fibers(threads);
    run_grid(order, seed);
  }
  return block.error.c_str();
}

// What the compiler lets each access to memory report to: -fsanitize=bounds,alignment.
struct Access {
  const char* file;
  unsigned line, column;
};

extern "C" [[noreturn]] void __ubsan_handle_out_of_bounds_abort(Access* access, uintptr_t index) {
  cuda_host::fail(std::string(access->file) + ":" + std::to_string(access->line) + ": index " +
                  std::to_string(static_cast<long long>(index)) + " is outside of the array");
}

extern "C" [[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(Access* access, uintptr_t) {
  cuda_host::fail(std::string(access->file) + ":" + std::to_string(access->line) +
                  ": an address is not a multiple of what is read or written there");
}
