/* Distributed solves offer the features of plans: operations, parts of the factors, factor order, strides,
 * few rows of b and x, refinement, bounds, the condition, several solves in flight. Run on the layout of the
 * argument ("2x1x2"), for each kind of factor and scalar type. Solutions equal those of a plan on rank 0 to
 * rounding errors, and have the same bits when repeated. */
#include <stdatomic.h>

#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_mpi.h"
#include "tristar_machine.h"

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  tristar_layout layout;
} world;

typedef struct problem {
  const char *kind;
  const typed *type;
  double tolerance; /* of differences between solutions */
  int64_t n;
  tristar_view view;
  tristar_factor_t *factor; /* rank 0 */
  tristar_plan_t *plan;     /* rank 0 */
  tristar_distributed_t *d;
  char *b, *expected, *x, *again; /* n x TYPED_COLUMNS; b and expected are the same on all ranks */
} problem;

static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};

static int64_t first_row(const world *w, const problem *q, int rank) {
  return q->n * rank / w->ranks;
}

/* Returns max |x - y| / max |y| over entries. */
static double difference(const typed *t, int64_t count, const char *x, const char *y) {
  double worst = 0, size = 0;
  for (int64_t i = 0; i < count; i++) {
    const double one = magnitude(get(t, x, i) - get(t, y, i));
    worst = larger_error(worst, one);
    size = fmax(size, magnitude(get(t, y, i)));
  }
  return size > 0 ? worst / size : worst;
}

/* Broadcasts the array of rank 0. */
static void share(const problem *q, char *array, int64_t count) {
  MPI_Bcast(array, (int)((size_t)count * q->type->bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void describe(const problem *q, const tristar_solve_options *o, char *text, size_t size) {
  snprintf(text, size, "%s %c, op %c, part %d, order %d", q->kind, q->type->scalar, o->op, (int)o->part,
           o->factor_order);
}

/* Whole columns; each rank passes a block of rows. Row-major if `rows`. */
static void check_columns(const world *w, const problem *q, const tristar_solve_options *how, int64_t nrhs,
                          bool rows) {
  const size_t bytes = q->type->bytes;
  const int64_t first = first_row(w, q, w->rank), own = first_row(w, q, w->rank + 1) - first;
  tristar_solve_options o = *how;
  char text[200];
  describe(q, how, text, sizeof text);
  o.b_row_stride = o.x_row_stride = rows ? nrhs : 1;
  o.b_column_stride = o.x_column_stride = rows ? 1 : q->n;
  if (w->rank == 0) CHECK_OK(tristar_solve_with(q->plan, &o, nrhs, q->b, q->expected, NULL));
  share(q, q->expected, q->n * nrhs);
  const size_t skip = (size_t)(first * o.b_row_stride) * bytes;
  for (int turn = 0; turn < 2; turn++) {
    char *x = turn ? q->again : q->x;
    tristar_solve_result result;
    memset(x, 0xff, (size_t)(q->n * nrhs) * bytes);
    CHECK_OK(tristar_distributed_solve_with(q->d, &o, nrhs, q->b + skip, x + skip, &result));
    CHECK(result.share > 1 - 1e-12 && result.share < 1 + 1e-12);
  }
  CHECK_MSG(memcmp(q->x, q->again, (size_t)(q->n * nrhs) * bytes) == 0, "%s: other bits", text);
  for (int64_t c = 0; c < (rows ? 1 : nrhs); c++) {
    const size_t at = skip + (size_t)(c * q->n) * bytes;
    const double other = difference(q->type, rows ? own * nrhs : own, q->x + at, q->expected + at);
    CHECK_MSG(other < q->tolerance, "%s, rank %d: %g from the plan's", text, w->rank, other);
  }
}

#define FEW 9 /* number of rows given, and of rows requested */

/* Few rows of b, spread over the ranks, and few rows of x, all on the last rank: a list for one of them, or
 * for both. */
static void check_lists(const world *w, const problem *q, const tristar_solve_options *how, int64_t nrhs,
                        int lists) {
  const typed *t = q->type;
  const int64_t first = first_row(w, q, w->rank), own = first_row(w, q, w->rank + 1) - first;
  const bool last = w->rank == w->ranks - 1, given = lists & 1, wanted = lists & 2;
  tristar_solve_options o = *how, mine;
  int64_t row[2][FEW], part[FEW], count = 0;
  char *few = xmalloc(FEW * (size_t)nrhs * t->bytes), *some = xmalloc(FEW * (size_t)nrhs * t->bytes),
       text[200];
  tristar_solve_result result, alone;
  describe(q, how, text, sizeof text);
  for (int64_t i = 0; i < FEW; i++) {
    row[0][i] = (i * i * 31 + 5 * (int64_t)how->part) % q->n;
    row[1][i] = q->n - 1 - i * q->n / FEW;
    for (int64_t j = 0; j < i; j++)
      if (row[0][j] == row[0][i]) row[0][i] = (row[0][i] + 1) % q->n, j = -1;
    for (int64_t c = 0; c < nrhs; c++) put(t, few, i + c * FEW, get(t, q->b, i + c * q->n));
  }
  mine = o;
  if (given) {
    o.b_rows = FEW;
    o.b_row = row[0];
    for (int64_t i = w->rank; i < FEW; i += w->ranks) {
      part[count] = row[0][i];
      for (int64_t c = 0; c < nrhs; c++) /* row-major */
        put(t, some, count * nrhs + c, get(t, few, i + c * FEW));
      count++;
    }
    mine.b_row = count > 0 || w->rank == 0 ? part : NULL;
    mine.b_rows = count;
    mine.b_row_stride = nrhs;
    mine.b_column_stride = 1;
  } else
    mine.b_row_stride = 1, mine.b_column_stride = q->n;
  if (wanted) {
    o.x_rows = FEW;
    o.x_row = row[1];
    mine.x_rows = last ? FEW : 0;
    mine.x_row = last ? row[1] : NULL;
  } else
    mine.x_row_stride = 1, mine.x_column_stride = q->n;
  if (w->rank == 0) CHECK_OK(tristar_solve_with(q->plan, &o, nrhs, given ? few : q->b, q->expected, &alone));
  share(q, q->expected, (wanted ? FEW : q->n) * nrhs);
  memset(q->x, 0xff, (size_t)(q->n * nrhs) * t->bytes);
  const size_t skip = (size_t)first * t->bytes;
  CHECK_OK(tristar_distributed_solve_with(q->d, &mine, nrhs, given ? some : q->b + skip,
                                          wanted ? q->x : q->x + skip, &result));
  CHECK(result.share > 0 && result.share <= 1);
  if (wanted && last) {
    const double other = difference(t, FEW * nrhs, q->x, q->expected);
    CHECK_MSG(other < q->tolerance, "%s, lists %d: %g from the plan's", text, lists, other);
  }
  for (int64_t c = 0; !wanted && c < nrhs; c++) {
    const size_t at = skip + (size_t)(c * q->n) * t->bytes;
    const double other = difference(t, own, q->x + at, q->expected + at);
    CHECK_MSG(other < q->tolerance, "%s, lists %d, rank %d: %g from the plan's", text, lists, w->rank, other);
  }
  free(few);
  free(some);
}

/* Refinement, its history and bounds, and the condition approximately equal those of a plan. */
static void check_refined(const world *w, const problem *q, tristar_op op, int64_t nrhs) {
  enum { POINTS = 200 };
  const size_t bytes = q->type->bytes;
  const int64_t first = first_row(w, q, w->rank), own = first_row(w, q, w->rank + 1) - first;
  tristar_refine_options options = DEFAULTS(tristar_refine_options);
  tristar_refine_result alone = {0}, result, again;
  tristar_refine_point history[POINTS];
  double reciprocal[2];
  char text[200];
  snprintf(text, sizeof text, "%s %c, op %c, refined", q->kind, q->type->scalar, op);
  options.forward_error = 1;
  if (w->rank == 0) {
    CHECK_OK(tristar_solve_refined(q->plan, op, nrhs, q->b, q->n, q->expected, q->n, &options, &alone));
    CHECK_OK(tristar_condition(q->plan, &reciprocal[0]));
  }
  share(q, q->expected, q->n * nrhs);
  MPI_Bcast(&alone, (int)sizeof alone, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(reciprocal, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const size_t skip = (size_t)first * bytes;
  memset(q->x, 0xff, (size_t)(q->n * nrhs) * bytes);
  options.history = history;
  options.history_most = POINTS;
  CHECK_OK(tristar_distributed_solve_refined(q->d, op, nrhs, q->b + skip, q->n, q->x + skip, q->n, &options,
                                             &result));
  CHECK_MSG(result.backward_error <= fmax(2 * alone.backward_error, 4 * q->type->roundoff),
            "%s: backward error %g, the plan's %g", text, result.backward_error, alone.backward_error);
  CHECK_MSG(result.forward_error > alone.forward_error / 10 &&
                result.forward_error < alone.forward_error * 10,
            "%s: forward error %g, the plan's %g", text, result.forward_error, alone.forward_error);
  CHECK(result.history_count >= nrhs && result.history_count < POINTS);
  CHECK(history[0].backward_error <= result.initial_backward_error);
  for (int64_t c = 0; c < nrhs; c++) {
    const size_t at = skip + (size_t)(c * q->n) * bytes;
    const double other = difference(q->type, own, q->x + at, q->expected + at);
    CHECK_MSG(other < 1e5 * q->type->roundoff, "%s, rank %d: %g from the plan's", text, w->rank, other);
  }
  /* In place, twice. */
  memcpy(q->again, q->b, (size_t)(q->n * nrhs) * bytes);
  CHECK_OK(tristar_distributed_solve_refined(q->d, op, nrhs, q->again + skip, q->n, q->again + skip, q->n,
                                             &options, &again));
  for (int64_t c = 0; c < nrhs; c++) {
    const size_t at = skip + (size_t)(c * q->n) * bytes;
    CHECK_MSG(memcmp(q->x + at, q->again + at, (size_t)own * bytes) == 0, "%s: other bits", text);
  }
  CHECK(again.backward_error == result.backward_error && again.forward_error == result.forward_error);
  CHECK_OK(tristar_distributed_condition(q->d, &reciprocal[1]));
  CHECK_MSG(reciprocal[1] > reciprocal[0] / 3 && reciprocal[1] < reciprocal[0] * 3,
            "%s: reciprocal condition %g, the plan's %g", text, reciprocal[1], reciprocal[0]);
}

static void count_end(void *arg, tristar_status status) {
  if (status == TRISTAR_OK) atomic_fetch_add((atomic_int *)arg, 1);
}

/* Several solves in flight, awaited in another order, give the results of separate solves. */
static void check_started(const world *w, const problem *q) {
  enum { FLIGHTS = 6 };
  const size_t bytes = q->type->bytes, column = (size_t)q->n * bytes;
  const int64_t first = first_row(w, q, w->rank), own = first_row(w, q, w->rank + 1) - first;
  const size_t skip = (size_t)first * bytes;
  tristar_distributed_request_t *request[FLIGHTS];
  tristar_solve_options o[FLIGHTS];
  tristar_solve_result result;
  OWNED char *x = xmalloc(FLIGHTS * column);
  atomic_int ended = 0;
  int done = 0;
  for (int k = 0; k < FLIGHTS; k++) {
    tristar_solve_options_init(&o[k]);
    o[k].op = ops[k % 3];
    o[k].part = k < 3 ? TRISTAR_PART_ALL : TRISTAR_PART_L;
    o[k].b_column_stride = o[k].x_column_stride = q->n;
    o[k].b_row_stride = o[k].x_row_stride = 1;
    o[k].end = count_end;
    o[k].end_arg = &ended;
    memset(x + (size_t)k * column, 0xff, column);
    CHECK_OK(tristar_distributed_solve_start(q->d, &o[k], 1, q->b + skip, x + (size_t)k * column + skip,
                                             &request[k]));
  }
  for (; !done; usleep(100)) CHECK_OK(tristar_distributed_solve_test(request[FLIGHTS - 1], &done));
  for (int k = FLIGHTS; k-- > 0;) {
    CHECK_OK(tristar_distributed_solve_wait(&request[k], &result));
    CHECK(request[k] == NULL && result.share > 1 - 1e-12);
  }
  CHECK(atomic_load(&ended) == FLIGHTS);
  for (int k = 0; k < FLIGHTS; k++) {
    CHECK_OK(tristar_distributed_solve_with(q->d, &o[k], 1, q->b + skip, q->x + skip, NULL));
    CHECK(memcmp(q->x + skip, x + (size_t)k * column + skip, (size_t)own * bytes) == 0);
  }
  /* An error of one rank is returned on all ranks, and later solves are done. */
  tristar_solve_options wrong = o[0];
  if (w->rank == w->ranks - 1) wrong.x_row_stride = -1;
  CHECK_OK(tristar_distributed_solve_start(q->d, &wrong, 1, q->b + skip, q->x + skip, &request[0]));
  const tristar_status refused = tristar_distributed_solve_start(q->d, &o[1], 1, q->b + skip, q->x + skip,
                                                                 w->rank == 0 ? NULL : &request[1]);
  CHECK_STATUS(refused, w->rank == 0 ? TRISTAR_ERR_ARGUMENT : TRISTAR_OK);
  CHECK_OK(tristar_distributed_solve_start(q->d, &o[2], 1, q->b + skip, q->x + skip, &request[2]));
  CHECK_STATUS(tristar_distributed_solve_wait(&request[0], NULL), TRISTAR_ERR_ARGUMENT);
  if (w->rank > 0) CHECK_STATUS(tristar_distributed_solve_wait(&request[1], NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_distributed_solve_wait(&request[2], NULL));
  CHECK(memcmp(q->x + skip, x + 2 * column + skip, (size_t)own * bytes) == 0);
}

/* Checks the list of all ranks: the dependencies, and the ranks that each one connects. */
static void check_list(const tristar_trace_t *trace, const tristar_trace_list *list, int64_t messages) {
  int64_t between = 0, critical = 0;
  for (int64_t k = 0; k < list->count; k++) {
    const tristar_trace_item *item = &list->item[k];
    CHECK(item->rank >= 0 && item->rank < trace->ranks && item->worker >= 0 &&
          item->worker < trace->workers && strcmp(item->name, "?") != 0);
    CHECK(item->start >= 0 && item->start <= item->end && item->end <= trace->seconds);
    critical += item->critical;
    for (int64_t e = item->first_before; e < item->first_before + item->befores; e++) {
      const tristar_trace_item *before = &list->item[list->before[e]];
      CHECK(list->before[e] < k && before->start <= item->start);
      if (before->rank == item->rank) continue;
      between++;
      CHECK(item->kind == TRISTAR_STEP_ARRIVAL && item->start == item->end);
    }
  }
  CHECK_MSG(between == messages, "%lld edges between ranks for %lld messages", (long long)between,
            (long long)messages);
  CHECK(critical > 0 && list->critical_seconds > 0 && list->critical_seconds <= trace->seconds);
}

/* The trace contains each step of each rank once, and each message. */
static void check_trace(const world *w, const problem *q, tristar_op op, int64_t nrhs) {
  const size_t bytes = q->type->bytes;
  const int64_t first = first_row(w, q, w->rank), own = first_row(w, q, w->rank + 1) - first;
  const size_t skip = (size_t)first * bytes;
  const int64_t blocks = (nrhs + 63) / 64;
  int64_t steps = 0, messages = 0, binding = 0;
  CLEANUP(tristar_trace_destroy) tristar_trace_t *trace;
  tristar_distributed_stats *stats = xcalloc((size_t)w->ranks, sizeof *stats);
  CHECK_OK(tristar_distributed_trace(q->d, op, nrhs, q->b + skip, q->n, q->again + skip, q->n, &trace));
  CHECK((trace != NULL) == (w->rank == 0));
  CHECK_OK(tristar_distributed_solve(q->d, op, nrhs, q->b + skip, q->n, q->x + skip, q->n));
  for (int64_t c = 0; c < nrhs; c++) {
    const size_t at = skip + (size_t)(c * q->n) * bytes;
    CHECK(memcmp(q->x + at, q->again + at, (size_t)own * bytes) == 0);
  }
  CHECK_OK(tristar_distributed_gather_stats(q->d, stats));
  for (int r = 0; r < w->ranks && trace; r++) {
    steps += blocks * stats[r].tasks;
    messages += stats[r].broadcast.messages + stats[r].reduction.messages + stats[r].grids.messages;
  }
  if (trace) {
    CHECK(trace->ranks == w->ranks && trace->workers >= w->ranks && trace->seconds > 0);
    CHECK_MSG(trace->steps.count == steps, "%lld steps of %lld", (long long)trace->steps.count,
              (long long)steps);
    check_list(trace, &trace->tasks, messages);
    check_list(trace, &trace->steps, messages);
    for (int64_t k = 0, next = 0; k < trace->tasks.count; k++) {
      const tristar_trace_item *task = &trace->tasks.item[k];
      CHECK(task->first_step == next && task->steps > 0);
      for (int64_t s = next; s < next + task->steps; s++) CHECK(trace->steps.item[s].rank == task->rank);
      next += task->steps;
      binding += task->binding;
    }
    CHECK(binding > 0);
  }
  free(stats);
  tristar_trace_destroy(&trace);
  const bool wrong = w->rank == w->ranks - 1;
  CHECK_STATUS(tristar_distributed_trace(q->d, op, 1, q->b + skip, q->n, wrong ? q->b + skip : q->x + skip,
                                         q->n, &trace),
               TRISTAR_ERR_ARGUMENT);
  CHECK(trace == NULL);
  CHECK_OK(tristar_distributed_trace(q->d, op, 0, NULL, q->n, NULL, q->n, &trace));
  CHECK((trace != NULL) == (w->rank == 0) && (trace == NULL || trace->steps.count == 0));
}

/* NaN in b: the message names the row on all ranks, and the other columns are solved. */
static void check_lost(const world *w, const problem *q) {
  const size_t bytes = q->type->bytes;
  const int64_t first = first_row(w, q, w->rank), own = first_row(w, q, w->rank + 1) - first;
  const int64_t lost = q->n / 2;
  char message[300], expected[60];
  tristar_refine_result result;
  const number before = get(q->type, q->b, lost);
  put(q->type, q->b, lost, NAN);
  snprintf(expected, sizeof expected, "in row %lld, column 0", (long long)lost);
  CHECK_STATUS(tristar_distributed_solve_refined(q->d, TRISTAR_N, 2, q->b + (size_t)first * bytes, q->n,
                                                 q->x + (size_t)first * bytes, q->n, NULL, &result),
               TRISTAR_ERR_NOT_FINITE);
  tristar_get_error(w->ts, message, sizeof message);
  CHECK_MSG(strstr(message, expected), "%s, not %s", message, expected);
  CHECK(result.backward_error < 1e-3);
  for (int64_t i = first; i < first + own; i++) CHECK(isfinite(magnitude(get(q->type, q->x, i + q->n))));
  put(q->type, q->b, lost, before);
}

/* All ranks return an error of one rank's arguments, and the next solve is right. */
static void check_refused(const world *w, const problem *q) {
  const int64_t twice[] = {3, 1, 3}, outside[] = {q->n};
  const bool last = w->rank == w->ranks - 1;
  tristar_solve_options o;
  char message[300];
  for (int fault = 0; fault < 9; fault++) {
    tristar_solve_options_init(&o);
    if (fault == 0 && last) o.b_row = twice, o.b_rows = 3;
    if (fault == 1 && last) o.x_row = outside, o.x_rows = 1;
    if (fault == 2 && last) o.x_row_stride = -1, o.x_column_stride = 1;
    if (fault == 3) o.part = last && w->ranks > 1 ? TRISTAR_PART_D : TRISTAR_PART_ALL;
    if (fault == 4 && last) o.b_rows = -1;
    if (fault == 5) o.op = (tristar_op)0;
    const bool in_place = fault >= 6 && last; /* with other strides, a list of b, a list of x */
    if (in_place && fault == 6) o.x_row_stride = 1, o.x_column_stride = q->n + 1;
    if (in_place && fault == 7) o.b_row = twice, o.b_rows = 2;
    if (in_place && fault == 8) o.x_row = twice, o.x_rows = 2;
    if (fault == 3 && w->ranks == 1) continue;
    CHECK_STATUS(tristar_distributed_solve_with(q->d, &o, 1, in_place ? q->x : q->b, q->x, NULL),
                 TRISTAR_ERR_ARGUMENT);
    tristar_get_error(w->ts, message, sizeof message);
    if (fault == 0) CHECK(strstr(message, "twice"));
    if (fault > 6 && last) CHECK(strstr(message, "x is b, which a list of rows"));
  }
  tristar_solve_options_init(&o);
  o.beta = q->b; /* allowed on one process */
  CHECK_STATUS(tristar_distributed_solve_with(q->d, &o, 1, q->b, q->x, NULL), TRISTAR_ERR_UNSUPPORTED);
  tristar_get_error(w->ts, message, sizeof message);
  CHECK(strstr(message, "alpha and beta"));
  o.beta = NULL;
  check_columns(w, q, &o, 1, false);
}

/* Returns the inverse on all ranks, column-major, computed by refined solves of rank 0. */
static char *invert(const world *w, const problem *q) {
  char *unit = xcalloc((size_t)(q->n * q->n), q->type->bytes),
       *inverse = xcalloc((size_t)(q->n * q->n), q->type->bytes);
  for (int64_t i = 0; i < q->n; i++) put(q->type, unit, i * (q->n + 1), 1);
  if (w->rank == 0)
    CHECK_OK(tristar_solve_refined(q->plan, TRISTAR_N, q->n, unit, q->n, inverse, q->n, NULL, NULL));
  share(q, inverse, q->n * q->n);
  free(unit);
  return inverse;
}

/* Entries of the inverse: the diagonal on the ranks of its rows, a list on rank 0, and invalid calls. */
static void check_inverse(const world *w, const problem *q) {
  const typed *t = q->type;
  const int64_t n = q->n, count = 3 * n, first = first_row(w, q, w->rank);
  const int64_t own = first_row(w, q, w->rank + 1) - first;
  const bool root = w->rank == 0;
  OWNED char *inverse = invert(w, q), *diagonal = xcalloc((size_t)own + 1, t->bytes),
             *values = xcalloc((size_t)count, t->bytes);
  OWNED int64_t *row = xcalloc((size_t)count, sizeof *row), *column = xcalloc((size_t)count, sizeof *column);
  double size = 0;
  for (int64_t k = 0; k < n * n; k++) size = fmax(size, magnitude(get(t, inverse, k)));
  const double most = q->tolerance * size;
  CHECK_OK(tristar_distributed_inverse_diagonal(q->d, diagonal));
  for (int64_t i = 0; i < own; i++) {
    const double error = magnitude(get(t, diagonal, i) - get(t, inverse, (first + i) * (n + 1)));
    CHECK_MSG(error <= most, "%s %c: diagonal entry %lld differs by %g", q->kind, t->scalar,
              (long long)(first + i), error);
  }
  for (int64_t k = 0; k < count; k++) { /* columns in no order, some entries twice */
    row[k] = (k * 7 + 3) % n;
    column[k] = (k * 11 + k / n) % (n / 2);
  }
  row[1] = row[0];
  column[1] = column[0];
  CHECK_OK(tristar_distributed_inverse_entries(q->d, count, root ? row : NULL, root ? column : NULL,
                                               root ? values : NULL));
  for (int64_t k = 0; k < count && root; k++) {
    const double error = magnitude(get(t, values, k) - get(t, inverse, row[k] + column[k] * n));
    CHECK_MSG(error <= most, "%s %c: entry (%lld,%lld) differs by %g", q->kind, t->scalar, (long long)row[k],
              (long long)column[k], error);
  }
  CHECK_OK(tristar_distributed_inverse_entries(q->d, 0, NULL, NULL, NULL));
  CHECK_STATUS(tristar_distributed_inverse_entries(q->d, -1, row, column, values), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_distributed_inverse_entries(q->d, 2, row, NULL, values), TRISTAR_ERR_ARGUMENT);
  row[2] = n;
  CHECK_STATUS(tristar_distributed_inverse_entries(q->d, 3, row, column, values), TRISTAR_ERR_ARGUMENT);
  if (w->ranks > 1)
    CHECK_STATUS(tristar_distributed_inverse_entries(q->d, root ? 1 : 2, row, column, values),
                 TRISTAR_ERR_ARGUMENT);
}

/* Rank 0 passes all rows. x may be b only with the same strides, though the solve is refined, and not with
 * lists of rows, though the last rank has no rows of its own. */
static void check_refused_in_place(const world *w, const problem *q) {
  const int64_t row[] = {0};
  const bool last = w->rank == w->ranks - 1;
  OWNED char *b = xcalloc((size_t)q->n + 1, q->type->bytes), *x = xcalloc((size_t)q->n, q->type->bytes);
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  const int64_t ldx = w->rank == 0 ? q->n + 1 : q->n;
  CHECK_STATUS(tristar_distributed_solve(q->d, TRISTAR_N, 1, b, q->n, b, ldx), TRISTAR_ERR_ARGUMENT);
  if (w->rank == 0) CHECK_ERROR(w->ts, "x is b, but their strides differ");
  CHECK_OK(tristar_distributed_solve(q->d, TRISTAR_N, 1, b, q->n, b, q->n));
  CHECK_OK(tristar_distributed_solve_refined(q->d, TRISTAR_N, 1, b, q->n, b, ldx, NULL, NULL));
  if (last) o.b_row = o.x_row = row, o.b_rows = o.x_rows = 1;
  CHECK_STATUS(tristar_distributed_solve_with(q->d, &o, 1, b, last ? b : x, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_distributed_solve_with(q->d, &o, 1, b, x, NULL));
}

/* In each triple a, b, p rows a and b are eliminated first and are singular. So pivots are perturbed, and the
 * solves that compute entries of the inverse are refined. */
static void check_perturbed_inverse(const world *w, const typed *t) {
  enum { N = 60 };
  static number a[N][N];
  int64_t permutation[N];
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_distributed_options how = DEFAULTS(tristar_distributed_options);
  tristar_distributed_stats stats;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  problem q = {.kind = "triples", .type = t, .n = N, .tolerance = t->is_single ? 1e-4 : 1e-12};
  typed_triples(N, false, a[0], permutation);
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = permutation;
  options.merge = TRISTAR_MERGE_NONE;
  options.leaf_parts = w->layout.pz;
  how.layout = w->layout;
  const tristar_view v = typed_dense_view(t, N, a[0], N, TRISTAR_GENERAL);
  if (w->rank == 0) {
    CHECK_OK(tristar_analyze(w->ts, &v, &options, &an));
    CHECK_OK(tristar_factor(an, v.values, &q.factor));
    CHECK_OK(tristar_plan(q.factor, NULL, &q.plan));
  }
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, q.factor, &how, &q.d));
  CHECK_OK(tristar_distributed_get_stats(q.d, &stats));
  CHECK(stats.perturbed_pivots > 0);
  check_refused_in_place(w, &q);
  const int64_t first = first_row(w, &q, w->rank);
  CHECK_OK(tristar_distributed_set_rows(q.d, first, first_row(w, &q, w->rank + 1) - first));
  check_inverse(w, &q);
  tristar_distributed_destroy(&q.d);
  tristar_plan_destroy(&q.plan);
  tristar_factor_destroy(&q.factor);
}

/* Entries of the inverse of such a matrix are refused with the expected status. */
static void check_refused_inverse(const world *w, const number *a, int n, tristar_symmetry symmetry,
                                  tristar_status expected) {
  const int64_t first = 0, second = 1;
  double entry;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_distributed_options how = DEFAULTS(tristar_distributed_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  problem q = {.n = n};
  options.singular = TRISTAR_SINGULAR_PERTURB;
  how.layout = w->layout;
  const tristar_view v = typed_dense_view(&typed_double, n, a, n, symmetry);
  if (w->rank == 0) {
    CHECK_OK(tristar_analyze(w->ts, &v, &options, &an));
    CHECK_OK(tristar_factor(an, v.values, &q.factor));
  }
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, q.factor, &how, &q.d));
  CHECK_STATUS(tristar_distributed_inverse_entries(q.d, 1, &first, &second, &entry), expected);
  tristar_distributed_destroy(&q.d);
  tristar_factor_destroy(&q.factor);
}

/* A skew-symmetric matrix of odd order is singular, but none of its pivots is perturbed. The inverse of a
 * matrix with tiny entries is beyond the range of numbers. */
static void check_refused_inverses(const world *w) {
  enum { N = 5 };
  number a[N * N] = {0}, tiny[N * N];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      if (i != j) a[i * N + j] = (i > j ? 1.0 : -1.0) / (i + j + 1);
      tiny[i * N + j] = ldexp(i == j ? 3 : abs(i - j) == 1 ? 1 : 0, -1030);
    }
  check_refused_inverse(w, a, N, TRISTAR_SKEW_SYMMETRIC, TRISTAR_ERR_ACCURACY);
  check_refused_inverse(w, tiny, N, TRISTAR_GENERAL, TRISTAR_ERR_NOT_FINITE);
}

static void check_problem(const world *w, const problem *q) {
  for (int k = 0; k < 3; k++)
    for (tristar_part part = TRISTAR_PART_ALL; part <= TRISTAR_PART_U; part++) {
      tristar_solve_options o = DEFAULTS(tristar_solve_options);
      o.op = ops[k];
      o.part = part;
      check_columns(w, q, &o, 1 + 4 * (int)(part % 2), part == TRISTAR_PART_L);
      for (int lists = 1; lists < 4; lists++) check_lists(w, q, &o, lists == 2 ? 3 : 1, lists);
      o.factor_order = 1;
      check_columns(w, q, &o, 5 - 4 * (int)(part % 2), part == TRISTAR_PART_U);
      check_lists(w, q, &o, 2, 3);
    }
  for (int k = 0; k < 3; k++) check_refined(w, q, ops[k], k == 1 ? 1 : 3);
  check_started(w, q);
  check_trace(w, q, TRISTAR_N, 1);
  check_trace(w, q, TRISTAR_T, TYPED_COLUMNS);
  check_lost(w, q);
  check_refused(w, q);
  check_inverse(w, q);
}

static void check_matrix(const world *w, const char *kind, int64_t k, const typed *t, tristar_method method,
                         tristar_symmetry symmetry, bool single_factors) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_analysis_options options;
  tristar_distributed_options how;
  tristar_analysis_t *an = NULL;
  problem q = {.kind = kind, .type = t};
  void *values = typed_matrix(w->ts, kind, k, t, symmetry, &matrix, &q.view);
  q.n = q.view.rows;
  q.tolerance = single_factors || t->is_single ? 1e-3 : 1e-10;
  q.b = make_rhs(t, q.n);
  q.expected = xmalloc(TYPED_COLUMNS * (size_t)q.n * t->bytes);
  q.x = xmalloc(TYPED_COLUMNS * (size_t)q.n * t->bytes);
  q.again = xmalloc(TYPED_COLUMNS * (size_t)q.n * t->bytes);
  tristar_analysis_options_init(&options);
  options.method = method;
  options.leaf_parts = w->layout.pz;
  options.single_factors = single_factors;
  if (w->rank == 0) {
    CHECK_OK(tristar_analyze(w->ts, &q.view, &options, &an));
    CHECK_OK(tristar_factor(an, values, &q.factor));
    CHECK_OK(tristar_plan(q.factor, NULL, &q.plan));
  }
  for (int algorithm = 0; algorithm < 2; algorithm++) {
    tristar_distributed_options_init(&how);
    how.layout = w->layout;
    how.layout.algorithm = algorithm ? TRISTAR_ALGORITHM_LEVELWISE : TRISTAR_ALGORITHM_REPLICATED;
    how.layout.map = algorithm ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE;
    if (algorithm && method == TRISTAR_METHOD_LU) how.engine = TRISTAR_ENGINE_SERIAL;
    CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, q.factor, &how, &q.d));
    const int64_t first = first_row(w, &q, w->rank);
    CHECK_OK(tristar_distributed_set_rows(q.d, first, first_row(w, &q, w->rank + 1) - first));
    check_problem(w, &q);
    tristar_distributed_destroy(&q.d);
  }
  tristar_plan_destroy(&q.plan);
  tristar_factor_destroy(&q.factor);
  tristar_analysis_destroy(&an);
  free(values);
  free(q.b);
  free(q.expected);
  free(q.x);
  free(q.again);
}

/* An imported L L^T with only one of two scalings; the other one is ones. */
static void check_one_scaling(const world *w, bool of_rows) {
  enum { N = 40 };
  int32_t ptr[N + 1] = {0}, index[2 * N];
  double values[2 * N], scale[N], b[N], x[N], expected[N];
  tristar_factors f;
  tristar_factor_t *factor = NULL;
  tristar_distributed_t *d;
  tristar_distributed_options how = DEFAULTS(tristar_distributed_options);
  tristar_factors_init(&f);
  for (int j = 0, k = 0; j < N; j++) { /* 2 on the diagonal, -1 below */
    for (int i = j; i < j + 2 && i < N; i++, k++) {
      index[k] = i;
      values[k] = i == j ? 2 : -1;
    }
    ptr[j + 1] = (int32_t)(2 * (j + 1) - (j == N - 1));
    scale[j] = ldexp(1, j % 7);
    expected[j] = j % 5 - 2;
  }
  for (int i = 0; i < N; i++) { /* 4 or 5 on the diagonal, -2 beside it */
    const double by[] = {of_rows || i == 0 ? 1 : 1 / scale[i - 1], of_rows ? 1 : 1 / scale[i],
                         of_rows || i == N - 1 ? 1 : 1 / scale[i + 1]};
    const double sum = (i > 0 ? -2 * expected[i - 1] * by[0] : 0) + (i > 0 ? 5 : 4) * expected[i] * by[1] +
                       (i < N - 1 ? -2 * expected[i + 1] * by[2] : 0);
    b[i] = of_rows ? sum / scale[i] : sum;
  }
  f.n = N;
  f.method = TRISTAR_METHOD_LLT;
  f.lower = (tristar_triangle){TRISTAR_TRIANGLE_COLUMNS, 0, 32, 32, ptr, NULL, index, values, 0, NULL, NULL};
  *(of_rows ? &f.row_scale : &f.column_scale) = scale;
  how.layout = w->layout;
  if (w->rank == 0) CHECK_OK(tristar_import_supernodal(w->ts, &f, &factor));
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &how, &d));
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, N, x, N));
  for (int i = 0; w->rank == 0 && i < N; i++)
    CHECK_MSG(fabs(x[i] - expected[i]) < 1e-13, "row %d: %.17g, expected %g", i, x[i], expected[i]);
  tristar_distributed_destroy(&d);
  tristar_factor_destroy(&factor);
}

/* Distributes a factor L L^T that rank 0 imports into *factor: n columns of L. */
static tristar_distributed_t *distribute_lower(const world *w, int64_t n, const int32_t *ptr,
                                               const int32_t *index, const double *values,
                                               tristar_factor_t **factor) {
  tristar_factors f;
  tristar_distributed_options how = DEFAULTS(tristar_distributed_options);
  tristar_distributed_t *d;
  tristar_factors_init(&f);
  f.n = n;
  f.method = TRISTAR_METHOD_LLT;
  f.lower = (tristar_triangle){TRISTAR_TRIANGLE_COLUMNS, 0, 32, 32, ptr, NULL, index, values, 0, NULL, NULL};
  how.layout = w->layout;
  if (w->rank == 0) CHECK_OK(tristar_import_supernodal(w->ts, &f, factor));
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, *factor, &how, &d));
  return d;
}

/* A column of x that overflows is an error on all ranks, unless b has NaN; the other columns are solved. */
static void check_range(const world *w) {
  enum { N = 60, COLUMNS = 66, BAD = 65 };
  int32_t ptr[N + 1], index[N];
  double values[N];
  OWNED double *b = xmalloc(N * COLUMNS * sizeof *b), *x = xmalloc(N * COLUMNS * sizeof *x);
  const int64_t first = N * w->rank / w->ranks, own = N * (w->rank + 1) / w->ranks - first;
  const int64_t row[] = {N - 1};
  tristar_factor_t *factor = NULL;
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  for (int j = 0; j < N; j++) {
    ptr[j] = index[j] = j;
    values[j] = 0x1p-300; /* A = 2^-600 I */
  }
  ptr[N] = N;
  tristar_distributed_t *d = distribute_lower(w, N, ptr, index, values, &factor);
  CHECK_OK(tristar_distributed_set_rows(d, first, own));
  if (w->rank == w->ranks - 1) o.x_row = row; /* one row of x */
  o.x_rows = o.x_row ? 1 : 0;
  o.x_row_stride = 1;
  o.x_column_stride = o.b_column_stride = N;
  o.b_row_stride = 1;
  for (int k = 0; k < 3; k++) { /* in range, beyond, NaN */
    const tristar_status expected = k == 1 ? TRISTAR_ERR_NOT_FINITE : TRISTAR_OK;
    for (int i = 0; i < N * COLUMNS; i++) b[i] = i;
    if (w->rank == w->ranks - 1) b[BAD * N + own - 1] = k == 0 ? 1 : k == 1 ? 0x1p500 : NAN;
    CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_T, COLUMNS, b, N, x, N), expected);
    if (k == 1) CHECK_ERROR(w->ts, "row 59 of x, column 65");
    for (int c = 0; c < BAD; c++)
      for (int i = 0; i < own; i++) CHECK(x[c * N + i] == b[c * N + i] * 0x1p600);
    CHECK_STATUS(tristar_distributed_solve_with(d, &o, COLUMNS, b, x, NULL), expected);
    memcpy(x, b, N * COLUMNS * sizeof *x); /* in place */
    CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, COLUMNS, x, N, x, N), expected);
  }
  tristar_distributed_destroy(&d);
  tristar_factor_destroy(&factor);
}

/* Solves 70 columns in place, more than are solved together: all sums are integers, so x is exact. Other
 * strides of one rank are an error on all: columns of b would be read after x has replaced them. */
static void check_many_in_place(const world *w) {
  enum { N = 60, COLUMNS = 70, LD = N + 3 };
  int32_t ptr[N + 1], index[2 * N];
  double values[2 * N];
  const size_t size = (LD + 1) * COLUMNS * sizeof(double);
  OWNED double *x = xcalloc(1, size), *refused = xmalloc(size);
  const int64_t first = N * w->rank / w->ranks, own = N * (w->rank + 1) / w->ranks - first;
  tristar_factor_t *factor = NULL;
  for (int j = 0; j < N; j++) { /* L has ones, and -1 below them */
    ptr[j] = 2 * j;
    index[2 * j] = j;
    values[2 * j] = 1;
    index[2 * j + 1] = j + 1;
    values[2 * j + 1] = -1;
  }
  ptr[N] = 2 * N - 1;
  tristar_distributed_t *d = distribute_lower(w, N, ptr, index, values, &factor);
  CHECK_OK(tristar_distributed_set_rows(d, first, own));
  for (int extra = 1; extra >= 0; extra--) { /* b = L L^T x for x_i = (i + c)^2 % 7 in column c */
    for (int c = 0; c < COLUMNS; c++)
      for (int64_t r = 0; r < own; r++) {
        const int64_t i = first + r;
        const int64_t before = i > 0 ? (i - 1 + c) * (i - 1 + c) % 7 : 0, here = (i + c) * (i + c) % 7,
                      after = i + 1 < N ? (i + 1 + c) * (i + 1 + c) % 7 : 0;
        x[c * LD + r] = (double)((i > 0 ? 2 : 1) * here - before - after);
      }
    const bool last = w->rank == w->ranks - 1;
    memcpy(refused, x, size);
    CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, COLUMNS, x, LD, x, LD + (last ? extra : 0)),
                 extra ? TRISTAR_ERR_ARGUMENT : TRISTAR_OK);
    CHECK(!extra || memcmp(x, refused, size) == 0);
  }
  for (int c = 0; c < COLUMNS; c++)
    for (int64_t r = 0; r < own; r++) {
      const int64_t square = (first + r + c) * (first + r + c);
      CHECK(x[c * LD + r] == (double)(square % 7));
    }
  tristar_distributed_destroy(&d);
  tristar_factor_destroy(&factor);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  world w;
  int level;
  tristar_config config = DEFAULTS(tristar_config);
  tristar_memory_stats memory;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  tristar_layout_init(&w.layout);
  CHECK(argc == 2 && sscanf(argv[1], "%dx%dx%d", &w.layout.px, &w.layout.py, &w.layout.pz) == 3);
  CHECK(w.layout.px * w.layout.py * w.layout.pz == w.ranks);
  config.check = 1;
  CHECK_OK(tristar_create(&config, &w.ts));
  RUN(check_matrix(&w, "s2d9pt", 20, &typed_double, TRISTAR_METHOD_AUTO, TRISTAR_SYMMETRIC, false));
  RUN(check_matrix(&w, "circuit", 400, &typed_double, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, false));
  RUN(check_matrix(&w, "maxwell3d", 4, &typed_double, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, false));
  RUN(check_matrix(&w, "poisson3d7", 6, &typed_complex_double, TRISTAR_METHOD_AUTO, TRISTAR_HERMITIAN, true));
  RUN(check_matrix(&w, "convdiff3d", 6, &typed_double, TRISTAR_METHOD_AUTO, TRISTAR_SYMMETRIC, true));
  RUN(check_matrix(&w, "elasticity3d", 3, &typed_complex_single, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC,
                   false));
  RUN(check_perturbed_inverse(&w, &typed_double));
  RUN(check_perturbed_inverse(&w, &typed_complex_single));
  if (w.layout.pz == 1) RUN(check_refused_inverses(&w));
  if (w.layout.pz == 1) RUN(check_one_scaling(&w, true));
  if (w.layout.pz == 1) RUN(check_one_scaling(&w, false));
  if (w.layout.pz == 1) RUN(check_range(&w));
  if (w.layout.pz == 1) RUN(check_many_in_place(&w));
  tristar_get_memory(w.ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "%zu bytes leaked", memory.current_bytes);
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
