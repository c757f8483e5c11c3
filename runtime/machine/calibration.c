/* Chooses the calibration, and derives figures from it: see calibration.h. */
#include "runtime/machine/calibration.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/threads.h"
#include "runtime/base/variables.h"
#include "runtime/machine/topology.h"

void tsi_calibration_init(tristar_calibration *calibration) {
  memset(calibration, 0, sizeof *calibration);
  calibration->source = TRISTAR_CALIBRATION_DEFAULTS;
  calibration->task_microseconds = 1.8;
  calibration->read_gbps_one = 15;
  calibration->floor_bytes =
      tsi_calibration_floor(calibration->task_microseconds, calibration->read_gbps_one);
}

/* Sets the calibration. chosen: file, "off" or NULL, as in tristar_config. */
static void load_calibration(tsi_machine *machine, const char *chosen) {
  tristar_calibration *c = &machine->calibration;
  char why[TSI_MESSAGE_SIZE];
  tsi_calibration_init(c);
  if (chosen == NULL) chosen = tsi_variable(TSI_VARIABLE_CALIBRATION);
  const bool named = chosen != NULL && *chosen != '\0';
  if (named && strcmp(chosen, "off") == 0) return;
  const bool fits = named ? (size_t)snprintf(c->path, sizeof c->path, "%s", chosen) < sizeof c->path
                          : tsi_calibration_path(c->path, sizeof c->path);
  if (!fits) {
    tsi_log(machine->env, TRISTAR_LOG_WARNING, "calibration: the name of its file is too long: %.60s...",
            c->path);
    c->path[0] = '\0';
    return;
  }
  const tristar_status status = tsi_calibration_read(c->path, c, why, sizeof why);
  if (status == TRISTAR_OK)
    c->source = TRISTAR_CALIBRATION_FILE;
  else /* a missing file is common */
    tsi_log(machine->env, status == TRISTAR_ERR_IO && !named ? TRISTAR_LOG_DEBUG : TRISTAR_LOG_WARNING,
            "calibration: %s; default figures are taken", why);
}

tristar_status tsi_machine_init(tsi_env *env, tsi_machine *machine, const char *calibration) {
  *machine = (tsi_machine){.env = env};
  const tristar_status status = tsi_mutex_init(env, &machine->lock);
  if (status == TRISTAR_OK) load_calibration(machine, calibration);
  return status;
}

void tsi_machine_finish(tsi_machine *machine) {
  tsi_topology_release(machine);
  pthread_mutex_destroy(&machine->lock);
}

tristar_calibration tsi_calibration_now(tsi_machine *machine) {
  pthread_mutex_lock(&machine->lock);
  const tristar_calibration calibration = machine->calibration;
  pthread_mutex_unlock(&machine->lock);
  return calibration;
}

/* Logs the disturbance of the measurement, with advice. */
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

tristar_status tsi_calibrate(tsi_machine *machine, tsi_workers *workers, tristar_calibration *out,
                             tsi_calibration_quality *quality) {
  tristar_calibration measured;
  tsi_calibration_init(&measured);
  const tristar_calibration before = tsi_calibration_now(machine);
  memcpy(measured.path, before.path, sizeof measured.path);
  if (measured.path[0] != '\0')
    TSI_TRY(tsi_calibration_try(machine->env, measured.path)); /* before the measurements */
  TSI_TRY(tsi_calibration_measure(machine, workers, &measured, quality));
  TSI_TRY(tsi_calibration_round(machine->env, &measured));
  measured.source = TRISTAR_CALIBRATION_MEASURED;
  if (measured.path[0] != '\0') TSI_TRY(tsi_calibration_write(machine->env, &measured));
  pthread_mutex_lock(&machine->lock);
  machine->calibration = measured;
  pthread_mutex_unlock(&machine->lock);
  if (!quality->trusted) warn_of_load(machine->env, quality);
  if (out != NULL) *out = measured;
  return TRISTAR_OK;
}
