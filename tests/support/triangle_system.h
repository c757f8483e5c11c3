/* Lower triangular systems F of a pattern with values, by rows and by columns, for the tests of sweeps: F x =
 * b or, backward, F' x = b, F' the transpose. */
#pragma once

#include "runtime/base/types.h"
#include "tests/support/triangles.h"
#include "tests/support/typed.h"

typedef struct system_of {
  const typed *t;
  triangle_pattern pattern[2]; /* rows, columns */
  char *values[2], *inverse;   /* inverse: of the diagonal */
} system_of;

static inline number value_of(int32_t i, int32_t j, int32_t n) {
  const number a = random_value((uint64_t)i * 7919u + (uint64_t)j) / (1 + sqrt((double)n) / 4);
  return i == j ? 2 + a : a;
}

/* Makes a system; takes ownership of the pattern of its rows. */
static inline system_of system_create(triangle_pattern rows, const typed *t) {
  system_of s = {.t = t, .pattern[0] = rows};
  const int32_t n = rows.n;
  s.pattern[1] = triangle_transpose(&s.pattern[0]);
  s.inverse = malloc((size_t)(n + 1) * t->bytes);
  CHECK(s.inverse != NULL);
  for (int k = 0; k < 2; k++) {
    const triangle_pattern *p = &s.pattern[k];
    s.values[k] = malloc((size_t)(p->ptr[n] + 1) * t->bytes);
    CHECK(s.values[k] != NULL);
    for (int32_t line = 0; line < n; line++)
      for (int64_t e = p->ptr[line]; e < p->ptr[line + 1]; e++) {
        const int32_t i = k ? p->index[e] : line, j = k ? line : p->index[e];
        put(t, s.values[k], e, value_of(i, j, n));
        if (i != j) continue;
        put(t, s.inverse, i, value_of(i, i, n));
        put(t, s.inverse, i, 1 / get(t, s.inverse, i));
      }
  }
  return s;
}

static inline void system_free(system_of *s) {
  for (int k = 0; k < 2; k++) {
    triangle_free(&s->pattern[k]);
    free(s->values[k]);
  }
  free(s->inverse);
}

/* Row i of right-hand side c is entry place[i] * stride + c. */
static inline void fill_b(const system_of *s, tsi_index stride, char *b) {
  for (int64_t i = 0; i < (int64_t)s->pattern[0].n * stride; i++)
    put(s->t, b, i, random_value((uint64_t)i + 5));
}

static inline void check_residual(const system_of *s, bool backward, const tsi_index *place, tsi_index stride,
                                  const char *b, const char *x) {
  const triangle_pattern *p = &s->pattern[backward]; /* columns are the rows of the transpose */
  for (int32_t c = 0; c < stride; c++)
    for (int32_t i = 0; i < p->n; i++) {
      number r = get(s->t, b, (int64_t)place[i] * stride + c);
      double size = magnitude(r);
      for (int64_t e = p->ptr[i]; e < p->ptr[i + 1]; e++) {
        const number product =
            get(s->t, s->values[backward], e) * get(s->t, x, (int64_t)place[p->index[e]] * stride + c);
        r -= product;
        size += magnitude(product);
      }
      CHECK_MSG(magnitude(r) <= 4 * (double)(p->ptr[i + 1] - p->ptr[i] + 8) * s->t->roundoff * size,
                "row %d, right-hand side %d: residual %g of %g", i, c, magnitude(r), size);
    }
}
