/* Messages and bytes of sparse approximate inverses on many ranks, counted on one process, equal those of
 * real runs: of the set-up, and of products with A, G and G^H. Functions with the names of MPI functions
 * count the calls. */
#include "runtime/iterate/precond/fsai_traffic.h"

#include "tests/support/mpi/dmatrix.h"
#include "tests/support/subtests.h"

/* ---- What MPI is called with --------------------------------------------------------------------------- */

enum { REQUESTS = 1000 };

static tsi_sent exchanged, started; /* by MPI_Alltoallv, by MPI_Start */
static MPI_Request request_of[REQUESTS];
static int bytes_of[REQUESTS], requests;

int MPI_Alltoallv(const void *from, const int *sent, const int *first, MPI_Datatype type, void *to,
                  const int *received, const int *place, MPI_Datatype other, MPI_Comm comm) {
  int ranks, rank, bytes;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  MPI_Type_size(type, &bytes);
  for (int r = 0; r < ranks; r++)
    if (r != rank && sent[r] > 0) {
      exchanged.messages++;
      exchanged.bytes += (tsi_count)sent[r] * bytes;
    }
  return PMPI_Alltoallv(from, sent, first, type, to, received, place, other, comm);
}

int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request) {
  const int code = PMPI_Send_init(buffer, count, type, to, tag, comm, request);
  CHECK(type == MPI_BYTE && requests < REQUESTS);
  request_of[requests] = *request;
  bytes_of[requests++] = count;
  return code;
}

int MPI_Start(MPI_Request *request) {
  for (int k = requests - 1; k >= 0; k--) /* MPI may reuse a freed request */
    if (request_of[k] == *request) {
      started.messages++;
      started.bytes += bytes_of[k];
      break;
    }
  return PMPI_Start(request);
}

static void clear(void) {
  exchanged = started = (tsi_sent){0};
}

static void check_same(const char *what, tsi_sent counted, tsi_sent seen) {
  CHECK_MSG(counted.messages == seen.messages && counted.bytes == seen.bytes,
            "%s: %lld messages, %lld bytes; counted: %lld, %lld", what, (long long)seen.messages,
            (long long)seen.bytes, (long long)counted.messages, (long long)counted.bytes);
}

/* ---- Runs ---------------------------------------------------------------------------------------------- */

static tristar_precond_options options_of(int power) {
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = TRISTAR_PRECOND_FSAI;
  options.steps = 3;
  options.per_step = 2;
  options.power = power;
  options.reduction = 0;
  return options;
}

static void check_run(const world *w, const char *kind, int64_t k, const typed *t, int power) {
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, kind, k, t, TRISTAR_HERMITIAN);
  const tristar_precond_options options = options_of(power);
  const int levels = 3; /* as many as steps: G is that of one process */
  OWNED tsi_index *start = xmalloc((size_t)(w->ranks + 1) * sizeof *start);
  OWNED tsi_fsai_rank *counted = xmalloc((size_t)w->ranks * sizeof *counted);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *alone, *m;
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d;
  OWNED void *b = make_rhs(t, s.n), *x = xmalloc((size_t)s.n * t->bytes);
  for (int r = 0; r <= w->ranks; r++) start[r] = (tsi_index)first_row(w, s.n, r);
  CHECK_OK(tristar_precond(w->ts, &s.view, &options, &alone));
  CHECK_OK(tsi_fsai_traffic(alone, levels, w->ranks, start, counted));
  const tsi_fsai_rank *own = &counted[w->rank];
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &s.rows.view, NULL, &d));
  clear();
  CHECK_OK(tristar_dmatrix_fsai(d, &options, levels, &m));
  check_same("set-up",
             (tsi_sent){own->gather.messages + own->ghosts.messages, own->gather.bytes + own->ghosts.bytes},
             exchanged);
  CHECK(own->rows == s.end - s.first);
  CHECK_OK(tristar_precond_apply(m, TRISTAR_N, 1, b, s.n, x, s.n)); /* allocates what products need */
  CHECK_OK(tristar_dmatrix_multiply(d, TRISTAR_N, 1, NULL, b, s.n, NULL, x, s.n));
  clear();
  CHECK_OK(tristar_precond_apply(m, TRISTAR_N, 1, b, s.n, x, s.n));
  check_same("an application",
             (tsi_sent){own->down.messages + own->up.messages, own->down.bytes + own->up.bytes}, started);
  clear();
  CHECK_OK(tristar_dmatrix_multiply(d, TRISTAR_N, 1, NULL, b, s.n, NULL, x, s.n));
  check_same("a product", own->product, started);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  RUN(check_run(&w, "poisson3d7", 5, &typed_double, 0));
  RUN(check_run(&w, "diffusion3d", 5, &typed_double, 2));
  RUN(check_run(&w, "elasticity3d", 2, &typed_complex_single, 0));
  return 0;
}
