/* Schur complements and entries of inverses, held against those of sequential MUMPS (ICNTL(19), ICNTL(30)) on
 * real matrices. Reports the times of both. Skipped where there is no matrix. */
#include <dmumps_c.h>

#include "tests/support/context.h"
#include "tests/support/data.h"
#include "tests/support/magnitude.h"
#include "tristar_inverse.h"
#include "tristar_schur.h"

#define ICNTL(m, i) ((m)->icntl[(i)-1])
enum {
  INITIALIZE = -1,
  TERMINATE = -2,
  ANALYZE_AND_FACTOR = 4,
  SOLVE = 3,
  COMM_WORLD = -987654,
  BUFFER = 100
};

#include <time.h>
static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* All entries of A as coordinates, from 1. */
typedef struct coordinates {
  int *row, *column;
  double *value;
  int64_t count;
} coordinates;

static coordinates list_entries(const tristar_view *v) {
  const int64_t *ptr = v->ptr, most = 2 * ptr[v->cols];
  const int32_t *index = v->index;
  const double *values = v->values;
  coordinates c = {xcalloc((size_t)most, sizeof(int)), xcalloc((size_t)most, sizeof(int)),
                   xcalloc((size_t)most, sizeof(double)), 0};
  for (int64_t j = 0; j < v->cols; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
      for (int image = 0; image < (v->symmetry == TRISTAR_SYMMETRIC && index[p] != j ? 2 : 1); image++) {
        c.row[c.count] = (image ? (int)j : index[p]) + 1;
        c.column[c.count] = (image ? index[p] : (int)j) + 1;
        c.value[c.count++] = values[p];
      }
  return c;
}

/* Starts MUMPS; end it and free the result. */
static DMUMPS_STRUC_C *begin_mumps(const tristar_view *v, coordinates *c) {
  DMUMPS_STRUC_C *m = xcalloc(1, sizeof *m);
  *c = list_entries(v);
  m->job = INITIALIZE;
  m->par = 1;
  m->sym = 0;
  m->comm_fortran = COMM_WORLD;
  dmumps_c(m);
  for (int i = 1; i <= 4; i++) ICNTL(m, i) = i == 4 ? 0 : -1;
  ICNTL(m, 14) = BUFFER;
  m->n = (int)v->rows;
  m->nnz = c->count;
  m->irn = c->row;
  m->jcn = c->column;
  m->a = c->value;
  return m;
}

/* Enlarges the working space if MUMPS requests it. */
static void run(DMUMPS_STRUC_C *m, int job) {
  do {
    m->job = job;
    dmumps_c(m);
  } while ((m->infog[0] == -9 || m->infog[0] == -8) && (ICNTL(m, 14) *= 4) < 100000);
  CHECK_MSG(m->infog[0] >= 0, "MUMPS: INFOG(1) = %d, INFOG(2) = %d", m->infog[0], m->infog[1]);
}

static void end_mumps(DMUMPS_STRUC_C *m, coordinates *c) {
  run(m, TERMINATE);
  free(c->row);
  free(c->column);
  free(c->value);
  free(m);
}

static void check_schur(tristar_t *ts, const char *name, const tristar_view *v, int count, double bound) {
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  OWNED int64_t *schur = xcalloc((size_t)count, sizeof *schur);
  OWNED int *list = xcalloc((size_t)count, sizeof *list);
  OWNED double *s = xcalloc((size_t)count * (size_t)count, sizeof *s),
               *of_mumps = xcalloc((size_t)count * (size_t)count, sizeof *s);
  coordinates c;
  double largest = 0, worst = 0;
  for (int k = 0; k < count; k++) {
    schur[k] = v->rows - 1 - k;
    list[k] = (int)schur[k] + 1;
  }
  options.schur = schur;
  options.schur_count = count;
  const double begin = seconds();
  CHECK_OK(tristar_analyze(ts, v, &options, &analysis));
  const double analyzed = seconds();
  CHECK_OK(tristar_factor(analysis, v->values, &factor));
  CHECK_OK(tristar_schur_get(factor, s, count));
  const double middle = seconds();
  DMUMPS_STRUC_C *m = begin_mumps(v, &c);
  ICNTL(m, 19) = 1;
  m->size_schur = count;
  m->listvar_schur = list;
  m->schur = of_mumps;
  run(m, 1);
  const double ordered = seconds();
  run(m, 2);
  const double end = seconds();
  end_mumps(m, &c);
  for (int i = 0; i < count; i++) /* MUMPS stores the complement by rows */
    for (int j = 0; j < count; j++) {
      largest = larger_error(largest, fabs(of_mumps[i * count + j]));
      worst = larger_error(worst, fabs(of_mumps[i * count + j] - s[i + j * count]));
    }
  printf("%s: complement of %d of %d unknowns: analysis %.3f s, factorization %.3f s; MUMPS %.3f s, %.3f s; "
         "difference %.1e\n",
         name, count, (int)v->rows, analyzed - begin, middle - analyzed, ordered - middle, end - ordered,
         worst / largest);
  CHECK_MSG(worst <= bound * largest, "%s: %g of %g", name, worst, largest);
}

static void check_inverse(tristar_t *ts, const char *name, const tristar_view *v, int count, double bound) {
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  const int n = (int)v->rows;
  OWNED double *diagonal = xcalloc((size_t)n, sizeof *diagonal),
               *of_mumps = xcalloc((size_t)count, sizeof *of_mumps);
  OWNED int *start = xcalloc((size_t)n + 1, sizeof *start), *row = xcalloc((size_t)count, sizeof *row);
  coordinates c;
  double worst = 0, largest = 0;
  CHECK_OK(tristar_analyze(ts, v, NULL, &analysis));
  CHECK_OK(tristar_factor(analysis, v->values, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  const double begin = seconds();
  CHECK_OK(tristar_inverse_diagonal(plan, diagonal));
  const double middle = seconds();
  for (int j = 0, k = 0; j <= n; j++) {
    start[j] = k + 1;
    if (k < count && j == (int)((int64_t)k * n / count)) row[k++] = j + 1;
  }
  DMUMPS_STRUC_C *m = begin_mumps(v, &c);
  run(m, ANALYZE_AND_FACTOR);
  ICNTL(m, 30) = 1;
  m->nz_rhs = count;
  m->nrhs = n;
  m->irhs_ptr = start;
  m->irhs_sparse = row;
  m->rhs_sparse = of_mumps;
  const double factored = seconds();
  run(m, SOLVE);
  const double end = seconds();
  end_mumps(m, &c);
  for (int k = 0; k < count; k++) {
    largest = larger_error(largest, fabs(of_mumps[k]));
    worst = larger_error(worst, fabs(of_mumps[k] - diagonal[row[k] - 1]));
  }
  worst /= largest;
  printf("%s: diagonal of %d rows in %.3f s; MUMPS takes %.3f s for %d entries; difference %.1e\n", name, n,
         middle - begin, end - factored, count, worst);
  CHECK_MSG(worst <= bound, "%s: %g", name, worst);
}

int main(void) {
  /* The bounds depend on the conditions of the matrices. */
  static const struct {
    const char *name;
    double bound;
  } matrices[] = {{"bcsstk16.mtx.gz", 1e-10}, {"KKT_AUG2DC.mtx.gz", 1e-6}, {"orsreg_1.mtx.gz", 1e-8}};
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, false);
  int found = 0;
  for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
    CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix = NULL;
    char path[600];
    tristar_view v;
    snprintf(path, sizeof path, "%s/%s", data_folder(), matrices[k].name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) continue;
    fclose(file);
    found++;
    CHECK_OK(tristar_matrix_read(ts, path, &matrix));
    tristar_matrix_get_view(matrix, &v);
    check_schur(ts, matrices[k].name, &v, 300, matrices[k].bound);
    check_inverse(ts, matrices[k].name, &v, 64, matrices[k].bound);
  }
  if (found > 0) return 0;
  printf("skipped: no matrix in %s\n", data_folder());
  return 77;
}
