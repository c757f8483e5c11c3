/* `tristar schur --layout` under mpiexec: all ranks have rows of the matrix, factor A_II and solve with it.
 * Rank 0 reads the unknowns and has the complement. What fails on any rank is reported by rank 0 once, and
 * all ranks end with the same status. */
#include "drivers/command/solve.h"

#include "drivers/session/console.h"
#include "drivers/session/launcher.h"

#ifndef TSI_HAVE_MPI

int tsi_schur_distributed(const tsi_settings *settings) {
  tsi_console_mute(tsi_launched().rank > 0);
  tsi_console_error("schur: %s: this program was built without MPI (CMake: TRISTAR_WITH_MPI)",
                    settings->layout ? "--layout" : "started as one of several processes");
  return TSI_EXIT_FAILED;
}

#else

#include <stdlib.h>

#include "drivers/report/report.h"

typedef struct complement_on_ranks {
  int rank, ranks;
  tristar_layout layout;
  tristar_dmatrix_stats matrix;
  tristar_dense values; /* rank 0 */
  double seconds;
} complement_on_ranks;

/* Collective. Rows on all ranks, or, where they cannot be read so, all of them on rank 0. */
static bool make_rows(tsi_session *s, int rank, tristar_dmatrix_t **matrix) {
  static const int32_t no_entries[] = {0};
  tristar_dmatrix_options options;
  *matrix = s->settings->laplacian ? NULL : tsi_read_rows(s);
  if (*matrix != NULL) return true;
  if (!tsi_rank_0_says(rank > 0 || tsi_session_read(s))) return false;
  s->single_factors = s->settings->precision >= 4; /* on all ranks */
  tristar_view rows = s->view;
  if (rank > 0) {
    tristar_view_init(&rows);
    rows.format = TRISTAR_CSR;
    rows.ptr = no_entries;
    rows.index = no_entries;
    rows.values = no_entries;
  }
  MPI_Bcast(&rows.symmetry, (int)sizeof rows.symmetry, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(&rows.scalar, (int)sizeof rows.scalar, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(&rows.cols, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  tristar_dmatrix_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL; /* there are no products */
  return tsi_session_check(s, tristar_dmatrix_create(s->ts, MPI_COMM_WORLD, &rows, &options, matrix),
                           s->name);
}

/* On rank 0. */
static bool prepare(tsi_session *s, complement_on_ranks *h) {
  return tsi_schur_read_unknowns(s) && tsi_dense_make(s, s->schur_count, s->schur_count, &h->values);
}

/* Collective. */
static bool make_on_ranks(tsi_session *s, complement_on_ranks *h) {
  tristar_dmatrix_t *matrix = NULL;
  tristar_distributed_options options;
  if (!make_rows(s, h->rank, &matrix)) return false;
  tristar_dmatrix_get_stats(matrix, &h->matrix);
  bool ok = tsi_rank_0_says(h->rank > 0 || prepare(s, h));
  if (ok) {
    tristar_analysis_options analysis = tsi_session_analysis_options(s);
    analysis.schur = NULL; /* they are not of A_II */
    analysis.schur_count = 0;
    tristar_distributed_options_init(&options);
    options.layout = h->layout;
    if (s->settings->algo == 2) options.grids = 1;
    MPI_Bcast(&s->schur_count, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    const double begin = tsi_now();
    ok = tsi_session_check(s,
                           tristar_dmatrix_schur(matrix, s->schur_count, s->schur, &analysis, &options,
                                                 h->values.values, s->schur_count),
                           s->name);
    h->seconds = tsi_now() - begin;
  }
  tristar_dmatrix_destroy(&matrix);
  return ok && (h->rank > 0 || tsi_schur_write(s, &h->values));
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
    tsi_report("layout", "chosen by the library, of %d processes", h->ranks);
  else
    tsi_report("layout", "%d x %d x %d processes, %s algorithm, %s map, %s trees", l->px, l->py, l->pz,
               tsi_algorithm_name(s->settings), tsi_map_name(l->map), tsi_tree_name(l->message_tree));
  tsi_report("time", "%s: factorization, and a solve for each unknown", tsi_text_seconds(h->seconds));
  tsi_schur_report(s);
}

static int run_on_ranks(const tsi_settings *given, const void *none) {
  (void)none;
  tsi_session session, *s = &session;
  complement_on_ranks h = {.rank = 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &h.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &h.ranks);
  tsi_console_mute(h.rank > 0); /* rank 0 says the same */
  const int wrong = tsi_check_layout("schur", given, h.ranks, &h.layout);
  tsi_console_mute(false);
  if (wrong != TSI_EXIT_OK) return wrong;
  const tsi_settings settings = tsi_settings_of_rank(given, h.rank);
  const bool all = tsi_all_ranks_say(tsi_session_open(s, &settings, given->operand[0]));
  const bool made = all && tsi_rank_0_says(make_on_ranks(s, &h));
  if (made && h.rank == 0 && !settings.to_stdout) report_on_ranks(s, &h);
  if (h.rank == 0) {
    cJSON *object = tsi_json_session(s);
    if (made) {
      TSI_JSON_NUMBERS(object, {"n", (double)h.matrix.n}, {"nnz", (double)h.matrix.nnz_all},
                       {"schur_unknowns", (double)s->schur_count}, {"schur_s", h.seconds});
      if (h.layout.px > 0) tsi_json_add_layout(object, s, &h.layout);
    }
    tsi_json_write(s, object);
  }
  free(h.values.values);
  free(s->schur);
  return tsi_close_on_rank(s, h.rank, made);
}

int tsi_schur_distributed(const tsi_settings *settings) {
  return tsi_run_mpi(run_on_ranks, settings, NULL);
}

#endif
