/* Distributed solves of a factor by the kernel of programs, on emulated PEs. */
#pragma once

#include "runtime/mpi/solve/program_tables.h"
#include "runtime/solve/device_plan.h"
#include "tests/support/gpu/run_program.h"
#include "tests/support/mpi/world.h"

typedef struct program_solver {
  tsi_env *env;
  const tristar_factor_t *factor;
  const typed *type;
  tsi_index nrhs;
  world w; /* processes, and their rows of b and x */
  tsi_solve_call call[RANKS_MOST];
  tsi_program_tables tables[RANKS_MOST];
  tsi_index *from[RANKS_MOST], *source[RANKS_MOST];
  int64_t *row[RANKS_MOST]; /* of received messages in the inbox */
  bool adds;
  tsi_operation operation;
  tsi_index messages; /* maximum number of messages that a PE receives */
  int64_t inbox_rows;
} program_solver;

static inline tristar_status program_begin(void *context, const bool *comes, tsi_index goes) {
  (void)context, (void)comes, (void)goes;
  return TRISTAR_OK;
}
static inline tristar_status program_end(void *context) {
  (void)context;
  return TRISTAR_OK;
}
/* Keeps the call with the sweeps of the device. */
static inline tristar_status program_keep(void *context, const tsi_solve_call *call) {
  *(tsi_solve_call *)context = *call;
  return TRISTAR_OK;
}

static inline void program_fill_tables(program_solver *v, tsi_index r) {
  tsi_process *p = v->w.member[r].process;
  const tsi_program *program = p->program;
  OWNED tsi_oneside_place *place = xcalloc((size_t)program->sends + 1, sizeof *place);
  for (tsi_index m = 0; m < program->sends; m++) {
    const tsi_program *to = v->w.member[program->send[m].peer].process->program;
    tsi_index q = 0;
    while (to->receive[q].peer != r || to->receive[q].tag != program->send[m].tag) q++;
    place[m] = (tsi_oneside_place){q, v->row[program->send[m].peer][q]};
  }
  CHECK_OK(tsi_program_tables_create(p, place, v->row[r], v->adds, &v->tables[r]));
  v->source[r] = xcalloc((size_t)program->receives + 1, sizeof *v->source[r]);
  for (tsi_index m = 0; m < program->receives; m++) v->source[r][m] = program->receive[m].peer;
  if (program->receives > v->messages) v->messages = program->receives;
  if (p->pivots == NULL) return;
  v->from[r] = xcalloc((size_t)p->share->panels->start[p->share->panels->count] + 1, sizeof *v->from[r]);
  tsi_device_interchanges(p->share->panels, p->pivots, v->from[r]);
}

static inline program_solver *program_open(tsi_env *env, const tristar_factor_t *factor, const typed *type,
                                           const tsi_process_options *options, tsi_index nrhs, bool adds) {
  program_solver *v = xcalloc(1, sizeof *v);
  *v = (program_solver){.env = env, .factor = factor, .type = type, .nrhs = nrhs, .adds = adds};
  world_create(env, factor, options, nrhs, &v->w);
  for (tsi_index r = 0; r < v->w.ranks; r++) {
    const tsi_program *program = v->w.member[r].process->program;
    v->row[r] = xcalloc((size_t)program->receives + 1, sizeof *v->row[r]);
    const int64_t rows = tsi_oneside_list_rows(program, adds, v->row[r]);
    if (rows > v->inbox_rows) v->inbox_rows = rows;
  }
  for (tsi_index r = 0; r < v->w.ranks; r++) {
    const tsi_port port = {.begin = program_begin, .end = program_end};
    tsi_process_connect(v->w.member[r].run, &port);
    tsi_process_set_sweeps(v->w.member[r].run, program_keep, &v->call[r]);
    program_fill_tables(v, r);
  }
  return v;
}

static inline void program_close(program_solver **solver) {
  program_solver *v = *solver;
  for (tsi_index r = 0; r < v->w.ranks; r++) {
    tsi_program_tables_release(v->env, &v->tables[r]);
    free(v->from[r]);
    free(v->source[r]);
    free(v->row[r]);
  }
  world_destroy(&v->w);
  free(v);
  *solver = NULL;
}

/* Prepares the following solves. b, x: n x nrhs for each run. */
static inline void program_prepare(program_solver *v, tristar_op op, tristar_part part, char *b, char *x) {
  const tsi_process_call call = {.op = op, .part = part};
  v->operation = tsi_process_operation(v->w.member[0].process, &call);
  world_solve(&v->w, v->factor, &call, b, x);
}

static inline const tsi_index *program_rows(const program_solver *v, bool out) {
  const tsi_operation *o = &v->operation;
  const tristar_analysis_t *an = v->factor->analysis;
  const bool by_rows = o->by_rows != out;
  if (out ? o->out_user : o->in_user) return by_rows ? an->in_row : an->out_row;
  return (out ? o->out_moved : o->in_moved) ? v->factor->position : NULL;
}

/* Runs the prepared solve `runs` times, one after the other. b, x: `runs` blocks of n x nrhs. Run r solves
 * with the first nrhs[r] columns of its block, or with all columns if nrhs is NULL. On each PE, rows of b
 * that the PE does not own are NaN. */
static inline run_outcome program_solve_some(program_solver *v, unsigned runs, const tsi_index *nrhs,
                                             const run_grid *grid, char *b, char *x) {
  const size_t block = (size_t)v->w.member[0].process->kind.n * (size_t)v->nrhs * v->type->bytes;
  const char scalars[] = {(char)v->type->scalar, 0};
  run_pe pe[RANKS_MOST];
  void **mine[RANKS_MOST][2];
  for (tsi_index r = 0; r < v->w.ranks; r++) {
    member *m = &v->w.member[r];
    const tsi_process *p = m->process;
    const size_t bytes =
        (size_t)p->share->panels->start[p->share->panels->count] * (size_t)v->nrhs * p->user_bytes;
    for (int way = 0; way < 2; way++) mine[r][way] = xcalloc(runs, sizeof *mine[r][way]);
    for (unsigned k = 0; k < runs; k++) {
      memset(m->b, 0xff, bytes);
      exchange_rows(m, program_rows(v, false), b + k * block, false);
      mine[r][0][k] = memcpy(xcalloc(bytes + 1, 1), m->b, bytes);
      mine[r][1][k] = xcalloc(bytes + 1, 1);
    }
    pe[r] = (run_pe){.program = v->tables[r].program,
                     .process = p,
                     .tables = &v->tables[r],
                     .workspace_rows = (size_t)p->tables.workspace_rows,
                     .source = v->source[r],
                     .sources = p->program->receives,
                     .nrhs = nrhs,
                     .b = mine[r][0],
                     .x = mine[r][1]};
    pe[r].program.call = tsi_device_call_of(&v->call[r], v->from[r]);
  }
  const run_outcome got = run_programs(scalars, (int)v->w.ranks, pe, v->messages, v->inbox_rows, runs, grid);
  for (tsi_index r = 0; r < v->w.ranks; r++) {
    for (unsigned k = 0; k < runs; k++) {
      char *const own = v->w.member[r].x;
      v->w.member[r].x = mine[r][1][k];
      exchange_rows(&v->w.member[r], program_rows(v, true), x + k * block, true);
      v->w.member[r].x = own;
      free(mine[r][0][k]);
      free(mine[r][1][k]);
    }
    free(mine[r][0]);
    free(mine[r][1]);
  }
  return got;
}
static inline run_outcome program_solve(program_solver *v, unsigned runs, const run_grid *grid, char *b,
                                        char *x) {
  return program_solve_some(v, runs, NULL, grid, b, x);
}
