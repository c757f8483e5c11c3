/* `tristar calibrate`: measures the machine and keeps the figures for all later plans. */
#include <stdio.h>

#include "drivers/commands.h"
#include "drivers/console.h"
#include "drivers/report.h"
#include "runtime/context/context.h"
#include "runtime/machine/calibration.h"

static void print_quality(const tsi_calibration_quality *q) {
  char others[64] = "";
  if (q->other_cores >= 0)
    snprintf(others, sizeof others, "; %.2f cores used by other processes", q->other_cores);
  tsi_report("measured", "%s; the best two differ by %.1f %%%s", tsi_text_many(q->attempts, "time"),
             100 * q->spread, others);
  if (!q->trusted) tsi_report("", "not to be trusted: calibrate again when nothing else runs");
}

/* floor_before: the least chunk of plans until now. */
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
  tsi_report("chunks", "of %s and more: about what one core reads while 16 tasks pass",
             tsi_text_bytes(c->floor_bytes));
  if (c->floor_bytes != floor_before)
    tsi_report("", "until now of %s and more: later plans give results with other roundings",
               tsi_text_bytes(floor_before));
  print_quality(q);
  if (c->path[0] != '\0')
    tsi_report("written", "%s", c->path);
  else
    tsi_report("", "not written: the calibration is off");
}

static void add_quality(cJSON *object, const tsi_calibration_quality *q) {
  cJSON_AddBoolToObject(object, "trusted", q->trusted);
  tsi_json_add_number(object, "attempts", q->attempts);
  tsi_json_add_number(object, "spread", q->spread);
  if (q->other_cores >= 0) tsi_json_add_number(object, "other_cores", q->other_cores);
}

int tsi_command_calibrate(const tsi_settings *settings) {
  tsi_session session, *s = &session;
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
  if (ok) tsi_json_add_number(object, "floor_bytes_before", before.floor_bytes);
  tsi_json_write(s, object);
  return tsi_session_close(s);
}
