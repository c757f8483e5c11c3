/* Objects of the library in any order and with any options, on small random systems, compared with a dense
 * reference.
 *
 * An input is a list of decisions: its kind, two patterns, then calls. Its first byte decides whether it runs
 * with StarPU. It also selects the objects: factors, or triangles, preconditioners and Krylov methods. The
 * harness keeps a model of each object: the matrix of a factor, or none after a failed refactorization. From
 * the model it computes the right statuses of each call, and judges every result:
 *   - a status that is not OK must be one that the header names for this case, with a message
 *   - a requested object that is not returned is NULL; existing objects are unchanged
 *   - well-conditioned systems: refined solutions have small backward and forward errors, and so have plain
 *     solutions of dominant and of definite matrices; errors that the library returns agree with errors that
 *     the harness computes
 *   - all systems: a bound of the forward error holds; the same solve gives the same bits in any form
 *   - an allocation that fails gives MEMORY, and no memory is lost */
#include "tests/fuzz/api.h"

static tristar_t *serial, *tasks;
game *g;

void *keep(size_t size) {
  void *memory = calloc(1, size > 0 ? size : 1);
  if (memory == NULL || g->kept_count == (int)(sizeof g->kept / sizeof g->kept[0])) abort();
  return g->kept[g->kept_count++] = memory;
}

/* ---- Contexts ----------------------------------------------------------------------------------------- */

static tristar_t *make_context(int use_starpu) {
  tristar_config config;
  tristar_t *ts;
  tristar_config_init(&config);
  config.use_starpu = use_starpu;
  config.check = 1;
  config.calibration = "off";
  if (tristar_create(&config, &ts) != TRISTAR_OK) abort();
  return ts;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  g = calloc(1, sizeof *g);
  if (g == NULL) abort();
  serial = make_context(0);
  return 0;
}

/* The first input that needs StarPU starts it. */
static tristar_t *context_with_tasks(void) {
  tristar_starpu_info info;
  if (tasks != NULL) return tasks;
  tasks = make_context(1);
  if (tristar_get_starpu(tasks, &info) != TRISTAR_OK) abort();
  return tasks;
}

static size_t memory_held(tristar_t *ts) {
  tristar_memory_stats memory;
  tristar_get_memory(ts, &memory);
  return memory.current_bytes;
}

/* ---- Statuses ----------------------------------------------------------------------------------------- */

bool with_tasks(void) {
  return g->ts != serial;
}

void arm(void) {
  if (tristar_fail_allocation(g->ts, g->fail) != TRISTAR_OK) abort();
}

tristar_status outcome(const char *call, tristar_status status, unsigned right) {
  char message[512] = "";
  if (g->fail != 0 && status == TRISTAR_ERR_MEMORY) right |= BIT(TRISTAR_ERR_MEMORY);
  if (tristar_fail_allocation(g->ts, 0) != TRISTAR_OK) abort();
  if (status != TRISTAR_OK) tristar_get_error(g->ts, message, sizeof message);
  note("%s%s -> %s%s%s\n", call, g->fail ? " (an allocation fails)" : "", tristar_status_name(status),
       *message ? ": " : "", message);
  g->fail = 0;
  MUST(right & BIT(status), "%s gives %s", call, tristar_status_name(status));
  if (status == TRISTAR_OK) return status;
  MUST(*message != '\0', "%s fails without a message", call);
  MUST(strstr(message, "nan") == NULL || status == TRISTAR_ERR_NOT_FINITE || status == TRISTAR_ERR_ARGUMENT,
       "%s fails with a message about nan", call);
  return status;
}
/* Destroys any object, in any order. */
static void call_destroy(void) {
  const int slot = below(&g->in, SLOTS);
  switch (below(&g->in, g->solvers ? 5 : 3)) {
  case 0:
    tristar_analysis_destroy(&g->analysis[slot].handle);
    note("analysis destroyed\n");
    return;
  case 1:
    tristar_factor_destroy(&g->factor[slot].handle);
    note("factor destroyed\n");
    return;
  case 3:
    tristar_precond_destroy(&g->precond[slot].handle);
    note("preconditioner destroyed\n");
    return;
  case 4:
    tristar_krylov_destroy(&g->krylov[slot].handle);
    note("solver destroyed\n");
    return;
  default:
    destroy_plan(&g->plan[slot]);
    note("plan destroyed\n");
  }
}

/* ---- An input ------------------------------------------------------------------------------------------ */

static void begin(const uint8_t *data, size_t size) {
  memset(g, 0, sizeof *g);
  account_begin();
  g->in = (bytes){data, data + size};
  const unsigned kind = take(&g->in);
  const bool tasks_requested = kind > 223;
  g->solvers = (kind > 128 && kind < 136) || (kind > 232 && kind < 238);
  g->ts = tasks_requested ? context_with_tasks() : serial;
  note("%s\n", tasks_requested ? "with StarPU" : "serial");
  for (int k = 0; k < PATTERNS; k++) {
    pattern_make(&g->in, &g->pattern[k]);
    g->current[k] = keep(sizeof *g->current[k]);
    values_make(&g->in, &g->pattern[k], g->current[k]);
    if (k == 0 && chance(&g->in, 128)) { /* one system is enough for most */
      g->pattern[1] = g->pattern[0];
      g->pattern[1].view.ptr = &g->pattern[1].ptr;
      g->pattern[1].view.index = &g->pattern[1].index;
      g->current[1] = g->current[0];
      break;
    }
  }
}

static void end(void) {
  for (int k = 0; k < REQUESTS; k++)
    if (g->request[k].handle != NULL) finish_request(&g->request[k]);
  for (int k = 0; k < SLOTS; k++) {
    tristar_krylov_destroy(&g->krylov[k].handle);
    destroy_plan(&g->plan[k]);
    tristar_precond_destroy(&g->precond[k].handle);
    tristar_factor_destroy(&g->factor[k].handle);
    tristar_analysis_destroy(&g->analysis[k].handle);
  }
  for (int k = 0; k < g->kept_count; k++) free(g->kept[k]);
  g->kept_count = 0;
}

/* Call k of an input about factors. */
static void call_of_factors(int k) {
  static void (*const calls[])(void) = {
      call_solve, call_refined, call_solve_with, call_refactor, call_plan,    call_factor, call_analyze,
      call_start, call_wait,    call_condition,  call_residual, call_destroy, call_import, call_refined};
  calls[k % (int)(sizeof calls / sizeof calls[0])]();
}

/* Call k of an input about triangles, preconditioners and Krylov methods. */
static void call_of_solvers(int k) {
  static void (*const calls[])(void) = {
      call_precond_apply,   call_krylov_solve, call_precond,  call_krylov,     call_triangle,
      call_partitions,      call_plan,         call_solve,    call_precond_of, call_precond_update,
      call_krylov_change,   call_krylov_solve, call_refined,  call_solve_with, call_factor,
      call_krylov_residual, call_analyze,      call_refactor, call_start,      call_wait,
      call_condition,       call_residual,     call_destroy,  call_import};
  calls[k % (int)(sizeof calls / sizeof calls[0])]();
}

static void open_game(void) {
  if (g->solvers) {
    call_triangle();
    call_plan();
    call_precond();
    call_krylov();
    call_krylov_solve();
  } else {
    call_analyze();
    call_factor();
    call_plan();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  begin(data, size);
  const size_t before = memory_held(g->ts);
  open_game();
  for (int k = 0; k < CALLS_MOST && g->in.at < g->in.end; k++) {
    const unsigned choice = take(&g->in);
    if (choice > 240) g->fail = 1 + below(&g->in, 200);
    (g->solvers ? call_of_solvers : call_of_factors)((int)(choice % 240));
  }
  end();
  MUST(memory_held(g->ts) == before, "%zd bytes are left behind", (ssize_t)(memory_held(g->ts) - before));
  return 0;
}
