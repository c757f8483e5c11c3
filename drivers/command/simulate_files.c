/* Files of a simulation: GOAL, and a picture of processes and time. See simulate_ranks.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "drivers/command/simulate_ranks.h"
#include "drivers/draw/gantt.h"
#include "drivers/report/report.h"
#include "drivers/session/files.h"

/* ---- GOAL ---------------------------------------------------------------------------------------------- */

/* A step is a calculation, followed by its messages. Each line waits for the line before, because a process
 * has one core. The tag of a message is its number among the messages of its sender. */
static void write_rank(FILE *file, const tsi_simulation *s, tsi_index r) {
  const tsi_world_rank *program = &s->world->rank[r];
  int64_t line = 0;
#define LINE(...)                                                                                            \
  do {                                                                                                       \
    fprintf(file, "l%" PRId64 ": ", ++line);                                                                 \
    fprintf(file, __VA_ARGS__);                                                                              \
    if (line > 1) fprintf(file, "l%" PRId64 " requires l%" PRId64 "\n", line, line - 1);                     \
  } while (0)
  fprintf(file, "rank %d {\n", r);
  for (tsi_index k = 0; k < program->steps; k++) {
    const tsi_world_step *step = &program->step[k];
    if (step->receive != TSI_NONE) {
      const tsi_world_receive *from = &program->receive[step->receive];
      LINE("recv %.0fb from %d tag %d\n", s->row_bytes * tsi_world_sent(s->world, from)->rows, from->peer,
           from->send);
      continue;
    }
    LINE("calc %.0f\n", 1e9 * s->rank[r].work[k]);
    for (tsi_index m = step->send; m < step[1].send; m++)
      LINE("send %.0fb to %d tag %d\n", s->row_bytes * program->send[m].rows, program->send[m].peer, m);
  }
  fprintf(file, "}\n\n");
#undef LINE
}

bool tsi_simulate_write_goal(const tsi_predicted *predicted, const char *path) {
  const tsi_simulation *s = predicted->simulation;
  tsi_output_file output;
  FILE *file = tsi_output_open(path, &output);
  if (file != NULL) fprintf(file, "num_ranks %d\n\n", s->world->ranks);
  for (tsi_index r = 0; file != NULL && r < s->world->ranks; r++) write_rank(file, s, r);
  return tsi_output_close(file, &output, file != NULL && !ferror(file));
}

/* ---- A picture ----------------------------------------------------------------------------------------- */

enum { LANES_MOST = 64, FORWARD = 0, BACKWARD, INSIDE, BETWEEN, KINDS };

static int kind_of(const tsi_simulation *s, tsi_index r, const tsi_world_step *step) {
  if (step->receive != TSI_NONE) {
    const tsi_message_kind kind = tsi_world_sent(s->world, &s->world->rank[r].receive[step->receive])->kind;
    return tsi_traffic_class_of(kind) == TSI_TRAFFIC_GRIDS ? BETWEEN : INSIDE;
  }
  switch (step->kind) {
  case TSI_STEP_EXCHANGE:
    return step->seconds > 0 ? INSIDE : BETWEEN;
  case TSI_STEP_GRID_FORWARD:
  case TSI_STEP_GRID_BACKWARD:
    return BETWEEN;
  case TSI_STEP_BACKWARD_CHUNK:
  case TSI_STEP_BACKWARD_SLICE:
  case TSI_STEP_BACKWARD_SUM:
  case TSI_STEP_BACKWARD_RECEIVE:
  case TSI_STEP_FRONT_PACK: /* a factorization: panels; all other steps: fronts */
    return BACKWARD;
  default:
    return FORWARD;
  }
}

bool tsi_simulate_write_gantt(const tsi_predicted *predicted, bool factorization, const char *name,
                              const char *path) {
  const char *const kinds[KINDS] = {factorization ? "fronts" : "forward",
                                    factorization ? "panels" : "backward", "messages inside grids",
                                    "messages between grids"};
  const tsi_simulation *s = predicted->simulation;
  const tsi_index ranks = s->world->ranks, lanes = tsi_index_min(ranks, LANES_MOST);
  char title[160], subtitle[160];
  tsi_gantt_item *item = malloc((size_t)s->world->steps * sizeof *item);
  if (item == NULL) return errno = ENOMEM, false;
  int64_t count = 0;
  for (tsi_index lane = 0; lane < lanes; lane++) {
    const tsi_index r = (tsi_index)((tsi_count)lane * ranks / lanes);
    for (tsi_index k = 0; k < s->world->rank[r].steps; k++)
      item[count++] = (tsi_gantt_item){.worker = lane,
                                       .kind = kind_of(s, r, &s->world->rank[r].step[k]),
                                       .start = s->rank[r].begin[k],
                                       .end = s->rank[r].end[k],
                                       .name = tsi_step_name(s->world->rank[r].step[k].kind)};
  }
  snprintf(title, sizeof title, "Simulated %s: %.100s", factorization ? "factorization" : "solve", name);
  snprintf(subtitle, sizeof subtitle, "%d of %d processes, evenly chosen; %s", lanes, ranks,
           tsi_text_time(s->seconds));
  const bool ok = tsi_gantt_write(path, &(tsi_gantt_chart){.title = title,
                                                           .subtitle = subtitle,
                                                           .workers = lanes,
                                                           .seconds = s->seconds,
                                                           .kinds = KINDS,
                                                           .kind_name = kinds,
                                                           .count = count,
                                                           .item = item});
  free(item);
  return ok;
}
