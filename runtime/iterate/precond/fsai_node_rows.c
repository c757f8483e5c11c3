/* Computes rows of G node by node: see fsai_node_rows.h. */
#include "runtime/iterate/precond/fsai_node_rows.h"

#include "runtime/context/crew.h"

#define BLOCK_NODES 32
/* Bytes read in the time of one entry of G, for each entry of a row of A. */
#define BYTES_OF_ENTRY 40

/* Bytes read in the time of weighing one row of a node. */
#define WEIGHT_BYTES 256

/* A computation. Its scalar type is the type of the set-up, which may be single. */
typedef struct numeric {
  const tsi_fsai_job *job;
  const tsi_fsai_nodes *nodes;
  tsi_matrix_rows a;
  tsi_count longest; /* entries of the longest row of A */
  const tsi_sparse_kernels *sparse;
  const tsi_fsai_node_kernels *kernels;
  tsi_entries *rows;        /* G */
  tsi_index *entries;       /* entries of each row */
  tsi_index first, count;   /* nodes to compute */
  tsi_index most, joined;   /* maximum numbers of columns and of nodes of a pattern */
  void *weights;            /* weights of nodes, if patterns grow; NULL: they do not */
  tsi_index blocks;         /* blocks of the nodes to compute */
  tsi_fsai_node_work *work; /* for each member */
  int members;
  tsi_row_failure *failure;
} numeric;

/* ---- Room ---------------------------------------------------------------------------------------------- */

/* The initial pattern of a node: columns, which stand for their nodes. */
static const tsi_index *given_of(const numeric *c, tsi_index node, tsi_index *count) {
  const tsi_entries *given = c->job->given;
  const tsi_index i = c->nodes->start[node];
  *count = given != NULL ? (tsi_index)(given->ptr[i + 1] - given->ptr[i]) - c->job->diagonals : 0;
  return given != NULL ? given->index + given->ptr[i] : NULL;
}

/* The most columns that the pattern of a node can get. Updates the maxima of columns and nodes. */
static tsi_count count_space(numeric *c, tsi_index node) {
  const tsi_fsai_limits *limits = &c->job->limits;
  tsi_index given, last = TSI_NONE;
  const tsi_index *column = given_of(c, node, &given);
  tsi_count nodes = (tsi_count)limits->steps * limits->per_step;
  tsi_count columns = (tsi_count)limits->steps * (limits->per_step + c->nodes->most - 1);
  for (tsi_index k = 0; k < given; k++) {
    const tsi_index other = c->nodes->of[column[k]];
    if (other == last) continue;
    last = other;
    nodes++;
    columns += c->nodes->start[other + 1] - c->nodes->start[other];
  }
  columns = tsi_count_min(columns, c->nodes->start[node]);
  c->joined = tsi_index_max(c->joined, (tsi_index)tsi_count_min(nodes, node));
  c->most = tsi_index_max(c->most, (tsi_index)columns);
  return columns;
}

/* Allocates rows with space for the most entries that they can get. */
static tristar_status make_space(tsi_env *env, numeric *c) {
  const tsi_fsai_job *job = c->job;
  TSI_TRY(tsi_entries_begin(env, job->rows, c->sparse->scalar_bytes, c->rows));
  for (tsi_index node = c->first; node < c->first + c->count; node++) {
    const tsi_index i = c->nodes->start[node], end = c->nodes->start[node + 1];
    const tsi_count columns = count_space(c, node);
    for (tsi_index r = i; r < end; r++) c->rows->ptr[r - job->first + 1] = columns + 1 + (r - i);
  }
  return tsi_entries_reserve(env, c->rows);
}

static tristar_status allocate_cells(const numeric *c, tsi_count count, void **cells) {
  const tsi_index numbers = tsi_fsai_cell(c->nodes, c->sparse->is_complex);
  return TSI_ALLOC_SIZED_IN(c->work, *cells, count * numbers, c->kernels->real_bytes);
}

static tristar_status begin_work(const numeric *c, tsi_fsai_node_work *w) {
  const tsi_index n = c->job->a->n, most = c->most, rows = c->nodes->most;
  const tsi_count own = rows * c->longest;
  const tsi_count lists = tsi_count_min(most * c->longest, c->a.ptr[n]) + own + c->longest;
  const tsi_count cells = tsi_count_min(most + rows * (most * c->longest + own), n);
  w->most = most;
  w->weights = c->weights;
  TSI_TRY(TSI_ALLOC_IN(c->work, w->place, c->nodes->count));
  for (tsi_index k = 0; k < c->nodes->count; k++) w->place[k] = TSI_NONE;
  TSI_TRY(TSI_ALLOC_IN(c->work, w->node, cells));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->first, cells));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->position, cells));
  TSI_TRY(allocate_cells(c, cells, &w->gradient));
  TSI_TRY(allocate_cells(c, tsi_count_min(rows * own, n), &w->own));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->cell, lists));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->line, most));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->begin, (tsi_count)c->joined + 1));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->pattern, c->joined));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->list, c->joined));
  TSI_TRY(allocate_cells(c, (tsi_count)c->joined * most, &w->l));
  TSI_TRY(TSI_ALLOC_SIZED_IN(c->work, w->inverse, most, c->kernels->real_bytes));
  TSI_TRY(allocate_cells(c, most, &w->z));
  TSI_TRY(allocate_cells(c, most, &w->x));
  TSI_TRY(allocate_cells(c, most, &w->g));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->picked, c->job->limits.per_step));
  return TSI_ALLOC_IN(c->work, w->magnitude, c->job->limits.per_step);
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

static void run_node(numeric *c, tsi_index node, tsi_fsai_node_work *work) {
  const tsi_index first = c->nodes->start[node], rows = c->nodes->start[node + 1] - first;
  tsi_fsai_row row[TSI_FSAI_NODE_MOST];
  for (tsi_index r = 0; r < rows; r++) {
    const tsi_count at = c->rows->ptr[first + r - c->job->first];
    row[r] = (tsi_fsai_row){.i = first + r,
                            .index = c->rows->index + at,
                            .values = (char *)c->rows->item + (size_t)at * c->sparse->scalar_bytes};
  }
  row[0].given = given_of(c, node, &row[0].count);
  c->kernels->rows(&c->a, c->nodes, &c->job->limits, node, row, work);
  for (tsi_index r = 0; r < rows; r++) {
    c->entries[first + r - c->job->first] = row[r].entries;
    tsi_row_failure_keep(c->failure, row[r].kind, first + r);
  }
}

/* Weighs a share of all nodes: the share that this block has of the nodes to compute. */
static void weigh_block(void *context, tsi_index block, int member) {
  const numeric *c = context;
  const int64_t all = c->nodes->count;
  const tsi_index end = (tsi_index)(all * (block + 1) / c->blocks);
  (void)member;
  for (tsi_index k = (tsi_index)(all * block / c->blocks); k < end; k++)
    c->kernels->weigh(&c->a, c->nodes, k, c->weights);
}

static void run_block(void *context, tsi_index block, int member) {
  numeric *c = context;
  const tsi_index first = c->first + block * BLOCK_NODES;
  const tsi_index end = first + tsi_index_min(c->first + c->count - first, BLOCK_NODES);
  for (tsi_index k = first; k < end && !tsi_row_failure_before(c->failure, c->nodes->start[k]); k++)
    run_node(c, k, &c->work[member]);
}

static tristar_status run(tsi_env *env, numeric *c) {
  const tsi_fsai_job *job = c->job;
  const tsi_index n = job->a->n;
  const double mean = n > 0 ? (double)c->a.ptr[n] / n : 0;
  const double bytes = BYTES_OF_ENTRY * mean * (double)c->rows->ptr[job->rows];
  double start_seconds;
  TSI_CLEANUP(tsi_crew_finish) tsi_crew crew = {.ts = NULL};
  c->blocks = (tsi_index)(((int64_t)c->count + BLOCK_NODES - 1) / BLOCK_NODES);
  TSI_TRY(tsi_crew_begin(job->ts, "inverse_rows", job->engine, TSI_RUNS_LONG, c->blocks, bytes,
                         &start_seconds, &crew));
  c->members = crew.members;
  if (job->limits.steps > 0) {
    TSI_TRY(TSI_ALLOC_SIZED(env, c->weights, (size_t)n * (size_t)c->nodes->most, c->sparse->scalar_bytes));
    TSI_TRY(tsi_crew_run(&crew, TSI_CREW_MATRIX, WEIGHT_BYTES * (double)n, weigh_block, c));
  }
  TSI_TRY(TSI_ALLOC_ZERO(env, c->work, c->members));
  for (int m = 0; m < c->members; m++) TSI_TRY(begin_work(c, &c->work[m]));
  return tsi_crew_run(&crew, TSI_CREW_MATRIX, bytes, run_block, c);
}

tristar_status tsi_fsai_node_rows(const tsi_fsai_job *job, const tsi_matrix_rows *a, char scalar,
                                  tsi_entries *rows, tsi_index **entries, tsi_row_failure *failure) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &job->ts->env;
  const tsi_fsai_nodes *nodes = job->nodes;
  numeric c = {.job = job,
               .nodes = nodes,
               .a = *a,
               .sparse = tsi_sparse_kernels_select(scalar),
               .kernels = tsi_fsai_node_kernels_select(scalar, job->ts->isa),
               .rows = rows,
               .failure = failure};
  if (job->rows > 0) {
    c.first = nodes->of[job->first];
    c.count = nodes->of[job->first + job->rows - 1] + 1 - c.first;
  }
  for (tsi_index i = 0; i < job->a->n; i++) c.longest = tsi_count_max(c.longest, a->ptr[i + 1] - a->ptr[i]);
  TSI_TRY_OUT(make_space(env, &c));
  tsi_fsai_log_entries(job, "at most ", rows);
  TSI_TRY_OUT(TSI_ALLOC(env, *entries, job->rows));
  c.entries = *entries;
  TSI_TRY_OUT(run(env, &c));
out:
  TSI_FREE(env, c.work);
  TSI_FREE(env, c.weights);
  return status;
}

void tsi_fsai_log_entries(const tsi_fsai_job *job, const char *most, const tsi_entries *rows) {
  const size_t factors = job->upper != NULL ? 2 : 1;
  const size_t bytes = sizeof *rows->index + factors * rows->bytes;
  const tsi_count entries = rows->ptr[job->rows];
  tsi_log(&job->ts->env, TRISTAR_LOG_INFO, "sparse approximate inverse: %s%lld entries of %s, %.1f MB", most,
          (long long)entries, factors == 2 ? "each factor" : "its factor",
          (double)bytes * (double)entries / 1e6);
}
