/* Gathers factors from a grid of processes: see superlu_dist_gather.h. The arrays: see
 * superlu_dist_factors.c. */
#include "runtime/adapters/superlu_dist_gather.h"

#include <limits.h>
#include <string.h>

#include "runtime/adapters/adapter.h"

enum {
  LOWER_INDEX, /* Number of integers of a supernode of L without the header: blocks, each with its rows. */
  LOWER_BLOCKS,
  LOWER_ROWS,
  UPPER_INDEX, /* The same for U. */
  UPPER_BLOCKS,
  UPPER_VALUES,
  SIZES
};
enum { AT_ONCE = 128 }; /* Number of supernodes whose sizes one reduction sums. */

/* Tags of messages. */
enum { INDEX_TAG = 0, VALUES_TAG = 1 };

typedef struct gathering {
  tristar_t *ts;
  const gridinfo_t *grid;
  const tsi_superlu_dist_parts *from;
  tsi_superlu_dist_gathered *all;
  int64_t supernodes;
  int64_t most_index, most_values; /* Largest lengths of a piece that one process sends. */
  MPI_Datatype scalar;
} gathering;

bool tsi_superlu_dist_here(const gridinfo_t *grid) {
  return (int64_t)grid->nprow * grid->npcol == 1 || grid->iam == 0;
}

static tristar_status check_mpi(tristar_t *ts, int code) {
  if (code != MPI_SUCCESS) TSI_FAIL(ts, TRISTAR_ERR_RUNTIME, "MPI failed with code %d", code);
  return TRISTAR_OK;
}

tristar_status tsi_superlu_dist_agree(tristar_t *ts, const gridinfo_t *grid, tristar_status mine) {
  int worst = (int)mine;
  if ((int64_t)grid->nprow * grid->npcol == 1) return mine;
  TSI_TRY(check_mpi(ts, MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, grid->comm)));
  if (mine != TRISTAR_OK || worst == (int)TRISTAR_OK) return mine != TRISTAR_OK ? mine : TRISTAR_OK;
  TSI_FAIL(ts, (tristar_status)worst, "another process of the grid of SuperLU_DIST failed");
}

/* ---- Parts of a process -------------------------------------------------------------------------------- */

static int row_of(const gathering *g, int process) {
  return process / (int)g->grid->npcol;
}
static int column_of(const gathering *g, int process) {
  return process % (int)g->grid->npcol;
}
static bool has_lower(const gathering *g, int process, int64_t k) {
  return column_of(g, process) == k % g->grid->npcol;
}
static bool has_upper(const gathering *g, int process, int64_t k) {
  return row_of(g, process) == k % g->grid->nprow;
}

/* Returns the array of this process for supernode k, or NULL if it stores no piece of it. */
static const int_t *own_index(const gathering *g, bool upper, int64_t k) {
  if (upper) return has_upper(g, g->grid->iam, k) ? g->from->upper_index[k / g->grid->nprow] : NULL;
  return has_lower(g, g->grid->iam, k) ? g->from->lower_index[k / g->grid->npcol] : NULL;
}
static const void *own_values(const gathering *g, bool upper, int64_t k) {
  const void *values;
  const int64_t at = upper ? k / g->grid->nprow : k / g->grid->npcol;
  memcpy(&values,
         (const char *)(upper ? g->from->upper_values : g->from->lower_values) + (size_t)at * sizeof values,
         sizeof values);
  return values;
}

static int64_t width_of(const gathering *g, int64_t k) {
  return (int64_t)g->from->xsup[k + 1] - g->from->xsup[k];
}
/* Returns the length of the index of a piece, with its header. */
static int64_t index_length(bool upper, const int_t *index) {
  return upper ? (int64_t)index[2] : BC_HEADER + (int64_t)LB_DESCRIPTOR * index[0] + index[1];
}
static int64_t header_of(bool upper) {
  return upper ? BR_HEADER : BC_HEADER;
}
static int64_t values_of(const gathering *g, bool upper, const int_t *index, int64_t k) {
  return upper ? (int64_t)index[1] : (int64_t)index[1] * width_of(g, k);
}

/* Local. Checks the numbers from which lengths are computed. */
static tristar_status check_own(const gathering *g) {
  for (int upper = 0; upper < 2; upper++)
    for (int64_t k = 0; k < g->supernodes; k++) {
      const int_t *index = own_index(g, upper, k);
      if (index == NULL) continue;
      if (index[0] < 0 || index[1] < 0 || index_length(upper, index) < header_of(upper))
        TSI_FAIL(g->ts, TRISTAR_ERR_FORMAT, "supernode %lld of %s has %lld blocks of %lld %s on process %d",
                 (long long)k, upper ? "U" : "L", (long long)index[0], (long long)index[1],
                 upper ? "values" : "rows", g->grid->iam);
      if (index_length(upper, index) > INT_MAX || values_of(g, upper, index, k) > INT_MAX)
        TSI_FAIL(g->ts, TRISTAR_ERR_TOO_LARGE,
                 "supernode %lld of %s has %lld values on process %d: MPI counts up to %d", (long long)k,
                 upper ? "U" : "L", (long long)values_of(g, upper, index, k), g->grid->iam, INT_MAX);
      if (values_of(g, upper, index, k) > 0 && own_values(g, upper, k) == NULL)
        TSI_FAIL(g->ts, TRISTAR_ERR_ARGUMENT, "%s_ptr of supernode %lld is NULL on process %d",
                 upper ? "Unzval_br" : "Lnzval_bc", (long long)k, g->grid->iam);
    }
  return TRISTAR_OK;
}

/* Collective. Checks that all processes have the same number of supernodes, so that their loops match. */
static tristar_status compare_supernodes(const gathering *g) {
  int64_t range[4] = {g->from->n, -g->from->n, g->supernodes, -g->supernodes};
  TSI_TRY(check_mpi(g->ts, MPI_Allreduce(MPI_IN_PLACE, range, 4, MPI_INT64_T, MPI_MAX, g->grid->comm)));
  if (range[0] != -range[1] || range[2] != -range[3])
    TSI_FAIL(g->ts, TRISTAR_ERR_ARGUMENT,
             "processes of the grid have factors of orders %lld to %lld, of %lld to "
             "%lld supernodes",
             (long long)-range[1], (long long)range[0], (long long)-range[3], (long long)range[2]);
  return TRISTAR_OK;
}

/* ---- Sizes --------------------------------------------------------------------------------------------- */

static void add_sizes(const gathering *g, int64_t k, int64_t size[SIZES]) {
  const int_t *lower = own_index(g, false, k), *upper = own_index(g, true, k);
  for (int i = 0; i < SIZES; i++) size[i] = 0;
  if (lower != NULL) {
    size[LOWER_INDEX] = index_length(false, lower) - BC_HEADER;
    size[LOWER_BLOCKS] = lower[0];
    size[LOWER_ROWS] = lower[1];
  }
  if (upper != NULL) {
    size[UPPER_INDEX] = index_length(true, upper) - BR_HEADER;
    size[UPPER_BLOCKS] = upper[0];
    size[UPPER_VALUES] = upper[1];
  }
}

/* Collective. size: on process 0 the sums of the sizes of supernodes k .. k + count - 1. */
static tristar_status sum_sizes(const gathering *g, int64_t k, int count, int64_t size[][SIZES]) {
  for (int i = 0; i < count; i++) add_sizes(g, k + i, size[i]);
  const bool root = g->grid->iam == 0;
  return check_mpi(g->ts, MPI_Reduce(root ? MPI_IN_PLACE : (void *)size, root ? (void *)size : NULL,
                                     count * SIZES, MPI_INT64_T, MPI_SUM, 0, g->grid->comm));
}

/* Number of supernodes from k on whose sizes are summed together. */
static int at_once(const gathering *g, int64_t k) {
  return (int)(g->supernodes - k < AT_ONCE ? g->supernodes - k : AT_ONCE);
}

/* Collective. Computes on process 0 the lengths of all arrays and of the longest piece of another process. */
static tristar_status measure(gathering *g, int64_t *integers, int64_t *numbers) {
  int64_t size[AT_ONCE][SIZES], most[2] = {0, 0};
  *integers = *numbers = 0;
  for (int upper = 0; upper < 2; upper++)
    for (int64_t k = 0; k < g->supernodes; k++) {
      const int_t *index = own_index(g, upper, k);
      if (index == NULL) continue;
      const int64_t length = index_length(upper, index), values = values_of(g, upper, index, k);
      most[0] = length > most[0] ? length : most[0];
      most[1] = values > most[1] ? values : most[1];
    }
  TSI_TRY(check_mpi(g->ts, MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT64_T, MPI_MAX, g->grid->comm)));
  g->most_index = most[0];
  g->most_values = most[1];
  for (int64_t k = 0; k < g->supernodes; k += AT_ONCE) {
    const int count = at_once(g, k);
    TSI_TRY(sum_sizes(g, k, count, size));
    for (int i = 0; i < count; i++) {
      *integers += BC_HEADER + size[i][LOWER_INDEX] + BR_HEADER + size[i][UPPER_INDEX];
      *numbers += size[i][LOWER_ROWS] * width_of(g, k + i) + size[i][UPPER_VALUES];
    }
  }
  return TRISTAR_OK;
}

/* Process 0. */
static tristar_status allocate(const gathering *g, int64_t integers, int64_t numbers) {
  tsi_superlu_dist_gathered *all = g->all;
  const size_t bytes = g->from->bytes;
  TSI_TRY(TSI_ALLOC(g->ts, all->index, integers));
  TSI_TRY(tristar_adapter_allocate(g->ts, (size_t)numbers, bytes, __func__, __FILE__, __LINE__,
                                   (void **)&all->values));
  TSI_TRY(TSI_ALLOC(g->ts, all->lower_index, g->supernodes));
  TSI_TRY(TSI_ALLOC(g->ts, all->upper_index, g->supernodes));
  TSI_TRY(TSI_ALLOC(g->ts, all->lower_values, g->supernodes));
  TSI_TRY(TSI_ALLOC(g->ts, all->upper_values, g->supernodes));
  TSI_TRY(TSI_ALLOC(g->ts, all->part_index, g->most_index));
  return tristar_adapter_allocate(g->ts, (size_t)g->most_values, bytes, __func__, __FILE__, __LINE__,
                                  (void **)&all->part_values);
}

/* Collective. Sets on process 0 the pointers and headers of the arrays of each supernode. */
static tristar_status lay_out(const gathering *g) {
  int64_t size[AT_ONCE][SIZES];
  const tsi_superlu_dist_gathered *all = g->all;
  int_t *index = all->index;
  char *values = all->values;
  for (int64_t k = 0; k < g->supernodes; k += AT_ONCE) {
    const int count = at_once(g, k);
    TSI_TRY(sum_sizes(g, k, count, size));
    for (int i = 0; i < count && g->grid->iam == 0; i++) {
      const int64_t *of = size[i];
      all->lower_index[k + i] = index;
      all->lower_values[k + i] = values;
      index[0] = (int_t)of[LOWER_BLOCKS];
      index[1] = (int_t)of[LOWER_ROWS];
      index += BC_HEADER + of[LOWER_INDEX];
      values += (size_t)(of[LOWER_ROWS] * width_of(g, k + i)) * g->from->bytes;
      all->upper_index[k + i] = of[UPPER_BLOCKS] > 0 ? index : NULL;
      all->upper_values[k + i] = values;
      if (of[UPPER_BLOCKS] == 0) continue;
      index[0] = (int_t)of[UPPER_BLOCKS];
      index[1] = (int_t)of[UPPER_VALUES];
      index[2] = (int_t)(BR_HEADER + of[UPPER_INDEX]);
      index += BR_HEADER + of[UPPER_INDEX];
      values += (size_t)of[UPPER_VALUES] * g->from->bytes;
    }
  }
  return TRISTAR_OK;
}

/* ---- Parts on their way -------------------------------------------------------------------------------- */

/* Sends the piece of a supernode to process 0. */
static tristar_status send(const gathering *g, bool upper, int64_t k) {
  const int_t *index = own_index(g, upper, k);
  const int64_t length = index != NULL ? index_length(upper, index) : 0;
  const int64_t count = index != NULL ? values_of(g, upper, index, k) : 0;
  TSI_TRY(check_mpi(g->ts, MPI_Send(index, (int)length, mpi_int_t, 0, INDEX_TAG, g->grid->comm)));
  if (count > 0)
    TSI_TRY(check_mpi(
        g->ts, MPI_Send(own_values(g, upper, k), (int)count, g->scalar, 0, VALUES_TAG, g->grid->comm)));
  return TRISTAR_OK;
}

/* Process 0: receives the piece of another process. *index is NULL if that process has none. */
static tristar_status receive(const gathering *g, bool upper, int64_t k, int process, const int_t **index,
                              const char **values) {
  MPI_Status message;
  int length = 0;
  TSI_TRY(check_mpi(g->ts, MPI_Recv(g->all->part_index, (int)g->most_index, mpi_int_t, process, INDEX_TAG,
                                    g->grid->comm, &message)));
  MPI_Get_count(&message, mpi_int_t, &length);
  *index = length > 0 ? g->all->part_index : NULL;
  *values = g->all->part_values;
  const int64_t count = *index != NULL ? values_of(g, upper, *index, k) : 0;
  if (count > 0)
    TSI_TRY(check_mpi(g->ts, MPI_Recv(g->all->part_values, (int)count, g->scalar, process, VALUES_TAG,
                                      g->grid->comm, MPI_STATUS_IGNORE)));
  return TRISTAR_OK;
}

/* Amounts of data of a supernode that have been stored. */
typedef struct filled {
  int64_t integers, rows, values; /* rows: of L; values: of U */
} filled;

static void put(const gathering *g, bool upper, int64_t k, const int_t *index, const char *values,
                filled *at) {
  const size_t bytes = g->from->bytes;
  const int64_t header = header_of(upper), length = index_length(upper, index) - header;
  int_t *to = upper ? g->all->upper_index[k] : g->all->lower_index[k];
  char *into = upper ? g->all->upper_values[k] : g->all->lower_values[k];
  if (index[0] == 0) return;
  memcpy(to + header + at->integers, index + header, (size_t)length * sizeof *to);
  at->integers += length;
  const size_t own = (size_t)index[1] * bytes;
  if (upper) {
    if (own > 0) memcpy(into + (size_t)at->values * bytes, values, own);
    at->values += index[1];
    return;
  }
  for (int64_t j = 0; j < width_of(g, k) && own > 0; j++)
    memcpy(into + (size_t)(j * to[1] + at->rows) * bytes, values + (size_t)j * own, own);
  at->rows += index[1];
}

/* Collective. Process 0 receives from the process with the diagonal block first, then from the processes
 * below it (L) or to its right (U). */
static tristar_status bring(const gathering *g, bool upper, int64_t k) {
  const int rows = (int)g->grid->nprow, columns = (int)g->grid->npcol, count = upper ? columns : rows;
  const int own_row = (int)(k % rows), own_column = (int)(k % columns);
  filled at = {0, 0, 0};
  if (g->grid->iam > 0) {
    if (upper ? has_upper(g, g->grid->iam, k) : has_lower(g, g->grid->iam, k)) TSI_TRY(send(g, upper, k));
    return TRISTAR_OK;
  }
  for (int i = 0; i < count; i++) {
    const int row = upper ? own_row : (own_row + i) % rows;
    const int column = upper ? (own_column + i) % columns : own_column;
    const int process = row * columns + column;
    const int_t *index = own_index(g, upper, k);
    const char *values = NULL;
    if (process > 0)
      TSI_TRY(receive(g, upper, k, process, &index, &values));
    else if (index != NULL)
      values = own_values(g, upper, k);
    if (index != NULL) put(g, upper, k, index, values, &at);
  }
  return TRISTAR_OK;
}

/* ---- Calls --------------------------------------------------------------------------------------------- */

/* Local. Checks the grid before any communication, so other processes do not receive this error. */
static tristar_status check_grid(tristar_t *ts, const gridinfo_t *grid) {
  const long long processes = (long long)grid->nprow * grid->npcol;
  int size = 0;
  if (processes == 1) return TRISTAR_OK;
  if (grid->comm == MPI_COMM_NULL || grid->iam < 0 || grid->iam >= processes)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "this process is none of the %lld x %lld of the grid",
             (long long)grid->nprow, (long long)grid->npcol);
  TSI_TRY(check_mpi(ts, MPI_Comm_size(grid->comm, &size)));
  if (size != processes)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "the grid has %lld x %lld processes, its communicator %d",
             (long long)grid->nprow, (long long)grid->npcol, size);
  return TRISTAR_OK;
}

static tristar_status gather(gathering *g) {
  tristar_status status = TRISTAR_OK;
  int64_t integers, numbers;
  TSI_TRY(measure(g, &integers, &numbers));
  if (g->grid->iam == 0) status = allocate(g, integers, numbers);
  TSI_TRY(tsi_superlu_dist_agree(g->ts, g->grid, status));
  TSI_TRY(lay_out(g));
  for (int64_t k = 0; k < g->supernodes; k++)
    for (int upper = 0; upper < 2; upper++) TSI_TRY(bring(g, upper, k));
  return TRISTAR_OK;
}

tristar_status tsi_superlu_dist_gather(tristar_t *ts, const gridinfo_t *grid, tristar_status mine,
                                       tsi_superlu_dist_parts *parts, tsi_superlu_dist_gathered *all) {
  gathering g = {.ts = ts,
                 .grid = grid,
                 .from = parts,
                 .all = all,
                 .scalar = parts->scalar == TRISTAR_SINGLE   ? MPI_FLOAT
                           : parts->scalar == TRISTAR_DOUBLE ? MPI_DOUBLE
                                                             : MPI_C_DOUBLE_COMPLEX};
  if ((int64_t)grid->nprow * grid->npcol == 1) return mine;
  TSI_TRY(check_grid(ts, grid));
  tristar_status status = mine;
  if (status == TRISTAR_OK) status = tsi_superlu_dist_check(ts, parts, &g.supernodes);
  if (status == TRISTAR_OK) status = check_own(&g);
  TSI_TRY(tsi_superlu_dist_agree(ts, grid, status));
  TSI_TRY(compare_supernodes(&g));
  TSI_TRY(gather(&g));
  if (grid->iam > 0) return TRISTAR_OK;
  TSI_FREE(all->part_index);
  TSI_FREE(all->part_values);
  parts->lower_index = all->lower_index;
  parts->upper_index = all->upper_index;
  parts->lower_values = all->lower_values;
  parts->upper_values = all->upper_values;
  return TRISTAR_OK;
}

void tsi_superlu_dist_gathered_release(tsi_superlu_dist_gathered *all) {
  TSI_FREE(all->index);
  TSI_FREE(all->values);
  TSI_FREE(all->lower_index);
  TSI_FREE(all->upper_index);
  TSI_FREE(all->lower_values);
  TSI_FREE(all->upper_values);
  TSI_FREE(all->part_index);
  TSI_FREE(all->part_values);
}
