/* `tristar inverse --layout` under mpiexec: all ranks have rows of the matrix, factor it, and solve with unit
 * vectors. Rank 0 reads the list of entries and receives their values. For --pattern it reads the whole
 * matrix. If any rank fails, rank 0 reports it once, and all ranks end with the same status. */
#include "drivers/command/solve.h"

#include "drivers/session/console.h"
#include "drivers/session/launcher.h"

#ifndef TSI_HAVE_MPI

int tsi_inverse_distributed(const tsi_settings *settings) {
  return tsi_fail_without_mpi("inverse", settings->layout ? "--layout" : NULL);
}

#else

#include <stdlib.h>

#include "drivers/report/report.h"

typedef struct inverse_on_ranks {
  tristar_layout layout;
  tristar_dmatrix_stats matrix;
  tsi_inverse_entries entries; /* rank 0, without --diagonal */
  tristar_dense values;        /* rank 0 */
  double seconds;
} inverse_on_ranks;

/* Lists the rows and columns of all entries of the session's view. */
static bool list_pattern(tsi_session *s, tsi_inverse_entries *e) {
  const int64_t *ptr = s->view.ptr;
  const int32_t *index = s->view.index;
  const bool by_rows = s->view.format == TRISTAR_CSR;
  const int64_t lines = by_rows ? s->view.rows : s->view.cols;
  e->count = ptr[lines];
  e->row = calloc((size_t)e->count + 1, sizeof *e->row);
  e->column = calloc((size_t)e->count + 1, sizeof *e->column);
  if (e->row == NULL || e->column == NULL)
    return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for lists of entries", s->name);
  for (int64_t j = 0; j < lines; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) {
      e->row[p] = by_rows ? j : index[p];
      e->column[p] = by_rows ? index[p] : j;
    }
  return true;
}

/* On rank 0: makes the list of entries and the array of values. */
static bool prepare(tsi_session *s, inverse_on_ranks *h) {
  if (s->settings->diagonal) return tsi_dense_make(s, s->view.rows, 1, &h->values);
  return (s->settings->pattern ? list_pattern(s, &h->entries) : tsi_inverse_entries_read(s, &h->entries)) &&
         tsi_dense_make(s, h->entries.count, 1, &h->values);
}

/* Collective. Computes the entries. */
static bool compute(tsi_session *s, inverse_on_ranks *h, tristar_distributed_t *distributed) {
  const int64_t n = h->matrix.n;
  tristar_distributed_stats own;
  tsi_inverse_entries *e = &h->entries;
  tristar_distributed_get_stats(distributed, &own);
  s->factor_s -= own.start_seconds;
  h->layout = own.layout;
  if (!tsi_rank_0_says(
          s->rank > 0 ||
          tsi_session_check(s, tristar_distributed_get_factor_stats(distributed, &s->f, &s->a), s->name)))
    return false;
  if (s->rank == 0) {
    s->factored = true;
    s->analyze_s = s->a.analyze_seconds;
    s->factor_s -= s->analyze_s;
  }
  const double begin = tsi_now();
  MPI_Bcast(&e->count, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  const bool ok =
      s->settings->diagonal
          ? tsi_session_check(
                s, tristar_distributed_set_rows(distributed, s->rank == 0 ? 0 : n, s->rank == 0 ? n : 0),
                s->name) &&
                tsi_session_check(s, tristar_distributed_inverse_diagonal(distributed, h->values.values),
                                  s->name)
          : tsi_session_check(s,
                              tristar_distributed_inverse_entries(distributed, e->count, e->row, e->column,
                                                                  h->values.values),
                              s->name);
  h->seconds = tsi_now() - begin;
  return ok;
}

/* Collective. Runs the command. */
static bool make_on_ranks(tsi_session *s, void *state) {
  inverse_on_ranks *h = state;
  tristar_dmatrix_t *matrix = NULL;
  tristar_distributed_t *distributed = NULL;
  tristar_distributed_options options;
  if (!tsi_make_rows(s, !s->settings->laplacian && !s->settings->pattern, &matrix)) return false;
  tristar_dmatrix_get_stats(matrix, &h->matrix);
  bool ok = tsi_rank_0_says(s->rank > 0 || prepare(s, h));
  if (ok) {
    const tristar_analysis_options analysis = tsi_session_analysis_options(s);
    tristar_distributed_options_init(&options);
    options.layout = h->layout;
    if (s->settings->algo == 2) options.grids = 1;
    const double begin = tsi_now();
    ok = tsi_session_check_factor(s, tristar_dmatrix_factor(matrix, &analysis, &options, &distributed));
    s->factor_s = tsi_now() - begin;
  }
  tristar_dmatrix_destroy(&matrix);
  ok = ok && compute(s, h, distributed);
  tristar_distributed_destroy(&distributed);
  return ok && (s->rank > 0 || tsi_inverse_write(s, &h->values));
}

static void report_on_ranks(const tsi_session *s, const inverse_on_ranks *h) {
  const tristar_layout *l = &h->layout;
  tsi_console_clear();
  tsi_report_matrix(s);
  tsi_report_analysis(s);
  tsi_report_factor(s);
  tsi_report("layout", "%d x %d x %d processes, %s algorithm, %s map, %s trees", l->px, l->py, l->pz,
             tsi_algorithm_name(s->settings), tsi_map_name(l->map), tsi_tree_name(l->message_tree));
  tsi_inverse_report(s, h->values.rows, h->seconds, 0);
}

static int check(tsi_settings *settings, int ranks, void *state) {
  inverse_on_ranks *h = state;
  return tsi_check_layout("inverse", settings, ranks, &h->layout);
}

static void report(tsi_session *s, void *state) {
  const inverse_on_ranks *h = state;
  if (s->status == TRISTAR_OK && !s->settings->to_stdout) report_on_ranks(s, h);
  cJSON *object = tsi_json_session(s);
  if (s->status == TRISTAR_OK) {
    TSI_JSON_NUMBERS(object, {"n", (double)h->matrix.n}, {"nnz", (double)h->matrix.nnz_all},
                     {"inverse_entries", (double)h->values.rows}, {"inverse_s", h->seconds});
    tsi_json_add_layout(object, s, &h->layout);
  }
  tsi_json_write(s, object);
}

static void release(tsi_session *s, void *state) {
  (void)s;
  inverse_on_ranks *h = state;
  free(h->values.values);
  tsi_inverse_entries_free(&h->entries);
}

int tsi_inverse_distributed(const tsi_settings *settings) {
  static const tsi_ranks_command command = {check, make_on_ranks, report, release};
  inverse_on_ranks h = {.seconds = 0};
  return tsi_run_on_ranks(&command, settings, settings->operand[0], &h);
}

#endif
