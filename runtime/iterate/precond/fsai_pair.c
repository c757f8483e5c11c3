/* Rows of two factors: see fsai_pair.h. */
#include "runtime/iterate/precond/fsai_pair.h"

static tristar_status begin_work(tsi_env *env, size_t bytes, tsi_index most, tsi_count slots,
                                 tsi_fsai_pair_work *w) {
  void **const vectors[] = {&w->g, &w->h, &w->solution};
  w->most = most;
  TSI_TRY(TSI_ALLOC_SIZED(env, w->system, (size_t)most * (size_t)most, bytes));
  TSI_TRY(TSI_ALLOC(env, w->order, most));
  for (int k = 0; k < 3; k++)
    TSI_TRY(tsi_allocate(env, (size_t)most, bytes, __func__, __FILE__, __LINE__, vectors[k]));
  TSI_TRY(TSI_ALLOC(env, w->kept, most));
  return TSI_ALLOC(env, w->size, slots);
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
  for (int m = 0; m < members; m++) TSI_TRY(begin_work(env, rows->bytes, most + 1, slots, &p->work[m]));
  return TRISTAR_OK;
}

void tsi_fsai_pair_finish(tsi_env *env, tsi_fsai_pair *p) {
  for (int m = 0; m < p->members; m++) {
    tsi_fsai_pair_work *w = &p->work[m];
    TSI_FREE(env, w->system);
    TSI_FREE(env, w->order);
    TSI_FREE(env, w->g);
    TSI_FREE(env, w->h);
    TSI_FREE(env, w->solution);
    TSI_FREE(env, w->kept);
    TSI_FREE(env, w->size);
  }
  TSI_FREE(env, p->work);
  TSI_FREE(env, p->upper);
}

static void take_given(tsi_fsai_row *row) {
  for (tsi_index k = 0; k < row->count; k++) row->index[k] = row->given[k];
  row->index[row->count] = row->i;
  row->entries = row->count + 1;
}

void tsi_fsai_pair_row(const tsi_fsai_pair *p, tsi_index l, tsi_fsai_row *row, tsi_fsai_work *work,
                       int member) {
  const tsi_count at = p->rows->ptr[l], room = p->rows->ptr[l + 1] - at;
  const tsi_fsai_limits *limits = &p->job->limits;
  if (p->job->part == NULL)
    take_given(row);
  else if (row->kind != TSI_BREAKDOWN_NONE)
    p->kernels->grow(&p->a, p->part, limits->per_step, (tsi_index)room, row, work, &p->work[member]);
  p->kernels->row(&p->a, limits->postfilter, row, p->upper + (size_t)at * p->bytes, &p->work[member]);
}
