/* Factors of model problems of thousands of rows, for all types that can hold them, all methods that apply
 * and all layouts with that many processes. The share of each rank and all solutions have the bits of a
 * factor that rank 0 computes alone, in a context without StarPU. So the bits do not depend on scheduler,
 * workers and transport, for a matrix on rank 0 and for rows on all ranks. Backward errors after refinement
 * are those of one process.
 *
 *   test_dmatrix_factor_models direct|starpu_mpi [MATRIX]: transport of the messages for the matrix on
 *   rank 0 */
#include "tests/support/mpi/dmatrix_factor.h"

static const struct model {
  const char *kind;
  int64_t k;
  bool definite, symmetric; /* LLT, LDLT apply */
} models[] = {
    {"poisson3d7", 24, true, true},   {"s2d9pt", 128, true, true},    {"kkt3d", 10, false, true},
    {"convdiff3d", 20, false, false}, {"fusion2d", 12, false, false},
};

/* Factor with which all layouts of the same number of grids are compared. */
typedef struct reference {
  tristar_t *ts;                /* without StarPU */
  tristar_analysis_t *analysis; /* rank 0, like all below: of the ranks' context, for the matrix of rank 0 */
  tristar_factor_t *factor;
} reference;

/* Returns on all ranks the backward error after refinement on one process. */
static double error_alone(const shared_matrix *s, const tristar_factor_t *factor) {
  double error = 0;
  if (factor != NULL) {
    OWNED char *b = make_some_rhs(s->t, s->n, 1), *x = xmalloc((size_t)s->n * s->t->bytes);
    tristar_refine_result result;
    CLEANUP(tristar_plan_destroy)
    tristar_plan_t *plan = NEW_PLAN((tristar_factor_t *)(uintptr_t)factor, NULL);
    CHECK_OK(tristar_solve_refined(plan, TRISTAR_T, 1, b, s->n, x, s->n, NULL, &result));
    error = result.backward_error;
  }
  MPI_Bcast(&error, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return error;
}

static reference make_reference(const world *w, tristar_t *ts, shared_matrix *s, const wish *o) {
  reference r = {.ts = ts};
  if (w->rank == 0) {
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis;
    CHECK_OK(tristar_analyze(w->ts, &s->view, &o->analysis, &r.analysis));
    CHECK_OK(tristar_analyze(ts, &s->view, &o->analysis, &analysis));
    CHECK_OK(tristar_factor(analysis, s->values, &r.factor));
  }
  const double alone = error_alone(s, r.factor), least = 10 * s->t->roundoff;
  s->error = 10 * (alone > least ? alone : least);
  return r;
}

static void check_layout(const world *w, const char *kind, const shared_matrix *s, const wish *o,
                         const reference *r, tristar_transport transport) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *alone, *one, *two;
  tristar_distributed_options options = o->options;
  tristar_dmatrix_t *matrix = make(w, &s->rows);
  char what[200];
  const tristar_layout *l = &options.layout;
  snprintf(what, sizeof what, "%s %c, %dx%dx%d, method %d", kind, s->t->scalar, l->px, l->py, l->pz,
           (int)o->analysis.method);
  CHECK_OK(tristar_distribute(r->ts, MPI_COMM_WORLD, r->factor, &options, &alone));
  CHECK_OK(tristar_dmatrix_factor(matrix, &o->analysis, &options, &two));
  tristar_dmatrix_destroy(&matrix);
  options.transport = transport;
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, r->analysis, w->rank == 0 ? s->values : NULL,
                                      &options, &one));
  CHECK_OK(tristar_distributed_set_rows(alone, s->first, s->end - s->first));
  CHECK_OK(tristar_distributed_set_rows(one, s->first, s->end - s->first));
  check_same(what, alone, one);
  check_same(what, alone, two);
  same_solutions(what, s, alone, one);
  same_solutions(what, s, alone, two);
}

/* One matrix, type and method, in all layouts. On more than 4 ranks each type other than double takes every
 * third layout, and each type takes other ones. */
static int check_layouts(const world *w, tristar_t *ts, const char *kind, shared_matrix *s,
                         tristar_method method, tristar_transport transport) {
  const bool thin = w->ranks > 4 && s->t != &typed_double;
  int count = 0, turn = (s->t->is_complex ? 1 : 0) + (int)method;
  for (int pz = 1; pz <= w->ranks; pz *= 2) {
    reference r = {.ts = NULL};
    for (int px = 1; px * pz <= w->ranks; px++) {
      tristar_layout layout = grid(w, pz);
      layout.px = px;
      layout.py = w->ranks / px / pz;
      if (px * layout.py * pz != w->ranks) continue;
      layout.algorithm = turn % 2 ? TRISTAR_ALGORITHM_LEVELWISE : TRISTAR_ALGORITHM_REPLICATED;
      layout.map = turn % 3 == 2 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE;
      if (turn++ % 3 != 0 && thin) continue;
      const wish o = wish_of(&layout, method);
      if (r.ts == NULL) r = make_reference(w, ts, s, &o);
      check_layout(w, kind, s, &o, &r, transport);
      count++;
    }
    tristar_factor_destroy(&r.factor);
    tristar_analysis_destroy(&r.analysis);
  }
  return count;
}

static int check_model(const world *w, tristar_t *ts, const struct model *m, tristar_transport transport) {
  static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_double,
                                       &typed_complex_single};
  int count = 0;
  for (int k = 0; k < 4; k++) {
    CLEANUP(release_shared) shared_matrix s = share_matrix(w, m->kind, m->k, types[k], TRISTAR_HERMITIAN);
    if (m->definite) count += check_layouts(w, ts, m->kind, &s, TRISTAR_METHOD_LLT, transport);
    if (m->symmetric) count += check_layouts(w, ts, m->kind, &s, TRISTAR_METHOD_LDLT, transport);
    count += check_layouts(w, ts, m->kind, &s, TRISTAR_METHOD_LU, transport);
  }
  return count;
}

int main(int argc, char **argv) {
  CHECK(argc == 2 || argc == 3);
  CLEANUP(close_world) world w = open_world();
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  int count = 0;
  const tristar_transport transport =
      strcmp(argv[1], "starpu_mpi") == 0 ? TRISTAR_TRANSPORT_STARPU_MPI : TRISTAR_TRANSPORT_DIRECT;
  for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
    if (argc == 3 && strcmp(argv[2], models[k].kind) != 0) continue;
    const double begin = MPI_Wtime();
    const int more = check_model(&w, ts, &models[k], transport);
    if (w.rank == 0) fprintf(stderr, "%s: %d factors, %.0f s\n", models[k].kind, more, MPI_Wtime() - begin);
    count += more;
  }
  if (w.rank == 0) printf("%d factors\n", count);
  return 0;
}
