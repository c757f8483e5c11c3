/* superlu_dist_solve [--on-demand] MATRIX [REPEAT [NRHS]]: SuperLU_DIST with its default options, among them
 * METIS on A + A^T and refinement in double precision. See peer.h.
 *
 * Under mpiexec: on the grid SUPERLU_DIST_GRID=ROWSxCOLUMNS of processes (default: all in one row), with A, b
 * and x in blocks of rows. The first process prints. Besides the time of the solve, which redistributes b and
 * x, it reports the time of the sweeps.
 *
 * Compiled twice: for real matrices and, with PEER_COMPLEX, for complex ones. Symmetric matrices are passed
 * in full. The time of the factorization includes the distribution of the values. Timed solves are without
 * refinement. They are what the library itself calls the solve; the call around it, with scaling and copies,
 * takes longer. Threads: OPENBLAS_NUM_THREADS and OMP_NUM_THREADS. Some errors end the program inside the
 * library, without JSON and with a nonzero exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/order/matching.h"
#include "runtime/context/context.h"
#include "runtime/matrix/full.h"
#include "tools/peers/peer.h"

#ifdef PEER_COMPLEX
#include <superlu_zdefs.h>
typedef doublecomplex scalar;
#define TYPED(name) z##name
#define DRIVER pzgssvx
#define SLU_TYPE SLU_Z
#define peer_solve peer_solve_complex
#else
#include <superlu_ddefs.h>
typedef double scalar;
#define TYPED(name) d##name
#define DRIVER pdgssvx
#define SLU_TYPE SLU_D
#define peer_solve peer_solve_real
#endif

typedef struct solver {
  gridinfo_t grid;
  superlu_dist_options_t options;
  SuperMatrix a; /* owns its arrays; the library scales and permutes them */
  TYPED(ScalePermstruct_t) scale;
  TYPED(LUstruct_t) lu;
  TYPED(SOLVEstruct_t) solve;
  double *row_scale, *column_scale; /* scale factors already applied to a; NULL: none */
  double match_s;
  int rank, ranks;
  int_t first, rows; /* rows of A, b and x on this process */
  double sweeps_s;   /* of the latest solve: the largest over the processes */
} solver;

/* Blocks of about the same size. */
static int_t first_row(const peer *p, const solver *s, int rank) {
  return (int_t)(p->n * rank / s->ranks);
}

/* Copies this process's rows of the full matrix to arrays that Destroy_CompRowLoc_Matrix_dist frees. */
static void convert(const peer *p, solver *s) {
  peer_compressed rows;
  peer_compress(p, true, &rows);
  const int32_t begin = rows.ptr[s->first], count = rows.ptr[s->first + s->rows] - begin;
  int_t *ptr = intMalloc_dist(s->rows + 1), *column = intMalloc_dist((int_t)count + 1);
  scalar *values = SUPERLU_MALLOC(((size_t)count + 1) * sizeof *values);
  if (ptr == NULL || column == NULL || values == NULL) abort();
  for (int_t i = 0; i <= s->rows; i++) ptr[i] = rows.ptr[s->first + i] - begin;
  for (int32_t e = 0; e < count; e++) column[e] = rows.index[begin + e];
  memcpy(values, (const scalar *)rows.values + begin, (size_t)count * sizeof *values);
  TYPED(Create_CompRowLoc_Matrix_dist)
  (&s->a, (int_t)p->n, (int_t)p->n, (int_t)count, s->rows, s->first, values, column, ptr, SLU_NR_loc,
   SLU_TYPE, SLU_GE);
  peer_compressed_free(&rows);
}

static void multiply(int64_t n, const double *factor, scalar *x) {
  for (int64_t i = 0; i < n && factor != NULL; i++) {
#ifdef PEER_COMPLEX
    x[i].r *= factor[i];
    x[i].i *= factor[i];
#else
    x[i] *= factor[i];
#endif
  }
}

/* Replaces MC64, the library's normal first step, which some distributions omit. Permutes large entries to
 * the diagonal and scales the matrix, with TriStar's implementation of the same algorithm. A structurally
 * singular matrix stays unchanged, as in the library. */
static void match(peer *p, solver *s) {
  tsi_env *env = tsi_context_env(p->ts);
  tsi_pattern *pattern = NULL;
  tsi_entries full = {0};
  tsi_index *row_of_column = peer_allocate(p->n, sizeof *row_of_column), rank = 0;
  double *row_scale = peer_allocate(p->n, sizeof *row_scale);
  double *column_scale = peer_allocate(p->n, sizeof *column_scale);
  const double begin = peer_seconds();
  if (tsi_pattern_create(env, &p->view, &pattern) != TRISTAR_OK ||
      tsi_full_columns(env, pattern, p->view.values, TSI_PART_MAGNITUDE, &full) != TRISTAR_OK ||
      tsi_matching(env, full.n, full.ptr, full.index, full.item, row_of_column, row_scale, column_scale,
                   &rank, NULL) != TRISTAR_OK)
    abort();
  if (rank == p->n) {
    NRformat_loc *store = s->a.Store;
    for (int_t i = 0; i < s->rows; i++) {
      scalar *row = (scalar *)store->nzval + store->rowptr[i];
      for (int_t e = 0; e < store->rowptr[i + 1] - store->rowptr[i]; e++) {
        const double factor = row_scale[s->first + i] * column_scale[store->colind[store->rowptr[i] + e]];
        multiply(1, &factor, &row[e]);
      }
    }
    for (tsi_index i = 0; i < rank; i++) s->scale.perm_r[row_of_column[i]] = i;
    s->options.RowPerm = MY_PERMR;
    s->row_scale = row_scale;
    s->column_scale = column_scale;
    s->match_s = peer_seconds() - begin;
    snprintf(p->solver + strlen(p->solver), sizeof p->solver - strlen(p->solver), ", TriStar's row matching");
  } else {
    free(row_scale);
    free(column_scale);
  }
  free(row_of_column);
  tsi_entries_finish(&full);
  TSI_FREE(env, pattern);
}

/* The stored entries of L and U, with zeros inside supernodes, on a 1 x 1 grid, where this process has all
 * supernodes: block columns of L, each with the full diagonal block, and block rows of U. */
static double count_factors(const peer *p, const solver *s) {
  const Glu_persist_t *persistent = s->lu.Glu_persist;
  const int_t supernodes = persistent->supno[p->n - 1] + 1;
  double count = 0;
  for (int_t k = 0; k < supernodes; k++) {
    const int_t *l = s->lu.Llu->Lrowind_bc_ptr[k], *u = s->lu.Llu->Ufstnz_br_ptr[k];
    const int_t columns = persistent->xsup[k + 1] - persistent->xsup[k];
    if (l != NULL) count += (double)l[1] * (double)columns;
    if (u != NULL) count += (double)u[1];
  }
  return count;
}

/* Multiplies the rows of x, unless factor is NULL. */
static void scale_rows(const peer *p, const double *factor, scalar *x) {
  for (int k = 0; k < p->nrhs; k++) multiply(p->n, factor, x + k * p->n);
}

/* Copies this process's rows from an array of all rows. */
static void take_rows(const peer *p, const solver *s, const scalar *all, scalar *mine) {
  for (int k = 0; k < p->nrhs; k++)
    memcpy(mine + k * s->rows, all + k * p->n + s->first, (size_t)s->rows * sizeof *mine);
}

/* Gathers all rows on all processes. */
static void gather_rows(const peer *p, const solver *s, const scalar *mine, scalar *all) {
  int *count = peer_allocate(s->ranks, sizeof *count), *first = peer_allocate(s->ranks, sizeof *first);
  for (int r = 0; r < s->ranks; r++) {
    first[r] = (int)((size_t)first_row(p, s, r) * sizeof *all);
    count[r] = (int)((size_t)first_row(p, s, r + 1) * sizeof *all) - first[r];
  }
  for (int k = 0; k < p->nrhs; k++)
    MPI_Allgatherv(mine + k * s->rows, count[s->rank], MPI_BYTE, all + k * p->n, count, first, MPI_BYTE,
                   MPI_COMM_WORLD);
  free(count);
  free(first);
}

static double largest(double seconds) {
  double most = seconds;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/* Returns the seconds of the solve alone. Afterwards p->x is the solution. */
static double solve(peer *p, solver *s, IterRefine_t refine) {
  SuperLUStat_t stat;
  double *errors = peer_allocate(p->nrhs, sizeof *errors);
  scalar *mine = peer_allocate((int64_t)s->rows * p->nrhs + 1, sizeof *mine);
  int info = 0;
  memcpy(p->x, p->b, p->block_bytes);
  scale_rows(p, s->row_scale, p->x);
  take_rows(p, s, p->x, mine);
  s->options.IterRefine = refine;
  PStatInit(&stat);
  DRIVER(&s->options, &s->a, &s->scale, mine, (int)s->rows, p->nrhs, &s->grid, &s->lu, &s->solve, errors,
         &stat, &info);
  gather_rows(p, s, mine, p->x);
  scale_rows(p, s->column_scale, p->x);
  free(errors);
  free(mine);
  const double *time = stat.utime;
  if (info != 0)
    peer_fail(p, info, info > 0 && info <= p->n ? "info = %d (a pivot is zero)" : "info = %d", info);
  if (s->options.Fact == DOFACT) {
    p->analyze_s = s->match_s + time[EQUIL] + time[ROWPERM] + time[COLPERM] + time[ETREE] + time[SYMBFAC];
    p->factor_s = time[DIST] + time[FACT];
    p->perturbed = stat.TinyPivots;
    if (info == 0 && s->ranks == 1) p->nnz_factor = count_factors(p, s);
  }
  if (refine != NOREFINE) p->refinement_steps = stat.RefineSteps;
  const double seconds = largest(time[SOLVE]);
  s->sweeps_s = largest(time[SOL_TOT]);
  PStatFree(&stat);
  return seconds;
}

/* The first round begins with the factorization. */
static void solve_all(peer *p, solver *s) {
  s->options.Fact = p->rounds == 0 ? DOFACT : FACTORED;
  solve(p, s, NOREFINE); /* the warm-up */
  s->options.Fact = FACTORED;
  for (int k = 0; k < p->repeat && p->status == 0; k++) {
    p->solves_s[k] = solve(p, s, NOREFINE);
    if (k == 0 || s->sweeps_s < p->sweeps_s) p->sweeps_s = s->sweeps_s;
  }
  if (p->status == 0 && p->rounds == 0) solve(p, s, SLU_DOUBLE);
}

/* Processes, their grid, the rows of each. */
static bool start_grid(peer *p, solver *s) {
  const char *text = getenv("SUPERLU_DIST_GRID");
  int rows = 1, columns;
  MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
  columns = s->ranks;
  if (text != NULL && (sscanf(text, "%dx%d", &rows, &columns) != 2 || rows * columns != s->ranks)) {
    peer_fail(p, -1, "SUPERLU_DIST_GRID is %s, but there are %d processes", text, s->ranks);
    MPI_Finalize();
    return false;
  }
  if (p->on_demand && s->ranks > 1) {
    peer_fail(p, -1, "--on-demand is for one process");
    MPI_Finalize();
    return false;
  }
  s->first = first_row(p, s, s->rank);
  s->rows = first_row(p, s, s->rank + 1) - s->first;
  superlu_gridinit(MPI_COMM_WORLD, rows, columns, &s->grid);
  return s->rank == 0 || freopen("/dev/null", "w", stdout) != NULL;
}

void peer_solve(peer *p) {
  solver s = {0};
  snprintf(p->solver, sizeof p->solver, "SuperLU_DIST %d.%d.%d", SUPERLU_DIST_MAJOR_VERSION,
           SUPERLU_DIST_MINOR_VERSION, SUPERLU_DIST_PATCH_VERSION);
  p->method = "LU";
  if (p->n * p->nrhs > INT32_MAX) {
    peer_fail(p, -1, "more than 2^31 - 1 unknowns in all right-hand sides");
    return;
  }
  int argc = 0;
  MPI_Init(&argc, NULL);
  if (!start_grid(p, &s)) return;
  set_default_options_dist(&s.options);
  s.options.PrintStat = NO;
  p->ordering = s.options.ColPerm == METIS_AT_PLUS_A ? "METIS" : "not METIS";
  convert(p, &s);
  TYPED(ScalePermstructInit)((int_t)p->n, (int_t)p->n, &s.scale);
  TYPED(LUstructInit)((int_t)p->n, &s.lu);
  if (s.options.RowPerm == NOROWPERM) match(p, &s);
  do solve_all(p, &s);
  while (peer_again(p));
  free(s.row_scale);
  free(s.column_scale);
  if (p->status == 0) { /* after a failure there is no complete structure to free */
    TYPED(Destroy_LU)((int_t)p->n, &s.grid, &s.lu);
    TYPED(SolveFinalize)(&s.options, &s.solve);
  }
  TYPED(ScalePermstructFree)(&s.scale);
  TYPED(LUstructFree)(&s.lu);
  Destroy_CompRowLoc_Matrix_dist(&s.a);
  superlu_gridexit(&s.grid);
  MPI_Finalize();
}
