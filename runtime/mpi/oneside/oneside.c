/* Puts, waits and teams on mapped heaps: see oneside.h. */
#include "runtime/mpi/oneside/oneside_memory.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"

tristar_status tsi_oneside_map(tsi_env *env, int32_t pe, int32_t pes, int32_t flags, char *const *base,
                               double seconds, tsi_oneside **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_oneside, port, 1);
  TSI_TRY(TSI_ALLOC_IN(port, port->heap.base, pes));
  memcpy(port->heap.base, base, (size_t)pes * sizeof *base);
  port->env = env;
  port->heap.pe = pe;
  port->heap.pes = pes;
  port->heap.flags = flags;
  port->seconds = seconds;
  port->window = MPI_WIN_NULL;
  *out = tsi_take(&port);
  return TRISTAR_OK;
}

const tsi_symmetric_heap *tsi_oneside_heap(const tsi_oneside *port) {
  return &port->heap;
}
double tsi_oneside_seconds(const tsi_oneside *port) {
  return port->seconds;
}

static char *data_of(const tsi_oneside *port, int32_t pe) {
  return port->heap.base[pe] + tsi_heap_data(port->heap.flags);
}
static _Atomic(int32_t) *flag_of(const tsi_oneside *port, int32_t pe, int32_t flag) {
  return (_Atomic(int32_t) *)(void *)(port->heap.base[pe] + TSI_HEAP_FLAGS) + flag;
}
static tsi_heap_control *control_of(const tsi_oneside *port, int32_t pe) {
  return (tsi_heap_control *)(void *)port->heap.base[pe];
}
static _Atomic(int32_t) *word(int32_t *at) {
  return (_Atomic(int32_t) *)at;
}

void *tsi_oneside_data(const tsi_oneside *port) {
  return data_of(port, port->heap.pe);
}

/* ---- Puts ---------------------------------------------------------------------------------------------- */

void tsi_oneside_put(tsi_oneside *port, int32_t pe, size_t to, const void *from, size_t bytes) {
  if (bytes > 0) memcpy(data_of(port, pe) + to, from, bytes);
}

void tsi_oneside_signal(tsi_oneside *port, int32_t pe, int32_t flag, int32_t epoch) {
  atomic_store_explicit(flag_of(port, pe, flag), epoch, memory_order_release);
}

void tsi_oneside_put_signal(tsi_oneside *port, int32_t pe, size_t to, const void *from, size_t bytes,
                            int32_t flag, int32_t epoch) {
  tsi_oneside_put(port, pe, to, from, bytes);
  tsi_oneside_signal(port, pe, flag, epoch);
}

void tsi_oneside_get(const tsi_oneside *port, int32_t pe, size_t from, void *to, size_t bytes) {
  if (bytes > 0) memcpy(to, data_of(port, pe) + from, bytes);
}

void tsi_oneside_quiet(tsi_oneside *port) {
  (void)port;
  atomic_thread_fence(memory_order_seq_cst);
}

/* ---- Failures ------------------------------------------------------------------------------------------ */

void tsi_oneside_stop(tsi_oneside *port, int32_t peer, int32_t flag, int32_t epoch) {
  for (int32_t pe = 0; pe < port->heap.pes; pe++) {
    tsi_heap_control *control = control_of(port, pe);
    int32_t nobody = 0;
    if (!atomic_compare_exchange_strong(word(&control->claimed), &nobody, 1)) continue;
    control->by = port->heap.pe;
    control->peer = peer;
    control->flag = flag;
    control->epoch = epoch;
    atomic_store_explicit(word(&control->stopped), 1, memory_order_release);
  }
}

bool tsi_oneside_stopped(const tsi_oneside *port) {
  return atomic_load_explicit(word(&control_of(port, port->heap.pe)->stopped), memory_order_acquire) != 0;
}

tristar_status tsi_oneside_check(const tsi_oneside *port) {
  const tsi_heap_control *control = control_of(port, port->heap.pe);
  if (!tsi_oneside_stopped(port)) return TRISTAR_OK;
  TSI_FAIL(port->env, TRISTAR_ERR_RUNTIME,
           "PE %d waited more than %g seconds for PE %d (flag %d, epoch %d): it ended, or it got no core",
           control->by, port->seconds, control->peer, control->flag, control->epoch);
}

/* ---- Waits --------------------------------------------------------------------------------------------- */

#define YIELDS 200
#define NAP_NANOSECONDS 20000

/* Yields the core; sleeps if the wait is long. */
static void pause_waiting(int turn) {
  static const struct timespec nap = {0, NAP_NANOSECONDS};
  if (turn < YIELDS)
    sched_yield();
  else
    (void)nanosleep(&nap, NULL);
}

bool tsi_oneside_test(const tsi_oneside *port, int32_t flag, int32_t epoch) {
  return tsi_heap_reached(atomic_load_explicit(flag_of(port, port->heap.pe, flag), memory_order_acquire),
                          epoch);
}

tristar_status tsi_oneside_wait(tsi_oneside *port, int32_t peer, int32_t flag, int32_t epoch) {
  double begin = 0;
  for (int turn = 0; !tsi_oneside_test(port, flag, epoch); turn = turn < YIELDS ? turn + 1 : turn) {
    if (tsi_oneside_stopped(port)) return tsi_oneside_check(port);
    if (turn == 0)
      begin = tsi_clock();
    else if (tsi_clock() - begin > port->seconds)
      tsi_oneside_stop(port, peer, flag, epoch);
    pause_waiting(turn);
  }
  return TRISTAR_OK;
}

tristar_status tsi_oneside_meet(tsi_oneside *port, const tsi_oneside_team *team, int32_t flag,
                                int32_t epoch) {
  const int32_t mine = (port->heap.pe - team->first) / team->stride;
  for (int32_t k = 0; k < team->count; k++)
    tsi_oneside_signal(port, tsi_oneside_team_pe(team, k), flag + mine, epoch);
  for (int32_t k = 0; k < team->count; k++)
    TSI_TRY(tsi_oneside_wait(port, tsi_oneside_team_pe(team, k), flag + k, epoch));
  return TRISTAR_OK;
}
