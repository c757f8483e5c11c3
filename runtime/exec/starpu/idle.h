/* Sleep of idle workers: between solves StarPU's workers take no cores from the rest of the program.
 *
 * StarPU's workers poll for tasks. Where TriStar has started StarPU, a thread of ours looks once a
 * millisecond whether there is anything to do; at the start, and when two looks in a row find nothing, a
 * progression hook is registered, which StarPU calls in every turn of an idle worker, and in which the
 * workers wait on a condition variable. Who submits tasks for TriStar rouses them first; tasks of the program
 * are found by the next look. Where StarPU is borrowed none of this runs.
 *
 * Workers that doze have a hook at all times: one that finds nothing to run for some turns naps for a tenth
 * of a millisecond, though others work, and looks again. So it leaves its core to other programs during
 * solves too. While workers are held awake, they nap as well, but after more turns.
 *
 * Reads   the number of tasks that StarPU has and that have not ended.
 * Writes  StarPU's table of progression hooks. All data is static, as StarPU is: a process has at most one.
 * Invariants
 *   - the hook is registered while workers are asleep only, unless they doze: a hook costs StarPU some locks,
 * in every turn of every idle worker, and solves that follow each other should not pay for it
 *   - no worker sleeps on while tasks are submitted (for longer than a millisecond, if they are not ours; 10
 * just after it was dismissed, when the thread may still take its long nap), nor while anybody holds it
 * awake, but for those who hold it and have dismissed it for a while
 *   - nothing depends on it but time: without the thread, or without a place for the hook, workers poll
 *   - a worker wakes up now and then even if nobody rouses it, for what else StarPU may want of it */
#pragma once

#include "runtime/base/env.h"

/* Starts the thread; StarPU must run. doze: idle workers nap while others work. Not twice without a
 * tsi_idle_stop. What fails goes to the log. */
void tsi_idle_start(tsi_env *env, bool doze);
/* Wakes the workers, for good; before starpu_shutdown. Does nothing where the thread does not run. */
void tsi_idle_stop(void);
/* Ends the thread, if it still waits for StarPU's table of hooks; after starpu_shutdown, when no worker reads
 * it. */
void tsi_idle_end(void);

/* Tasks are about to be submitted: the workers wake up. From any thread; cheap while they are awake. */
void tsi_idle_rouse(void);

/* The calling worker has a task: it does not nap soon. */
void tsi_idle_worked(void);

/* A task for one worker alone is about to be submitted; until tsi_idle_call_ended it does not count as
 * something to do. When it is submitted, tsi_idle_call: its worker wakes up, or looks once more before it
 * sleeps; the others sleep on. From any thread. */
void tsi_idle_call_begins(void);
void tsi_idle_call(int worker);
void tsi_idle_call_ended(void);
/* Are there tasks that run or could run, but for those of calls? */
bool tsi_idle_has_others(void);

/* From here to the same number of tsi_idle_release workers stay awake though there may be no tasks: they are
 * needed, to advance messages. From any thread. */
void tsi_idle_hold(void);
void tsi_idle_release(void);
/* From here to the same number of tsi_idle_recall workers that are held awake may sleep all the same: threads
 * of the program move data between processes, and want the cores. From any thread. */
void tsi_idle_dismiss(void);
void tsi_idle_recall(void);

/* In the child of a fork(): what holds workers awake, or has dismissed them, is the parent's. */
void tsi_idle_forget(void);

/* StarPU runs. Registers a progression hook that stays until the program ends, unless *exists says that it is
 * there already. While it has nothing to do it calls tsi_idle_give_way; so no further hook
 * is needed for that. without: what comes of it if StarPU has no place for the hook; that goes to the log. */
void tsi_idle_add_hook(tsi_env *env, unsigned (*hook)(void *), _Atomic(bool) *exists, const char *without);
/* In an idle worker: sleeps, if workers are to sleep, else lets another thread have the core. A progression
 * hook itself: the argument is not read, the worker may block. */
unsigned tsi_idle_give_way(void *arg);

/* Are the workers asleep, or about to be? For tests. */
bool tsi_idle_asleep(void);
