/* Traced solves for viewers of timelines: see plot.h.
 *
 *   .json    Chrome trace events, for Perfetto and chrome://tracing: a process for each rank, a thread for
 *            each worker; tasks contain their steps, messages are flows from task to task
 *   .trace   Paje (Schnorr, "Paje trace file format"), for ViTE: the same as containers, states and links
 *
 * Perfetto reads events in any order. A Paje file lists them in the order of time, and the state of a step
 * follows the state of its task. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/plot/plot.h"
#include "drivers/session/files.h"

/* Is the worker busy during this item? */
static bool is_work(const tristar_trace_item *item) {
  return item->kind != TRISTAR_STEP_ARRIVAL;
}

/* Returns the task that sent the arriving message; NULL: the item is no arrival. */
static const tristar_trace_item *sender_of(const tristar_trace_list *tasks, const tristar_trace_item *item) {
  if (item->kind != TRISTAR_STEP_ARRIVAL || item->befores == 0) return NULL;
  return &tasks->item[tasks->before[item->first_before]];
}

/* Returns the item that is shown for a task: its step if it has only one. */
static const tristar_trace_item *shown_as(const tristar_trace_t *trace, const tristar_trace_item *task) {
  return task->steps == 1 ? &trace->steps.item[task->first_step] : task;
}

/* ---- Chrome trace events ------------------------------------------------------------------------------- */

static cJSON *add_event(cJSON *events, const char *phase, const char *name, int rank, int worker) {
  cJSON *event = tsi_json_add_item(events);
  cJSON_AddStringToObject(event, "ph", phase);
  cJSON_AddStringToObject(event, "name", name);
  TSI_JSON_NUMBERS(event, {"pid", rank}, {"tid", worker});
  return event;
}

/* Adds the name of a process or a thread. */
static void add_name(cJSON *events, const char *what, int rank, int worker, const char *name) {
  cJSON *event = add_event(events, "M", what, rank, worker);
  cJSON_AddStringToObject(cJSON_AddObjectToObject(event, "args"), "name", name);
}

static void add_names(cJSON *events, const tristar_trace_t *trace) {
  char name[32];
  int named = 0; /* ranks */
  for (int w = 0; w < trace->workers; w++) {
    const tsi_lane lane = tsi_plot_lane(trace, w);
    for (; named <= lane.rank; named++) {
      snprintf(name, sizeof name, "rank %d", named);
      add_name(events, "process_name", named, 0, name);
    }
    add_name(events, "thread_name", lane.rank, w, lane.name);
  }
}

/* Adds a task or one of its steps. shown: the item that is shown for it. */
static void add_item(cJSON *events, const tristar_trace_item *item, const tristar_trace_item *shown) {
  char text[96];
  cJSON *event =
      add_event(events, "X", tsi_plot_item_text(shown, text, sizeof text), item->rank, item->worker);
  cJSON_AddStringToObject(event, "cat", tsi_plot_name(shown->kind));
  TSI_JSON_NUMBERS(event, {"ts", 1e6 * item->start}, {"dur", 1e6 * (item->end - item->start)});
  cJSON *args = cJSON_AddObjectToObject(event, "args");
  TSI_JSON_NUMBERS(args, {"chunk", (double)item->chunk}, {"bytes", item->bytes}, {"device", item->device});
  cJSON_AddBoolToObject(args, "critical", item->critical);
}

/* Adds a flow from inside the sending task to the task after the arrival. */
static void add_message(cJSON *events, const tristar_trace_item *from, const tristar_trace_item *to,
                        int64_t number) {
  const double sent = from->start + 0.999 * (from->end - from->start);
  cJSON *event = add_event(events, "s", "message", from->rank, from->worker);
  TSI_JSON_NUMBERS(event, {"id", (double)number}, {"ts", 1e6 * (sent < to->start ? sent : to->start)});
  cJSON_AddStringToObject(event, "cat", "message");
  event = add_event(events, "f", "message", to->rank, to->worker);
  TSI_JSON_NUMBERS(event, {"id", (double)number}, {"ts", 1e6 * to->start});
  cJSON_AddStringToObject(event, "cat", "message");
}

static bool write_chrome(FILE *file, const tristar_trace_t *trace) {
  cJSON *object = cJSON_CreateObject(), *events = cJSON_AddArrayToObject(object, "traceEvents");
  cJSON_AddStringToObject(object, "displayTimeUnit", "ns");
  add_names(events, trace);
  for (int64_t k = 0; k < trace->tasks.count; k++) {
    const tristar_trace_item *task = &trace->tasks.item[k], *from = sender_of(&trace->tasks, task);
    if (from != NULL) add_message(events, from, task, k);
    if (!is_work(task)) continue;
    add_item(events, task, shown_as(trace, task));
    for (int64_t i = task->first_step; i < task->first_step + task->steps && task->steps > 1; i++)
      add_item(events, &trace->steps.item[i], &trace->steps.item[i]);
  }
  char *text = cJSON_PrintUnformatted(object);
  const bool ok = text != NULL && fprintf(file, "%s\n", text) > 0;
  cJSON_free(text);
  cJSON_Delete(object);
  return ok;
}

/* ---- Paje ---------------------------------------------------------------------------------------------- */

/* The numbers of events, as the header defines them. */
enum {
  CONTAINER_TYPE,
  STATE_TYPE,
  VALUE,
  LINK_TYPE,
  CREATE,
  DESTROY,
  PUSH,
  POP,
  START_LINK,
  END_LINK,
  EVENTS
};

static const struct {
  const char *name, *fields; /* fields: "Name type", separated by commas */
} paje_events[EVENTS] = {
    [CONTAINER_TYPE] = {"PajeDefineContainerType", "Alias string,Type string,Name string"},
    [STATE_TYPE] = {"PajeDefineStateType", "Alias string,Type string,Name string"},
    [VALUE] = {"PajeDefineEntityValue", "Alias string,Type string,Name string,Color color"},
    [LINK_TYPE] = {"PajeDefineLinkType", "Alias string,Type string,StartContainerType string,"
                                         "EndContainerType string,Name string"},
    [CREATE] = {"PajeCreateContainer", "Time date,Alias string,Type string,Container string,Name string"},
    [DESTROY] = {"PajeDestroyContainer", "Time date,Name string,Type string"},
    [PUSH] = {"PajePushState", "Time date,Container string,Type string,Value string,Item string"},
    [POP] = {"PajePopState", "Time date,Container string,Type string"},
    [START_LINK] = {"PajeStartLink",
                    "Time date,Type string,Container string,StartContainer string,Value string,Key string"},
    [END_LINK] = {"PajeEndLink",
                  "Time date,Type string,Container string,EndContainer string,Value string,Key string"}};

static void write_header(FILE *file) {
  for (int k = 0; k < EVENTS; k++) {
    fprintf(file, "%%EventDef %s %d\n%% ", paje_events[k].name, k);
    for (const char *at = paje_events[k].fields; *at != '\0'; at++)
      if (*at == ',')
        fputs("\n% ", file);
      else
        fputc(*at, file);
    fputs("\n%EndEventDef\n", file);
  }
}

/* Writes "0 0.447 0.698" for "#0072b2". */
static void write_colour(FILE *file, const char *colour) {
  const unsigned long rgb = strtoul(colour + 1, NULL, 16);
  fprintf(file, "\"%.3f %.3f %.3f\"\n", (double)(rgb >> 16) / 255, (double)(rgb >> 8 & 255) / 255,
          (double)(rgb & 255) / 255);
}

static void write_types(FILE *file) {
  fprintf(file, "%d S 0 \"solve\"\n%d R S \"rank\"\n%d W R \"worker\"\n", CONTAINER_TYPE, CONTAINER_TYPE,
          CONTAINER_TYPE);
  fprintf(file, "%d T W \"work\"\n%d M S W W \"message\"\n%d m M \"message\" ", STATE_TYPE, LINK_TYPE, VALUE);
  write_colour(file, tsi_svg_colour[TSI_BLACK]);
  for (int k = 0; k < TRISTAR_STEP_KINDS; k++) {
    fprintf(file, "%d k%d T \"%s\" ", VALUE, k, tsi_plot_name((tristar_step_kind)k));
    write_colour(file, tsi_plot_colour((tristar_step_kind)k));
  }
}

static void create_containers(FILE *file, const tristar_trace_t *trace) {
  int named = 0; /* ranks */
  fprintf(file, "%d 0 s S 0 \"solve\"\n", CREATE);
  for (int w = 0; w < trace->workers; w++) {
    const tsi_lane lane = tsi_plot_lane(trace, w);
    for (; named <= lane.rank; named++) fprintf(file, "%d 0 r%d R s \"rank %d\"\n", CREATE, named, named);
    fprintf(file, "%d 0 w%d W r%d \"%s\"\n", CREATE, w, lane.rank, lane.name);
  }
}

static void destroy_containers(FILE *file, const tristar_trace_t *trace) {
  for (int w = 0; w < trace->workers; w++) fprintf(file, "%d %.9f w%d W\n", DESTROY, trace->seconds, w);
  for (int r = 0; r <= tsi_plot_lane(trace, trace->workers - 1).rank; r++)
    fprintf(file, "%d %.9f r%d R\n", DESTROY, trace->seconds, r);
  fprintf(file, "%d %.9f s S\n", DESTROY, trace->seconds);
}

typedef struct event {
  double at;
  int64_t order; /* order of events at the same time */
  int what, worker;
  const tristar_trace_item *item; /* pushed, or the arrival of a message */
} event;

typedef struct events {
  int64_t count;
  double latest; /* latest time of the worker */
  event *event;
} events;

/* Adds an event; the times of a worker's events do not decrease. */
static void note(events *e, int what, int worker, double at, const tristar_trace_item *item) {
  if (at > e->latest) e->latest = at;
  e->event[e->count] =
      (event){.at = e->latest, .order = e->count, .what = what, .worker = worker, .item = item};
  e->count++;
}

static void note_task(const tristar_trace_t *trace, const tristar_trace_item *task, events *e) {
  const tristar_trace_item *step = &trace->steps.item[task->first_step];
  note(e, PUSH, task->worker, task->start, shown_as(trace, task));
  for (int64_t i = 0; i < task->steps && task->steps > 1; i++) {
    note(e, PUSH, task->worker, step[i].start, &step[i]);
    note(e, POP, task->worker, step[i].end, NULL);
  }
  note(e, POP, task->worker, task->end, NULL);
}

static int by_worker(const void *a, const void *b) {
  const tristar_trace_item *x = *(const tristar_trace_item *const *)a,
                           *y = *(const tristar_trace_item *const *)b;
  if (x->worker != y->worker) return x->worker < y->worker ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return (x > y) - (x < y);
}

static int by_time(const void *a, const void *b) {
  const event *x = a, *y = b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

/* task: an entry for each task of the trace. */
static void list_events(const tristar_trace_t *trace, const tristar_trace_item **task, events *e) {
  int64_t count = 0;
  for (int64_t k = 0; k < trace->tasks.count; k++)
    if (is_work(&trace->tasks.item[k])) task[count++] = &trace->tasks.item[k];
  qsort(task, (size_t)count, sizeof *task, by_worker);
  for (int64_t k = 0; k < count; k++) {
    if (k > 0 && task[k]->worker != task[k - 1]->worker) e->latest = 0;
    note_task(trace, task[k], e);
  }
  for (int64_t k = 0; k < trace->tasks.count; k++) {
    const tristar_trace_item *to = &trace->tasks.item[k], *from = sender_of(&trace->tasks, to);
    if (from == NULL) continue;
    e->latest = 0;
    note(e, START_LINK, from->worker, from->end < to->start ? from->end : to->start, to);
    note(e, END_LINK, to->worker, to->start, to);
  }
  qsort(e->event, (size_t)e->count, sizeof *e->event, by_time);
}

static void write_event(FILE *file, const tristar_trace_t *trace, const event *e) {
  char text[96];
  fprintf(file, "%d %.9f ", e->what, e->at);
  if (e->what == PUSH)
    fprintf(file, "w%d T k%d \"%s\"\n", e->worker, (int)e->item->kind,
            tsi_plot_item_text(e->item, text, sizeof text));
  else if (e->what == POP)
    fprintf(file, "w%d T\n", e->worker);
  else
    fprintf(file, "M s w%d m %lld\n", e->worker, (long long)(e->item - trace->tasks.item));
}

static bool write_paje(FILE *file, const tristar_trace_t *trace) {
  const size_t most = 2 * (size_t)(trace->tasks.count + trace->steps.count) + 1;
  const tristar_trace_item **task = malloc(((size_t)trace->tasks.count + 1) * sizeof *task);
  events e = {.event = malloc(most * sizeof *e.event)};
  const bool ok = task != NULL && e.event != NULL;
  if (ok) {
    write_header(file);
    write_types(file);
    create_containers(file, trace);
    list_events(trace, task, &e);
    for (int64_t k = 0; k < e.count; k++) write_event(file, trace, &e.event[k]);
    destroy_containers(file, trace);
  }
  free(task);
  free(e.event);
  return ok;
}

/* ---- The file ------------------------------------------------------------------------------------------ */

bool tsi_timeline_write(tsi_session *s, const char *path, const tristar_trace_t *trace) {
  tsi_output_file output;
  errno = 0;
  FILE *file = tsi_output_open(path, &output);
  const bool chrome = tsi_picture_format(path) == TSI_FORMAT_CHROME;
  const bool written = file != NULL && (chrome ? write_chrome : write_paje)(file, trace);
  if (file != NULL && !written) errno = ENOMEM;
  return tsi_output_close(file, &output, written) ||
         tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %.200s: %s", tsi_output_name(path),
                          strerror(errno));
}
