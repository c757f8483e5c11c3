/* `tristar schur --layout` under mpiexec: all ranks have rows of the matrix, factor A_II and solve with it.
 * Rank 0 reads the unknowns and receives the complement. If any rank fails, rank 0 reports it once, and all
 * ranks end with the same status. */
#include "drivers/command/solve.h"

#include "drivers/session/console.h"
#include "drivers/session/launcher.h"

#ifndef TSI_HAVE_MPI

int tsi_schur_distributed(const tsi_settings *settings) {
  return tsi_fail_without_mpi("schur", settings->layout ? "--layout" : NULL);
}

#else

#include <stdlib.h>

#include "drivers/report/report.h"

typedef struct complement_on_ranks {
  tristar_layout layout;
  tristar_dmatrix_stats matrix;
  tristar_dense values;      /* rank 0 */
  tsi_schur_vectors vectors; /* rank 0 */
  double seconds;
} complement_on_ranks;

/* On rank 0: reads the unknowns and the vectors. */
static bool prepare(tsi_session *s, complement_on_ranks *h) {
  return tsi_schur_read_unknowns(s) && tsi_dense_make(s, s->schur_count, s->schur_count, &h->values) &&
         tsi_schur_vectors_read(s, &h->vectors);
}

/* Scatters rows of vectors from rank 0 to their owners, or gathers them. Each rank stores its rows
 * column-major.
 */
typedef struct rows_on_ranks {
  MPI_Datatype scalar;
  int *count, *first; /* rank 0: number of rows and first row of each rank */
  int rows;           /* number of rows of this rank */
  size_t bytes;       /* size of a scalar */
} rows_on_ranks;

static bool begin_rows(tsi_session *s, const complement_on_ranks *h, rows_on_ranks *r) {
  r->bytes = tsi_precision_of(h->matrix.scalar)->bytes;
  r->rows = (int)h->matrix.rows;
  r->count = calloc((size_t)s->ranks, sizeof *r->count);
  r->first = calloc((size_t)s->ranks, sizeof *r->first);
  MPI_Type_contiguous((int)r->bytes, MPI_BYTE, &r->scalar);
  MPI_Type_commit(&r->scalar);
  const bool ok = tsi_all_ranks_say(
      s, (r->count != NULL && r->first != NULL) ||
             tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for numbers of rows", s->name));
  if (!ok) return false;
  MPI_Gather(&r->rows, 1, MPI_INT, r->count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int k = 1; k < s->ranks; k++) r->first[k] = r->first[k - 1] + r->count[k - 1];
  return true;
}

static void move_rows(const rows_on_ranks *r, const tristar_dense *all, int64_t nrhs, char *own, bool back) {
  for (int64_t c = 0; c < nrhs; c++) {
    char *column = all->values ? (char *)all->values + (size_t)(c * all->rows) * r->bytes : NULL,
         *here = own + (size_t)c * (size_t)r->rows * r->bytes;
    if (back)
      MPI_Gatherv(here, r->rows, r->scalar, column, r->count, r->first, r->scalar, 0, MPI_COMM_WORLD);
    else
      MPI_Scatterv(column, r->count, r->first, r->scalar, here, r->rows, r->scalar, 0, MPI_COMM_WORLD);
  }
}

/* Collective. Solves for nrhs right-hand sides; b has the rows of this rank. */
static bool solve_columns(tsi_session *s, const complement_on_ranks *h, tristar_dmatrix_schur_t *schur,
                          const rows_on_ranks *r, int64_t nrhs, char *b) {
  const int64_t ld = r->rows > 0 ? r->rows : 1;
  const tsi_schur_vectors *v = &h->vectors;
  bool requested[] = {v->g.values != NULL, v->x_s.values != NULL};
  bool ok = true;
  MPI_Bcast(requested, sizeof requested, MPI_BYTE, 0, MPI_COMM_WORLD);
  move_rows(r, &v->b, nrhs, b, false);
  if (requested[0])
    ok = tsi_session_check(
        s, tristar_dmatrix_schur_condense(schur, TRISTAR_N, nrhs, b, ld, v->g.values, s->schur_count),
        s->name);
  if (!ok || !requested[1]) return ok;
  ok = tsi_session_check(
      s, tristar_dmatrix_schur_expand(schur, TRISTAR_N, nrhs, b, ld, v->x_s.values, s->schur_count, b, ld),
      s->name);
  if (ok) move_rows(r, &v->x, nrhs, b, true);
  return ok;
}

/* Collective. Solves with --reduced or --interface. */
static bool solve_on_ranks(tsi_session *s, const complement_on_ranks *h, tristar_dmatrix_schur_t *schur) {
  rows_on_ranks r = {.rows = 0};
  int64_t nrhs = h->vectors.b.values != NULL ? h->vectors.b.cols : 0;
  MPI_Bcast(&nrhs, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (nrhs == 0) return true;
  bool ok = begin_rows(s, h, &r);
  char *b = ok ? calloc((size_t)nrhs * (size_t)r.rows + 1, r.bytes) : NULL;
  ok = ok && tsi_all_ranks_say(s, b != NULL || tsi_session_fail(s, TRISTAR_ERR_MEMORY,
                                                                "%s: out of memory for %lld right-hand sides",
                                                                s->name, (long long)nrhs));
  ok = ok && solve_columns(s, h, schur, &r, nrhs, b);
  MPI_Type_free(&r.scalar);
  free(b);
  free(r.count);
  free(r.first);
  return ok;
}

/* Collective. Factors A_II, computes the complement, and solves. */
static bool compute(tsi_session *s, complement_on_ranks *h, tristar_dmatrix_t *matrix,
                    const tristar_analysis_options *analysis, const tristar_distributed_options *options) {
  tristar_dmatrix_schur_t *schur = NULL;
  const double begin = tsi_now();
  bool ok = tsi_session_check(
      s, tristar_dmatrix_schur_create(matrix, s->schur_count, s->schur, analysis, options, &schur), s->name);
  ok =
      ok && tsi_session_check(s, tristar_dmatrix_schur_get(schur, h->values.values, s->schur_count), s->name);
  h->seconds = tsi_now() - begin;
  ok = ok && solve_on_ranks(s, h, schur);
  tristar_dmatrix_schur_destroy(&schur);
  return ok;
}

/* Collective. Runs the command. */
static bool make_on_ranks(tsi_session *s, void *state) {
  complement_on_ranks *h = state;
  tristar_dmatrix_t *matrix = NULL;
  tristar_distributed_options options;
  if (!tsi_make_rows(s, !s->settings->laplacian, &matrix)) return false;
  tristar_dmatrix_get_stats(matrix, &h->matrix);
  bool ok = tsi_rank_0_says(s->rank > 0 || prepare(s, h));
  if (ok) {
    tristar_analysis_options analysis = tsi_session_analysis_options(s);
    analysis.schur = NULL; /* tristar_dmatrix_schur takes the unknowns itself */
    analysis.schur_count = 0;
    tristar_distributed_options_init(&options);
    options.layout = h->layout;
    if (s->settings->algo == 2) options.grids = 1;
    MPI_Bcast(&s->schur_count, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    ok = compute(s, h, matrix, &analysis, &options);
  }
  tristar_dmatrix_destroy(&matrix);
  return ok && (s->rank > 0 || (tsi_schur_write(s, &h->values) && tsi_schur_vectors_write(s, &h->vectors)));
}

static void report_on_ranks(const tsi_session *s, const complement_on_ranks *h) {
  const tristar_layout *l = &h->layout;
  tsi_console_clear();
  tsi_report("matrix", "%s%s", s->settings->laplacian ? "Laplacian of " : "", s->name);
  tsi_report("", "%s, %s entries, %s%s, %s; read in %s", tsi_text_many(h->matrix.n, "row"),
             tsi_text_count(h->matrix.nnz_all), s->precision->text,
             s->single_factors ? " (single factors)" : "", tsi_symmetry_text(s->view.symmetry),
             tsi_text_seconds(s->read_s));
  if (l->px == 0)
    tsi_report("layout", "chosen by the library, of %d processes", s->ranks);
  else
    tsi_report("layout", "%d x %d x %d processes, %s algorithm, %s map, %s trees", l->px, l->py, l->pz,
               tsi_algorithm_name(s->settings), tsi_map_name(l->map), tsi_tree_name(l->message_tree));
  tsi_report("time", "%s: factorization, and a solve for each unknown", tsi_text_seconds(h->seconds));
  tsi_schur_report(s);
}

static int check(tsi_settings *settings, int ranks, void *state) {
  complement_on_ranks *h = state;
  return tsi_check_layout("schur", settings, ranks, &h->layout);
}

static void report(tsi_session *s, void *state) {
  const complement_on_ranks *h = state;
  if (s->status == TRISTAR_OK && !s->settings->to_stdout) report_on_ranks(s, h);
  cJSON *object = tsi_json_session(s);
  if (s->status == TRISTAR_OK) {
    TSI_JSON_NUMBERS(object, {"n", (double)h->matrix.n}, {"nnz", (double)h->matrix.nnz_all},
                     {"schur_unknowns", (double)s->schur_count}, {"schur_s", h->seconds});
    if (h->layout.px > 0) tsi_json_add_layout(object, s, &h->layout);
  }
  tsi_json_write(s, object);
}

static void release(tsi_session *s, void *state) {
  complement_on_ranks *h = state;
  free(h->values.values);
  tsi_schur_vectors_free(&h->vectors);
  free(s->schur);
}

int tsi_schur_distributed(const tsi_settings *settings) {
  static const tsi_ranks_command command = {check, make_on_ranks, report, release};
  complement_on_ranks h = {.seconds = 0};
  return tsi_run_on_ranks(&command, settings, settings->operand[0], &h);
}

#endif
