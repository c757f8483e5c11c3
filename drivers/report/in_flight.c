/* Solves in flight: see in_flight.h. */
#include "drivers/report/in_flight.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/median.h"

/* One of the solves in flight. */
typedef struct place {
  void *request; /* NULL: none */
  tristar_dense x;
  double begin;
} place;

/* latency: one for each solve. */
static bool run(tsi_session *s, const tsi_in_flight_calls *calls, place *places, int64_t solves,
                double *latency) {
  const int64_t count = s->settings->in_flight;
  bool ok = true;
  for (int64_t k = 0; k < solves + count; k++) {
    place *p = &places[k % count];
    if (p->request != NULL) {
      const tristar_status status = calls->wait(&p->request);
      latency[k - count] = tsi_now() - p->begin;
      if (ok) ok = tsi_session_check(s, status, s->name);
    }
    if (!ok || k >= solves) continue;
    p->begin = tsi_now();
    ok = tsi_session_check(s, calls->start(calls->context, p->x.values, &p->request), s->name);
  }
  return ok;
}

static bool check_bits(tsi_session *s, const place *places, uint64_t expected) {
  for (int64_t k = 0; k < s->settings->in_flight; k++) {
    const uint64_t checksum = tsi_checksum(&places[k].x);
    if (checksum != expected)
      return tsi_session_fail(s, TRISTAR_ERR_INTERNAL,
                              "%s: with %" PRId64 " solves in flight, one gave other bits (%016" PRIx64
                              ") than a solve alone (%016" PRIx64 "): a defect of TriStar",
                              s->name, s->settings->in_flight, checksum, expected);
  }
  return true;
}

bool tsi_in_flight_solve(tsi_session *s, const tsi_in_flight_calls *calls, const tristar_dense *x,
                         uint64_t checksum, tsi_in_flight *times) {
  const int64_t count = s->settings->in_flight, solves = s->settings->repeat;
  place *places = calloc((size_t)count, sizeof *places);
  double *latency = malloc((size_t)(solves > count ? solves : count) * sizeof *latency);
  bool ok = (places != NULL && latency != NULL) ||
            tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for %" PRId64 " solves", solves);
  if (ok) places[0].x = *x;
  for (int64_t k = 1; k < count && ok && x->values != NULL; k++)
    ok = tsi_dense_make(s, x->rows, x->cols, &places[k].x);
  ok = ok && run(s, calls, places, count, latency);
  const double begin = tsi_now();
  ok = ok && run(s, calls, places, solves, latency);
  times->solve_s = (tsi_now() - begin) / (double)solves;
  ok = ok && check_bits(s, places, checksum);
  if (ok) times->latency_s = tsi_median(latency, (size_t)solves);
  for (int64_t k = 1; k < count && places != NULL; k++) free(places[k].x.values);
  free(places);
  free(latency);
  return ok;
}
