/* Hermitian matrices by rows, both triangles, for tests of sparse approximate inverses on GPUs. */
#pragma once

#include "codelets/gpu/tables/fsai_launch.h"
#include "tests/support/triangles.h"
#include "tests/support/typed.h"

typedef struct hermitian {
  const typed *t;
  tsi_index n, longest; /* longest: maximum number of entries of a row */
  int64_t *ptr;
  int32_t *index;
  void *values;
  triangle_pattern lower; /* its lower triangle by rows */
  void *lower_values;
} hermitian;

static inline number hermitian_get(const hermitian *a, tsi_index i, tsi_index j) {
  for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; e++)
    if (a->index[e] == j) return get(a->t, a->values, e);
  return 0;
}

/* Sets entry (i, j) of the lower triangle to x, and its mirror image in the upper triangle. */
static inline void hermitian_put(hermitian *a, tsi_index i, tsi_index j, number x) {
  for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; e++)
    if (a->index[e] == j) put(a->t, a->values, e, x);
  for (int64_t e = a->ptr[j]; e < a->ptr[j + 1]; e++)
    if (a->index[e] == i && i != j) put(a->t, a->values, e, conj(x));
  for (int64_t e = a->lower.ptr[i]; e < a->lower.ptr[i + 1]; e++)
    if (a->lower.index[e] == j) put(a->t, a->lower_values, e, x);
}

/* Makes a matrix with the pattern of `lower`; takes ownership of it. Entries are random single numbers, so
 * that all types hold the same values. dominant: ratio of the diagonal to the other entries of a row. */
static inline hermitian hermitian_create(triangle_pattern lower, const typed *t, double dominant,
                                         uint64_t seed) {
  const int64_t entries = lower.ptr[lower.n];
  triangle_pattern upper = triangle_transpose(&lower);
  hermitian a = {.t = t,
                 .n = lower.n,
                 .ptr = calloc((size_t)lower.n + 1, sizeof *a.ptr),
                 .index = malloc((size_t)(2 * entries + 1) * sizeof *a.index),
                 .values = calloc((size_t)(2 * entries + 1), t->bytes),
                 .lower = lower,
                 .lower_values = calloc((size_t)entries + 1, t->bytes)};
  CHECK(a.ptr != NULL && a.index != NULL && a.values != NULL && a.lower_values != NULL);
  for (tsi_index i = 0; i < a.n; i++) {
    int64_t at = a.ptr[i];
    for (int64_t e = lower.ptr[i]; e < lower.ptr[i + 1]; e++) a.index[at++] = lower.index[e];
    for (int64_t e = upper.ptr[i] + 1; e < upper.ptr[i + 1]; e++) a.index[at++] = upper.index[e];
    a.ptr[i + 1] = at;
    a.longest = tsi_index_max(a.longest, (tsi_index)(at - a.ptr[i]));
  }
  triangle_free(&upper);
  for (tsi_index i = 0; i < a.n; i++)
    for (int64_t e = lower.ptr[i]; e < lower.ptr[i + 1] - 1; e++) {
      double part[2];
      fill_random(part, 2, seed + (uint64_t)e);
      number x = (double)(float)part[0];
      if (t->is_complex) __imag__ x = (double)(float)part[1];
      hermitian_put(&a, i, lower.index[e], x);
    }
  for (tsi_index i = 0; i < a.n; i++) {
    double sum = 0.5;
    for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; e++) sum += cabs(get(t, a.values, e));
    hermitian_put(&a, i, i, (double)(float)(dominant * sum));
  }
  return a;
}

static inline void hermitian_free(hermitian *a) {
  triangle_free(&a->lower);
  free(a->lower_values);
  free(a->ptr);
  free(a->index);
  free(a->values);
}

/* Returns the view of an application. */
static inline tristar_view hermitian_view(const hermitian *a) {
  return stored_view(TRISTAR_CSR, a->t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC, a->t->scalar,
                     a->n, a->n, a->lower.ptr, a->lower.index, a->lower_values);
}

/* ---- Rows of G on a device ----------------------------------------------------------------------------- */

/* Rows computed by the kernels: as lists, and packed. */
typedef struct device_inverse {
  tsi_gpu_fsai rows;
  tsi_gpu_fsai_rows packed;
} device_inverse;

/* Prepares all rows. Initial patterns are those of `given` (rows ascend, the diagonal is last), or the
 * diagonal. */
static inline device_inverse device_inverse_create(const hermitian *a, const tsi_fsai_limits *limits,
                                                   const triangle_pattern *given) {
  device_inverse d = {.rows = {.a = {a->ptr, a->index, a->values}, .limits = *limits, .count = a->n}};
  tsi_gpu_fsai *r = &d.rows;
  tsi_index longest = 0;
  if (given != NULL) { /* without the diagonal */
    tsi_count *ptr = calloc((size_t)a->n + 1, sizeof *ptr), at = 0;
    tsi_index *index = malloc((size_t)(given->ptr[a->n] + 1) * sizeof *index);
    CHECK(ptr != NULL && index != NULL);
    for (tsi_index i = 0; i < a->n; i++) {
      for (int64_t e = given->ptr[i]; e < given->ptr[i + 1] - 1; e++) index[at++] = given->index[e];
      ptr[i + 1] = at;
      longest = tsi_index_max(longest, (tsi_index)(at - ptr[i]));
    }
    r->given_ptr = ptr;
    r->given = index;
  }
  r->most = tsi_gpu_fsai_most(a->n, longest, limits);
  r->slots = tsi_gpu_fsai_slots(a->n, a->longest, r->most, limits);
  tsi_gpu_fsai_lay_out(r, a->t->bytes, a->t->is_complex ? a->t->bytes / 2 : a->t->bytes);
  const size_t places = (size_t)a->n * (size_t)r->stride;
  r->index = malloc(places * sizeof *r->index + 1);
  r->values = malloc(places * a->t->bytes + 1);
  r->entries = malloc((size_t)a->n * sizeof *r->entries + 1);
  r->kind = malloc((size_t)a->n * sizeof *r->kind + 1);
  d.packed = (tsi_gpu_fsai_rows){.count = a->n,
                                 .stride = r->stride,
                                 .entries = r->entries,
                                 .index = r->index,
                                 .values = r->values,
                                 .ptr = malloc(((size_t)a->n + 1) * sizeof(tsi_count)),
                                 .packed_index = malloc(places * sizeof(tsi_index) + 1),
                                 .packed_values = malloc(places * a->t->bytes + 1)};
  CHECK(r->index != NULL && r->values != NULL && r->entries != NULL && r->kind != NULL);
  CHECK(d.packed.ptr != NULL && d.packed.packed_index != NULL && d.packed.packed_values != NULL);
  return d;
}

static inline void device_inverse_free(device_inverse *d) {
  free((void *)(uintptr_t)d->rows.given_ptr);
  free((void *)(uintptr_t)d->rows.given);
  free(d->rows.index);
  free(d->rows.values);
  free(d->rows.entries);
  free(d->rows.kind);
  free(d->packed.ptr);
  free(d->packed.packed_index);
  free(d->packed.packed_values);
}
