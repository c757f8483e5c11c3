/* Sleep of idle workers: between solves StarPU's workers leave their cores to the rest of the program.
 *
 * StarPU's workers poll for tasks. If TriStar has started StarPU, a thread of TriStar checks once a
 * millisecond whether there are tasks. At the start, and when two checks in a row find none, it registers a
 * progression hook. StarPU calls this hook in every turn of an idle worker, and the worker waits in it on a
 * condition variable. Before TriStar submits tasks it wakes the workers; the next check finds tasks of the
 * program. All this is off if the program has started StarPU.
 *
 * With the option doze, the hook is always registered: a worker that finds no task in several turns naps for
 * a tenth of a millisecond, even if other workers have tasks. So it leaves its core to other programs during
 * solves, too. Workers that are held awake also nap, but after more turns.
 *
 * Reads   the number of StarPU's tasks that have not ended.
 * Writes  StarPU's table of progression hooks. All data is static, like StarPU, which exists once in a
 * process.
 * Invariants
 *   - without doze, the hook is registered only while workers sleep: a hook costs StarPU some locks in every
 *     turn of every idle worker, which would slow down a sequence of solves
 *   - no worker sleeps on while tasks are submitted: at most a millisecond for tasks of the program, and 10
 *     just after workers were dismissed, when the thread may still be in its long wait. No worker sleeps
 *     while a caller holds workers awake, except after tsi_idle_dismiss
 *   - only times depend on all this: without the thread, or without an entry for the hook, workers poll
 *   - a worker wakes up now and then by itself, because StarPU may need it for other things */
#pragma once

#include "runtime/base/env.h"

/* Starts the thread; StarPU must run. doze: idle workers nap while others work. A second call needs a
 * tsi_idle_stop before. Failures are logged. */
void tsi_idle_start(tsi_env *env, bool doze);
/* Wakes the workers permanently, before starpu_shutdown. Does nothing if the thread does not run. */
void tsi_idle_stop(void);
/* Ends the thread if it still waits for StarPU's table of hooks. Call it after starpu_shutdown, when no
 * worker reads the table. */
void tsi_idle_end(void);

/* Wakes the workers, before tasks are submitted. From any thread; cheap while they are awake. */
void tsi_idle_rouse(void);

/* Called in a worker that has a task, so that it does not nap soon. */
void tsi_idle_worked(void);

/* For a task for one particular worker. tsi_idle_call_begins: before the task is submitted; it does not count
 * as work until tsi_idle_call_ended. tsi_idle_call: after it is submitted; its worker wakes up, or checks
 * once more before it sleeps, and other workers sleep on. From any thread. */
void tsi_idle_call_begins(void);
void tsi_idle_call(int worker);
void tsi_idle_call_ended(void);
/* Whether there are tasks, apart from those of calls, that run or could run. */
bool tsi_idle_has_others(void);

/* Workers stay awake, even without tasks, until tsi_idle_release is called as often: they must advance
 * messages. From any thread. */
void tsi_idle_hold(void);
void tsi_idle_release(void);
/* Workers that are held awake may sleep nevertheless, until tsi_idle_recall is called as often: threads of
 * the program send data between processes, and need the cores. From any thread. */
void tsi_idle_dismiss(void);
void tsi_idle_recall(void);

/* In the child of a fork(): resets the counts, which belong to the parent. */
void tsi_idle_reset(void);

/* Registers a progression hook that stays until the program ends, unless *exists is true already. StarPU
 * runs. When the hook has nothing to do it calls tsi_idle_give_way, so no further hook is needed for
 * sleeping. without: the consequence if StarPU has no entry for the hook; it is logged. */
void tsi_idle_add_hook(tsi_env *env, unsigned (*hook)(void *), _Atomic(bool) *exists, const char *without);
/* In an idle worker: sleeps if workers are to sleep, else yields the core. It can be a progression hook
 * itself: the argument is not read, and it returns that the worker may block. */
unsigned tsi_idle_give_way(void *arg);

/* Whether the workers sleep, or are about to. For tests. */
bool tsi_idle_asleep(void);
