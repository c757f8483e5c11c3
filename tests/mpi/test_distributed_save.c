/* Distributed factors in files, one for each rank. A loaded factor has the bits of the saved one, solves, and
 * accepts new values. A file that is damaged, missing or of another set gives the same error on all ranks.
 *
 *   test_distributed_save */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/saved_bytes.h"
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"
#include "tests/support/systems/nasty_systems.h"
#include "tests/support/systems/zero_pivots.h"
#include "tristar_save.h"

/* ---- The same bits ------------------------------------------------------------------------------------- */

/* Solves with T and C, the condition, and statistics. x: this rank's rows of three columns. */
static void look(const shared_matrix *s, tristar_distributed_t *d, char *x, double *rcond) {
  const size_t bytes = s->t->bytes, rows = (size_t)(s->end - s->first);
  OWNED char *all = make_some_rhs(s->t, s->n, 1);
  const int64_t ld = rows > 0 ? (int64_t)rows : 1;
  for (size_t o = 0; o < TYPED_OPS; o++)
    CHECK_OK(tristar_distributed_solve(d, typed_ops[o], 1, all + (size_t)s->first * bytes, ld,
                                       x + o * rows * bytes, ld));
  CHECK_OK(tristar_distributed_condition(d, rcond));
}

static void check_equal(const world *w, const char *what, const shared_matrix *s, tristar_distributed_t *one,
                        tristar_distributed_t *two) {
  const size_t bytes = TYPED_OPS * (size_t)(s->end - s->first) * s->t->bytes;
  OWNED char *x = xcalloc(1, bytes + 1), *y = xcalloc(1, bytes + 1);
  double of_one, of_two;
  check_same(what, one, two);
  same_figures(w, what, one, two);
  same_solutions(what, s, one, two);
  look(s, one, x, &of_one);
  look(s, two, y, &of_two);
  same_bytes(what, "solutions", x, y, bytes);
  CHECK_MSG(of_one == of_two, "%s: conditions %g and %g", what, of_one, of_two);
  CHECK(one->singular == two->singular && one->loses_digits == two->loses_digits &&
        one->weighted == two->weighted && one->has_matrix == two->has_matrix &&
        one->stats.perturbed_pivots == two->stats.perturbed_pivots);
}

/* Passes new values to both factors, with the function of their input, and then the old values. */
static void check_refactor(const world *w, const char *what, const shared_matrix *s,
                           tristar_distributed_t *one, tristar_distributed_t *two) {
  for (int k = 0; k < 2; k++) {
    shared_matrix other = *s;
    other.values = scaled_values(s, k == 0 ? 1.5 : 1);
    other.view.values = other.values;
    rows_block rows = take_rows(&other.view, s->t->bytes, s->first, s->end, 0);
    CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &rows);
    for (int d = 0; d < 2; d++) {
      tristar_distributed_t *which = d == 0 ? one : two;
      CHECK_OK(which->of_rows ? tristar_dmatrix_refactor(matrix, which)
                              : tristar_distributed_refactor(which, w->rank == 0 ? other.values : NULL));
    }
    check_equal(w, what, s, one, two);
    release_rows(&rows);
    free(other.values);
  }
}

static tristar_distributed_t *make_factor(const world *w, const shared_matrix *s, const wish *o,
                                          bool by_rows) {
  tristar_distributed_t *d;
  if (by_rows) {
    CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s->rows);
    CHECK_OK(tristar_dmatrix_factor(matrix, &o->analysis, &o->options, &d));
    return d;
  }
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s->view, &o->analysis, &analysis));
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s->values : NULL,
                                      &o->options, &d));
  CHECK_OK(tristar_distributed_set_rows(d, s->first, s->end - s->first));
  return d;
}

/* Gives rows and columns of a matrix units that differ by up to 2^48, so that solves need refinement. */
static void change_units(const world *w, shared_matrix *s) {
  const int64_t *ptr = s->view.ptr;
  const int32_t *index = s->view.index;
  release_rows(&s->rows);
  for (int64_t j = 0; j < s->n; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
      put(s->t, s->values, p, ldexp(1, (int)(12 * (index[p] % 3 + j % 3 - 2))) * get(s->t, s->values, p));
  share_rows(w, s);
}

static double bytes_now(const world *w) {
  tristar_memory_stats memory;
  CHECK_OK(tristar_get_memory(w->ts, &memory));
  return (double)memory.current_bytes;
}

/* Saves and loads a factor. */
static void check_files(const world *w, const char *kind, const shared_matrix *s, const wish *o,
                        bool by_rows) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *one, *two, *three;
  const tristar_layout *l = &o->options.layout;
  tristar_distributed_options other = o->options;
  char what[200];
  snprintf(what, sizeof what, "%s %c, %dx%dx%d, method %d, %s", kind, s->t->scalar, l->px, l->py, l->pz,
           (int)o->analysis.method, by_rows ? "by rows" : "of rank 0");
  if (w->rank == 0) fprintf(stderr, "%s\n", what);
  const double before = bytes_now(w);
  one = make_factor(w, s, o, by_rows);
  const double made = bytes_now(w);
  CHECK_OK(tristar_distributed_save(one, "set"));
  CHECK(bytes_now(w) == made);
  CHECK_OK(tristar_distributed_load(w->ts, MPI_COMM_WORLD, "set", NULL, &two));
  CHECK_MSG(bytes_now(w) - made <= 1.01 * (made - before) + 4096, "%s: rank %d: %.0f bytes, loaded %.0f",
            what, w->rank, made - before, bytes_now(w) - made);
  check_equal(w, what, s, one, two);
  check_refactor(w, what, s, one, two);
  /* Saves a loaded factor, with other options. */
  CHECK_OK(tristar_distributed_save(two, "again"));
  other.layout.px = 0;
  other.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_distributed_load(w->ts, MPI_COMM_WORLD, "again", &other, &three));
  check_equal(w, what, s, one, three);
}

static void check_round_trip(const world *w, const char *kind, int64_t k, const typed *t,
                             tristar_symmetry symmetry, const wish *o, bool by_rows, bool far) {
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, kind, k, t, symmetry);
  if (far) change_units(w, &s);
  check_files(w, kind, &s, o, by_rows);
}

/* The order of pivots that a search has found. */
static void check_delayed(const world *w, tristar_method method) {
  const tristar_layout layout = some_grid(w);
  OWNED problem *p = make_saddle(&typed_double, TRISTAR_SYMMETRIC, 1);
  const wish o = delaying(&layout, method, p->order);
  shared_matrix s = {.t = &typed_double, .values = p->values, .view = p->view, .error = 1e-13};
  share_rows(w, &s);
  for (int by_rows = 0; by_rows < 2; by_rows++) check_files(w, "delayed pivots", &s, &o, by_rows);
  release_rows(&s.rows);
}

/* Refactored values look singular in the scaling of the analysis, but are regular. A loaded factor has the
 * condition that a better factor gave. */
static void check_misfit(const world *w) {
  const tristar_layout layout = some_grid(w);
  nasty m, tame;
  nasty_make(&typed_double, NASTY_SMALL_DIAGONAL, TRISTAR_METHOD_LU, 8849, &m);
  nasty_make_tame(&m, &tame);
  int64_t natural[NASTY_MOST];
  double easy[NASTY_MOST * NASTY_MOST], hard[NASTY_MOST * NASTY_MOST];
  for (int i = 0; i < m.n; i++) natural[i] = i;
  shared_matrix s = {.t = &typed_double, .n = m.n, .values = easy, .error = 1e-13}, other;
  wish o = wish_of(&layout, TRISTAR_METHOD_LU);
  o.analysis.ordering = TRISTAR_ORDERING_USER;
  o.analysis.permutation = natural;
  o.analysis.matching = TRISTAR_MATCHING_OFF;
  o.analysis.singular = TRISTAR_SINGULAR_PERTURB;
  s.view = typed_dense_view(&typed_double, m.n, tame.a, m.n, TRISTAR_GENERAL);
  const size_t bytes = (size_t)((const int64_t *)s.view.ptr)[m.n] * sizeof(double);
  memcpy(easy, s.view.values, bytes);
  other = s;
  memcpy(hard, typed_dense_view(&typed_double, m.n, m.a, m.n, TRISTAR_GENERAL).values, bytes);
  s.view.values = easy;
  other.view.values = other.values = hard;
  share_rows(w, &s);
  share_rows(w, &other);
  for (int by_rows = 0; by_rows < 2; by_rows++) {
    CLEANUP(tristar_distributed_destroy) tristar_distributed_t *one, *two;
    one = make_factor(w, &s, &o, by_rows);
    if (by_rows) {
      CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &other.rows);
      CHECK_OK(tristar_dmatrix_refactor(matrix, one));
    } else {
      CHECK_OK(tristar_distributed_refactor(one, w->rank == 0 ? hard : NULL));
    }
    CHECK(one->misfit && one->condition > 0);
    CHECK_OK(tristar_distributed_save(one, "set"));
    CHECK_OK(tristar_distributed_load(w->ts, MPI_COMM_WORLD, "set", NULL, &two));
    CHECK(two->misfit && two->condition == one->condition);
  }
  release_rows(&s.rows);
  release_rows(&other.rows);
}

static void check_layouts(const world *w, const char *kind, int64_t k, const typed *t,
                          tristar_symmetry symmetry, tristar_method method, bool single) {
  for (int by_rows = 0; by_rows < 2; by_rows++)
    for (int pz = 1; pz <= w->ranks; pz *= 2) {
      tristar_layout layout = grid(w, pz);
      layout.map = pz == 2 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE;
      wish o = wish_of(&layout, method);
      o.analysis.single_factors = single;
      o.analysis.leaf_parts = 4;
      o.options.nrhs = 3;
      check_round_trip(w, kind, k, t, symmetry, &o, by_rows, false);
    }
}

static void check_kinds(const world *w) {
  check_layouts(w, "poisson3d7", 8, &typed_double, TRISTAR_SYMMETRIC, TRISTAR_METHOD_AUTO, false);
  check_layouts(w, "kkt3d", 4, &typed_double, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, false);
  check_layouts(w, "convdiff3d", 6, &typed_double, TRISTAR_GENERAL, TRISTAR_METHOD_LU, true);
  check_layouts(w, "kkt3d", 4, &typed_single, TRISTAR_GENERAL, TRISTAR_METHOD_LU, false);
  check_layouts(w, "maxwell3d", 4, &typed_complex_double, TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT, false);
}

/* Fewer rows than ranks; rows in different units. */
static void check_others(const world *w) {
  const tristar_layout layout = some_grid(w);
  for (int by_rows = 0; by_rows < 2; by_rows++) {
    wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
    check_round_trip(w, "poisson3d7", 1, &typed_double, TRISTAR_SYMMETRIC, &o, by_rows, false);
    check_round_trip(w, "convdiff3d", 6, &typed_double, TRISTAR_GENERAL, &o, by_rows, true);
    o.analysis.matching = TRISTAR_MATCHING_ON;
    check_round_trip(w, "kkt3d", 4, &typed_double, TRISTAR_SYMMETRIC, &o, by_rows, true);
  }
}

/* ---- Errors -------------------------------------------------------------------------------------------- */

static void name(char *path, const char *prefix, int rank) {
  snprintf(path, 100, "%s.%d", prefix, rank);
}

/* Reads the file of one rank; the buffer has 8 bytes more than the file. */
static char *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  CHECK_MSG(file != NULL, "%s", path);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  *bytes = (size_t)ftell(file);
  rewind(file);
  char *data = xcalloc(1, *bytes + 8);
  CHECK(fread(data, 1, *bytes, file) == *bytes);
  fclose(file);
  return data;
}

static void write_file(const char *path, const char *data, size_t bytes) {
  FILE *file = fopen(path, "wb");
  CHECK_MSG(file != NULL, "%s", path);
  CHECK(fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
}

/* All ranks return this status, with a message that contains these words. */
static void expect(const world *w, const char *prefix, const tristar_distributed_options *options,
                   tristar_status status, const char *text, const char *more) {
  tristar_distributed_t *d;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_STATUS(tristar_distributed_load(w->ts, MPI_COMM_WORLD, prefix, options, &d), status);
  CHECK(d == NULL);
  CHECK_ERROR(w->ts, text);
  CHECK_ERROR(w->ts, more);
  MPI_Barrier(MPI_COMM_WORLD);
}

enum { PLACES = 20, FORGED = 200 }; /* damaged positions in a file; changed files */

/* The file of each rank in turn is cut anywhere, changed anywhere, missing, of another rank, or of another
 * set. */
static void check_damage(const world *w) {
  for (int who = 0; who < w->ranks; who++) {
    char path[100], old[100];
    size_t bytes = 0;
    name(path, "set", who);
    char *data = w->rank == who ? read_file(path, &bytes) : NULL;
    MPI_Bcast(&bytes, sizeof bytes, MPI_BYTE, who, MPI_COMM_WORLD);
    for (size_t k = 0; k < PLACES; k++) {
      const size_t at = k * (bytes - 1) / (PLACES - 1);
      if (w->rank == who) write_file(path, data, at);
      expect(w, "set", NULL, TRISTAR_ERR_FORMAT, path, at < 56 ? "it has" : "damaged: ");
      if (w->rank == who) data[at] ^= 0x10;
      if (w->rank == who) write_file(path, data, bytes);
      /* The first bytes are not those of a saved object, or of another version or byte order. */
      tristar_distributed_t *d;
      MPI_Barrier(MPI_COMM_WORLD);
      const tristar_status status = tristar_distributed_load(w->ts, MPI_COMM_WORLD, "set", NULL, &d);
      CHECK_MSG(status == TRISTAR_ERR_FORMAT || (at < 16 && status == TRISTAR_ERR_UNSUPPORTED),
                "byte %zu: %s", at, tristar_status_name(status));
      CHECK_ERROR(w->ts, path);
      if (w->rank == who) data[at] ^= 0x10;
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (w->rank == who) {
      data[12] ^= 0x40; /* the version */
      write_file(path, data, bytes);
      data[12] ^= 0x40;
    }
    expect(w, "set", NULL, TRISTAR_ERR_UNSUPPORTED, path, "of the format; this library, TriStar ");
    if (w->rank == who) CHECK(unlink(path) == 0);
    expect(w, "set", NULL, TRISTAR_ERR_IO, path, "No such file");
    name(old, "other", who);
    if (w->rank == who) CHECK(rename(old, path) == 0);
    if (w->ranks > 1)
      expect(w, "set", NULL, TRISTAR_ERR_FORMAT, "set.", "another call of tristar_distributed_save wrote it");
    if (w->rank == who) CHECK(rename(path, old) == 0);
    name(old, "set", (who + 1) % w->ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    if (w->rank == who && w->ranks > 1) {
      size_t more;
      char *neighbour = read_file(old, &more);
      write_file(path, neighbour, more);
      free(neighbour);
    }
    if (w->ranks > 1) expect(w, "set", NULL, TRISTAR_ERR_FORMAT, path, "it is the file of rank ");
    if (w->rank == who) write_file(path, data, bytes);
    free(data);
  }
}

static void check_misuse(const world *w, const wish *o, tristar_distributed_t *d) {
  tristar_distributed_t *alone;
  tristar_factor_t *factor = NULL;
  tristar_distributed_options options = o->options;
  CHECK_STATUS(tristar_distributed_save(d, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(w->ts, "prefix is NULL");
  expect(w, NULL, NULL, TRISTAR_ERR_ARGUMENT, "prefix", " is NULL");
  expect(w, "nowhere/set", NULL, TRISTAR_ERR_IO, "nowhere/set.0", "No such file");
  CHECK_STATUS(tristar_distributed_load(w->ts, MPI_COMM_WORLD, "set", NULL, NULL), TRISTAR_ERR_ARGUMENT);
  options.refine = (tristar_refinement)7;
  expect(w, "set", &options, TRISTAR_ERR_ARGUMENT, "refine", " is 7");
  options.refine = TRISTAR_REFINE_NEVER;
  if (w->ranks > 1) /* solves would wait for each other */
    expect(w, "set", w->rank == 0 ? NULL : &options, TRISTAR_ERR_ARGUMENT, "refine", " is ");
  options.layout.map = TRISTAR_MAP_CYCLIC;
  expect(w, "set", &options, TRISTAR_ERR_ARGUMENT, "set.", "saved in layout ");
  CHECK_STATUS(tristar_factor_load(w->ts, "set.0", &factor), TRISTAR_ERR_FORMAT);
  CHECK_ERROR(w->ts, "tristar_distributed_load");
  if (w->ranks > 1) {
    CHECK_STATUS(tristar_distributed_load(w->ts, MPI_COMM_SELF, "set", NULL, &alone), TRISTAR_ERR_ARGUMENT);
    CHECK_ERROR(w->ts, "saved by ");
    /* If one rank cannot write, no file is replaced. */
    char path[100];
    struct stat info;
    CHECK_STATUS(tristar_distributed_save(d, w->rank == w->ranks - 1 ? "nowhere/set" : "fresh"),
                 TRISTAR_ERR_IO);
    CHECK_ERROR(w->ts, "cannot write nowhere/set.");
    name(path, "fresh", w->rank);
    CHECK(stat(path, &info) != 0);
  }
}

/* A factor that rank 0 has computed alone; a factor without values. */
static void check_refusals(const world *w, const shared_matrix *s, const wish *o) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s->view, &o->analysis, &analysis));
  if (w->rank == 0) CHECK_OK(tristar_factor(analysis, s->values, &factor));
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &o->options, &d));
  CHECK_STATUS(tristar_distributed_save(d, "set"), TRISTAR_ERR_UNSUPPORTED);
  CHECK_ERROR(w->ts, "tristar_factor_save");
  tristar_distributed_destroy(&d);
  d = make_factor(w, s, o, false);
  OWNED void *zeros = xcalloc((size_t)((const int64_t *)s->view.ptr)[s->n], s->t->bytes);
  CHECK(tristar_distributed_refactor(d, w->rank == 0 ? zeros : NULL) != TRISTAR_OK);
  CHECK_STATUS(tristar_distributed_save(d, "set"), TRISTAR_ERR_STALE);
}

/* The values of another factor replace its own. */
static void check_update(const world *w, const shared_matrix *s, const wish *o) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *one = make_factor(w, s, o, false), *two;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  OWNED void *values = scaled_values(s, 3);
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s->view, &o->analysis, &analysis));
  if (w->rank == 0) CHECK_OK(tristar_factor(analysis, values, &factor));
  CHECK_OK(tristar_distributed_update(one, factor));
  CHECK_OK(tristar_distributed_save(one, "updated"));
  CHECK_OK(tristar_distributed_load(w->ts, MPI_COMM_WORLD, "updated", NULL, &two));
  check_equal(w, "updated", s, one, two);
  CHECK_OK(tristar_distributed_update(two, factor));
  check_equal(w, "updated again", s, one, two);
}

/* Allocations of a rank fail in turn: the first hundred, and some of the others. */
static allocation_failures fail_some(const world *w, int who) {
  allocation_failures failing = fail_allocations_on(who, w->ts);
  failing.first = 100;
  failing.sparse = 40;
  return failing;
}

static void check_allocations(const world *w, tristar_distributed_t *d) {
  for (int k = 0; k < 2; k++) {
    const int who = k * (w->ranks - 1);
    allocation_failures failing = fail_some(w, who);
    while (next_failure(&failing)) end_failure_everywhere(&failing, tristar_distributed_save(d, "set"));
    failing = fail_some(w, who);
    while (next_failure(&failing)) {
      tristar_distributed_t *loaded;
      const tristar_status status = tristar_distributed_load(w->ts, MPI_COMM_WORLD, "set", NULL, &loaded);
      tristar_distributed_destroy(&loaded);
      end_failure_everywhere(&failing, status);
    }
  }
}

static void check_errors(const world *w, bool by_rows) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, TRISTAR_METHOD_LDLT);
  o.options.engine = TRISTAR_ENGINE_SERIAL;
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, "kkt3d", 3, &typed_double, TRISTAR_SYMMETRIC);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d = make_factor(w, &s, &o, by_rows), *two;
  CHECK_OK(tristar_distributed_save(d, "set"));
  CHECK_OK(tristar_distributed_save(d, "other"));
  check_damage(w);
  check_misuse(w, &o, d);
  check_allocations(w, d);
  if (!by_rows) check_refusals(w, &s, &o);
  if (!by_rows) check_update(w, &s, &o);
  CHECK_OK(tristar_distributed_load(w->ts, MPI_COMM_WORLD, "set", NULL, &two)); /* still the old files */
  check_equal(w, "after all failures", &s, d, two);
}

/* ---- Files of a wrong writer --------------------------------------------------------------------------- */

static void same_status(tristar_status status, int round) {
  int of[] = {(int)status, -(int)status}, most[2];
  MPI_Allreduce(of, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK_MSG(most[0] == -most[1] && status != TRISTAR_ERR_INTERNAL, "round %d: ranks return %d and %d", round,
            most[0], -most[1]);
}

static tristar_status refactor(const world *w, const shared_matrix *s, tristar_distributed_t *d) {
  if (!d->of_rows) return tristar_distributed_refactor(d, w->rank == 0 ? s->values : NULL);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s->rows);
  return tristar_dmatrix_refactor(matrix, d);
}

/* Uses a loaded factor, which may solve and accept new values, or fail. */
static void use(const world *w, const shared_matrix *s, tristar_distributed_t *d, int round) {
  const int64_t rows = tsi_distributed_own_rows(d), ld = rows > 0 ? rows : 1;
  OWNED char *x = xcalloc((size_t)(2 * ld), s->t->bytes);
  same_status(tristar_distributed_solve(d, TRISTAR_N, 1, x, ld, x, ld), round);
  same_status(tristar_distributed_solve(d, TRISTAR_T, 2, x, ld, x, ld), round);
  same_status(tristar_distributed_save(d, "forged again"), round);
  same_status(refactor(w, s, d), round);
}

/* Changes the lengths of the first two rows of each rank, so that new values do not fit. */
static void check_forged_rows(const world *w, const shared_matrix *s, const char *path, const record *records,
                              int count, saved_bytes *changed) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  for (int k = 0; k < count; k++)
    if (strcmp(records[k].head.name, "rows.ptr") == 0 && records[k].head.count > 2)
      records[k].data[sizeof(int64_t)]++;
  forge(tsi_context_env(w->ts), TSI_SAVED_RANK, records, count, -1, changed);
  write_file(path, (const char *)changed->data, changed->size);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(tristar_distributed_load(w->ts, MPI_COMM_WORLD, "forged", NULL, &d));
  CHECK_STATUS(refactor(w, s, d), TRISTAR_ERR_FORMAT);
  CHECK_ERROR(w->ts, "in the file that the factor was loaded from");
}

/* Each round changes a record of one rank; every third round makes the same change to the first
 * record of all ranks. */
static void check_forged(const world *w, const char *kind, const typed *t, tristar_symmetry symmetry,
                         tristar_method method, bool by_rows) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, method);
  o.options.engine = TRISTAR_ENGINE_SERIAL;
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, kind, 3, t, symmetry);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d = make_factor(w, &s, &o, by_rows);
  CLEANUP(free_saved_bytes) saved_bytes bytes = {.fail_after = -1}, changed = {.fail_after = -1};
  record records[RECORDS_MOST];
  char path[100];
  int loaded = 0;
  name(path, "forged", w->rank);
  CHECK_OK(tristar_distributed_save(d, "forged"));
  bytes.data = (unsigned char *)read_file(path, &bytes.size);
  const int count = split_records(&bytes, records);
  for (int k = 0; k < FORGED; k++) {
    CLEANUP(tristar_distributed_destroy) tristar_distributed_t *two = NULL;
    const bool all = k % 3 == 0;
    forging = (uint64_t)(k + 1) * 1000003;
    const int who = forged_below(w->ranks), chosen = forged_below(all ? 1 : count);
    const bool here = all || w->rank == who;
    if (here) forge(tsi_context_env(w->ts), TSI_SAVED_RANK, records, count, chosen, &changed);
    const saved_bytes *from = here ? &changed : &bytes;
    write_file(path, (const char *)from->data, from->size);
    MPI_Barrier(MPI_COMM_WORLD);
    const tristar_status status = tristar_distributed_load(w->ts, MPI_COMM_WORLD, "forged", NULL, &two);
    same_status(status, k);
    loaded += status == TRISTAR_OK;
    if (status == TRISTAR_OK) use(w, &s, two, k);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_MSG(loaded > FORGED / 20 && loaded < FORGED, "%d of %d were loaded", loaded, FORGED);
  check_forged_rows(w, &s, path, records, count, &changed);
}

int main(int argc, char **argv) {
  char folder[100];
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  snprintf(folder, sizeof folder, "saved_ranks_np%d", w.ranks);
  if (w.rank == 0) (void)mkdir(folder, 0777);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(chdir(folder) == 0);
  RUN(check_kinds(&w));
  RUN(check_others(&w));
  RUN(check_delayed(&w, TRISTAR_METHOD_LDLT));
  RUN(check_delayed(&w, TRISTAR_METHOD_LU));
  RUN(check_misfit(&w));
  RUN(check_errors(&w, false));
  RUN(check_errors(&w, true));
  for (int by_rows = 0; by_rows < 2; by_rows++) {
    RUN(check_forged(&w, "kkt3d", &typed_double, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, by_rows));
    RUN(check_forged(&w, "convdiff3d", &typed_complex_double, TRISTAR_GENERAL, TRISTAR_METHOD_LU, by_rows));
  }
  return 0;
}
