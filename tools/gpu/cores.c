/* See cores.h. */
#include "tools/gpu/cores.h"

#include "tests/support/solve_data.h"

void core_solve_open(problem *p, tsi_index nrhs, const void *b, void *x, core_solve *s) {
  const tsi_index n = p->a.n, stride = tsi_workspace_stride(nrhs), *perm = p->s.symbolic->perm;
  const size_t bytes = (size_t)p->tables.workspace_rows * (size_t)stride * p->t->bytes;
  tsi_index *order = malloc((size_t)p->s.dag->tasks * sizeof *order);
  *s = (core_solve){.env = &p->env,
                    .data = solve_data_of((char)p->t->scalar, TSI_INVERSE_DIAGONAL, &p->s, &p->tables)};
  CHECK_OK(tsi_dag_order(&p->env, p->s.dag, 0, order));
  const tsi_steps_source source = {.dag = p->s.dag,
                                   .order = order,
                                   .forward_chunks = p->s.chunks,
                                   .backward_chunks = p->s.chunks,
                                   .forward = true,
                                   .backward = true};
  CHECK_OK(tsi_steps_create(&p->env, &source, &s->steps));
  free(order);
  s->number = malloc((size_t)s->steps->count * sizeof *s->number);
  for (tsi_index k = 0; k < s->steps->count; k++) s->number[k] = k;
  s->execution = (tsi_execution){
      .nodes = tsi_node_kernels_select((char)p->t->scalar), .forward = &s->data, .backward = &s->data};
  s->execution.call = (tsi_solve_call){.forward_values = p->stream,
                                       .backward_values = p->stream,
                                       .in_row = perm,
                                       .out_row = perm,
                                       .b = b,
                                       .x = x,
                                       .b_row = 1,
                                       .b_column = n,
                                       .x_row = 1,
                                       .x_column = n,
                                       .nrhs = nrhs,
                                       .stride = stride,
                                       .workspace = aligned_alloc(64, (bytes + 63) / 64 * 64)};
  CHECK(s->number != NULL && s->execution.call.workspace != NULL);
  memset(s->execution.call.workspace, 0, bytes);
}

void core_solve_run(core_solve *s) {
  tsi_execution_run(&s->execution, s->steps, s->steps->count, s->number, -1);
}

void core_solve_close(core_solve *s) {
  tsi_steps_destroy(s->env, &s->steps);
  free(s->number);
  free(s->execution.call.workspace);
}
