/* The declared reads and writes of the steps of distributed solves are true. On 2x1x2 processes and other
 * layouts each step finds NaN in all rows of workspace, inbox, outbox, b and x that it does not declare to
 * read. It must not change rows that it does not declare to write. x has the bits of a solve without this
 * test. */
#include "tests/support/context.h"
#include "tests/support/mpi/world.h"
#include "tests/support/subtests.h"

/* Memory that the steps of a process write, or read of the caller; x is b. */
typedef struct memory {
  char *workspace, *x, *inbox, *outbox;
} memory;

typedef struct watch {
  member *m;
  tsi_execution *e;
  tsi_access_list *accesses;
  tsi_index step; /* the next step */
  memory size;    /* numbers of bytes, stored as pointers */
  memory now, written,
      before; /* memory of the run; what earlier steps have written; a copy before the step */
} watch;

static size_t size_of(const char *size) {
  return (size_t)(uintptr_t)size;
}

static memory allocate(const memory *size) {
  return (memory){xmalloc(size_of(size->workspace) + 1), xmalloc(size_of(size->x) + 1),
                  xmalloc(size_of(size->inbox) + 1), xmalloc(size_of(size->outbox) + 1)};
}

static void release(memory *m) {
  free(m->workspace);
  free(m->x);
  free(m->inbox);
  free(m->outbox);
}

static void poison(const memory *size, memory *m) {
  memset(m->workspace, 0xff, size_of(size->workspace));
  memset(m->x, 0xff, size_of(size->x));
  memset(m->inbox, 0xff, size_of(size->inbox));
  memset(m->outbox, 0xff, size_of(size->outbox));
}

static void copy_all(const memory *size, const memory *from, memory *to) {
  memcpy(to->workspace, from->workspace, size_of(size->workspace));
  memcpy(to->x, from->x, size_of(size->x));
  memcpy(to->inbox, from->inbox, size_of(size->inbox));
  memcpy(to->outbox, from->outbox, size_of(size->outbox));
}

static bool all_equal(const memory *size, const memory *a, const memory *b) {
  return memcmp(a->workspace, b->workspace, size_of(size->workspace)) == 0 &&
         memcmp(a->x, b->x, size_of(size->x)) == 0 && memcmp(a->inbox, b->inbox, size_of(size->inbox)) == 0 &&
         memcmp(a->outbox, b->outbox, size_of(size->outbox)) == 0;
}

static void copy_rows(const watch *w, tsi_count row, tsi_count rows, const char *from, char *to) {
  const size_t bytes = bytes_of_row(w->m);
  memcpy(to + (size_t)row * bytes, from + (size_t)row * bytes, (size_t)rows * bytes);
}

/* Copies the rows of a chunk's columns in b and x. */
static void copy_user(const watch *w, const tsi_access *a, const char *from, char *to) {
  const tsi_process *p = w->m->process;
  const size_t columns = (size_t)p->share->panels->start[p->share->panels->count];
  const size_t first = (size_t)(p->share->chunks->column[a->item] + a->first);
  for (size_t c = 0; c < (size_t)w->m->nrhs; c++) {
    const size_t at = (c * columns + first) * p->user_bytes;
    memcpy(to + at, from + at, (size_t)(a->end - a->first) * p->user_bytes);
  }
}

/* Copies the rows of an access. The factor is never written, so it is not copied. */
static void copy_access(const watch *w, const tsi_access *a, const memory *from, memory *to) {
  const tsi_tables *t = &w->m->process->tables;
  const tsi_count rows = a->end - a->first;
  const tsi_solve_chunk *chunk;
  switch (a->kind) {
  case TSI_BUFFER_SEGMENT:
    copy_rows(w, t->chunk[a->item].workspace + a->first, rows, from->workspace, to->workspace);
    break;
  case TSI_BUFFER_UPDATE:
    chunk = &t->chunk[a->item];
    copy_rows(w, chunk->workspace + chunk->update + a->first, rows, from->workspace, to->workspace);
    break;
  case TSI_BUFFER_PARTIAL:
    chunk = &t->chunk[t->slice[a->item].chunk];
    copy_rows(w,
              chunk->workspace + chunk->update + chunk->off_rows +
                  (tsi_count)(a->item - chunk->slice) * chunk->columns,
              chunk->columns, from->workspace, to->workspace);
    break;
  case TSI_BUFFER_INBOX:
    copy_rows(w, a->first, rows, from->inbox, to->inbox);
    break;
  case TSI_BUFFER_OUTBOX:
    copy_rows(w, a->first, rows, from->outbox, to->outbox);
    break;
  case TSI_BUFFER_B:
    copy_user(w, a, from->x, to->x);
    break;
  default:
    CHECK(a->kind == TSI_BUFFER_FORWARD || a->kind == TSI_BUFFER_BACKWARD);
  }
}

static void copy_accesses(const watch *w, tsi_access_mode mode, const memory *from, memory *to) {
  for (tsi_count q = w->accesses->ptr[w->step]; q < w->accesses->ptr[w->step + 1]; q++)
    if (w->accesses->access[q].mode & mode) copy_access(w, &w->accesses->access[q], from, to);
}

/* ---- Around each step --------------------------------------------------------------------------------- */

static void before_step(watch *w) {
  if (w->step == w->accesses->steps) return;
  poison(&w->size, &w->now);
  copy_accesses(w, TSI_ACCESS_R, &w->written, &w->now);
  copy_all(&w->size, &w->now, &w->before);
}

static void after_step(watch *w) {
  const tsi_step *step = &w->m->process->program->steps->step[w->step];
  copy_accesses(w, TSI_ACCESS_W, &w->now, &w->written);
  copy_accesses(w, TSI_ACCESS_W, &w->before, &w->now);
  CHECK_MSG(all_equal(&w->size, &w->now, &w->before), "rank %d: step %d, %s %d, writes more than it declares",
            w->m->rank, w->step, tsi_step_name(step->kind), step->argument);
  w->step++;
  before_step(w);
}

static tristar_status watch_begin(void *context, const bool *comes, tsi_index goes) {
  watch *w = context;
  w->step = 0;
  poison(&w->size, &w->written);
  memcpy(w->written.x, w->now.x, size_of(w->size.x));
  before_step(w);
  return port_begin(w->m, comes, goes);
}

static tristar_status watch_send(void *context, tsi_index which) {
  return port_send(((watch *)context)->m, which);
}

/* Called within ARRIVAL, whose end it is. */
static tristar_status watch_wait(void *context, tsi_index which) {
  const tristar_status status = port_wait(((watch *)context)->m, which);
  after_step(context);
  return status;
}

/* Called at the end of any other step. */
static void watch_progress(void *context) {
  after_step(context);
}

static tristar_status watch_end(void *context) {
  watch *w = context;
  CHECK(w->step == w->accesses->steps);
  memcpy(w->now.x, w->written.x, size_of(w->size.x));
  return port_end(w->m);
}

/* ---- Solves ------------------------------------------------------------------------------------------- */

static void watch_create(tsi_env *env, const tsi_process_options *options, member *m, watch *w) {
  tsi_process *p = m->process;
  tsi_participants *participants;
  const tsi_index grid = options->layout.px * options->layout.py;
  const size_t row = bytes_of_row(m), columns = (size_t)p->share->panels->start[p->share->panels->count];
  *w = (watch){.m = m, .e = tsi_process_executor(m->run)->recording.execution};
  CHECK_OK(tsi_participants_create(env, p->layout, m->rank / grid, &participants));
  const tsi_program_source source = {.layout = p->layout,
                                     .participants = participants,
                                     .share = p->share,
                                     .sweep = p->sweep,
                                     .tree = options->tree};
  CHECK_OK(tsi_program_list_accesses(env, p->program, &source, &w->accesses));
  TSI_FREE(env, participants);
  w->size = (memory){(char *)(uintptr_t)((size_t)p->tables.workspace_rows * row),
                     (char *)(uintptr_t)(columns * (size_t)m->nrhs * p->user_bytes),
                     (char *)(uintptr_t)((size_t)p->program->inbox_rows * row),
                     (char *)(uintptr_t)((size_t)p->program->outbox_rows * row)};
  w->now = (memory){w->e->call.workspace, m->x, tsi_process_inbox(m->run), tsi_process_outbox(m->run)};
  w->written = allocate(&w->size);
  w->before = allocate(&w->size);
  tsi_process_connect(m->run, &(tsi_port){.context = w,
                                          .begin = watch_begin,
                                          .send = watch_send,
                                          .wait = watch_wait,
                                          .progress = watch_progress,
                                          .end = watch_end});
}

static void watch_destroy(tsi_env *env, watch *w) {
  TSI_FREE(env, w->accesses);
  release(&w->written);
  release(&w->before);
}

/* Makes x and b the same array on every process. */
static void join_arrays(world *w) {
  for (tsi_index r = 0; r < w->ranks; r++) {
    member *m = &w->member[r];
    free(m->b);
    m->b = m->x;
    m->call.b = m->x;
  }
}

static void part_arrays(world *w) {
  for (tsi_index r = 0; r < w->ranks; r++) w->member[r].b = NULL;
}

static void check_layout(tsi_env *env, const tristar_factor_t *f, const tsi_process_options *options,
                         tsi_index nrhs, char *b) {
  const size_t bytes = (size_t)f->analysis->symbolic->n * (size_t)nrhs * sizeof(double);
  OWNED char *x = xmalloc(bytes), *expected = xmalloc(bytes);
  CLEANUP(world_destroy) world w;
  watch watches[RANKS_MOST];
  world_create(env, f, options, nrhs, &w);
  join_arrays(&w);
  for (int o = 0; o < TYPED_OPS; o++) {
    const tsi_process_call call = {.op = typed_ops[o]};
    world_solve(&w, f, &call, b, expected);
    for (tsi_index r = 0; r < w.ranks; r++) watch_create(env, options, &w.member[r], &watches[r]);
    world_solve(&w, f, &call, b, x);
    CHECK_MSG(memcmp(x, expected, bytes) == 0, "%dx%dx%d, replicated %d, op %c: other bits",
              options->layout.px, options->layout.py, options->layout.pz, options->layout.replicated,
              typed_ops[o]);
    for (tsi_index r = 0; r < w.ranks; r++) {
      watch_destroy(env, &watches[r]);
      tsi_process_connect(w.member[r].run, &(tsi_port){.context = &w.member[r],
                                                       .begin = port_begin,
                                                       .send = port_send,
                                                       .wait = port_wait,
                                                       .end = port_end});
    }
  }
  part_arrays(&w);
}

static void check_matrix(tristar_t *ts, const char *kind, tristar_method method) {
  static const tsi_index layouts[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 2}, {2, 1, 2}, {2, 2, 2}, {1, 1, 4}};
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view = read_view(ts, kind, &matrix);
  OWNED char *b = make_rhs(&typed_double, view.rows);
  for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.method = method;
    options.leaf_parts = layouts[k][2];
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, view.values);
    for (int variant = 0; variant < 4; variant++) {
      const tsi_process_options process = {.layout = {.px = layouts[k][0],
                                                      .py = layouts[k][1],
                                                      .pz = layouts[k][2],
                                                      .map = variant & 1 ? TSI_MAP_CYCLIC : TSI_MAP_SUBTREE,
                                                      .replicated = (variant & 2) != 0,
                                                      .floor_bytes = 400,
                                                      .ceiling_bytes = 4000,
                                                      .slice_bytes = 1000,
                                                      .scalar_bytes = 8},
                                           .tree = TSI_TREE_BINARY};
      check_layout(tsi_context_env(ts), f, &process, variant % 2 ? 1 : 3, b);
    }
  }
}

int test_process_access(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_matrix(ts, "gen:s2d9pt:16", TRISTAR_METHOD_LLT));
  RUN(check_matrix(ts, "gen:convdiff3d:6", TRISTAR_METHOD_LU));
  return 0;
}
