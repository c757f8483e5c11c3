/* `tristar simulate`: times of solves on a node of cores and GPUs, by StarPU's simulation of the node.
 *
 * Each placing solves once, which copies factors to the GPUs, and then --repeat times. Times are from the
 * simulated clock, bytes from StarPU's counters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/platform.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"
#include "runtime/base/clock.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/profiling.h"
#include "runtime/exec/starpu/service.h"
#include "runtime/exec/starpu/simulation.h"
#include "runtime/context/context.h"
#include "tristar_device.h"

#define CORES 8 /* default of --workers */
enum { PLACES = 3 };

static const struct {
  tristar_place place;
  const char *name, *text;
} places[PLACES] = {{TRISTAR_PLACE_CPU, "cpu", "cores"},
                    {TRISTAR_PLACE_GPU, "gpu", "gpus"},
                    {TRISTAR_PLACE_AUTO, "auto", "placed"}};

typedef struct outcome {
  bool made;
  double first_s, solve_s; /* simulated seconds of the first solve; mean of the later solves */
  double error;            /* backward error of the latest x, before refinement */
  uint64_t checksum;
  tristar_plan_stats plan;
  int devices; /* number of devices with subtrees */
  tristar_device_stats device[TSI_PLATFORM_DEVICES];
  tsi_bus_bytes first[TSI_PLATFORM_DEVICES]; /* bytes per device in the first solve */
  tsi_bus_bytes later[TSI_PLATFORM_DEVICES]; /* bytes per device in all later solves together */
} outcome;

typedef struct simulation {
  tsi_settings settings; /* settings of the session */
  tsi_session session;
  const tsi_platform *platform;
  int cores, devices;
  tristar_dense b, x;
  outcome outcome[PLACES];
} simulation;

/* ---- Solves -------------------------------------------------------------------------------------------- */

/* Adds the bytes that crossed the buses since the last call; bytes NULL: drops them. */
static bool count_buses(tsi_session *s, const outcome *o, tsi_bus_bytes *bytes) {
  tsi_bus_bytes none;
  for (int d = 0; d < o->devices; d++)
    if (!tsi_session_check(
            s, tsi_profiling_add_bus(tsi_context_env(s->ts), o->device[d].worker, bytes ? &bytes[d] : &none),
            s->name))
      return false;
  return true;
}

static bool solve(simulation *m, double *seconds) {
  tsi_session *s = &m->session;
  const int64_t n = m->b.rows;
  const double begin = tsi_clock();
  const bool ok = tsi_session_check(
      s, tristar_solve(s->plan, TRISTAR_N, m->b.cols, m->b.values, n, m->x.values, n), s->name);
  *seconds = tsi_clock() - begin;
  return ok;
}

static bool solve_all(simulation *m, outcome *o) {
  tsi_session *s = &m->session;
  const double repeat = (double)m->settings.repeat;
  double seconds, begin;
  if (!count_buses(s, o, NULL) || !solve(m, &o->first_s) || !count_buses(s, o, o->first)) return false;
  begin = tsi_clock();
  for (int64_t k = 0; k < m->settings.repeat; k++)
    if (!solve(m, &seconds)) return false;
  o->solve_s = (tsi_clock() - begin) / repeat;
  return count_buses(s, o, o->later);
}

/* Checks x of the latest solve. */
static bool judge(simulation *m, outcome *o) {
  tsi_session *s = &m->session;
  const int64_t n = m->b.rows;
  o->checksum = tsi_checksum(&m->x);
  return tsi_session_check(
      s,
      tristar_residual(s->factor, TRISTAR_N, m->b.cols, m->b.values, n, m->x.values, n, NULL, n, &o->error),
      s->name);
}

/* Does StarPU simulate the whole node? It reduces numbers beyond its own limits without a message. */
static bool is_whole_node(simulation *m) {
  const int cores = tsi_starpu_cpu_workers(), devices = tsi_devices_count(NULL);
  return (cores == m->cores && devices == m->devices) ||
         tsi_session_fail(
             &m->session, TRISTAR_ERR_UNSUPPORTED,
             "StarPU simulates %d cores and %d GPUs of the %d and %d requested: it was configured "
             "with fewer (--enable-maxcpus, --enable-maxcudadev)",
             cores, devices, m->cores, m->devices);
}

static bool try_place(simulation *m, int number) {
  tsi_session *s = &m->session;
  outcome *o = &m->outcome[number];
  int before;
  m->settings.place = (int)places[number].place;
  if (!tsi_session_plan(s, m->b.cols) || !is_whole_node(m)) return false;
  o->plan = s->p;
  while (o->devices < TSI_PLATFORM_DEVICES &&
         tristar_plan_get_device(s->plan, o->devices, &o->device[o->devices]))
    o->devices++;
  bool ok = tsi_session_check(s, tsi_profiling_begin(tsi_context_env(s->ts), &before), s->name);
  if (ok) {
    ok = solve_all(m, o) && judge(m, o);
    tsi_profiling_end(before);
  }
  tristar_plan_destroy(&s->plan);
  o->made = ok;
  return ok && (o->error <= s->precision->tolerance ||
                tsi_session_fail(s, TRISTAR_ERR_ACCURACY, "%s: backward error %.1e with %s, more than %.0e",
                                 s->name, o->error, places[number].text, s->precision->tolerance));
}

static bool start_starpu(tsi_session *s) {
  double seconds = 0;
  if (!tsi_session_check(s, tsi_context_need_starpu(s->ts, &seconds), s->name)) return false;
  tsi_platform_guard();
  return true;
}

static bool simulate(simulation *m) {
  tsi_session *s = &m->session;
  if (!tsi_session_open(s, &m->settings, m->settings.operand[0]) || !tsi_session_read(s) ||
      !tsi_session_analyze(s) || !start_starpu(s) || !tsi_session_factor(s) || !tsi_rhs_make(s, &m->b) ||
      !tsi_dense_make(s, m->b.rows, m->b.cols, &m->x))
    return false;
  for (int k = 0; k < PLACES; k++)
    if (!try_place(m, k)) return false;
  return true;
}

/* ---- Output -------------------------------------------------------------------------------------------- */

static void print_outcome(const simulation *m, int number) {
  const outcome *o = &m->outcome[number];
  const double repeat = (double)m->settings.repeat;
  tsi_report(places[number].text,
             "%s for a solve, %s for the first one; %.2f times as fast as the cores; error %.1e",
             tsi_text_seconds(o->solve_s), tsi_text_seconds(o->first_s),
             o->solve_s > 0 ? m->outcome[0].solve_s / o->solve_s : 1, o->error);
  if (number > 0 && o->devices == 0) tsi_report("", "nothing is on a GPU");
  for (int d = 0; d < o->devices; d++)
    tsi_report("", "device %d: %s, %s of factor; bus: %s up, %s down in the first solve, then %s and %s", d,
               tsi_text_many(o->device[d].chunks, "subtree"), tsi_text_bytes(o->device[d].factor_bytes),
               tsi_text_bytes(o->first[d].up), tsi_text_bytes(o->first[d].down),
               tsi_text_bytes(o->later[d].up / repeat), tsi_text_bytes(o->later[d].down / repeat));
  if (o->plan.unfit_bytes > 0)
    tsi_report("", "no room for %s of factor, which stay with the cores",
               tsi_text_bytes(o->plan.unfit_bytes));
}

static void print_report(const simulation *m) {
  const tsi_device *device = tsi_device_get(m->platform->device);
  tsi_console_clear();
  tsi_report_matrix(&m->session);
  tsi_report("node", "%s of %s: %.0f GB/s by one, %.0f GB/s by all", tsi_text_many(m->cores, "core"),
             m->platform->host, 1e-9 * tsi_platform_one(m->platform),
             1e-9 * tsi_platform_all(m->platform, m->cores));
  tsi_report("", "%d x %s", m->devices, device->title);
  tsi_report("", "(%s; %s; rates of cores, buses and nodes are assumed)", m->platform->source,
             device->source);
  for (int k = 0; k < PLACES; k++) print_outcome(m, k);
}

static void add_list(cJSON *object, const char *key, const tsi_bus_bytes *bytes, int devices, bool up,
                     double by) {
  cJSON *list = cJSON_AddArrayToObject(object, key);
  for (int d = 0; d < devices; d++)
    cJSON_AddItemToArray(list, cJSON_CreateNumber((up ? bytes[d].up : bytes[d].down) / by));
}

/* Adds the plan's figures of each device. */
static void add_plan(cJSON *object, const outcome *o) {
  cJSON *chunks = cJSON_AddArrayToObject(object, "device_chunks"),
        *factor = cJSON_AddArrayToObject(object, "factor_bytes"),
        *tables = cJSON_AddArrayToObject(object, "table_bytes"),
        *up = cJSON_AddArrayToObject(object, "plan_up_bytes"),
        *down = cJSON_AddArrayToObject(object, "plan_down_bytes");
  for (int d = 0; d < o->devices; d++) {
    cJSON_AddItemToArray(chunks, cJSON_CreateNumber((double)o->device[d].chunks));
    cJSON_AddItemToArray(factor, cJSON_CreateNumber(o->device[d].factor_bytes));
    cJSON_AddItemToArray(tables, cJSON_CreateNumber(o->device[d].table_bytes));
    cJSON_AddItemToArray(up, cJSON_CreateNumber(o->device[d].up_bytes));
    cJSON_AddItemToArray(down, cJSON_CreateNumber(o->device[d].down_bytes));
  }
}

static void add_outcome(cJSON *list, const simulation *m, int number) {
  const outcome *o = &m->outcome[number];
  const double repeat = (double)m->settings.repeat;
  cJSON *object = tsi_json_add_item(list);
  cJSON_AddStringToObject(object, "place", places[number].name);
  cJSON_AddStringToObject(object, "scheduler", o->plan.scheduler);
  TSI_JSON_NUMBERS(object, {"tasks", (double)o->plan.tasks}, {"first_solve_s", o->first_s},
                   {"solve_s", o->solve_s}, {"error", o->error});
  tsi_json_add_checksum(object, o->checksum);
  cJSON_AddNumberToObject(object, "unfit_bytes", o->plan.unfit_bytes);
  add_plan(object, o);
  add_list(object, "first_up_bytes", o->first, o->devices, true, 1);
  add_list(object, "first_down_bytes", o->first, o->devices, false, 1);
  add_list(object, "up_bytes", o->later, o->devices, true, repeat);
  add_list(object, "down_bytes", o->later, o->devices, false, repeat);
}

static cJSON *make_json(const simulation *m) {
  cJSON *object = tsi_json_status(&m->session), *list = cJSON_AddArrayToObject(object, "places");
  cJSON_AddStringToObject(object, "matrix", m->session.name);
  cJSON_AddStringToObject(object, "platform", m->platform->name);
  TSI_JSON_NUMBERS(object, {"cores", m->cores}, {"gpus", m->devices});
  cJSON_AddStringToObject(object, "gpu", tsi_device_get(m->platform->device)->title);
  for (int k = 0; k < PLACES; k++)
    if (m->outcome[k].made) add_outcome(list, m, k);
  return object;
}

int tsi_command_simulate(const tsi_settings *settings) {
  tsi_platform_folder folder;
  if (settings->operand[0] == NULL) return tsi_usage_error("simulate", "no MATRIX given");
  if (settings->ranks_list != NULL || settings->layout != NULL) return tsi_simulate_ranks(settings);
  if (settings->machine != NULL || settings->network == 1 || settings->gantt != NULL ||
      settings->goal != NULL || settings->svg != NULL || settings->factorization || settings->square)
    return tsi_usage_error("simulate", "--factorization, --machine, --network, --gantt, --goal, --square and "
                                       "--svg need --ranks or --layout");
  if (settings->algo >= 0 || settings->map >= 0 || settings->message_tree >= 0)
    return tsi_usage_error("simulate", "--algo, --map and --message-tree need --ranks or --layout");
  if (!TSI_IS_SIMULATED) {
    tsi_console_error("simulate: this StarPU cannot simulate: it was built without SimGrid (./configure "
                      "--enable-simgrid)");
    return TSI_EXIT_FAILED;
  }
  simulation *m = calloc(1, sizeof *m);
  if (m == NULL) {
    tsi_console_error("simulate: out of memory");
    return TSI_EXIT_FAILED;
  }
  m->settings = *settings;
  m->settings.engine = TRISTAR_ENGINE_TASKS;
  m->platform = tsi_platform_get(settings->platform);
  m->cores = settings->workers > 0 ? (int)settings->workers : CORES;
  m->devices = settings->devices > 0 ? (int)settings->devices : 1;
  m->settings.workers = m->cores;
  const int code = tsi_platform_install(m->platform, m->cores, m->devices, &folder);
  int status = TSI_EXIT_FAILED;
  if (code == 0) {
    const bool ok = simulate(m);
    if (ok && !settings->to_stdout) print_report(m);
    tsi_json_write(&m->session, make_json(m));
    free(m->b.values);
    free(m->x.values);
    status = tsi_session_close(&m->session);
  } else
    tsi_console_error("simulate: cannot describe the node to StarPU in %s: %s",
                      folder.path[0] ? folder.path : "the folder of temporary files", strerror(code));
  tsi_platform_remove();
  free(m);
  return status;
}
