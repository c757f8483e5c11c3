/* Fibers of the emulator: stacks of their own, switched without a system call on x86-64 and aarch64, by
 * ucontext elsewhere, or where TSI_FIBER_UCONTEXT is defined. Each switch is announced to the sanitizers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>

#if defined __has_feature
#define FIBER_FEATURE(name) __has_feature(name)
#else
#define FIBER_FEATURE(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || FIBER_FEATURE(address_sanitizer)
#define FIBER_ASAN 1
#include <sanitizer/common_interface_defs.h>
#else
#define FIBER_ASAN 0
#endif
/* Files that include this one are compiled without the thread sanitizer. TSI_FIBER_TSAN is defined if its
 * runtime is linked. */
#ifdef TSI_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#define FIBER_TSAN 1
#else
#define FIBER_TSAN 0
#endif
#if !defined TSI_FIBER_UCONTEXT && !(defined __x86_64__ || defined __aarch64__)
#define TSI_FIBER_UCONTEXT
#endif

#ifdef TSI_FIBER_UCONTEXT
#include <ucontext.h>
typedef ucontext_t machine_context;
static inline void switch_context(machine_context *from, machine_context *to) {
  swapcontext(from, to);
}
#elif defined __x86_64__
/* A context is the top of the stack, which holds the address to continue at. The code jumps instead of
 * returning, because the processor would predict the return address of the previous fiber. The caller may
 * use 128 bytes below its stack pointer. */
typedef void *machine_context;
__attribute__((always_inline)) static inline void switch_context(machine_context *from, machine_context *to) {
  void *next = *to;
  asm volatile("leaq -128(%%rsp), %%rsp\n\t"
               "pushq %%rbp\n\t"
               "leaq 1f(%%rip), %%rax\n\t"
               "pushq %%rax\n\t"
               "movq %%rsp, (%0)\n\t"
               "movq %1, %%rsp\n\t"
               "popq %%rax\n\t"
               "jmp *%%rax\n"
               "1:\n\t"
               "popq %%rbp\n\t"
               "leaq 128(%%rsp), %%rsp"
               : "+D"(from), "+S"(next)
               :
               : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
                 "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                 "xmm12", "xmm13", "xmm14", "xmm15",
#ifdef __AVX512F__
                 "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
                 "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",
                 "k7",
#endif
                 "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7", "st", "st(1)", "st(2)", "st(3)",
                 "st(4)", "st(5)", "st(6)", "st(7)", "memory", "cc");
}
#else
/* A context is the top of the stack, which holds the registers that a call preserves. */
typedef void *machine_context;
extern "C" void tsi_fiber_switch(void **from, void *to);
static inline void switch_context(machine_context *from, machine_context *to) {
  tsi_fiber_switch(from, *to);
}
#endif

/* What a fiber that has ended leaves for reuse. Most blocks of a grid begin after others have ended, and
 * the thread sanitizer creates fibers slowly. */
struct fiber_remains {
  std::unique_ptr<char[]> stack;
  size_t size = 0;      /* used bytes of the stack */
  void *tsan = nullptr; /* handle of the fiber in the thread sanitizer */
};

class fiber {
public:
  /* Makes a fiber that runs entry(arg) at its first switch. entry must end with leave(). */
  fiber(void (*entry)(void *arg), void *arg);
  ~fiber();
  fiber(const fiber &) = delete;
  fiber &operator=(const fiber &) = delete;

  void enter();                /* called by the owner: runs the fiber until it switches back */
  void back();                 /* called by the fiber: returns from enter() */
  void leave();                /* called by the fiber: returns from enter() for the last time */
  bool stack_is_whole() const; /* the stack pointer is within the stack; after leave(), also end_is_whole() */
  bool end_is_whole() const;   /* the far end of the stack was not overwritten */

private:
  static void begin();
  static fiber *starting;               /* the fiber that enter() starts; begin() reads it */
  static constexpr size_t CANARIES = 8; /* words at the far end of the stack */
  machine_context here{}, caller{};
  fiber_remains own;
  bool left = false;
#if FIBER_TSAN
  void *tsan_caller = nullptr;
#endif
#if FIBER_ASAN
  void *fake = nullptr, *fake_caller = nullptr; /* the address sanitizer's stacks of local variables */
  const void *caller_stack = nullptr;           /* stack of the caller of enter() */
  size_t caller_size = 0;
#endif
  void (*entry)(void *);
  void *arg;
};

inline void fiber::enter() {
  starting = this;
#if FIBER_TSAN
  tsan_caller = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own.tsan, __tsan_switch_to_fiber_no_sync);
#endif
#if FIBER_ASAN
  __sanitizer_start_switch_fiber(&fake_caller, own.stack.get(), own.size);
#endif
  switch_context(&caller, &here);
#if FIBER_ASAN
  __sanitizer_finish_switch_fiber(fake_caller, nullptr, nullptr);
#endif
}

inline void fiber::back() {
#if FIBER_TSAN
  __tsan_switch_to_fiber(tsan_caller, __tsan_switch_to_fiber_no_sync);
#endif
#if FIBER_ASAN
  __sanitizer_start_switch_fiber(&fake, caller_stack, caller_size);
#endif
  switch_context(&here, &caller);
#if FIBER_ASAN
  __sanitizer_finish_switch_fiber(fake, &caller_stack, &caller_size);
#endif
}

/* While the fiber runs only the stack pointer is checked, because the far end is not in the cache. */
inline bool fiber::stack_is_whole() const {
#ifndef TSI_FIBER_UCONTEXT
  if (!left) return (uintptr_t)here >= (uintptr_t)(own.stack.get() + CANARIES * sizeof(uint64_t));
#endif
  return end_is_whole();
}
