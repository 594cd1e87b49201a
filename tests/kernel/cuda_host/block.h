// The threads of one CUDA block as fibers in one thread of the CPU.
//
// A fiber runs until it waits for others or ends; no two ever run at once. The order in which those
// that can run get their turn is chosen, so a kernel whose result depends on it can be caught.
#pragma once

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <source_location>
#include <string>
#include <vector>

namespace cuda_host {

constexpr unsigned kWarp = 32;
constexpr size_t kStackBytes = 256 << 10;

enum class Order { ascending, descending, shuffled };

enum class State { ready, at_block_barrier, at_warp_barrier, ended };

struct Fiber {
  State state = State::ended;
  std::source_location site;       // of the barrier where it waits
  unsigned exchanges = 0;          // of values inside the warp, so far
  bool started = false;
  jmp_buf position;
  ucontext_t entry;
  void* stack = nullptr;
};

// What one lane shows to the others. Two sets take turns: a lane can be one exchange ahead.
struct Lane {
  unsigned long long value[2];
};

struct Block {
  std::vector<Fiber> fibers;
  std::vector<Lane> lanes;
  std::function<void()> body;
  unsigned current = 0;            // the thread that runs
  jmp_buf scheduler;
  ucontext_t scheduler_entry;
  std::string error;
};

inline Block block;

inline std::string place(const std::source_location& site) {
  return std::string(site.file_name()) + ":" + std::to_string(site.line());
}

// Leaves the running thread, and the block with it.
[[noreturn]] inline void fail(const std::string& message) {
  block.error = message;
  _longjmp(block.scheduler, 1);
}

// Leaves the running thread until the scheduler gives it another turn.
inline void give_way(State state, std::source_location site = std::source_location()) {
  Fiber& fiber = block.fibers[block.current];
  fiber.state = state;
  fiber.site = site;
  if (_setjmp(fiber.position) == 0) _longjmp(block.scheduler, 1);
}

inline void fiber_main() {
  for (;;) {
    block.body();
    give_way(State::ended);
  }
}

inline void resume(unsigned thread) {
  block.current = thread;
  Fiber& fiber = block.fibers[thread];
  if (_setjmp(block.scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.position, 1);
  fiber.started = true;
  setcontext(&fiber.entry);
}

inline void discard_fibers() {
  for (Fiber& fiber : block.fibers) munmap(fiber.stack, kStackBytes);
  block.fibers.clear();
}

inline void make_fibers(unsigned threads) {
  if (block.fibers.size() == threads) return;
  discard_fibers();
  block.fibers.resize(threads);
  block.lanes.assign(threads, Lane{});
  for (Fiber& fiber : block.fibers) {
    fiber.stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    getcontext(&fiber.entry);
    fiber.entry.uc_stack.ss_sp = fiber.stack;
    // Tops at different places of a page, or all would compete for the same lines of the cache.
    fiber.entry.uc_stack.ss_size = kStackBytes - (&fiber - block.fibers.data()) % 32 * 128;
    fiber.entry.uc_link = nullptr;
    makecontext(&fiber.entry, fiber_main, 0);
  }
}

// Whether all these threads are in one state; if they wait at different places, that is an error.
inline bool all_in(State state, unsigned first, unsigned last) {
  for (unsigned thread = first; thread < last; ++thread) {
    if (block.fibers[thread].state != state) return false;
  }
  const std::source_location& site = block.fibers[first].site;
  for (unsigned thread = first; thread < last && state != State::ended; ++thread) {
    const std::source_location& other = block.fibers[thread].site;
    if (other.line() != site.line() && block.error.empty()) {
      block.error = "thread " + std::to_string(first) + " waits at " + place(site) + ", thread " +
                    std::to_string(thread) + " at " + place(other);
    }
  }
  return true;
}

inline void release(unsigned first, unsigned last) {
  for (unsigned thread = first; thread < last; ++thread) block.fibers[thread].state = State::ready;
}

// Lets waiting threads go on where all have come; false if no thread can go on.
inline bool release_waiting() {
  unsigned threads = block.fibers.size();
  if (all_in(State::at_block_barrier, 0, threads)) {
    release(0, threads);
    return true;
  }
  bool released = false;
  for (unsigned first = 0; first < threads; first += kWarp) {
    if (all_in(State::at_warp_barrier, first, first + kWarp)) {
      release(first, first + kWarp);
      released = true;
    }
  }
  return released;
}

inline std::string stuck() {
  std::string message = "a barrier that not all threads reach:";
  for (unsigned first = 0, next; first < block.fibers.size(); first = next) {
    const Fiber& fiber = block.fibers[first];
    for (next = first + 1; next < block.fibers.size(); ++next) {
      const Fiber& other = block.fibers[next];
      if (other.state != fiber.state || other.site.line() != fiber.site.line()) break;
    }
    message += " threads " + std::to_string(first) + " to " + std::to_string(next - 1) +
               (fiber.state == State::ended ? " have ended;" : " wait at " + place(fiber.site) + ";");
  }
  message.pop_back();
  return message;
}

// Runs all threads of a block to their ends; false, with `block.error` set, if that goes wrong.
inline bool run_block(std::vector<unsigned>& turns, Order order, std::mt19937& random,
                      const std::function<void(unsigned)>& enter) {
  unsigned threads = block.fibers.size();
  block.error.clear();
  release(0, threads);
  while (block.error.empty() && !all_in(State::ended, 0, threads)) {
    if (order == Order::shuffled) std::shuffle(turns.begin(), turns.end(), random);
    bool ran = false;
    for (unsigned thread : turns) {
      if (block.fibers[thread].state != State::ready) continue;
      enter(thread);
      resume(thread);
      ran = true;
      if (!block.error.empty()) break;
    }
    if (!ran && block.error.empty() && !release_waiting()) block.error = stuck();
  }
  if (!block.error.empty()) discard_fibers();
  return block.error.empty();
}

// What the lane `from` of this warp shows at this exchange; all lanes take part.
template <typename Value, typename From>
Value exchange(unsigned mask, Value value, From from, std::source_location site) {
  static_assert(sizeof(Value) <= sizeof(unsigned long long));
  if (mask != 0xffffffffu) fail("an exchange among some lanes only at " + place(site));
  unsigned set = block.fibers[block.current].exchanges++ & 1;
  memcpy(&block.lanes[block.current].value[set], &value, sizeof value);
  give_way(State::at_warp_barrier, site);
  unsigned first = block.current / kWarp * kWarp;
  memcpy(&value, &block.lanes[first + from(block.current % kWarp)].value[set], sizeof value);
  return value;
}

}  // namespace cuda_host
