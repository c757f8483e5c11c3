/* Fibers of the emulator: stacks of their own, switched without a system call on x86-64 and aarch64, by
 * ucontext elsewhere, or where TSI_FIBER_UCONTEXT is defined. The sanitizers are told of each switch. */
#pragma once

#include <stddef.h>

#include <memory>

struct fiber_context; /* where a fiber goes on */

class fiber {
public:
  /* A fiber that runs entry(arg) when it is first switched to. entry ends by leave(). */
  fiber(void (*entry)(void *arg), void *arg);
  ~fiber();
  fiber(const fiber &) = delete;
  fiber &operator=(const fiber &) = delete;

  void enter();                /* from the thread that made the fiber: runs it until it comes back */
  void back();                 /* from the fiber: to where enter was called */
  void leave();                /* the same for ever */
  bool stack_is_whole() const; /* nothing was written at the far end of the stack */

private:
  static void begin();
  std::unique_ptr<fiber_context> context;
  void (*entry)(void *);
  void *arg;
};
