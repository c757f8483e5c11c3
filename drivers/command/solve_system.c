/* Systems of `tristar solve`: see solve.h. */
#include "drivers/command/solve.h"

#include <inttypes.h>
#include <stdlib.h>

#include "drivers/session/commands.h"
#include "runtime/base/median.h"

/* Calls tristar_FUNCTION with the plan, or tristar_distributed_FUNCTION with the distributed factor. Both
 * have the same arguments. Returns the status. */
#ifdef TSI_HAVE_MPI
#define CALL(z, function, ...)                                                                               \
  ((z)->distributed ? tristar_distributed_##function((z)->distributed, __VA_ARGS__)                          \
                    : tristar_##function((z)->s->plan, __VA_ARGS__))
#else
#define CALL(z, function, ...) tristar_##function((z)->s->plan, __VA_ARGS__)
#endif

static bool check(const tsi_solved_system *z, tristar_status status) {
  return tsi_session_check(z->s, status, z->s->name);
}

/* Return the given part of B and the requested part of X: all rows, or the rows of the paths. */
static const tristar_dense *given(const tsi_solved_system *z) {
  return z->paths.used ? &z->paths.b : &z->b;
}
static const tristar_dense *requested(const tsi_solved_system *z) {
  return z->paths.used ? &z->paths.x : &z->x;
}

/* Returns the leading dimension of B and X; ranks other than 0 have neither. */
static int64_t leading(const tsi_solved_system *z) {
  return z->b.rows > 0 ? z->b.rows : 1;
}

bool tsi_solved_system_make(tsi_solved_system *z) {
  const bool ok = tsi_rhs_make(z->s, &z->b) && tsi_dense_make(z->s, z->b.rows, z->b.cols, &z->x) &&
                  tsi_paths_make(z->s, &z->b, &z->paths);
  z->nrhs = z->b.cols;
  return ok;
}

uint64_t tsi_solved_system_checksum(const tsi_solved_system *z) {
  return tsi_checksum(requested(z));
}

bool tsi_solved_system_solve(tsi_solved_system *z) {
  const tristar_solve_options options = tsi_paths_options(tsi_session_op(z->s)->op, &z->paths);
  tristar_solve_result result = {0};
  const bool ok =
      check(z, CALL(z, solve_with, &options, z->nrhs, given(z)->values, requested(z)->values, &result));
  z->paths.share = result.share;
  return ok;
}

/* ---- In flight ----------------------------------------------------------------------------------------- */

/* One of the solves in flight. */
typedef struct place {
  bool started; /* if set, one of the two requests is in use */
  tristar_request_t *request;
#ifdef TSI_HAVE_MPI
  tristar_distributed_request_t *distributed;
#endif
  tristar_dense x;
  double begin;
} place;

static bool start(const tsi_solved_system *z, place *p) {
  const tristar_solve_options options = tsi_paths_options(tsi_session_op(z->s)->op, &z->paths);
  const void *b = given(z)->values;
  tristar_status status;
  p->begin = tsi_now();
#ifdef TSI_HAVE_MPI
  if (z->distributed != NULL)
    status =
        tristar_distributed_solve_start(z->distributed, &options, z->nrhs, b, p->x.values, &p->distributed);
  else
#endif
    status = tristar_solve_start(z->s->plan, &options, z->nrhs, b, p->x.values, &p->request);
  p->started = status == TRISTAR_OK;
  return check(z, status);
}

static tristar_status wait_for(place *p) {
  p->started = false;
#ifdef TSI_HAVE_MPI
  if (p->distributed != NULL) return tristar_distributed_solve_wait(&p->distributed, NULL);
#endif
  return tristar_wait(&p->request, NULL);
}

/* Runs the solves; latency[k] is the time of solve k. */
static bool run(const tsi_solved_system *z, place *places, int64_t solves, double *latency) {
  const int64_t count = z->s->settings->in_flight;
  bool ok = true;
  for (int64_t k = 0; k < solves + count; k++) {
    place *p = &places[k % count];
    if (p->started) {
      const tristar_status status = wait_for(p);
      latency[k - count] = tsi_now() - p->begin;
      if (ok) ok = check(z, status);
    }
    if (ok && k < solves) ok = start(z, p);
  }
  return ok;
}

static bool check_bits(const tsi_solved_system *z, const place *places) {
  const int64_t count = z->s->settings->in_flight;
  for (int64_t k = 0; k < count; k++) {
    const uint64_t checksum = tsi_checksum(&places[k].x);
    if (checksum != z->plain.checksum && !z->s->settings->atomic_sums)
      return tsi_session_fail(z->s, TRISTAR_ERR_INTERNAL,
                              "%s: with %" PRId64 " solves in flight, one gave other bits (%016" PRIx64
                              ") than a solve alone (%016" PRIx64 "): a defect of TriStar",
                              z->s->name, count, checksum, z->plain.checksum);
  }
  return true;
}

bool tsi_solved_system_solve_in_flight(tsi_solved_system *z) {
  tsi_session *s = z->s;
  const int64_t count = s->settings->in_flight, solves = s->settings->repeat;
  const tristar_dense *x = requested(z);
  if (!tsi_solved_system_solve(z)) return false;
  z->plain.checksum = tsi_solved_system_checksum(z);
  place *places = calloc((size_t)count, sizeof *places);
  double *latency = malloc((size_t)(solves > count ? solves : count) * sizeof *latency);
  bool ok = (places != NULL && latency != NULL) ||
            tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for %" PRId64 " solves", solves);
  if (ok) places[0].x = *x;
  for (int64_t k = 1; k < count && ok && x->values != NULL; k++)
    ok = tsi_dense_make(s, x->rows, x->cols, &places[k].x);
  ok = ok && run(z, places, count, latency);
  const double begin = tsi_now();
  ok = ok && run(z, places, solves, latency);
  z->plain.median_s = (tsi_now() - begin) / (double)solves;
  ok = ok && check_bits(z, places);
  if (ok) z->latency_s = tsi_median(latency, (size_t)solves);
  for (int64_t k = 1; k < count && places != NULL; k++) free(places[k].x.values);
  free(places);
  free(latency);
  return ok;
}

/* ---- Traces, refinement -------------------------------------------------------------------------------- */

bool tsi_solved_system_trace(tsi_solved_system *z) {
  const int64_t n = leading(z), repeat = z->s->settings->repeat;
  tsi_traced *t = &z->traced;
  bool ok = true;
  for (; t->all != NULL && ok && t->solves < repeat; t->solves++)
    ok = check(z, CALL(z, trace, tsi_session_op(z->s)->op, z->nrhs, z->b.values, n, z->x.values, n,
                       &t->all[t->solves]));
  return ok;
}

bool tsi_solved_system_refine(tsi_solved_system *z, bool condition) {
  const tristar_refine_options options = tsi_accuracy_options(z->s);
  const int64_t n = leading(z);
  z->accuracy.measured = check(z, CALL(z, solve_refined, tsi_session_op(z->s)->op, z->nrhs, z->b.values, n,
                                       z->x.values, n, &options, &z->accuracy.refined));
  if (!z->accuracy.measured) return false;
  tsi_accuracy_take_condition(z->s, &z->accuracy);
  return !condition || check(z, CALL(z, condition, &z->accuracy.rcond));
}

/* ---- Output -------------------------------------------------------------------------------------------- */

bool tsi_solved_system_write(tsi_solved_system *z) {
  if (z->paths.used) tsi_paths_select(&z->x, &z->paths);
  return tsi_solution_write(
      z->s, requested(z), "X of %s, A = %.300s (tristar solve, TriStar %s, %s precision)",
      tsi_session_op(z->s)->system, z->s->name, tristar_version(), z->s->precision->text);
}

void tsi_solved_system_json(const tsi_solved_system *z, cJSON *object) {
  const tsi_settings *settings = z->s->settings;
  cJSON_AddStringToObject(object, "op", tsi_session_op(z->s)->letter);
  TSI_JSON_NUMBERS(object, {"nrhs", (double)z->nrhs}, {"repeat", (double)settings->repeat},
                   {"in_flight", (double)settings->in_flight}, {"solve_s", z->plain.median_s});
  if (settings->in_flight > 1) cJSON_AddNumberToObject(object, "latency_s", z->latency_s);
  tsi_json_add_paths(object, &z->paths);
  if (z->accuracy.measured) tsi_accuracy_json(z->s, &z->accuracy, object);
  tsi_json_add_checksum(object, z->plain.checksum);
}

void tsi_solved_system_free(tsi_solved_system *z) {
#ifdef TSI_HAVE_MPI
  tristar_distributed_destroy(&z->distributed);
#endif
  free(z->b.values);
  free(z->x.values);
  tsi_paths_free(&z->paths);
  tsi_plot_trace_free(&z->traced);
}

int tsi_solve_check_words(const tsi_settings *settings) {
  const int status = tsi_check_rhs("solve", settings);
  if (status != TSI_EXIT_OK) return status;
  if (settings->repeat < settings->in_flight)
    return tsi_usage_error("solve", "--in-flight %" PRId64 " needs --repeat N with an N that is not smaller",
                           settings->in_flight);
  return tsi_timeline_check("solve", "gantt", settings->gantt);
}
