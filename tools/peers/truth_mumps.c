/* MUMPS for truth_mumps, see truth.h. Compiled once for each type: TRUTH_s, TRUTH_d, TRUTH_c or TRUTH_z.
 * Symmetric matrices: SYM = 2, for complex ones too; others, and Hermitian ones, SYM = 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/peers/truth.h"

#if defined TRUTH_s
#include <smumps_c.h>
typedef SMUMPS_STRUC_C mumps;
typedef SMUMPS_COMPLEX scalar;
#define SCALAR TRISTAR_SINGLE
#define call_mumps smumps_c
#define query truth_query_mumps_s
#elif defined TRUTH_d
#include <dmumps_c.h>
typedef DMUMPS_STRUC_C mumps;
typedef DMUMPS_COMPLEX scalar;
#define SCALAR TRISTAR_DOUBLE
#define call_mumps dmumps_c
#define query truth_query_mumps_d
#elif defined TRUTH_c
#include <cmumps_c.h>
typedef CMUMPS_STRUC_C mumps;
typedef CMUMPS_COMPLEX scalar;
#define SCALAR TRISTAR_COMPLEX_SINGLE
#define call_mumps cmumps_c
#define query truth_query_mumps_c
#else
#include <zmumps_c.h>
typedef ZMUMPS_STRUC_C mumps;
typedef ZMUMPS_COMPLEX scalar;
#define SCALAR TRISTAR_COMPLEX_DOUBLE
#define call_mumps zmumps_c
#define query truth_query_mumps_z
#endif

/* As the manual numbers them. */
#define ICNTL(m, i) ((m)->icntl[(i)-1])
#define INFOG(m, i) ((m)->infog[(i)-1])
#define RINFOG(m, i) ((m)->rinfog[(i)-1])
enum { INITIALIZE = -1, TERMINATE = -2, ANALYZE_AND_FACTOR = 4, SOLVE = 3, COMM_WORLD = -987654 };

static void begin(const truth_problem *p, mumps *m, int sym) {
  memset(m, 0, sizeof *m);
  m->job = INITIALIZE;
  m->par = 1;
  m->sym = sym;
  m->comm_fortran = COMM_WORLD;
  call_mumps(m);
  for (int i = 1; i <= 4; i++) ICNTL(m, i) = i == 4 ? 0 : -1;
  ICNTL(m, 14) = 100;
  m->n = p->n;
  m->irn = truth_allocate(p->count, sizeof *m->irn);
  m->jcn = truth_allocate(p->count, sizeof *m->jcn);
  m->a = truth_allocate(p->count, sizeof *m->a);
  for (int64_t k = 0; k < p->count; k++) {
    if (sym != 0 && p->row[k] < p->column[k]) continue;
    m->irn[m->nnz] = p->row[k] + 1;
    m->jcn[m->nnz] = p->column[k] + 1;
    truth_set(SCALAR, m->a, m->nnz++, p->value[k]);
  }
}

/* Enlarges the working space if MUMPS requests it. */
static bool run(mumps *m, int job, const char *subject, truth_answers *a) {
  do {
    m->job = job;
    call_mumps(m);
  } while ((INFOG(m, 1) == -9 || INFOG(m, 1) == -8) && (ICNTL(m, 14) *= 4) < 100000);
  if (INFOG(m, 1) < 0) truth_why(a, "%s: INFOG(1) = %d", subject, INFOG(m, 1));
  return INFOG(m, 1) >= 0;
}

static void end(mumps *m) {
  free(m->irn);
  free(m->jcn);
  free(m->a);
  m->irn = m->jcn = NULL;
  m->a = NULL;
  m->job = TERMINATE;
  call_mumps(m);
}

static void take_determinant(const mumps *m, truth_determinant *d) {
  const truth_entry mantissa = (double)RINFOG(m, 12) + I * (double)RINFOG(m, 13);
  const double size = cabs(mantissa);
  d->sign = size > 0 ? mantissa / size : 0;
  d->log_abs = log(size) + INFOG(m, 34) * log(2);
}

static void invert(const truth_problem *p, mumps *m, truth_answers *a) {
  int *start = truth_allocate(p->n + 1, sizeof *start), row[TRUTH_ENTRIES];
  scalar of_mumps[TRUTH_ENTRIES];
  for (int j = 0, k = 0; j <= p->n; j++) {
    start[j] = k + 1;
    while (k < p->entries && p->entry_column[k] == j) k++;
  }
  for (int k = 0; k < p->entries; k++) row[k] = p->entry_row[k] + 1;
  ICNTL(m, 30) = 1;
  m->nz_rhs = p->entries;
  m->nrhs = p->n;
  m->irhs_ptr = start;
  m->irhs_sparse = row;
  m->rhs_sparse = of_mumps;
  a->has_inverse = run(m, SOLVE, "inverse", a);
  for (int k = 0; k < p->entries && a->has_inverse; k++) a->inverse[k] = truth_get(SCALAR, of_mumps, k);
  free(start);
}

static void complement(const truth_problem *p, mumps *m, truth_answers *a) {
  int list[TRUTH_SCHUR];
  scalar s[TRUTH_SCHUR * TRUTH_SCHUR];
  const int count = p->schur_count;
  begin(p, m, 0);
  for (int k = 0; k < count; k++) list[k] = p->schur[k] + 1;
  ICNTL(m, 19) = 1;
  m->size_schur = count;
  m->listvar_schur = list;
  m->schur = s;
  a->has_schur = run(m, ANALYZE_AND_FACTOR, "schur", a);
  for (int i = 0; i < count && a->has_schur; i++) /* MUMPS stores rows */
    for (int j = 0; j < count; j++) a->schur[i + j * count] = truth_get(SCALAR, s, i * count + j);
  end(m);
}

void query(const truth_problem *p, truth_answers *a) {
  mumps *m = truth_allocate(1, sizeof *m);
  const int sym = p->symmetric ? 2 : 0;
  begin(p, m, sym);
  ICNTL(m, 24) = 1;
  ICNTL(m, 33) = 1;
  if (run(m, ANALYZE_AND_FACTOR, "factor", a)) {
    a->has_null = a->has_determinant = true;
    a->null = a->zero = INFOG(m, 28);
    a->has_inertia = sym == 2 && p->hermitian;
    a->negative = INFOG(m, 12);
    a->positive = p->n - a->negative - a->zero;
    if (a->null == 0) take_determinant(m, &a->determinant);
    if (a->null == 0 && p->entries > 0) invert(p, m, a);
  }
  end(m);
  if (p->schur_count > 0) complement(p, m, a);
  free(m);
}
