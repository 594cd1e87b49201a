// Finds a kernel by name, unpacks its arguments and runs its blocks. For ctypes.
#pragma once

#include <map>
#include <type_traits>
#include <utility>

#include "device.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

// All variables in shared memory, as the linker lays them out; absent if there are none.
extern "C" char __start_shared_memory[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_shared_memory[] __attribute__((weak, visibility("hidden")));

namespace cuda_host {

struct Argument {
  char kind;  // p, i or f: pointer, long long, double
  union {
    void* pointer;
    long long integer;
    double real;
  };
};

template <typename Parameter> Parameter unpack(const Argument& argument, std::string& error) {
  constexpr bool is_pointer = std::is_pointer_v<Parameter>;
  constexpr bool is_integer = std::is_same_v<Parameter, long long>;
  static_assert(is_pointer || is_integer || std::is_same_v<Parameter, double>,
                "kernels take pointers, long long and double");
  constexpr char wanted = is_pointer ? 'p' : is_integer ? 'i' : 'f';
  if (argument.kind != wanted) {
    error += std::string("an argument of kind ") + argument.kind + " where the kernel wants " +
             wanted + "; ";
  }
  if constexpr (is_pointer) return static_cast<Parameter>(argument.pointer);
  else if constexpr (is_integer) return argument.integer;
  else return argument.real;
}

using Binder = std::function<std::function<void()>(const std::vector<Argument>&, std::string&)>;
inline std::map<std::string, Binder> kernels;

template <typename... Parameters, size_t... index>
std::function<void()> bound(void (*kernel)(Parameters...), const std::vector<Argument>& arguments,
                            std::string& error, std::index_sequence<index...>) {
  return [=, values = std::make_tuple(unpack<Parameters>(arguments[index], error)...)] {
    std::apply(kernel, values);
  };
}

template <typename... Parameters> bool enter(const char* name, void (*kernel)(Parameters...)) {
  kernels[name] = [=](const std::vector<Argument>& arguments, std::string& error) {
    constexpr size_t wanted = sizeof...(Parameters);
    if (arguments.size() == wanted) {
      return bound(kernel, arguments, error, std::make_index_sequence<wanted>());
    }
    error = std::to_string(arguments.size()) + " arguments where the kernel wants " +
            std::to_string(wanted);
    return std::function<void()>();
  };
  return true;
}

// A block finds anything in its shared memory; all bits set is NaN, or -1.
inline void poison_shared_memory() {
  if (__start_shared_memory != nullptr) {
    memset(__start_shared_memory, 0xff, __stop_shared_memory - __start_shared_memory);
  }
}

inline void run_grid(Order order, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned> turns(blockDim.x);
  std::iota(turns.begin(), turns.end(), 0u);
  std::vector<unsigned> blocks(gridDim.x * gridDim.y * gridDim.z);
  std::iota(blocks.begin(), blocks.end(), 0u);
  if (order == Order::descending) {
    std::reverse(turns.begin(), turns.end());
    std::reverse(blocks.begin(), blocks.end());
  }
  if (order == Order::shuffled) std::shuffle(blocks.begin(), blocks.end(), random);
  for (unsigned index : blocks) {
    blockIdx = {index % gridDim.x, index / gridDim.x % gridDim.y, index / gridDim.x / gridDim.y};
    poison_shared_memory();
    if (!run_block(turns, order, random, [](unsigned thread) { threadIdx = {thread, 0, 0}; })) {
      block.error += " (block " + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) +
                     ", " + std::to_string(blockIdx.z) + "; thread " +
                     std::to_string(block.current) + ")";
      return;
    }
  }
}

}  // namespace cuda_host

// What went wrong, or an empty text; it stands until the next launch.
extern "C" const char* launch(const char* kernel, const unsigned* grid, unsigned threads, int order,
                              unsigned seed, const cuda_host::Argument* arguments, size_t count) {
  cuda_host::block.error.clear();
  auto found = cuda_host::kernels.find(kernel);
  if (found == cuda_host::kernels.end()) {
    cuda_host::block.error = std::string("there is no kernel ") + kernel;
    return cuda_host::block.error.c_str();
  }
  std::string error;
  auto body = found->second({arguments, arguments + count}, error);
  if (!error.empty()) {
    cuda_host::block.error = error;
    return cuda_host::block.error.c_str();
  }
  cuda_host::block.body = body;
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {threads, 1, 1};
  cuda_host::make_fibers(threads);
  cuda_host::run_grid(static_cast<cuda_host::Order>(order), seed);
  return cuda_host::block.error.c_str();
}
