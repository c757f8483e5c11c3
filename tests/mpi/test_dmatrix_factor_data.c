/* Factors of real matrices whose rows are on all ranks: 20 matrices, all types that can hold them, all
 * methods that apply, all layouts with that many processes. The share of each rank and all solutions have the
 * bits of the same factor of a matrix on rank 0. Backward errors after refinement are those of one process.
 *
 * Without a matching static pivots of three matrices are perturbed; with delayed pivots none is.
 *
 * If single precision cannot hold a factor, each rank gets the status of one process, from either input.
 *
 * The folder: TRISTAR_DATA, or ../shared/data next to the sources. */
#include "tests/support/data.h"
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/real_matrices.h"

static const struct source {
  const char *file;
  bool definite; /* LLT applies */
  bool delays;   /* without a matching static pivots fail */
} sources[] = {
    {"bcsstk06.mtx.gz", true, false},
    {"494_bus.mtx.gz", true, false},
    {"nos7.mtx.gz", true, false},
    {"gr_30_30.mtx.gz", true, false},
    {"1138_bus.mtx.gz", true, false},
    {"bcsstk09.mtx.gz", true, false},
    {"sherman1.mtx.gz", false, false},
    {"hangGlider_2.mtx.gz", false, true},
    {"ACTIVSg200_KKT_01.mtx.gz", false, true},
    {"arc130.rua.gz", false, false},
    {"west0479.mtx.gz", false, true},
    {"bp_1200.mtx.gz", false, false},
    {"pde900.mtx.gz", false, false},
    {"orsirr_1.rua.gz", false, false},
    {"gre_1107.mtx.gz", false, false},
    {"e05r0500.mtx.gz", false, false},
    {"young1c.mtx.gz", false, false},
    {"young4c.mtx.gz", false, false},
    {"slu_cmat.cua.gz", false, false},
    {"mhd1280b.mtx.gz", true, false},
};

/* Returns the status of one process. *error: the backward error after refinement. */
static tristar_status factor_alone(const world *w, const shared_matrix *s,
                                   const tristar_analysis_options *options, double *error) {
  tristar_analysis_t *analysis;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  tristar_refine_result result;
  tristar_status status = tristar_analyze(w->ts, &s->view, options, &analysis);
  if (status == TRISTAR_OK) status = tristar_factor(analysis, s->values, &factor);
  tristar_analysis_destroy(&analysis);
  if (status != TRISTAR_OK) return status;
  OWNED char *b = make_some_rhs(s->t, s->n, 1), *x = xmalloc((size_t)s->n * s->t->bytes + 1);
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_T, 1, b, s->n, x, s->n, NULL, &result));
  *error = result.backward_error;
  tristar_plan_destroy(&plan);
  return TRISTAR_OK;
}

/* Single precision fails: from rows on all ranks and from rank 0, each rank returns the same status. */
static void check_failure(const world *w, const char *what, const shared_matrix *s, const wish *o,
                          tristar_status alone) {
  tristar_dmatrix_t *matrix = NULL;
  tristar_distributed_t *d = NULL;
  tristar_analysis_t *analysis = NULL;
  tristar_status status[2] = {TRISTAR_OK, TRISTAR_OK}; /* as MPI_INT */
  status[0] = tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &s->rows.view, NULL, &matrix);
  if (status[0] == TRISTAR_OK) status[0] = tristar_dmatrix_factor(matrix, &o->analysis, &o->options, &d);
  if (status[0] == TRISTAR_OK) tristar_distributed_destroy(&d);
  tristar_dmatrix_destroy(&matrix);
  if (w->rank == 0) status[1] = tristar_analyze(w->ts, &s->view, &o->analysis, &analysis);
  MPI_Bcast(&status[1], 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (status[1] == TRISTAR_OK)
    status[1] = tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s->values : NULL,
                                           &o->options, &d);
  if (status[1] == TRISTAR_OK) tristar_distributed_destroy(&d);
  tristar_analysis_destroy(&analysis);
  CHECK_MSG(status[0] == alone && status[1] == alone, "%s: %s of rows, %s of rank 0's, %s of one process",
            what, tristar_status_name(status[0]), tristar_status_name(status[1]), tristar_status_name(alone));
}

/* One matrix, type and method, in all layouts; on more than 4 ranks types other than double take every third
 * layout. */
static int check_layouts(const world *w, const char *file, shared_matrix *s, tristar_method method) {
  const bool thin = w->ranks > 4 && s->t != &typed_double;
  int count = 0, turn = (int)(s->n % 3);
  char what[128];
  snprintf(what, sizeof what, "%s %c, method %d", file, s->t->scalar, (int)method);
  for (int pz = 1; pz <= w->ranks; pz *= 2)
    for (int px = 1; px * pz <= w->ranks; px++) {
      tristar_layout layout = grid(w, pz);
      layout.px = px;
      layout.py = w->ranks / px / pz;
      layout.algorithm = count % 2 ? TRISTAR_ALGORITHM_LEVELWISE : TRISTAR_ALGORITHM_REPLICATED;
      layout.map = count % 3 == 2 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE;
      if (px * layout.py * pz != w->ranks || (thin && turn++ % 3 != 0)) continue;
      wish o = wish_of(&layout, method);
      double alone;
      const tristar_status status = factor_alone(w, s, &o.analysis, &alone);
      if (status != TRISTAR_OK) {
        CHECK_MSG(s->t->is_single, "%s: %s on one process", what, tristar_status_name(status));
        check_failure(w, what, s, &o, status);
        return count;
      }
      /* Some matrices are too badly conditioned for single precision: errors differ between factors. */
      s->error = (s->t->is_single ? 100 : 10) * (alone > 10 * s->t->roundoff ? alone : 10 * s->t->roundoff);
      compare_inputs(w, file, s, &o);
      count++;
    }
  return count;
}

/* With the largest number of grids, and with one grid. */
static int check_delayed(const world *w, const char *file, const shared_matrix *s, tristar_method method) {
  int count = 0;
  for (int pz = 1; pz <= w->ranks && w->ranks % pz == 0; pz *= 2, count++) {
    CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d = NULL;
    const tristar_layout layout = grid(w, pz);
    wish o = wish_of(&layout, method);
    tristar_factor_stats f;
    o.analysis.matching = TRISTAR_MATCHING_OFF;
    o.analysis.pivoting = TRISTAR_PIVOTING_DELAYED;
    compare_inputs(w, file, s, &o);
    CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s->rows);
    CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
    if (w->rank > 0) continue;
    CHECK_OK(tristar_distributed_get_factor_stats(d, &f, NULL));
    CHECK_MSG(f.delayed_pivots > 0 && f.perturbed_pivots == 0, "%s: %lld pivots delayed, %lld perturbed",
              file, (long long)f.delayed_pivots, (long long)f.perturbed_pivots);
  }
  return count;
}

/* All types and symmetries that the matrix can have. */
static int check_source(const world *w, const struct source *source) {
  static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_double,
                                       &typed_complex_single};
  char path[1024];
  int count = 0;
  shared_matrix s = {.t = NULL};
  snprintf(path, sizeof path, "%s/%s", data_folder(), source->file);
  tristar_view v = read_view(w->ts, path, &s.matrix);
  for (int k = 0; k < 4; k++) {
    if (v.scalar == TRISTAR_COMPLEX_DOUBLE && !types[k]->is_complex) continue;
    s.t = types[k];
    s.view = v;
    s.view.scalar = s.t->scalar;
    if (s.t->is_complex && v.symmetry == TRISTAR_SYMMETRIC && v.scalar == TRISTAR_DOUBLE)
      s.view.symmetry = TRISTAR_HERMITIAN;
    s.values = real_values(s.t, &v, s.view.symmetry);
    s.view.values = s.values;
    share_rows(w, &s);
    if (source->definite) count += check_layouts(w, source->file, &s, TRISTAR_METHOD_LLT);
    if (v.symmetry != TRISTAR_GENERAL) count += check_layouts(w, source->file, &s, TRISTAR_METHOD_LDLT);
    count += check_layouts(w, source->file, &s, TRISTAR_METHOD_LU);
    if (source->delays && s.t == &typed_double)
      count += check_delayed(w, source->file, &s,
                             v.symmetry != TRISTAR_GENERAL ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LU);
    release_rows(&s.rows);
    free(s.values);
  }
  tristar_matrix_destroy(&s.matrix);
  return count;
}

int main(void) {
  char path[1024];
  int count = 0;
  snprintf(path, sizeof path, "%s/INDEX.tsv", data_folder());
  FILE *index = fopen(path, "r");
  if (index == NULL) SKIP("no matrices: %s is not there (TRISTAR_DATA names the folder)", path);
  fclose(index);
  CLEANUP(close_world) world w = open_world();
  for (size_t k = 0; k < sizeof sources / sizeof *sources; k++) {
    const int more = check_source(&w, &sources[k]);
    if (w.rank == 0) fprintf(stderr, "%s: %d factors\n", sources[k].file, more);
    count += more;
  }
  if (w.rank == 0) printf("%d factors\n", count);
  return 0;
}
