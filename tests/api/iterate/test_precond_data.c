/* Incomplete factors and approximate inverses of real matrices: what the set-up gives is finite and applies,
 * with tasks and without to the same bits; or the set-up fails with a message that names a row. Of those that
 * are not symmetric BiCGSTAB takes fewer iterations with an approximate inverse than with the diagonal.
 *
 * The folder: TRISTAR_DATA, or ../shared/data next to the sources. */
#include "tests/support/context.h"
#include "tests/support/data.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_krylov.h"

static const char *const files[] = {
    "LFAT5.mtx.gz",    "bcsstk01.rsa.gz", "bcsstk04.mtx.gz", "bcsstk06.mtx.gz", "494_bus.mtx.gz",
    "nos7.mtx.gz",     "gr_30_30.mtx.gz", "bcsstk08.mtx.gz", "1138_bus.mtx.gz", "sherman1.mtx.gz",
    "plskz362.rb.gz",  "b1_ss.mtx.gz",    "west0067.rua.gz", "arc130.rua.gz",   "lns__131.mtx.gz",
    "temp.mtx.gz",     "e05r0500.mtx.gz", "utm300.rua.gz",   "west0479.mtx.gz", "pde900.mtx.gz",
    "orsirr_1.rua.gz", "slu_cg20.cua.gz", "jpwh_991.mtx.gz", "mhd1280b.mtx.gz", "fidap007.mtx.gz",
    "cage8.mtx.gz",    "bfwa62.mtx.gz",   "rajat11.mtx.gz",  "fs_183_1.mtx.gz",
};
enum { FILES = sizeof files / sizeof *files };

static const tristar_precond_kind kinds[] = {TRISTAR_PRECOND_ILU, TRISTAR_PRECOND_ILUT, TRISTAR_PRECOND_IC,
                                             TRISTAR_PRECOND_ICT, TRISTAR_PRECOND_SSOR, TRISTAR_PRECOND_FSAI};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const typed *type_of(tristar_scalar scalar) {
  return scalar == TRISTAR_DOUBLE ? &typed_double : &typed_complex_double;
}

/* The message of a failure names a row, or a pair of entries that is not symmetric. */
static void check_reason(tristar_t *ts, tristar_status status, const char *file) {
  char message[400];
  (void)tristar_get_error(ts, message, sizeof message);
  CHECK_MSG(status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE ||
                status == TRISTAR_ERR_NOT_FINITE || status == TRISTAR_ERR_ARGUMENT,
            "%s: %s", file, message);
  CHECK_MSG(status == TRISTAR_ERR_ARGUMENT || strstr(message, "row ") != NULL, "%s: %s", file, message);
}

static bool all_finite(const typed *t, const void *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(cabs(get(t, x, i)))) return false;
  return true;
}

/* Applications have the same bits with and without tasks. Returns whether the preconditioner could be
 * made. */
static bool check_kind(tristar_t *ts, const tristar_view *view, tristar_precond_kind kind, const char *file) {
  const typed *t = type_of(view->scalar);
  const int64_t n = view->rows;
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = kind;
  options.level = (int)(n % 3);
  options.pair = TRISTAR_PAIR_AUTO;
  void *b = make_rhs(t, n), *x[2] = {xmalloc((size_t)n * t->bytes), xmalloc((size_t)n * t->bytes)};
  CHECK(x[0] != NULL && x[1] != NULL);
  bool made = true;
  for (int tasks = 0; tasks < 2 && made; tasks++) {
    CLEANUP(tristar_precond_destroy) tristar_precond_t *p;
    options.partition = TRISTAR_PARTITION_LEVELS;
    options.engine = tasks ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL;
    const tristar_status status = tristar_precond(ts, view, &options, &p);
    made = status == TRISTAR_OK;
    if (!made) check_reason(ts, status, file);
    if (made) CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, b, n, x[tasks], n));
  }
  if (made) CHECK_MSG(memcmp(x[0], x[1], (size_t)n * t->bytes) == 0, "%s, kind %d", file, (int)kind);
  /* Some incomplete factors are so ill conditioned that their solves overflow. */
  if (made && !all_finite(t, x[0], n)) printf("%s, kind %d: not finite\n", file, (int)kind);
  free(b);
  free(x[0]);
  free(x[1]);
  return made;
}

/* Returns the number of iterations of BiCGSTAB to eight digits. */
static int64_t count_iterations(tristar_t *ts, const tristar_view *view, tristar_precond_kind kind,
                                const char *file) {
  const typed *t = type_of(view->scalar);
  const int64_t n = view->rows;
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  tristar_krylov_options krylov = DEFAULTS(tristar_krylov_options);
  tristar_krylov_result result;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  OWNED void *b = make_rhs(t, n), *x = xcalloc((size_t)n, t->bytes);
  options.kind = kind;
  options.pair = TRISTAR_PAIR_AUTO;
  krylov.method = TRISTAR_KRYLOV_BICGSTAB;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, view, &options);
  CHECK_OK(tristar_krylov_create(ts, view, &krylov, &k));
  CHECK_OK(tristar_krylov_solve(k, p, 1, b, n, x, n, &result));
  CHECK_MSG(result.converged, "%s, kind %d: residual %g", file, (int)kind, result.residual);
  return result.iterations;
}

static void compare_iterations(tristar_t *ts, const tristar_view *view, const char *file) {
  static const char *const some[] = {"pde900.mtx.gz", "orsirr_1.rua.gz", "jpwh_991.mtx.gz", "slu_cg20.cua.gz",
                                     "cage8.mtx.gz"};
  for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
    if (strcmp(file, some[k]) != 0) continue;
    const int64_t diagonal = count_iterations(ts, view, TRISTAR_PRECOND_JACOBI, file),
                  inverse = count_iterations(ts, view, TRISTAR_PRECOND_FSAI, file);
    printf("%s: %d iterations with the diagonal, %d with an approximate inverse\n", file, (int)diagonal,
           (int)inverse);
    CHECK(inverse < diagonal);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_with_starpu(0, false);
  int found = 0, made[KINDS] = {0};
  for (int f = 0; f < FILES; f++) {
    char path[1024];
    tristar_matrix_t *matrix;
    snprintf(path, sizeof path, "%s/%s", data_folder(), files[f]);
    FILE *file = fopen(path, "r");
    if (file == NULL) continue;
    fclose(file);
    found++;
    tristar_view view = read_view(ts, path, &matrix);
    for (int k = 0; k < KINDS; k++) made[k] += check_kind(ts, &view, kinds[k], files[f]);
    RUN(compare_iterations(ts, &view, files[f]));
    tristar_matrix_destroy(&matrix);
  }
  close_context(&ts);
  if (found == 0) SKIP("no matrices in %s", data_folder());
  CHECK_TOTAL(found < FILES || (made[0] >= 20 && made[1] >= 20 && made[2] >= 7 && made[3] >= 6 &&
                                made[4] >= 20 && made[5] >= 20),
              "of %d: %d ILU, %d ILUT, %d IC, %d ICT, %d SSOR, %d FSAI", found, made[0], made[1], made[2],
              made[3], made[4], made[5]);
  return 0;
}
