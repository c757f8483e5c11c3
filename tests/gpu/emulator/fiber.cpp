/* Fibers begin and end here, see fiber.h. */
#include "tests/gpu/emulator/fiber.h"

#include <vector>

#if FIBER_ASAN
#include <sanitizer/asan_interface.h>
#endif

static constexpr size_t STACK_BYTES = (FIBER_ASAN || FIBER_TSAN ? 192 : 48) << 10;
static constexpr uint64_t CANARY = 0x5ca1ab1e0ddba11;
/* Stacks begin at different offsets in a page. Otherwise the tops of all stacks would share the same cache
 * lines. */
static constexpr size_t COLOURS = 10, COLOUR_BYTES = 320;

#if !defined TSI_FIBER_UCONTEXT && !defined __x86_64__
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

fiber *fiber::starting;

static std::vector<fiber_remains> &spare_fibers() {
  static std::vector<fiber_remains> spare;
  return spare;
}

void fiber::begin() {
  fiber *self = starting;
#if FIBER_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &self->caller_stack, &self->caller_size);
#endif
  self->entry(self->arg);
  __builtin_trap(); /* entry must end with leave() */
}

fiber::fiber(void (*run)(void *), void *of) : entry(run), arg(of) {
  auto &spare = spare_fibers();
  if (spare.empty()) {
    static size_t made;
    own.stack.reset(new char[STACK_BYTES]);
    own.size = STACK_BYTES - made++ % COLOURS * COLOUR_BYTES;
#if FIBER_TSAN
    own.tsan = __tsan_create_fiber(0);
#endif
  } else {
    own = std::move(spare.back());
    spare.pop_back();
  }
  uint64_t *low = (uint64_t *)own.stack.get();
  for (size_t i = 0; i < CANARIES; i++) low[i] = CANARY;
#ifdef TSI_FIBER_UCONTEXT
  getcontext(&here);
  here.uc_stack.ss_sp = own.stack.get();
  here.uc_stack.ss_size = own.size;
  here.uc_link = nullptr;
  makecontext(&here, begin, 0);
#else
  /* Makes a stack as if `begin` had switched away before its first instruction. */
  uint64_t *top = (uint64_t *)((uintptr_t)(own.stack.get() + own.size) / 16 * 16);
#ifdef __x86_64__
  *--top = 0; /* the return address, so that the stack is aligned as after a call */
  *--top = (uint64_t)(uintptr_t)begin;
#else
  top -= SAVED_WORDS;
  for (size_t i = 0; i < SAVED_WORDS; i++) top[i] = 0;
  top[11] = (uint64_t)(uintptr_t)begin; /* register x30 */
#endif
  here = top;
#endif
}

fiber::~fiber() {
#if FIBER_ASAN
  __asan_unpoison_memory_region(own.stack.get(), STACK_BYTES);
#endif
#if FIBER_TSAN
  if (!left) { /* all that the fiber did happened before its destruction */
    void *current = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own.tsan, 0);
    __tsan_switch_to_fiber(current, 0);
    __tsan_destroy_fiber(own.tsan);
  }
#endif
  if (left) spare_fibers().push_back(std::move(own));
}

void fiber::leave() {
  left = true;
#if FIBER_TSAN
  __tsan_switch_to_fiber(tsan_caller, __tsan_switch_to_fiber_no_sync);
#endif
#if FIBER_ASAN
  __sanitizer_start_switch_fiber(nullptr, caller_stack, caller_size);
#endif
  switch_context(&here, &caller);
  __builtin_trap();
}

bool fiber::end_is_whole() const {
  const uint64_t *low = (const uint64_t *)own.stack.get();
  for (size_t i = 0; i < CANARIES; i++)
    if (low[i] != CANARY) return false;
  return true;
}
