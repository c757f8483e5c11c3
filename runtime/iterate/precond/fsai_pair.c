/* Computes rows of two factors: see fsai_pair.h. */
#include "runtime/iterate/precond/fsai_pair.h"

static tristar_status begin_work(tsi_fsai_pair *p, size_t bytes, tsi_index most, tsi_count slots,
                                 tsi_fsai_pair_work *w) {
  w->most = most;
  TSI_TRY(TSI_ALLOC_SIZED_IN(p->work, w->system, (size_t)most * (size_t)most, bytes));
  TSI_TRY(TSI_ALLOC_IN(p->work, w->order, most));
  TSI_TRY(TSI_ALLOC_SIZED_IN(p->work, w->g, most, bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(p->work, w->h, most, bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(p->work, w->solution, most, bytes));
  TSI_TRY(TSI_ALLOC_IN(p->work, w->kept, most));
  return TSI_ALLOC_IN(p->work, w->size, slots);
}

tristar_status tsi_fsai_pair_begin(tsi_env *env, const tsi_fsai_job *job, char scalar, tsi_matrix_rows a,
                                   const void *part, const tsi_entries *rows, int members, tsi_index most,
                                   tsi_count slots, tsi_fsai_pair *p) {
  *p = (tsi_fsai_pair){.kernels = tsi_fsai_pair_kernels_select(scalar, job->ts->isa),
                       .a = a,
                       .part = part,
                       .job = job,
                       .rows = rows,
                       .bytes = rows->bytes};
  TSI_TRY(TSI_ALLOC_SIZED(env, p->upper, rows->ptr[rows->n], rows->bytes));
  TSI_TRY(TSI_ALLOC_ZERO(env, p->work, members));
  p->members = members;
  for (int m = 0; m < members; m++) TSI_TRY(begin_work(p, rows->bytes, most + 1, slots, &p->work[m]));
  return TRISTAR_OK;
}

void tsi_fsai_pair_finish(tsi_fsai_pair *p) {
  tsi_release(p->work);
  tsi_release(p->upper);
}

static void take_given(tsi_fsai_row *row) {
  for (tsi_index k = 0; k < row->count; k++) row->index[k] = row->given[k];
  row->index[row->count] = row->i;
  row->entries = row->count + 1;
}

void tsi_fsai_pair_row(const tsi_fsai_pair *p, tsi_index l, tsi_fsai_row *row, tsi_fsai_work *work,
                       int member) {
  const tsi_count at = p->rows->ptr[l], space = p->rows->ptr[l + 1] - at;
  const tsi_fsai_limits *limits = &p->job->limits;
  if (p->job->part == NULL)
    take_given(row);
  else if (row->kind != TSI_BREAKDOWN_NONE)
    p->kernels->grow(&p->a, p->part, limits->per_step, (tsi_index)space, row, work, &p->work[member]);
  p->kernels->row(&p->a, limits->postfilter, row, p->upper + (size_t)at * p->bytes, &p->work[member]);
}
