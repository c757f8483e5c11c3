/* `tristar calibrate`: measures the machine and saves the figures for all later plans. */
#include <stdio.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/report/report.h"
#include "runtime/context/context.h"
#include "runtime/machine/calibration.h"
#include "runtime/exec/starpu/devices.h"

static void print_quality(const tsi_calibration_quality *q) {
  char others[64] = "";
  if (q->other_cores >= 0)
    snprintf(others, sizeof others, "; %.2f cores used by other processes", q->other_cores);
  tsi_report("measured", "%s; the best two differ by %.1f %%%s", tsi_text_many(q->attempts, "time"),
             100 * q->spread, others);
  if (!q->trusted) tsi_report("", "unreliable: calibrate again on an idle machine");
}

/* Prints GPUs and their buses. StarPU measures the buses when it first starts on a machine with GPUs. */
static void print_devices(void) {
  const int devices = tsi_devices_count(NULL);
  if (devices == 0)
    tsi_report("devices", "none%s",
               tsi_devices.name ? ": StarPU has no worker of a GPU" : ": this build drives no GPUs");
  for (int d = 0; d < devices; d++) {
    const tsi_device_facts facts = tsi_device_describe(d);
    char bus[120] = "no bus between it and main memory";
    if (facts.up > 0)
      snprintf(bus, sizeof bus, "its bus %.1f GB/s up, %.1f GB/s down, %s for a transfer", 1e-9 * facts.up,
               1e-9 * facts.down, tsi_text_seconds(facts.seconds));
    tsi_report(d == 0 ? "devices" : "", "%s: %s", facts.name, bus);
  }
}

static void add_devices(cJSON *object) {
  cJSON *list = cJSON_AddArrayToObject(object, "devices");
  const int devices = tsi_devices_count(NULL);
  for (int d = 0; d < devices; d++) {
    const tsi_device_facts facts = tsi_device_describe(d);
    cJSON *row = tsi_json_add_item(list);
    cJSON_AddStringToObject(row, "name", facts.name);
    TSI_JSON_NUMBERS(row, {"memory_bytes", facts.memory}, {"up_gbps", 1e-9 * facts.up},
                     {"down_gbps", 1e-9 * facts.down}, {"transfer_us", 1e6 * facts.seconds});
  }
}

/* floor_before: minimum chunk of plans before this calibration. */
static void print_report(const tristar_calibration *c, const tsi_calibration_quality *q,
                         double floor_before) {
  tsi_report_machine("machine", c);
  tsi_report("task", "%s: submitted and run by StarPU, on %s", tsi_text_seconds(1e-6 * c->task_microseconds),
             tsi_text_many(c->workers, "worker"));
  tsi_report("barrier", "%s from one level of %s to the next",
             tsi_text_seconds(1e-6 * c->barrier_microseconds), tsi_text_many(c->workers, "task"));
  if (c->read_gbps_all > 0)
    tsi_report("reading", "%.1f GB/s by one core, %.1f GB/s by %d", c->read_gbps_one, c->read_gbps_all,
               c->workers);
  else
    tsi_report("reading", "%.1f GB/s by one core", c->read_gbps_one);
  tsi_report("products", "%.1f GF/s by one core, of dense matrices", c->multiply_gflops_one);
  tsi_report("chunks", "of %s and more: about the bytes that one core reads in the time of 16 tasks",
             tsi_text_bytes(c->floor_bytes));
  if (c->floor_bytes != floor_before)
    tsi_report("", "before of %s and more: results of later plans have other rounding errors",
               tsi_text_bytes(floor_before));
  print_devices();
  print_quality(q);
  if (c->path[0] != '\0')
    tsi_report("written", "%s", c->path);
  else
    tsi_report("", "not written: the calibration is off");
}

static void add_quality(cJSON *object, const tsi_calibration_quality *q) {
  cJSON_AddBoolToObject(object, "trusted", q->trusted);
  TSI_JSON_NUMBERS(object, {"attempts", q->attempts}, {"spread", q->spread});
  if (q->other_cores >= 0) cJSON_AddNumberToObject(object, "other_cores", q->other_cores);
}

int tsi_command_calibrate(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  if (settings->cluster != NULL) return tsi_calibrate_cluster(settings);
  tristar_calibration c, before;
  tsi_calibration_quality quality;
  const bool ok =
      tsi_session_open(s, settings, "calibration") &&
      tsi_session_check(s, tristar_get_calibration(s->ts, &before), "calibration") &&
      tsi_session_check(s, tsi_calibrate(&s->ts->machine, &s->ts->workers, &c, &quality), "calibration");
  if (ok) tsi_session_check_workers(s, c.workers);
  if (ok && !settings->to_stdout) {
    tsi_console_clear();
    print_report(&c, &quality, before.floor_bytes);
  }
  cJSON *object = tsi_json_status(s);
  if (ok) tsi_json_add_calibration(object, &c);
  if (ok) add_quality(object, &quality);
  if (ok) add_devices(object);
  if (ok) cJSON_AddNumberToObject(object, "floor_bytes_before", before.floor_bytes);
  tsi_json_write(s, object);
  return tsi_session_close(s);
}
