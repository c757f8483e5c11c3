/* Definitions of preconditioners by options and matrix, for the files that call them. */
#pragma once

#include <limits.h>

#include "tests/fuzz/api.h"
#include "tests/fuzz/system.h"

/* Incomplete factors M = L U of a small dense matrix in extended precision, and how far the factors of the
 * library, in the precision of the matrix, may be from them.
 *
 * Each number has a bound of its error if each operation rounds (running error analysis, Higham 2002, section
 * 3.3). Factors are `certain` if each pivot differs from zero, and from the other sign, by more than its
 * error, and no number is near the ends of the type's range. Then the library must also find factors, and
 * their product differs from L U by at most `error`. */

/* A number, and a bound of its error. */
typedef struct near {
  number value;
  long double error;
} near;

typedef struct incomplete {
  int n;
  long double eps, least, most; /* of the type: unit roundoff, ends of the range */
  bool missing;                 /* some diagonal entry is not stored */
  bool certain;
  bool negative; /* certain, but some pivot of L L^H is not positive */
  square lower, upper;
  long double error[ORDER_MOST][ORDER_MOST];
} incomplete;

/* The definition of M. */
typedef struct making {
  tristar_precond_kind kind;
  int level; /* INT32_MAX: all fill */
  long double modified, omega, shift;
  bool adjoint; /* L L^H, not L L^T */
} making;

/* ---- Numbers with errors ------------------------------------------------------------------------------- */

static inline near near_rounded(const incomplete *f, number value, long double error) {
  return (near){value, error + 8 * f->eps * (cabsl(value) + error) + 4 * f->least};
}
static inline near near_product(const incomplete *f, near a, near b) {
  return near_rounded(f, a.value * b.value,
                      cabsl(a.value) * b.error + cabsl(b.value) * a.error + a.error * b.error);
}
static inline near near_difference(const incomplete *f, near a, near b) {
  return near_rounded(f, a.value - b.value, a.error + b.error);
}
static inline near near_sum(const incomplete *f, near a, near b) {
  return near_rounded(f, a.value + b.value, a.error + b.error);
}
/* |b| must be larger than its error. */
static inline near near_quotient(const incomplete *f, near a, near b) {
  const number q = a.value / b.value;
  return near_rounded(f, q, (a.error + cabsl(q) * b.error) / (cabsl(b.value) - b.error));
}
static inline near near_scaled(const incomplete *f, near a, long double factor) {
  return near_rounded(f, a.value * factor, a.error * fabsl(factor));
}
static inline bool near_is_safe(const incomplete *f, near a) {
  const long double size = cabsl(a.value) + a.error;
  return size < f->most; /* false for NaN */
}
static inline bool near_is_pivot(const incomplete *f, near a) {
  return near_is_safe(f, a) && cabsl(a.value) > 4 * a.error && cabsl(a.value) > 1 / f->most;
}

/* ---- Patterns ------------------------------------------------------------------------------------------ */

/* Places that are stored, of both triangles. from_above: each entry above the diagonal represents both. */
static inline void incomplete_places(const pattern *p, bool from_above, places at) {
  memset(at, 0, sizeof(places));
  for (int e = 0; e < p->count; e++) {
    const int i = p->row[e], j = p->column[e];
    const bool both = p->symmetry != TRISTAR_GENERAL;
    if (!from_above || both || i <= j) at[i][j] = true;
    if (both || (from_above && i < j)) at[j][i] = true;
  }
}

/* Fill (i, j) through k has level(i, k) + level(k, j) + 1 (Saad 2003, section 10.3.3). */
static inline void incomplete_fill(int n, int most, places at) {
  static int level[ORDER_MOST][ORDER_MOST];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) level[i][j] = at[i][j] ? 0 : -1;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++) {
      if (level[i][k] < 0) continue;
      for (int j = k + 1; j < n; j++) {
        if (level[k][j] < 0) continue;
        const int64_t fill = (int64_t)level[i][k] + level[k][j] + 1;
        if (fill <= most && (level[i][j] < 0 || fill < level[i][j])) level[i][j] = (int)fill;
      }
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) at[i][j] = level[i][j] >= 0;
}

/* ---- Factors ------------------------------------------------------------------------------------------- */

typedef near near_square[ORDER_MOST][ORDER_MOST];

/* Bounds the error of L U by the errors of L and U. */
static inline void incomplete_finish(incomplete *f, near_square l, near_square u) {
  const int n = f->n;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      f->lower[i][j] = l[i][j].value;
      f->upper[i][j] = u[i][j].value;
      long double error = 0;
      for (int k = 0; k < n; k++)
        error +=
            cabsl(l[i][k].value) * u[k][j].error + l[i][k].error * (cabsl(u[k][j].value) + u[k][j].error);
      f->error[i][j] = error;
      f->certain = f->certain && near_is_safe(f, l[i][j]) && near_is_safe(f, u[i][j]);
    }
}

/* M = L U by rows, with unit L. */
static inline void incomplete_lu(incomplete *f, const making *m, square a, places at) {
  static near_square l, u;
  const int n = f->n;
  memset(l, 0, sizeof l);
  memset(u, 0, sizeof u);
  for (int i = 0; i < n && f->certain; i++) {
    near row[ORDER_MOST], dropped = {0, 0};
    for (int j = 0; j < n; j++) row[j] = (near){a[i][j], 0};
    row[i] = near_scaled(f, row[i], 1 + m->shift);
    for (int k = 0; k < i; k++) {
      if (!at[i][k]) continue;
      row[k] = near_quotient(f, row[k], u[k][k]);
      for (int j = k + 1; j < n; j++) {
        if (!at[k][j]) continue;
        const near product = near_product(f, row[k], u[k][j]);
        if (at[i][j])
          row[j] = near_difference(f, row[j], product);
        else
          dropped = near_sum(f, dropped, product);
      }
    }
    if (m->modified > 0) row[i] = near_difference(f, row[i], near_scaled(f, dropped, m->modified));
    for (int j = 0; j < n; j++) *(j < i ? &l[i][j] : &u[i][j]) = at[i][j] ? row[j] : (near){0, 0};
    l[i][i] = (near){1, 0};
    f->certain = near_is_pivot(f, u[i][i]);
  }
  if (f->certain) incomplete_finish(f, l, u);
}

static inline near near_image(near a, bool adjoint) {
  return (near){adjoint ? conjl(a.value) : a.value, a.error};
}

/* M = U^H U or U^T U, by rows. */
static inline void incomplete_cholesky(incomplete *f, const making *m, square a, places at) {
  static near_square l, u;
  static near dropped[ORDER_MOST];
  const int n = f->n;
  memset(l, 0, sizeof l);
  memset(u, 0, sizeof u);
  memset(dropped, 0, sizeof dropped);
  for (int i = 0; i < n && f->certain && !f->negative; i++) {
    near row[ORDER_MOST];
    for (int j = i; j < n; j++) row[j] = (near){a[i][j], 0};
    row[i] = near_scaled(f, row[i], 1 + m->shift);
    for (int k = 0; k < i; k++) {
      if (!at[k][i]) continue;
      for (int j = i; j < n; j++) {
        if (!at[k][j]) continue;
        const near product = near_product(f, near_image(u[k][i], m->adjoint), u[k][j]);
        if (at[i][j]) {
          row[j] = near_difference(f, row[j], product);
          continue;
        }
        const near share = {m->adjoint ? creall(product.value) : product.value, product.error};
        dropped[i] = near_sum(f, dropped[i], share);
        dropped[j] = near_sum(f, dropped[j], share);
      }
    }
    if (m->modified > 0) row[i] = near_difference(f, row[i], near_scaled(f, dropped[i], m->modified));
    f->certain = near_is_pivot(f, row[i]);
    f->negative = f->certain && m->adjoint && creall(row[i].value) < 0;
    if (!f->certain || f->negative) break;
    const number root = csqrtl(m->adjoint ? creall(row[i].value) : row[i].value);
    u[i][i] = near_rounded(f, root, row[i].error / cabsl(root));
    for (int j = i + 1; j < n; j++)
      if (at[i][j]) u[i][j] = near_quotient(f, row[j], u[i][i]);
    for (int j = i; j < n; j++) l[j][i] = near_image(u[i][j], m->adjoint);
  }
  if (f->certain && !f->negative) incomplete_finish(f, l, u);
}

/* M = (D / w + L) times (2 - w) / w D to the -1, times (D / w + U); JACOBI: M = D. */
static inline void incomplete_sweeps(incomplete *f, const making *m, square a) {
  static near_square l, u;
  const int n = f->n;
  const bool jacobi = m->kind == TRISTAR_PRECOND_JACOBI;
  memset(l, 0, sizeof l);
  memset(u, 0, sizeof u);
  for (int i = 0; i < n && f->certain; i++) {
    const near d = near_rounded(f, a[i][i], 0);
    const near middle = jacobi ? (near){1, 0} : near_scaled(f, d, (2 - m->omega) / m->omega);
    f->certain = near_is_pivot(f, d) && near_is_pivot(f, middle);
    for (int j = 0; j < n && f->certain; j++) {
      const near entry = {a[i][j], 0}, own = jacobi ? d : near_scaled(f, d, 1 / m->omega);
      if (!jacobi && j < i) l[i][j] = entry;
      if (!jacobi && j > i) u[i][j] = near_quotient(f, entry, middle);
      if (j != i) continue;
      l[i][i] = own;
      u[i][i] = jacobi ? (near){1, 0} : near_quotient(f, own, middle);
    }
  }
  if (f->certain) incomplete_finish(f, l, u);
}

static inline void incomplete_make(const pattern *p, values *v, const making *m, incomplete *f) {
  static places at;
  const bool single = is_single(p->scalar);
  const bool cholesky = m->kind == TRISTAR_PRECOND_IC || m->kind == TRISTAR_PRECOND_ICT;
  const bool sweeps = m->kind == TRISTAR_PRECOND_SSOR || m->kind == TRISTAR_PRECOND_JACOBI;
  memset(f, 0, sizeof *f);
  f->n = p->n;
  f->eps = single ? 0x1p-24L : 0x1p-53L;
  f->least = single ? 0x1p-149L : 0x1p-1074L;
  f->most = single ? 1e30L : 1e290L;
  f->certain = true;
  incomplete_places(p, cholesky, at);
  for (int i = 0; i < p->n; i++) f->missing = f->missing || !at[i][i];
  if (f->missing) return;
  if (sweeps) {
    incomplete_sweeps(f, m, v->truth);
    return;
  }
  incomplete_fill(p->n, m->level, at);
  (cholesky ? incomplete_cholesky : incomplete_lu)(f, m, v->truth, at);
}

/* ---- Judgement ----------------------------------------------------------------------------------------- */

/* |F| |F^-1| |F| of a triangle F, the scale of errors of products with inverted blocks of F. */
static inline void incomplete_grow(int n, square f, bool lower, long double (*grown)[ORDER_MOST]) {
  static square inverse;
  static long double half[ORDER_MOST][ORDER_MOST];
  memset(inverse, 0, sizeof inverse);
  for (int j = 0; j < n; j++)
    for (int step = 0; step < n; step++) {
      const int i = lower ? step : n - 1 - step;
      number sum = i == j;
      for (int k = 0; k < n; k++)
        if (k != i) sum -= f[i][k] * inverse[k][j];
      inverse[i][j] = sum / f[i][i];
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      half[i][j] = 0;
      for (int k = 0; k < n; k++) half[i][j] += cabsl(f[i][k]) * cabsl(inverse[k][j]);
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      grown[i][j] = 0;
      for (int k = 0; k < n; k++) grown[i][j] += half[i][k] * cabsl(f[k][j]);
    }
}

static inline bool by_size(const tristar_precond_options *o) {
  return o->kind == TRISTAR_PRECOND_ILUT || o->kind == TRISTAR_PRECOND_ICT;
}
static inline bool is_cholesky(const tristar_precond_options *o) {
  return o->kind == TRISTAR_PRECOND_IC || o->kind == TRISTAR_PRECOND_ICT;
}
/* Does M lose entries by size? Then this file has no definition of it. */
static inline bool loses_entries(const cell *c, const tristar_precond_options *o) {
  return by_size(o) && (o->drop > 0 || o->fill < c->p->n);
}

/* Returns the largest relative difference between entries of the matrix and of its adjoint or transpose. */
static inline long double unlikeness(const cell *c, bool adjoint) {
  long double most = 0;
  for (int i = 0; i < c->p->n; i++)
    for (int j = 0; j < c->p->n; j++) {
      const number a = c->v->truth[i][j], b = adjoint ? conjl(c->v->truth[j][i]) : c->v->truth[j][i];
      if (a != b) most = fmaxl(most, cabsl(a - b) / (cabsl(a) + cabsl(b)));
    }
  return most;
}

static inline bool is_adjoint(const cell *c) {
  const tristar_symmetry kind = c->p->symmetry;
  return !is_complex(c->p->scalar) || kind == TRISTAR_HERMITIAN ||
         (kind == TRISTAR_GENERAL && unlikeness(c, true) == 0);
}

/* Computes M by its definition. M must not lose entries. */
static inline void find_factors(const cell *c, const tristar_precond_options *o, incomplete *f) {
  const making m = {.kind = o->kind,
                    .level = by_size(o) ? INT_MAX : o->level,
                    .modified = by_size(o) ? 0 : o->modified,
                    .omega = o->omega,
                    .shift = o->shift,
                    .adjoint = is_adjoint(c)};
  incomplete_make(c->p, c->v, &m, f);
}

/* Sparse approximate inverses: their statuses on a matrix without faults, right and wrong options, whether
 * set-ups of different values have the same pattern, and the judgement of results (api_fsai.c). */
unsigned fsai_statuses(const cell *c, const tristar_precond_options *o);
tristar_precond_options choose_fsai_options(tristar_precond_options o);
void spoil_fsai_options(tristar_precond_options *o);
bool fsai_keeps_pattern(const tristar_precond_options *o);
void judge_fsai(precond_slot *s);
