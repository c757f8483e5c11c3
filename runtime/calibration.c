/* Which calibration is in use, and what follows from it: see calibration.h. */
#include "runtime/calibration.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/variables.h"
#include "runtime/topology.h"

#define TASKS_OF_FLOOR 16
#define FLOOR_LEAST 0.1e6
#define FLOOR_STEPS 5 /* powers of two above it */

double tsi_calibration_floor(double task_microseconds, double read_gbps_one) {
  const double bytes = TASKS_OF_FLOOR * task_microseconds * read_gbps_one * 1e3;
  double floor = FLOOR_LEAST;
  for (int step = 0; step < FLOOR_STEPS && bytes * bytes > 2 * floor * floor; step++) floor *= 2;
  return floor;
}

void tsi_calibration_init(tristar_calibration *calibration) {
  memset(calibration, 0, sizeof *calibration);
  calibration->source = TRISTAR_CALIBRATION_DEFAULTS;
  calibration->task_microseconds = 1.8;
  calibration->read_gbps_one = 15;
  calibration->floor_bytes =
      tsi_calibration_floor(calibration->task_microseconds, calibration->read_gbps_one);
}

void tsi_calibration_load(tristar_t *ts, const char *chosen) {
  tristar_calibration *c = &ts->calibration;
  char why[TSI_MESSAGE_SIZE];
  tsi_calibration_init(c);
  if (chosen == NULL) chosen = tsi_variable(TSI_VARIABLE_CALIBRATION);
  const bool named = chosen != NULL && *chosen != '\0';
  if (named && strcmp(chosen, "off") == 0) return;
  const bool fits = named ? (size_t)snprintf(c->path, sizeof c->path, "%s", chosen) < sizeof c->path
                          : tsi_calibration_path(c->path, sizeof c->path);
  if (!fits) {
    tsi_log(&ts->env, TRISTAR_LOG_WARNING, "calibration: the name of its file is too long: %.60s...",
            c->path);
    c->path[0] = '\0';
    return;
  }
  const tristar_status status = tsi_calibration_read(c->path, c, why, sizeof why);
  if (status == TRISTAR_OK)
    c->source = TRISTAR_CALIBRATION_FILE;
  else /* that there is none is common */
    tsi_log(&ts->env, status == TRISTAR_ERR_IO && !named ? TRISTAR_LOG_DEBUG : TRISTAR_LOG_WARNING,
            "calibration: %s; default figures are taken", why);
}

tristar_calibration tsi_calibration_now(tristar_t *ts) {
  pthread_mutex_lock(&ts->lock);
  const tristar_calibration calibration = ts->calibration;
  pthread_mutex_unlock(&ts->lock);
  return calibration;
}

tristar_status tsi_calibration_describe(tristar_t *ts, tristar_calibration *calibration) {
  tristar_status status = TRISTAR_OK;
  tsi_machine machine;
  TSI_TRY(tsi_topology_need(ts));
  tsi_topology_describe(ts, &machine);
  calibration->cores = machine.cores;
  calibration->numa_nodes = machine.numa_nodes;
  calibration->l2_bytes = machine.l2_bytes;
  calibration->l3_bytes = machine.l3_bytes;
  calibration->l3_cores = machine.l3_cores;
out:
  return status;
}

/* What disturbed the measurement, and what to do. */
static void warn_of_load(tsi_env *env, const tsi_calibration_quality *q) {
  char others[96] = "";
  if (q->other_cores >= 0)
    snprintf(others, sizeof others, ", and other processes used %.1f core%s meanwhile", q->other_cores,
             q->other_cores < 1.05 && q->other_cores >= 0.95 ? "" : "s");
  tsi_log(env, TRISTAR_LOG_WARNING,
          "calibration: the figures cannot be trusted: the best of %d measurements differ by %.0f %%%s; "
          "calibrate again "
          "when nothing else runs, for they decide on the chunks of later plans",
          q->attempts, 100 * q->spread, others);
}

tristar_status tsi_calibrate(tristar_t *ts, tristar_calibration *out, tsi_calibration_quality *quality) {
  tristar_status status = TRISTAR_OK;
  tristar_calibration measured;
  tsi_calibration_init(&measured);
  const tristar_calibration before = tsi_calibration_now(ts);
  memcpy(measured.path, before.path, sizeof measured.path);
  if (measured.path[0] != '\0') TSI_TRY(tsi_calibration_try(&ts->env, measured.path)); /* before the work */
  TSI_TRY(tsi_calibration_measure(ts, &measured, quality));
  TSI_TRY(tsi_calibration_round(&ts->env, &measured));
  measured.source = TRISTAR_CALIBRATION_MEASURED;
  if (measured.path[0] != '\0') TSI_TRY(tsi_calibration_write(&ts->env, &measured));
  pthread_mutex_lock(&ts->lock);
  ts->calibration = measured;
  pthread_mutex_unlock(&ts->lock);
  if (!quality->trusted) warn_of_load(&ts->env, quality);
  if (out != NULL) *out = measured;
out:
  return status;
}

tristar_status tristar_calibrate(tristar_t *ts, tristar_calibration *out) {
  tsi_calibration_quality quality;
  if (ts == NULL) return TSI_NULL(ts);
  return tsi_answer(&ts->env, tsi_calibrate(ts, out, &quality));
}

tristar_status tristar_get_calibration(tristar_t *ts, tristar_calibration *calibration) {
  tristar_status status = TRISTAR_OK;
  if (ts == NULL) return TSI_NULL(ts);
  if (calibration == NULL) TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT, "calibration is NULL");
  *calibration = tsi_calibration_now(ts);
  if (calibration->cores == 0) /* the defaults know nothing of the machine */
    TSI_TRY(tsi_calibration_describe(ts, calibration));
out:
  return tsi_answer(&ts->env, status);
}
