/* Tasks of an application that calls the library, for tests. */
#pragma once

#include <starpu.h>

#include "tests/support/check.h"

/* Flags that threads and tasks wait for. */
static inline void set_flag(volatile int *flag, int value) {
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}
static inline int get_flag(const volatile int *flag) {
  return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/* Submits a task; wait for it with starpu_task_wait. */
static inline struct starpu_task *submit(struct starpu_codelet *cl, void *arg) {
  struct starpu_task *task = starpu_task_create();
  task->cl = cl;
  task->cl_arg = arg;
  task->detach = 0;
  CHECK(starpu_task_submit(task) == 0);
  return task;
}
