/* The runs of run_program.h on boards (tools/gpu/board.h). PE k is on GPU k modulo their number, with a
 * stream of its own, so launches on one GPU overlap; the heaps are memory of the host that all GPUs map, as
 * for solves of the library. All blocks of a GPU must be resident at once: grid->blocks has to be small; 0:
 * one for each processor, shared by the PEs of the GPU.
 *
 * The host begins the next run of a PE when the run before has ended, without a look at the other PEs, and
 * then releases its inbox. After SECONDS without an end it stops all PEs: the outcome has not ended. */
#include "runtime/base/clock.h"
#include "runtime/mpi/solve/program_tables.h"
#include "tests/support/check.h"
#include "tests/support/gpu/run_program.h"
#include "tools/gpu/board.h"
#include "tools/gpu/solve.h"

#define SECONDS 60

typedef struct board_pe {
  const run_pe *pe;
  board_arrays arrays;
  tsi_gpu_program program; /* with addresses on its GPU; without the fields of a run */
  char *b, *x;             /* for all runs */
  size_t bytes;            /* of b, and of x, in one run */
  char *heap;              /* on the host */
  void *stream;
  unsigned run; /* number of runs that have begun */
  bool works;
} board_pe;

typedef struct board_runs {
  board_pe *pe;
  int pes;
  unsigned runs, blocks, threads;
  int32_t flags, done;
  size_t inbox_bytes;
  tsi_gpu_program_launch *launch;
} board_runs;

static int gpu_of(int pe) {
  return pe % board_count();
}

static void place_call(board_pe *p) {
  const struct tsi_process *process = p->pe->process;
  board_arrays *a = &p->arrays;
  tsi_device_call *c = &p->program.call;
  const size_t columns = (size_t)process->share->panels->start[process->share->panels->count],
               scalar = process->scalar_bytes,
               stream = ((size_t)process->begin[process->share->panels->count] + TSI_STREAM_PAD) * scalar;
  const void *forward = c->forward.values;
  c->forward.values = board_place(a, forward, stream);
  c->backward.values =
      c->backward.values == forward ? c->forward.values : board_place(a, c->backward.values, stream);
  c->forward.from = board_place(a, c->forward.from, columns * sizeof(tsi_index));
  c->backward.from = board_place(a, c->backward.from, columns * sizeof(tsi_index));
  c->inverse = board_place(a, c->inverse, 2 * columns * scalar);
  c->in_scale = board_place(a, c->in_scale, columns * sizeof *c->in_scale);
  c->out_scale = board_place(a, c->out_scale, columns * sizeof *c->out_scale);
  c->workspace = board_filled(a, 0xff, (p->pe->workspace_rows + 1) * (size_t)c->stride * scalar);
  CHECK(c->in_row == NULL && c->out_row == NULL);
  p->bytes = columns * (size_t)c->nrhs * process->user_bytes;
}

static void begin_flags(int32_t *flag, int32_t flags) {
  for (int32_t f = 0; f < flags; f++) flag[f] = RUN_EPOCHS_BEFORE;
}

static int32_t *heap_flag(const board_runs *all, int pe, int32_t flag) {
  return (int32_t *)(void *)(all->pe[pe].heap + TSI_HEAP_FLAGS) + flag;
}

/* Returns the epoch of the latest run that has begun. */
static int32_t epoch_of(const board_pe *p) {
  return tsi_heap_epoch(RUN_EPOCHS_BEFORE, (int32_t)p->run);
}

/* Allocates on the selected GPU. */
static void open_pe(board_runs *all, int k, const run_pe *pe) {
  board_pe *p = &all->pe[k];
  board_arrays *a = &p->arrays;
  *p = (board_pe){.pe = pe, .heap = p->heap, .program = pe->program};
  const tsi_device_call call = p->program.call;
  p->program = tsi_program_tables_move(pe->tables, board_place(a, pe->tables->block, pe->tables->bytes));
  p->program.call = call;
  place_call(p);
  p->b = board_filled(a, 0, all->runs * p->bytes);
  p->x = board_filled(a, 0, all->runs * p->bytes);
  for (unsigned r = 0; r < all->runs; r++) board_copy_in(p->b + r * p->bytes, pe->b[r], p->bytes);
  OWNED char **base = xcalloc((size_t)all->pes, sizeof *base);
  for (int q = 0; q < all->pes; q++) base[q] = board_mapped(all->pe[q].heap);
  p->program.ticket = board_filled(a, 0, sizeof(int32_t));
  const int32_t flags = p->program.steps + 1;
  OWNED int32_t *flag = xcalloc((size_t)flags, sizeof *flag);
  begin_flags(flag, flags);
  p->program.flag = board_place(a, flag, (size_t)flags * sizeof *flag);
  p->program.heap =
      (tsi_symmetric_heap){k, all->pes, all->flags, board_place(a, base, (size_t)all->pes * sizeof *base)};
  p->program.done = all->done;
  p->stream = board_stream();
}

static void begin_run(board_runs *all, int k) {
  board_pe *p = &all->pe[k];
  tsi_gpu_program s = p->program;
  if (p->pe->nrhs) s.call.nrhs = p->pe->nrhs[p->run];
  s.call.b = p->b + p->run * p->bytes;
  s.call.x = p->x + p->run * p->bytes;
  p->run++;
  s.epoch = epoch_of(p);
  s.inbox = (int64_t)((size_t)(s.epoch & 1) * all->inbox_bytes);
  board_select(gpu_of(k));
  board_check(all->launch(&s, all->blocks, all->threads, p->stream), "the launch of a distributed solve");
  p->works = true;
}

/* After its launch has ended, a PE may receive messages of later runs. */
static void end_run(board_runs *all, int k) {
  board_pe *p = &all->pe[k];
  for (tsi_index m = 0; m < p->pe->sources; m++)
    __atomic_store_n(heap_flag(all, p->pe->source[m], all->done + k), epoch_of(p), __ATOMIC_RELEASE);
  p->works = false;
}

/* Returns false if a message did not arrive in time. */
static bool run_all(board_runs *all) {
  const double begin = tsi_clock();
  bool any = true, late = false;
  while (any) {
    any = false;
    for (int k = 0; k < all->pes; k++) {
      board_pe *p = &all->pe[k];
      board_select(gpu_of(k));
      if (p->works && !board_busy(p->stream)) end_run(all, k);
      if (!p->works && p->run < all->runs && !late) begin_run(all, k);
      any = any || p->works;
    }
    if (late || tsi_clock() - begin < SECONDS) continue;
    late = true;
    for (int k = 0; k < all->pes; k++)
      __atomic_store_n(&((tsi_heap_control *)(void *)all->pe[k].heap)->stopped, 1, __ATOMIC_RELEASE);
  }
  return !late;
}

run_outcome run_programs(const char *scalars, int pes, const run_pe *pe, tsi_index messages,
                         int64_t inbox_rows, unsigned runs, const run_grid *grid) {
  static tsi_gpu_program_launch *const launches[] = {tsi_gpu_program_s, tsi_gpu_program_d, tsi_gpu_program_c,
                                                     tsi_gpu_program_z};
  const unsigned warp = run_warp(32), each = (unsigned)((pes + board_count() - 1) / board_count()),
                 fit = run_processors() / each > 0 ? run_processors() / each : 1;
  board_runs all = {
      .pes = pes,
      .runs = runs,
      .blocks = grid->blocks > 0 ? grid->blocks : fit,
      .threads = (grid->threads + warp - 1) / warp * warp,
      .flags = messages + pes,
      .done = messages,
      .inbox_bytes =
          ((size_t)inbox_rows * (size_t)pe->program.call.stride * gpu_kernels_of(scalars)->work + 63) / 64 *
          64,
      .launch = launches[strchr("sdcz", *scalars) - "sdcz"]};
  const size_t heap = (tsi_heap_data(all.flags) + 2 * all.inbox_bytes + 4096) / 4096 * 4096;
  all.pe = xcalloc((size_t)pes, sizeof *all.pe);
  for (int k = 0; k < pes; k++) {
    CHECK(posix_memalign((void **)&all.pe[k].heap, 4096, heap) == 0);
    memset(all.pe[k].heap, 0, heap);
    begin_flags(heap_flag(&all, k, 0), all.flags);
    board_map(all.pe[k].heap, heap);
  }
  for (int k = 0; k < pes; k++) {
    board_select(gpu_of(k));
    open_pe(&all, k, &pe[k]);
  }
  for (int g = 0; g < board_count(); g++) {
    board_select(g);
    board_settle();
  }
  const double begin = tsi_clock();
  run_outcome out = {.ended = run_all(&all)};
  out.seconds = tsi_clock() - begin;
  if (!out.ended) snprintf(out.problem, sizeof out.problem, "no end after %d seconds", SECONDS);
  for (int k = 0; k < pes; k++) {
    board_pe *p = &all.pe[k];
    board_select(gpu_of(k));
    for (unsigned r = 0; r < runs; r++) board_copy_out(pe[k].x[r], p->x + r * p->bytes, p->bytes);
    board_release_stream(p->stream);
    board_close(&p->arrays);
  }
  for (int k = 0; k < pes; k++) {
    board_unmap(all.pe[k].heap);
    free(all.pe[k].heap);
  }
  free(all.pe);
  return out;
}
