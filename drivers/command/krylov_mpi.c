/* `tristar krylov` under mpiexec: all processes have rows of the matrix, in blocks of equal size or in parts
 * by METIS. Each process makes a preconditioner of its diagonal block, or all make a sparse approximate
 * inverse of the whole matrix. Rank 0 reads or makes B, and gathers X. If any rank fails, rank 0 reports it
 * once, and all ranks end with the same status. */
#include "drivers/command/krylov.h"

#include "drivers/session/console.h"
#include "drivers/session/launcher.h"

#ifndef TSI_HAVE_MPI

int tsi_krylov_distributed(const tsi_settings *settings, const tsi_krylov_precond *words) {
  (void)settings;
  (void)words;
  return tsi_fail_without_mpi("krylov", NULL);
}

#else

#include <stdlib.h>
#include <string.h>

#include "drivers/command/solve.h"
#include "drivers/report/rank_figures.h"
#include "drivers/session/rhs.h"
#include "tristar_dmatrix_mpi.h"

/* Figures of one rank in the latest solve. */
typedef struct record {
  tristar_dmatrix_stats matrix;
  int64_t messages, bytes;
  double setup_s, product_s, wait_s, precond_s, vector_s;
} record;

typedef struct spread {
  tsi_session *s;
  tsi_krylov_solution z;
  tristar_dmatrix_t *matrix;
  tristar_dmatrix_stats d; /* statistics before the latest solve */
  MPI_Datatype scalar;
  int64_t block_rows, block_first; /* rows of B and X that this rank receives and sends */
  int *count, *first;              /* block_rows and block_first of each rank */
  char *block;                     /* these rows; block_rows of them */
  char *b, *x;                     /* b and x in the rows of the matrix of this rank */
  record own, *all;                /* record of this rank; on rank 0: all records */
} spread;

/* ---- Rows ---------------------------------------------------------------------------------------------- */

/* For --split metis: moves rows to their parts. */
static bool move_rows(spread *p, const tristar_dmatrix_options *options) {
  tristar_dmatrix_t *parts;
  if (!tsi_session_check(p->s, tristar_dmatrix_repartition(p->matrix, options, &parts), p->s->name))
    return false;
  tristar_dmatrix_destroy(&p->matrix);
  p->matrix = parts;
  tristar_dmatrix_get_stats(p->matrix, &p->d);
  return true;
}

static bool read_matrix(spread *p) {
  tsi_session *s = p->s;
  tristar_dmatrix_options options;
  const double begin = tsi_now();
  tristar_dmatrix_options_init(&options);
  options.engine = (tristar_engine)s->settings->engine;
  if (s->settings->precision >= 0) options.scalar = "sdczdz"[s->settings->precision];
  s->single_factors = s->settings->precision >= 4;
  if (!tsi_session_check(s, tristar_dmatrix_read(s->ts, MPI_COMM_WORLD, s->path, &options, &p->matrix),
                         s->name))
    return false;
  tristar_dmatrix_get_stats(p->matrix, &p->d);
  p->block_rows = p->d.rows;
  p->block_first = p->d.first;
  options.scalar = 0; /* already converted */
  if (s->settings->split == 1 && !move_rows(p, &options)) return false;
  s->precision = tsi_precision_of(p->d.scalar);
  s->view = (tristar_view){.symmetry = p->d.symmetry, .rows = p->d.n, .cols = p->d.n};
  s->read_s = tsi_now() - begin;
  return true;
}

/* Allocates the arrays of this rank; not collective. */
static bool allocate(spread *p) {
  const size_t columns = (size_t)p->z.b.cols, ranks = (size_t)p->s->ranks;
  const size_t entries = (size_t)p->d.rows * columns, bytes = p->s->precision->bytes;
  p->block = calloc((size_t)p->block_rows * columns + 1, bytes);
  p->b = calloc(entries + 1, bytes);
  p->x = calloc(entries + 1, bytes);
  p->count = calloc(ranks, sizeof *p->count);
  p->first = calloc(ranks, sizeof *p->first);
  p->all = calloc(ranks, sizeof *p->all);
  if (p->block != NULL && p->b != NULL && p->x != NULL && p->count != NULL && p->first != NULL &&
      p->all != NULL)
    return tsi_krylov_make_results(p->s, &p->z);
  return tsi_session_fail(p->s, TRISTAR_ERR_MEMORY, "%s: out of memory", p->s->name);
}

/* Scatters B from rank 0. */
static bool spread_rhs(spread *p) {
  tsi_session *s = p->s;
  tristar_dense *b = &p->z.b;
  const bool made = p->s->rank > 0 || (tsi_rhs_make(s, b) && tsi_dense_make(s, b->rows, b->cols, &p->z.x));
  const int own[2] = {(int)p->block_rows, (int)p->block_first};
  const size_t bytes = s->precision->bytes;
  if (!tsi_all_ranks_say(p->s, made)) return false;
  MPI_Bcast(&b->cols, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (!tsi_all_ranks_say(p->s, allocate(p))) return false;
  MPI_Allgather(&own[0], 1, MPI_INT, p->count, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgather(&own[1], 1, MPI_INT, p->first, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Type_contiguous((int)bytes, MPI_BYTE, &p->scalar);
  MPI_Type_commit(&p->scalar);
  for (int64_t c = 0; c < b->cols; c++)
    MPI_Scatterv(p->s->rank == 0 ? (char *)b->values + (size_t)(c * b->rows) * bytes : NULL, p->count,
                 p->first, p->scalar, p->block + (size_t)(c * p->block_rows) * bytes, (int)p->block_rows,
                 p->scalar, 0, MPI_COMM_WORLD);
  return tsi_session_check(
      s,
      tristar_dmatrix_move(p->matrix, TRISTAR_FROM_ORIGIN, b->cols, p->block, p->block_rows, p->b, p->d.rows),
      s->name);
}

/* Gathers X on rank 0. */
static bool gather_solution(const spread *p) {
  const tristar_dense *x = &p->z.x;
  const size_t bytes = p->s->precision->bytes;
  if (!tsi_session_check(p->s,
                         tristar_dmatrix_move(p->matrix, TRISTAR_TO_ORIGIN, p->z.b.cols, p->x, p->d.rows,
                                              p->block, p->block_rows),
                         p->s->name))
    return false;
  for (int64_t c = 0; c < p->z.b.cols; c++)
    MPI_Gatherv(p->block + (size_t)(c * p->block_rows) * bytes, (int)p->block_rows, p->scalar,
                p->s->rank == 0 ? (char *)x->values + (size_t)(c * x->rows) * bytes : NULL, p->count,
                p->first, p->scalar, 0, MPI_COMM_WORLD);
  return true;
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

/* Makes the first automatic choice that breaks down on no rank. */
static bool choose_precond(spread *p) {
  tsi_session *s = p->s;
  tsi_krylov_solution *z = &p->z;
  const double begin = tsi_now();
  tristar_status status;
  int broken;
  do {
    status = tsi_krylov_try_precond(s, z);
    broken = tsi_krylov_broke_down(status);
    MPI_Allreduce(MPI_IN_PLACE, &broken, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (broken) tristar_precond_destroy(&z->precond);
  } while (broken && tsi_krylov_next_precond(z));
  if (!tsi_session_check(s, status, s->name)) return false;
  if (z->precond != NULL) tristar_precond_get_stats(z->precond, &z->m);
  z->setup_s = tsi_now() - begin - z->m.start_seconds;
  return true;
}

/* Makes M of the diagonal block; afterwards the session has the view of the whole matrix again. */
static bool make_precond_of_block(spread *p) {
  tsi_session *s = p->s;
  const tristar_view whole = s->view;
  tristar_dmatrix_get_diagonal(p->matrix, &s->view);
  const bool ok =
      tsi_all_ranks_say(p->s, p->z.words.automatic ? choose_precond(p) : tsi_krylov_make_precond(s, &p->z));
  s->view = whole;
  return ok;
}

/* Makes G of the rows of all ranks, or M of overlapping subdomains; M is restricted if it need not be
 * symmetric.
 */
static bool make_of_all(spread *p) {
  tsi_krylov_solution *z = &p->z;
  const tristar_precond_options *o = &z->words.options;
  const bool inverse = o->kind == TRISTAR_PRECOND_FSAI;
  const bool restricted = z->options.method == TRISTAR_KRYLOV_BICGSTAB ||
                          z->options.method == TRISTAR_KRYLOV_GMRES ||
                          z->options.method == TRISTAR_KRYLOV_FGMRES;
  const int overlap = (int)p->s->settings->overlap;
  const double begin = tsi_now();
  tristar_status status = TRISTAR_OK;
  do
    if (!z->words.none)
      status = inverse ? tristar_dmatrix_fsai(p->matrix, o, z->words.levels, &z->precond)
                       : tristar_dmatrix_schwarz(p->matrix, o, overlap, restricted, &z->precond);
  while (tsi_krylov_broke_down(status) && tsi_krylov_next_precond(z));
  if (!tsi_session_check(p->s, status, p->s->name)) return false;
  z->setup_s = tsi_now() - begin;
  if (z->precond != NULL) tristar_precond_get_stats(z->precond, &z->m);
  return true;
}

/* Makes M, and counts the entries of the factors of all ranks. */
static bool make_precond(spread *p) {
  tsi_session *s = p->s;
  int64_t entries[5];
  const bool all = p->z.words.options.kind == TRISTAR_PRECOND_FSAI || s->settings->overlap > 0;
  const bool ok = all ? make_of_all(p) : make_precond_of_block(p);
  if (all && p->z.words.factor) s->f.nnz_factor = p->z.m.nnz_lower;
  entries[0] = p->z.m.nnz_lower;
  entries[1] = p->z.m.nnz_upper;
  entries[2] = s->f.nnz_factor;
  entries[3] = p->z.m.nodes;
  entries[4] = (int64_t)p->z.m.bytes;
  MPI_Allreduce(MPI_IN_PLACE, entries, 5, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  p->z.m.nnz_lower = entries[0];
  p->z.m.nnz_upper = entries[1];
  s->f.nnz_factor = entries[2];
  p->z.m.nodes = entries[3];
  p->z.m.bytes = (size_t)entries[4];
  if (entries[0] > 0 && p->d.nnz_all > 0) /* a symmetric M stores one triangle, which is used twice */
    p->z.m.fill =
        (double)(entries[1] > 0 ? entries[0] + entries[1] : 2 * entries[0] - p->d.n) / (double)p->d.nnz_all;
  p->own.setup_s = p->z.setup_s;
  return ok;
}

/* Is the diagonal in the rows of all ranks positive? */
static bool has_positive_diagonal(const spread *p) {
  tristar_view block;
  tristar_dmatrix_get_diagonal(p->matrix, &block);
  int positive = tsi_krylov_has_positive_diagonal(&block);
  MPI_Allreduce(MPI_IN_PLACE, &positive, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return positive;
}

/* Makes the preconditioner and the solver. */
static bool make(void *context) {
  spread *p = context;
  tsi_krylov_solution *z = &p->z;
  if (!make_precond(p)) return false;
  if (!tsi_session_check(p->s, tristar_dmatrix_krylov(p->matrix, &z->options, &z->krylov), p->s->name))
    return false;
  tristar_krylov_get_stats(z->krylov, &z->k);
  z->create_s = z->k.create_seconds;
  uint64_t product_bytes = z->k.product_bytes;
  MPI_Allreduce(MPI_IN_PLACE, &product_bytes, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  z->k.product_bytes = product_bytes;
  z->k.n = p->d.n;
  z->k.nnz = p->d.nnz_all;
  return true;
}

/* Returns a checksum of X on all ranks. */
static uint64_t find_checksum(const spread *p) {
  uint64_t checksum = tsi_checksum(&(tristar_dense){p->d.rows, p->z.b.cols, p->d.scalar, p->x}) *
                      (2 * (uint64_t)p->s->rank + 1);
  MPI_Allreduce(MPI_IN_PLACE, &checksum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return checksum;
}

static bool solve_once(void *context, double *seconds, uint64_t *checksum) {
  spread *p = context;
  tsi_krylov_solution *z = &p->z;
  const int64_t rows = p->d.rows;
  tristar_dmatrix_get_stats(p->matrix, &p->d);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = tsi_now();
  const tristar_status status =
      tristar_krylov_solve(z->krylov, z->precond, z->b.cols, p->b, rows, p->x, rows, z->result);
  *seconds = tsi_now() - begin;
  if (checksum != NULL) *checksum = find_checksum(p);
  if (!tsi_session_check(p->s, status, p->s->name)) return false;
  const bool full = z->norms.full;
  return tsi_all_ranks_say(
      p->s, !full || tsi_session_fail(p->s, TRISTAR_ERR_MEMORY, "out of memory for the norms"));
}

/* Gathers the records of the latest solve on rank 0. */
static void gather_records(spread *p) {
  record *own = &p->own;
  const tristar_dmatrix_stats before = p->d;
  tristar_dmatrix_get_stats(p->matrix, &own->matrix);
  own->messages = own->matrix.sent.messages - before.sent.messages;
  own->bytes = own->matrix.sent.bytes - before.sent.bytes;
  own->wait_s = own->matrix.wait_seconds - before.wait_seconds;
  for (int64_t c = 0; c < p->z.b.cols; c++) {
    own->product_s += p->z.result[c].product_seconds;
    own->precond_s += p->z.result[c].precond_seconds;
    own->vector_s += p->z.result[c].vector_seconds;
  }
  MPI_Gather(own, sizeof *own, MPI_BYTE, p->all, sizeof *own, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static bool solve(spread *p) {
  tsi_krylov_solution *z = &p->z;
  const int64_t rows = p->d.rows;
  if (!tsi_krylov_run(p->s, z, make, solve_once, p)) return false;
  gather_records(p);
  if (!gather_solution(p)) return false;
  if (p->s->rank == 0) z->times.checksum = tsi_checksum(&z->x); /* comparable to a run on one process */
  return tsi_session_check(
      p->s,
      tristar_krylov_residual(z->krylov, z->b.cols, p->b, rows, p->x, rows, NULL, rows, &z->backward_error),
      p->s->name);
}

/* ---- Output -------------------------------------------------------------------------------------------- */

static int list_figures(const void *of_rank, tsi_rank_figure figure[TSI_RANK_FIGURES_MOST]) {
  const record *r = of_rank;
  const tsi_rank_figure list[] = {
      {"rows", "rows", (double)r->matrix.rows, NULL},
      {"entries", "nnz", (double)r->matrix.nnz, NULL},
      {"matrix", "matrix_bytes", (double)r->matrix.matrix_bytes, tsi_text_bytes},
      {"columns of others", "ghosts", (double)r->matrix.ghosts, NULL},
      {"messages a product", "product_messages", (double)r->matrix.product.messages, NULL},
      {"bytes a product", "product_bytes", (double)r->matrix.product.bytes, tsi_text_bytes},
      {"messages", "messages", (double)r->messages, NULL},
      {"bytes", "bytes", (double)r->bytes, tsi_text_bytes},
      {"set-up", "setup_s", r->setup_s, tsi_text_seconds},
      {"products", "product_s", r->product_s, tsi_text_seconds},
      {"waiting in them", "wait_s", r->wait_s, tsi_text_seconds},
      {"preconditioner", "precond_s", r->precond_s, tsi_text_seconds},
      {"vectors, reductions", "vector_s", r->vector_s, tsi_text_seconds}};
  memcpy(figure, list, sizeof list);
  return sizeof list / sizeof list[0];
}

/* On rank 0: prints the report and writes JSON. */
static void report(tsi_session *s, void *state) {
  const spread *p = state;
  const tsi_rank_records records = {s->ranks, p->all, sizeof *p->all, list_figures};
  int idle = 0;
  for (int r = 0; r < s->ranks && p->z.solved; r++) idle += p->all[r].matrix.rows == 0;
  tsi_krylov_report(s, &p->z);
  if (idle > 0 && !s->settings->to_stdout) tsi_report("processes", "%d of %d have no rows", idle, s->ranks);
  if (p->z.solved && !s->settings->to_stdout) tsi_rank_figures_print("A process, latest solve", &records);
  cJSON *object = tsi_krylov_json(s, &p->z);
  if (p->z.solved) tsi_rank_figures_json(object, &records);
  tsi_json_write(s, object);
}

/* ---- The whole ----------------------------------------------------------------------------------------- */

static bool run(tsi_session *s, void *state) {
  spread *p = state;
  p->s = s;
  if (s->settings->laplacian)
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "--laplacian needs one process");
  bool ok = read_matrix(p) && spread_rhs(p);
  if (ok) tsi_krylov_choose_options(s, has_positive_diagonal(p), &p->z);
  ok = ok && solve(p);
  if (ok && s->rank == 0) ok = tsi_krylov_write(s, &p->z) && tsi_krylov_judge_columns(s, &p->z);
  return ok;
}

static void release(tsi_session *s, void *state) {
  (void)s;
  spread *p = state;
  tsi_krylov_release(&p->z);
  tristar_dmatrix_destroy(&p->matrix);
  if (p->scalar != MPI_DATATYPE_NULL) MPI_Type_free(&p->scalar);
  free(p->count);
  free(p->first);
  free(p->block);
  free(p->b);
  free(p->x);
  free(p->all);
}

int tsi_krylov_distributed(const tsi_settings *settings, const tsi_krylov_precond *words) {
  static const tsi_ranks_command command = {NULL, run, report, release};
  spread p = {.scalar = MPI_DATATYPE_NULL, .z = {.words = *words}};
  return tsi_run_on_ranks(&command, settings, settings->operand[0], &p);
}

#endif
