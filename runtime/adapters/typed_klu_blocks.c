/* Computes U + L^-1 F. Compiled once for each scalar type: see klu_blocks.h. */
#include "runtime/adapters/klu_blocks.h"

#include <complex.h>
#include <string.h>

#if defined TSI_SCALAR_D
typedef double scalar;
#define BLOCKS tsi_klu_blocks_d
#elif defined TSI_SCALAR_Z
typedef double complex scalar;
#define BLOCKS tsi_klu_blocks_z
#endif

/* The depth-first search. mark[i] is the stamp of the latest search that reached row i. */
typedef struct search {
  int64_t n;
  const tsi_klu_columns *lower;
  int64_t *mark, *stack, *position, *order;
} search;

/* Inserts the rows reached from row i at the front of order[top .. n-1]; returns the new top. */
static int64_t reach_from(search *s, int64_t i, int64_t stamp, int64_t top) {
  const int64_t *ptr = s->lower->ptr, *index = s->lower->index;
  int64_t depth = 0;
  s->stack[0] = i;
  s->position[0] = ptr[i];
  s->mark[i] = stamp;
  while (depth >= 0) {
    const int64_t k = s->stack[depth];
    int64_t p = s->position[depth];
    while (p < ptr[k + 1] && s->mark[index[p]] == stamp) p++; /* The mark of k itself is also set. */
    s->position[depth] = p + 1;
    if (p < ptr[k + 1]) {
      s->mark[index[p]] = stamp;
      s->stack[++depth] = index[p];
      s->position[depth] = ptr[index[p]];
    } else {
      s->order[--top] = k;
      depth--;
    }
  }
  return top;
}

/* Stores in order[top .. n-1] the rows of L^-1 F(:, j), each before the rows that need it; returns top. */
static int64_t reach(search *s, const tsi_klu_columns *off, int64_t j, int64_t stamp) {
  int64_t top = s->n;
  for (int64_t q = off->ptr[j]; q < off->ptr[j + 1]; q++)
    if (s->mark[off->index[q]] != stamp) top = reach_from(s, off->index[q], stamp, top);
  return top;
}

/* Computes the rows order[top .. n-1] of x = L^-1 F(:, j). */
static void solve(const search *s, const tsi_klu_columns *off, int64_t j, int64_t top, scalar *x) {
  const int64_t *ptr = s->lower->ptr, *index = s->lower->index;
  const scalar *lower = s->lower->values, *f = off->values;
  for (int64_t t = top; t < s->n; t++) x[s->order[t]] = 0;
  for (int64_t q = off->ptr[j]; q < off->ptr[j + 1]; q++) x[off->index[q]] += f[q];
  for (int64_t t = top; t < s->n; t++) {
    const int64_t k = s->order[t];
    for (int64_t p = ptr[k]; p < ptr[k + 1]; p++)
      if (index[p] != k) x[index[p]] -= lower[p] * x[k];
  }
}

/* Writes each column of U, followed by the same column of L^-1 F. */
static void fill(search *s, const tsi_klu_columns *upper, const tsi_klu_columns *off, scalar *x,
                 tsi_klu_columns *full) {
  const scalar *u = upper->values;
  scalar *values = full->values;
  for (int64_t j = 0; j < s->n; j++) {
    const size_t count = (size_t)(upper->ptr[j + 1] - upper->ptr[j]);
    const int64_t top = reach(s, off, j, s->n + j + 1);
    int64_t next = full->ptr[j];
    solve(s, off, j, top, x);
    memcpy(full->index + next, upper->index + upper->ptr[j], count * sizeof *full->index);
    memcpy(values + next, u + upper->ptr[j], count * sizeof *values);
    next += (int64_t)count;
    for (int64_t t = top; t < s->n; t++) {
      full->index[next] = s->order[t];
      values[next++] = x[s->order[t]];
    }
  }
}

static void free_search(search *s) {
  TSI_FREE(s->mark);
  TSI_FREE(s->stack);
  TSI_FREE(s->position);
  TSI_FREE(s->order);
}

tristar_status BLOCKS(tristar_t *ts, int64_t n, const tsi_klu_columns *lower, const tsi_klu_columns *upper,
                      const tsi_klu_columns *off, tsi_klu_columns *full) {
  TSI_CLEANUP(free_search) search s = {.n = n, .lower = lower};
  TSI_OWNED scalar *x = NULL;
  scalar *values = NULL;
  *full = (tsi_klu_columns){0};
  TSI_TRY(TSI_ALLOC(ts, s.mark, n));
  TSI_TRY(TSI_ALLOC(ts, s.stack, n));
  TSI_TRY(TSI_ALLOC(ts, s.position, n));
  TSI_TRY(TSI_ALLOC(ts, s.order, n));
  TSI_TRY(TSI_ALLOC(ts, x, n));
  TSI_TRY(TSI_ALLOC(ts, full->ptr, n + 1));
  for (int64_t i = 0; i < n; i++) s.mark[i] = 0;
  full->ptr[0] = 0;
  for (int64_t j = 0; j < n; j++)
    full->ptr[j + 1] = full->ptr[j] + upper->ptr[j + 1] - upper->ptr[j] + n - reach(&s, off, j, j + 1);
  TSI_TRY(TSI_ALLOC(ts, full->index, full->ptr[n]));
  TSI_TRY(TSI_ALLOC(ts, values, full->ptr[n]));
  full->values = values;
  fill(&s, upper, off, x, full);
  return TRISTAR_OK;
}
