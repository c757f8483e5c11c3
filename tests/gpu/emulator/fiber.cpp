/* Switching of fibers, see fiber.h. */
#include "tests/gpu/emulator/fiber.h"

#include <stdint.h>

#include <vector>

#if defined __has_feature
#define FIBER_FEATURE(name) __has_feature(name)
#else
#define FIBER_FEATURE(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || FIBER_FEATURE(address_sanitizer)
#define FIBER_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define FIBER_ASAN 0
#endif
/* This file is compiled without the thread sanitizer, whose runtime is linked where TSI_FIBER_TSAN says so.
 */
#ifdef TSI_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#define FIBER_TSAN 1
#else
#define FIBER_TSAN 0
#endif
#if !defined TSI_FIBER_UCONTEXT && !(defined __x86_64__ || defined __aarch64__)
#define TSI_FIBER_UCONTEXT
#endif

static constexpr size_t STACK_BYTES = (FIBER_ASAN || FIBER_TSAN ? 192 : 48) << 10;
static constexpr size_t CANARIES = 8;
static constexpr uint64_t CANARY = 0x5ca1ab1e0ddba11;

#ifdef TSI_FIBER_UCONTEXT
#include <ucontext.h>
typedef ucontext_t machine_context;
static void switch_context(machine_context *from, machine_context *to) {
  swapcontext(from, to);
}
#else
/* The registers that a call keeps lie on the stack; the context is where its top is. */
typedef void *machine_context;
extern "C" void tsi_fiber_switch(void **from, void *to);
static void switch_context(machine_context *from, machine_context *to) {
  tsi_fiber_switch(from, *to);
}
#endif
#if !defined TSI_FIBER_UCONTEXT && defined __x86_64__
static constexpr size_t SAVED_WORDS = 6;
asm(R"(
.text
.globl tsi_fiber_switch
.hidden tsi_fiber_switch
.type tsi_fiber_switch, @function
tsi_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tsi_fiber_switch, . - tsi_fiber_switch
)");
#elif !defined TSI_FIBER_UCONTEXT
static constexpr size_t SAVED_WORDS = 20;
asm(R"(
.text
.globl tsi_fiber_switch
.hidden tsi_fiber_switch
.type tsi_fiber_switch, %function
tsi_fiber_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size tsi_fiber_switch, . - tsi_fiber_switch
)");
#endif

/* What a fiber that ended leaves to the next one: most blocks of a grid come after others, and the thread
 * sanitizer is slow to make a thread. */
struct remains {
  std::unique_ptr<char[]> stack;
  void *tsan = nullptr; /* the thread sanitizer's name of the fiber */
};
static std::vector<remains> &spare_fibers() {
  static std::vector<remains> spare;
  return spare;
}

struct fiber_context {
  machine_context here{}, caller{};
  remains own;
  bool left = false;
  void *tsan_caller = nullptr;
  void *fake = nullptr, *fake_caller = nullptr; /* the address sanitizer's stacks of locals */
  const void *caller_stack = nullptr;           /* the stack of who calls enter */
  size_t caller_size = 0;
};

static fiber *starting; /* the one that enter switches to: a new one has no other way to know itself */

void fiber::begin() {
  fiber *self = starting;
#if FIBER_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &self->context->caller_stack, &self->context->caller_size);
#endif
  self->entry(self->arg);
  __builtin_trap(); /* entry ends by leave() */
}

fiber::fiber(void (*run)(void *), void *of) : context(new fiber_context), entry(run), arg(of) {
  fiber_context &c = *context;
  auto &spare = spare_fibers();
  if (spare.empty()) {
    c.own.stack.reset(new char[STACK_BYTES]);
#if FIBER_TSAN
    c.own.tsan = __tsan_create_fiber(0);
#endif
  } else {
    c.own = std::move(spare.back());
    spare.pop_back();
  }
  uint64_t *low = (uint64_t *)c.own.stack.get();
  for (size_t i = 0; i < CANARIES; i++) low[i] = CANARY;
#ifdef TSI_FIBER_UCONTEXT
  getcontext(&c.here);
  c.here.uc_stack.ss_sp = c.own.stack.get();
  c.here.uc_stack.ss_size = STACK_BYTES;
  c.here.uc_link = nullptr;
  makecontext(&c.here, begin, 0);
#else
  /* As if begin had been called by nobody and had switched away before its first instruction. */
  uint64_t *top = (uint64_t *)((uintptr_t)(c.own.stack.get() + STACK_BYTES) / 16 * 16);
#ifdef __x86_64__
  *--top = 0;
  *--top = (uint64_t)(uintptr_t)begin; /* taken by ret: the stack is then aligned as after a call */
  top -= SAVED_WORDS;
  for (size_t i = 0; i < SAVED_WORDS; i++) top[i] = 0;
#else
  top -= SAVED_WORDS;
  for (size_t i = 0; i < SAVED_WORDS; i++) top[i] = 0;
  top[11] = (uint64_t)(uintptr_t)begin; /* x30 */
#endif
  c.here = top;
#endif
}

fiber::~fiber() {
#if FIBER_ASAN
  __asan_unpoison_memory_region(context->own.stack.get(), STACK_BYTES);
#endif
#if FIBER_TSAN
  if (!context->left) { /* what it did before it was given up is past */
    void *here = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(context->own.tsan, 0);
    __tsan_switch_to_fiber(here, 0);
    __tsan_destroy_fiber(context->own.tsan);
  }
#endif
  if (context->left) spare_fibers().push_back(std::move(context->own));
}

void fiber::enter() {
  fiber_context &c = *context;
  starting = this;
#if FIBER_TSAN
  c.tsan_caller = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(c.own.tsan, __tsan_switch_to_fiber_no_sync);
#endif
#if FIBER_ASAN
  __sanitizer_start_switch_fiber(&c.fake_caller, c.own.stack.get(), STACK_BYTES);
#endif
  switch_context(&c.caller, &c.here);
#if FIBER_ASAN
  __sanitizer_finish_switch_fiber(c.fake_caller, nullptr, nullptr);
#endif
}

void fiber::back() {
  fiber_context &c = *context;
#if FIBER_TSAN
  __tsan_switch_to_fiber(c.tsan_caller, __tsan_switch_to_fiber_no_sync);
#endif
#if FIBER_ASAN
  __sanitizer_start_switch_fiber(&c.fake, c.caller_stack, c.caller_size);
#endif
  switch_context(&c.here, &c.caller);
#if FIBER_ASAN
  __sanitizer_finish_switch_fiber(c.fake, &c.caller_stack, &c.caller_size);
#endif
}

void fiber::leave() {
  fiber_context &c = *context;
  c.left = true;
#if FIBER_TSAN
  __tsan_switch_to_fiber(c.tsan_caller, __tsan_switch_to_fiber_no_sync);
#endif
#if FIBER_ASAN
  __sanitizer_start_switch_fiber(nullptr, c.caller_stack, c.caller_size);
#endif
  switch_context(&c.here, &c.caller);
  __builtin_trap();
}

bool fiber::stack_is_whole() const {
  const uint64_t *low = (const uint64_t *)context->own.stack.get();
  for (size_t i = 0; i < CANARIES; i++)
    if (low[i] != CANARY) return false;
  return true;
}
