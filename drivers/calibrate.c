/* `tristar calibrate`: measures the machine and keeps the figures for all later plans. */
#include <stdio.h>
#include <string.h>

#include "drivers/commands.h"
#include "drivers/console.h"
#include "drivers/report.h"

static void print_report(const tristar_calibration *c) {
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
  if (c->path[0] != '\0')
    tsi_report("written", "%s", c->path);
  else
    tsi_report("", "not written: the calibration is off");
}

int tsi_command_calibrate(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tristar_calibration c;
  const bool ok = tsi_session_open(s, settings, "calibration") &&
                  tsi_session_check(s, tristar_calibrate(s->ts, &c), "calibration");
  if (ok && !(settings->json != NULL && strcmp(settings->json, "-") == 0)) {
    tsi_console_clear();
    print_report(&c);
  }
  cJSON *object = tsi_json_status(s);
  if (ok) tsi_json_add_calibration(object, &c);
  tsi_json_write(s, object);
  return tsi_session_close(s);
}
