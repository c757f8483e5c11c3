/* Records when and where each StarPU task ran, both of the program and of libraries.
 *
 * Before starpu_init, example_watch sets the scheduler that StarPU would have chosen, with hooks around each
 * task that record it.
 *
 * Reads   STARPU_SCHED.   Writes  the records of each worker, in the order in which its tasks ran.
 * Invariants: a worker writes only its own records; they are read when no task runs; records beyond the
 * capacity are left out.
 *
 * A separate header because other StarPU programs can use it unchanged. */
#ifndef TSI_DRIVERS_EXAMPLES_EXAMPLE_WATCH_H
#define TSI_DRIVERS_EXAMPLES_EXAMPLE_WATCH_H

#include <string.h>
#include <tristar_starpu.h>

#include "example.h"
#include "../draw/gantt.h"

typedef struct example_note {
  const struct starpu_codelet *codelet;
  const char *name;
  double start, end; /* Seconds of the clock. */
} example_note;

enum { EXAMPLE_NOTES = 100000 };
typedef struct example_notes { /* Of a worker. */
  int64_t count;
  double start; /* Start of the running task. */
  example_note *note;
} example_notes;

static example_notes example_noted[STARPU_NMAXWORKERS];
static struct starpu_sched_policy example_policy, example_chosen;
static int example_is_noting; /* Set and cleared while no task runs. */

static void example_before(struct starpu_task *task, unsigned context) {
  const int worker = starpu_worker_get_id();
  if (worker >= 0) example_noted[worker].start = example_seconds();
  if (example_chosen.pre_exec_hook) example_chosen.pre_exec_hook(task, context);
}

static void example_after(struct starpu_task *task, unsigned context) {
  const int worker = starpu_worker_get_id();
  if (worker >= 0 && example_is_noting) {
    example_notes *of = &example_noted[worker];
    const char *name = starpu_task_get_name(task);
    if (of->count < EXAMPLE_NOTES)
      of->note[of->count++] = (example_note){task->cl, name ? name : "task", of->start, example_seconds()};
  }
  if (example_chosen.post_exec_hook) example_chosen.post_exec_hook(task, context);
}

/* conf: from starpu_conf_init, for starpu_init. */
static inline void example_watch(struct starpu_conf *conf) {
  struct starpu_sched_policy **policies = starpu_sched_get_predefined_policies();
  const char *name = getenv("STARPU_SCHED");
  if (name == NULL) name = "lws";
  while (*policies && strcmp((*policies)->policy_name, name) != 0) policies++;
  if (*policies == NULL) example_die(name, "StarPU has no such scheduler");
  example_chosen = example_policy = **policies;
  example_policy.pre_exec_hook = example_before;
  example_policy.post_exec_hook = example_after;
  conf->sched_policy = &example_policy;
}

static inline void example_watch_begin(void) {
  for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++)
    example_noted[worker] =
        (example_notes){0, 0, example_allocate(EXAMPLE_NOTES, sizeof *example_noted[worker].note)};
  example_is_noting = 1;
}
/* The records stay until example_watch_free. */
static inline void example_watch_end(void) {
  example_is_noting = 0;
}
/* All records, with times relative to `from`; the caller frees them. kind: returns the kind of a task from
 * its codelet and name. */
static inline tsi_gantt_item *example_watch_items(double from, int (*kind)(const example_note *),
                                                  int64_t *count) {
  int64_t all = 0;
  for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++) all += example_noted[worker].count;
  tsi_gantt_item *item = example_allocate((size_t)all, sizeof *item);
  *count = all;
  for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++)
    for (int64_t k = example_noted[worker].count; k-- > 0;) {
      const example_note *note = &example_noted[worker].note[k];
      item[--all] =
          (tsi_gantt_item){(int)worker, kind(note), note->start - from, note->end - from, note->name};
    }
  return item;
}
static inline void example_watch_free(void) {
  for (int worker = 0; worker < STARPU_NMAXWORKERS; worker++) free(example_noted[worker].note);
}

#endif
