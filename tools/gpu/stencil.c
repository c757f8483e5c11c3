/* See stencil.h. */
#include "tools/gpu/stencil.h"

/* The coupling of neighbours i > j. */
static number coupling(const typed *t, tsi_index i, tsi_index j) {
  double part[2];
  fill_random(part, 2, (uint64_t)i << 32 | (uint64_t)j);
  number x = -0.75 - 0.25 * (double)(float)part[0];
  if (t->is_complex) __imag__ x = 0.25 * (double)(float)part[1];
  return x;
}

csr stencil_create(tsi_index k, const typed *t) {
  const tsi_index step[3] = {k * k, k, 1};
  csr a = {.n = k * k * k};
  const size_t most = 7 * (size_t)a.n;
  a.ptr = calloc((size_t)a.n + 1, sizeof *a.ptr);
  a.index = malloc(most * sizeof *a.index);
  a.values = malloc(most * t->bytes);
  CHECK(a.ptr != NULL && a.index != NULL && a.values != NULL);
  for (tsi_index i = 0; i < a.n; i++) {
    const tsi_index at[3] = {i / (k * k), i / k % k, i % k};
    tsi_count e = a.ptr[i], diagonal = 0;
    double sum = 0.01; /* rows are dominated by little more than what they have beside the diagonal */
    for (int d = 0; d < 7; d++) {
      const int axis = d < 3 ? d : 6 - d;
      if (d == 3) diagonal = e;
      if (d != 3 && at[axis] == (d < 3 ? 0 : k - 1)) continue;
      const tsi_index j = d == 3 ? i : d < 3 ? i - step[axis] : i + step[axis];
      const number x = d == 3 ? 0 : d < 3 ? coupling(t, i, j) : conj(coupling(t, j, i));
      sum += cabs(x);
      a.index[e] = j;
      put(t, a.values, e++, x);
    }
    put(t, a.values, diagonal, sum);
    a.ptr[i + 1] = e;
  }
  return a;
}

void stencil_free(csr *a) {
  free(a->ptr);
  free(a->index);
  free(a->values);
}
