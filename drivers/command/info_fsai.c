/* `tristar info MATRIX --ranks N`: counts the messages of N processes that make a sparse approximate inverse
 * and iterate with it. The counts are derived from the matrix and the inverse of one process.
 *
 * A model problem on a cube with K points per side is cut into px x py x pz boxes, shaped as close to a cube
 * as possible. Rows are numbered box by box; the unknowns of a point stay together. Other matrices are cut
 * into blocks of rows.
 *
 * Reads   the matrix.   Writes  a table, JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/command/krylov.h"
#include "drivers/report/rank_figures.h"
#include "runtime/iterate/precond/fsai_traffic.h"

/* Distribution of the rows. */
typedef struct cut {
  int ranks;
  int px, py, pz;  /* number of boxes in each direction; px 0: blocks of rows */
  int32_t points;  /* points per side of the cube */
  int32_t *start;  /* ranks + 1 entries: first row of each rank */
  int32_t *number; /* new number of each row, box by box */
} cut;

typedef struct counted {
  tsi_session *s;
  tsi_krylov_precond words;
  cut cut;
  tristar_precond_t *precond;
  tristar_precond_stats m;
  tsi_fsai_rank *rank;
  double seconds; /* time to make the inverse on this process */
} counted;

/* ---- Owners of rows ------------------------------------------------------------------------------------ */

/* Returns the largest divisor of n up to its k-th root. */
static int divisor_below_root(int n, int k) {
  int divisor = (int)(pow(n, 1.0 / k) + 1e-9);
  while (n % divisor != 0) divisor--;
  return divisor;
}

/* Returns K of gen:KIND:K if the rows belong to a cube with so many points per side, else 0. */
static int32_t find_points(const tsi_session *s) {
  const char *colon = strrchr(s->path, ':');
  const double points = colon != NULL && strncmp(s->path, "gen:", 4) == 0 ? atof(colon + 1) : 0;
  const double all = points * points * points;
  return points >= 1 && all <= (double)s->view.rows && fmod((double)s->view.rows, all) == 0 ? (int32_t)points
                                                                                            : 0;
}

static void choose_boxes(cut *c) {
  c->pz = divisor_below_root(c->ranks, 3);
  c->py = divisor_below_root(c->ranks / c->pz, 2);
  c->px = c->ranks / c->pz / c->py;
  if (c->px > c->points) c->px = 0;
}

/* Returns the part of a side that contains a point. */
static int part_of(int32_t point, int32_t points, int parts) {
  return (int)(((int64_t)point * parts + parts - 1) / points);
}

static int owner_of(const cut *c, int64_t n, int64_t row) {
  if (c->px == 0) return (int)((row * c->ranks + c->ranks - 1) / (n > 0 ? n : 1));
  const int64_t side = c->points, point = row / (n / (side * side * side));
  const int x = part_of((int32_t)(point % side), c->points, c->px);
  const int y = part_of((int32_t)(point / side % side), c->points, c->py);
  const int z = part_of((int32_t)(point / side / side), c->points, c->pz);
  return (z * c->py + y) * c->px + x;
}

/* Numbers rows by owner; rows of an owner keep their order. */
static bool cut_rows(counted *t) {
  tsi_session *s = t->s;
  cut *c = &t->cut;
  const int64_t n = s->view.rows;
  c->ranks = (int)s->settings->ranks;
  c->points = find_points(s);
  if (c->points > 0) choose_boxes(c);
  c->start = calloc((size_t)c->ranks + 2, sizeof *c->start);
  c->number = calloc((size_t)n + 1, sizeof *c->number);
  t->rank = calloc((size_t)c->ranks, sizeof *t->rank);
  if (c->start == NULL || c->number == NULL || t->rank == NULL)
    return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory", s->name);
  for (int64_t i = 0; i < n; i++) c->start[owner_of(c, n, i) + 2]++;
  for (int r = 0; r < c->ranks; r++) c->start[r + 2] += c->start[r + 1];
  for (int64_t i = 0; i < n; i++) c->number[i] = c->start[owner_of(c, n, i) + 1]++;
  return true;
}

/* ---- The inverse --------------------------------------------------------------------------------------- */

/* A view with rows and columns numbered anew, and its arrays. */
typedef struct renumbered {
  int64_t *ptr;
  int32_t *index;
  char *values;
  tristar_view view;
} renumbered;

static void release(renumbered *r) {
  free(r->ptr);
  free(r->index);
  free(r->values);
}

static bool renumber(const counted *t, renumbered *r) {
  tsi_session *s = t->s;
  const tristar_view *v = &s->view;
  const int64_t *ptr = v->ptr, n = v->cols, entries = ptr[n];
  const int32_t *index = v->index, *number = t->cut.number;
  const size_t bytes = s->precision->bytes;
  r->ptr = calloc((size_t)n + 2, sizeof *r->ptr);
  r->index = malloc(((size_t)entries + 1) * sizeof *r->index);
  r->values = malloc(((size_t)entries + 1) * bytes);
  if (r->ptr == NULL || r->index == NULL || r->values == NULL)
    return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory", s->name);
  for (int64_t j = 0; j < n; j++) r->ptr[number[j] + 2] += ptr[j + 1] - ptr[j];
  for (int64_t j = 0; j < n; j++) r->ptr[j + 2] += r->ptr[j + 1];
  for (int64_t j = 0; j < n; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++) {
      const int64_t at = r->ptr[number[j] + 1]++;
      r->index[at] = number[index[e]];
      memcpy(r->values + (size_t)at * bytes, (const char *)v->values + (size_t)e * bytes, bytes);
    }
  r->view = *v;
  r->view.ptr = r->ptr;
  r->view.index = r->index;
  r->view.values = r->values;
  return true;
}

static bool make_inverse(counted *t) {
  tsi_session *s = t->s;
  renumbered r = {.ptr = NULL};
  const double begin = tsi_now();
  const bool ok =
      renumber(t, &r) &&
      tsi_session_check(s, tristar_precond(s->ts, &r.view, &t->words.options, &t->precond), s->name);
  t->seconds = tsi_now() - begin;
  release(&r);
  return ok && tsi_session_check(s, tristar_precond_get_stats(t->precond, &t->m), s->name);
}

static bool count(counted *t) {
  tsi_session *s = t->s;
  if (s->view.format != TRISTAR_CSC)
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "%s: the matrix is not stored by columns", s->name);
  return cut_rows(t) && make_inverse(t) &&
         tsi_session_check(
             s, tsi_fsai_traffic(t->precond, t->words.levels, t->cut.ranks, t->cut.start, t->rank), s->name);
}

/* ---- Output -------------------------------------------------------------------------------------------- */

static int list_figures(const void *of_rank, tsi_rank_figure figure[TSI_RANK_FIGURES_MOST]) {
  const tsi_fsai_rank *r = of_rank;
  const tsi_rank_figure list[] = {
      {"rows", "rows", (double)r->rows, NULL},
      {"messages, set-up", "setup_messages", (double)(r->gather.messages + r->ghosts.messages), NULL},
      {"bytes, set-up", "setup_bytes", (double)(r->gather.bytes + r->ghosts.bytes), tsi_text_bytes},
      {"messages, product", "product_messages", (double)r->product.messages, NULL},
      {"bytes, product", "product_bytes", (double)r->product.bytes, tsi_text_bytes},
      {"messages, inverse", "precond_messages", (double)(r->down.messages + r->up.messages), NULL},
      {"bytes, inverse", "precond_bytes", (double)(r->down.bytes + r->up.bytes), tsi_text_bytes},
      {"messages, iteration", "iteration_messages",
       (double)(r->product.messages + r->down.messages + r->up.messages), NULL},
      {"bytes, iteration", "iteration_bytes", (double)(r->product.bytes + r->down.bytes + r->up.bytes),
       tsi_text_bytes}};
  memcpy(figure, list, sizeof list);
  return sizeof list / sizeof list[0];
}

static void print_report(const counted *t) {
  const tsi_session *s = t->s;
  const cut *c = &t->cut;
  const tsi_rank_records records = {c->ranks, t->rank, sizeof *t->rank, list_figures};
  tsi_console_clear();
  tsi_report("matrix", "%s", s->name);
  tsi_report("", "%s, %s, %s; read in %s", tsi_text_many(s->view.rows, "row"), s->precision->text,
             tsi_symmetry_text(s->view.symmetry), tsi_text_seconds(s->read_s));
  tsi_report("inverse", "%s entries in its factor, density %.2f; made here in %s",
             tsi_text_count(t->m.nnz_lower), t->m.fill, tsi_text_seconds(t->seconds));
  if (c->px > 0)
    tsi_report("ranks", "%d, boxes of a grid of %d x %d x %d", c->ranks, c->px, c->py, c->pz);
  else
    tsi_report("ranks", "%d, blocks of rows", c->ranks);
  tsi_rank_figures_print("What a process sends", &records);
}

/* Adds the maximum over processes, for the set-up and for an iteration. */
static void add_most(cJSON *object, const counted *t) {
  static const int numbers[] = {1, 2, 7, 8}; /* positions in list_figures */
  tsi_rank_figure figure[TSI_RANK_FIGURES_MOST];
  double most[TSI_RANK_FIGURES_MOST] = {0};
  char key[64];
  for (int r = 0; r < t->cut.ranks; r++)
    for (int f = 0, count = list_figures(&t->rank[r], figure); f < count; f++)
      most[f] = fmax(most[f], figure[f].value);
  for (int k = 0; k < 4; k++) {
    snprintf(key, sizeof key, "%s_most", figure[numbers[k]].key);
    cJSON_AddNumberToObject(object, key, most[numbers[k]]);
  }
}

static cJSON *make_json(const counted *t) {
  const tsi_session *s = t->s;
  const tsi_rank_records records = {t->cut.ranks, t->rank, sizeof *t->rank, list_figures};
  const int grid[3] = {t->cut.px, t->cut.py, t->cut.pz};
  cJSON *object = tsi_json_session(s);
  if (s->status != TRISTAR_OK) return object;
  TSI_JSON_NUMBERS(object, {"n", (double)s->view.rows}, {"nnz_factor", (double)t->m.nnz_lower},
                   {"density", t->m.fill}, {"setup_s", t->seconds}, {"levels", t->words.levels});
  cJSON_AddItemToObject(object, "grid", cJSON_CreateIntArray(grid, t->cut.px > 0 ? 3 : 0));
  add_most(object, t);
  tsi_rank_figures_json(object, &records);
  return object;
}

int tsi_info_fsai(const tsi_settings *settings) {
  tsi_session session;
  tsi_settings serial = *settings;
  counted t = {.s = &session, .words = {.levels = TSI_KRYLOV_LEVELS}};
  tristar_precond_options_init(&t.words.options);
  t.words.options.kind = TRISTAR_PRECOND_FSAI;
  t.words.options.engine = serial.engine = TRISTAR_ENGINE_SERIAL;
  const int wrong =
      settings->fsai != NULL ? tsi_krylov_fsai_read("info", settings->fsai, &t.words) : TSI_EXIT_OK;
  if (wrong != TSI_EXIT_OK) return wrong;
  if (t.words.options.pair != TRISTAR_PAIR_NEVER)
    return tsi_usage_error("info", "--fsai pair: messages are counted for one factor");
  const bool ok =
      tsi_session_open(&session, &serial, settings->operand[0]) && tsi_session_read(&session) && count(&t);
  if (ok && !settings->to_stdout) print_report(&t);
  tsi_json_write(&session, make_json(&t));
  tristar_precond_destroy(&t.precond);
  free(t.cut.start);
  free(t.cut.number);
  free(t.rank);
  return tsi_session_close(&session);
}
