// The threads of one CUDA block as fibers in one thread of the CPU.
//
// A fiber runs until it waits for others or ends, so no two ever run at once. Whose turn it is can
// be chosen: a kernel that lacks a barrier then gives different results in different orders.
#pragma once

#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <functional>
#include <source_location>
#include <string>
#include <vector>

namespace cuda_host {

using Site = std::source_location;

constexpr unsigned kWarp = 32;
constexpr size_t kStackBytes = 256 << 10;

enum class State { ready, at_block_barrier, at_warp_barrier, ended };

struct Fiber {
  State state;
  Site site;           // of the barrier where it waits
  unsigned exchanges;  // with the other lanes of its warp, so far
  // What it shows to them. Two take turns, since a lane can be one exchange ahead of another.
  unsigned long long shown[2];
  jmp_buf position;    // where it goes on, once it has begun
  bool begun;
  ucontext_t entry;
  void* stack;
};

struct Block {
  std::function<void()> kernel;  // with its arguments
  std::vector<Fiber> fibers;
  unsigned current;              // the thread whose turn it is
  jmp_buf scheduler;
  std::string error;             // of the last launch; empty if it went well
};

inline Block block;

inline std::string text(const Site& site) {
  return std::string(site.file_name()) + ":" + std::to_string(site.line());
}

inline bool same(const Site& one, const Site& other) {
  return one.line() == other.line() && strcmp(one.file_name(), other.file_name()) == 0;
}

// Ends the launch with an error, from inside a kernel.
[[noreturn]] inline void fail(const std::string& message) {
  block.error = message;
  _longjmp(block.scheduler, 1);
}

// From inside a kernel: lets others run. The jumps leave the signal mask alone, which makes them
// much faster than swapcontext.
inline void give_way(State state, const Site& site) {
  Fiber& fiber = block.fibers[block.current];
  fiber.state = state;
  fiber.site = site;
  if (_setjmp(fiber.position) == 0) _longjmp(block.scheduler, 1);
}

inline void run_forever() {
  for (;;) {
    block.kernel();
    give_way(State::ended, Site());
  }
}

// Gives a thread its turn, until it waits, ends or fails.
inline void resume(unsigned thread) {
  Fiber& fiber = block.fibers[thread];
  block.current = thread;
  if (_setjmp(block.scheduler) != 0) return;
  if (fiber.begun) _longjmp(fiber.position, 1);
  fiber.begun = true;
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
  for (unsigned thread = 0; thread < threads; ++thread) {
    Fiber& fiber = block.fibers[thread];
    fiber.stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    getcontext(&fiber.entry);
    fiber.entry.uc_stack.ss_sp = fiber.stack;
    // At one place of their pages, all stacks would compete for the same lines of the cache.
    fiber.entry.uc_stack.ss_size = kStackBytes - thread % 32 * 128;
    fiber.entry.uc_link = nullptr;
    makecontext(&fiber.entry, run_forever, 0);
  }
}

inline bool all(State state, unsigned first, unsigned last) {
  for (unsigned thread = first; thread < last; ++thread) {
    if (block.fibers[thread].state != state) return false;
  }
  return true;
}

inline void release(unsigned first, unsigned last) {
  for (unsigned thread = first; thread < last; ++thread) block.fibers[thread].state = State::ready;
}

// Lets threads go on if all of them have come to one barrier; else false.
inline bool meet(State barrier, unsigned first, unsigned last) {
  if (!all(barrier, first, last)) return false;
  const Site& site = block.fibers[first].site;
  for (unsigned thread = first; thread < last; ++thread) {
    if (!same(block.fibers[thread].site, site)) return false;
  }
  release(first, last);
  return true;
}

inline bool meet_somewhere() {
  unsigned threads = block.fibers.size();
  bool met = meet(State::at_block_barrier, 0, threads);
  for (unsigned first = 0; first < threads; first += kWarp) {
    met |= meet(State::at_warp_barrier, first, first + kWarp);
  }
  return met;
}

// Where the threads are when none can go on.
inline std::string whereabouts() {
  std::string said = "threads wait for others that never come:";
  for (unsigned first = 0, next; first < block.fibers.size(); first = next) {
    const Fiber& fiber = block.fibers[first];
    for (next = first + 1; next < block.fibers.size(); ++next) {
      const Fiber& other = block.fibers[next];
      if (other.state != fiber.state || !same(other.site, fiber.site)) break;
    }
    said += first == 0 ? " " : ", ";
    said += std::to_string(first) + " to " + std::to_string(next - 1) +
            (fiber.state == State::ended ? " have ended" : " at " + text(fiber.site));
  }
  return said;
}

// Runs one block to its end or to an error. Turns are given in the order of `turns`, which `before`
// is called with first; `enter` is called with each thread whose turn it is.
template <typename Before, typename Enter>
void run_block(std::vector<unsigned>& turns, Before before, Enter enter) {
  unsigned threads = block.fibers.size();
  release(0, threads);
  while (!all(State::ended, 0, threads)) {
    bool ran = false;
    before(turns);
    for (unsigned thread : turns) {
      if (block.fibers[thread].state != State::ready) continue;
      enter(thread);
      resume(thread);
      if (!block.error.empty()) return;
      ran = true;
    }
    if (!ran && !meet_somewhere()) {
      block.error = whereabouts();
      return;
    }
  }
}

// From inside a kernel: what lane `from` of the same warp shows. All lanes of the warp take part.
template <typename Value>
Value exchange(unsigned mask, Value value, unsigned from, const Site& site) {
  static_assert(sizeof(Value) <= sizeof(unsigned long long));
  if (mask != 0xffffffffu) fail(text(site) + ": not all lanes of the warp are asked to take part");
  Fiber& fiber = block.fibers[block.current];
  unsigned turn = fiber.exchanges++ % 2;
  memcpy(&fiber.shown[turn], &value, sizeof value);
  unsigned first = block.current / kWarp * kWarp;
  give_way(State::at_warp_barrier, site);
  memcpy(&value, &block.fibers[first + from].shown[turn], sizeof value);
  return value;
}

}  // namespace cuda_host
