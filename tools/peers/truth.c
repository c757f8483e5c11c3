/* The matrix, the computed quantities and the report of truth_mumps: see truth.h. */
#include "tools/peers/truth.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tristar_matrix.h"

/* Exit statuses. LEFT_OUT: the matrix is not square, is too large, or does not suit the precision. */
enum { FAILED = 1, LEFT_OUT = 2 };

static _Noreturn void end(int status, const char *subject, const char *why) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, subject, why);
  exit(status);
}

void *truth_allocate(int64_t count, size_t size) {
  void *memory = calloc((size_t)(count > 0 ? count : 1), size);
  if (memory == NULL) end(FAILED, "memory", "exhausted");
  return memory;
}

void truth_why(truth_answers *a, const char *format, ...) {
  const size_t used = strlen(a->why);
  va_list args;
  va_start(args, format);
  vsnprintf(a->why + used, sizeof a->why - used, format, args);
  va_end(args);
  snprintf(a->why + strlen(a->why), sizeof a->why - strlen(a->why), "; ");
}

truth_entry truth_get(tristar_scalar scalar, const void *values, int64_t k) {
  switch (scalar) {
  case TRISTAR_SINGLE:
    return (double)((const float *)values)[k];
  case TRISTAR_DOUBLE:
    return ((const double *)values)[k];
  case TRISTAR_COMPLEX_SINGLE:
    return (double)((const float *)values)[2 * k] + I * (double)((const float *)values)[2 * k + 1];
  default:
    return ((const double *)values)[2 * k] + I * ((const double *)values)[2 * k + 1];
  }
}

void truth_set(tristar_scalar scalar, void *values, int64_t k, truth_entry value) {
  switch (scalar) {
  case TRISTAR_SINGLE:
    ((float *)values)[k] = (float)creal(value);
    return;
  case TRISTAR_DOUBLE:
    ((double *)values)[k] = creal(value);
    return;
  case TRISTAR_COMPLEX_SINGLE:
    ((float *)values)[2 * k] = (float)creal(value);
    ((float *)values)[2 * k + 1] = (float)cimag(value);
    return;
  default:
    ((double *)values)[2 * k] = creal(value);
    ((double *)values)[2 * k + 1] = cimag(value);
  }
}

/* ---- Matrix ------------------------------------------------------------------------------------------- */

static bool is_complex(tristar_scalar scalar) {
  return scalar == TRISTAR_COMPLEX_SINGLE || scalar == TRISTAR_COMPLEX_DOUBLE;
}

static bool is_single(tristar_scalar scalar) {
  return scalar == TRISTAR_SINGLE || scalar == TRISTAR_COMPLEX_SINGLE;
}

static void need(const truth_problem *p, tristar_status status, const char *subject) {
  char message[512] = "";
  if (status == TRISTAR_OK) return;
  if (p->ts != NULL) tristar_get_error(p->ts, message, sizeof message);
  end(FAILED, subject, *message ? message : tristar_status_name(status));
}

/* Factor of row or column i, of absolute value 1. */
static truth_entry phase(int64_t i) {
  return cexp(I * 2.4 * (double)i);
}

/* Converts values to the type `scalar`. Real values become complex: D A D^H if symmetric, D A D if skew, else
 * D A E. */
static void convert(truth_problem *p, const char *name, tristar_scalar scalar) {
  tristar_view *v = &p->view;
  const int64_t *ptr = v->ptr;
  const int32_t *index = v->index;
  const bool turn = is_complex(scalar) && !is_complex(v->scalar);
  const bool to_hermitian = turn && v->symmetry == TRISTAR_SYMMETRIC;
  void *values = truth_allocate(ptr[v->cols], 2 * sizeof(double));
  for (int64_t j = 0; j < v->cols; j++)
    for (int64_t k = ptr[j]; k < ptr[j + 1]; k++) {
      truth_entry value = truth_get(v->scalar, v->values, k);
      if (turn && !(to_hermitian && index[k] == j))
        value *= phase(index[k]) * (to_hermitian                            ? conj(phase(j))
                                    : v->symmetry == TRISTAR_SKEW_SYMMETRIC ? phase(j)
                                                                            : phase(3 * j + 1));
      if (is_single(scalar) && cabs(value) > (double)FLT_MAX)
        end(LEFT_OUT, name, "values exceed single precision");
      truth_set(scalar, values, k, value);
    }
  if (to_hermitian) v->symmetry = TRISTAR_HERMITIAN;
  v->scalar = scalar;
  v->values = values;
}

static truth_entry mirror(tristar_symmetry symmetry, truth_entry value) {
  return symmetry == TRISTAR_HERMITIAN ? conj(value) : symmetry == TRISTAR_SKEW_SYMMETRIC ? -value : value;
}

static void list_entries(truth_problem *p) {
  const tristar_view *v = &p->view;
  const int64_t *ptr = v->ptr, most = 2 * ptr[v->cols];
  const int32_t *index = v->index;
  p->row = truth_allocate(most, sizeof *p->row);
  p->column = truth_allocate(most, sizeof *p->column);
  p->value = truth_allocate(most, sizeof *p->value);
  for (int j = 0; j < p->n; j++)
    for (int64_t k = ptr[j]; k < ptr[j + 1]; k++)
      for (int image = 0; image < (v->symmetry != TRISTAR_GENERAL && index[k] != j ? 2 : 1); image++) {
        const truth_entry value = truth_get(v->scalar, v->values, k);
        p->row[p->count] = image ? j : index[k];
        p->column[p->count] = image ? index[k] : j;
        p->value[p->count++] = image ? mirror(v->symmetry, value) : value;
      }
}

static void read_matrix(truth_problem *p, const char *name, char precision) {
  static tristar_matrix_t *matrix, *laplacian;
  need(p, tristar_matrix_read(p->ts, name, &matrix), name);
  tristar_matrix_get_view(matrix, &p->view);
  if (p->view.values == NULL) {
    need(p, tristar_matrix_laplacian(p->ts, &p->view, &laplacian), name);
    tristar_matrix_get_view(laplacian, &p->view);
    p->laplacian = true;
  }
  if (p->view.rows != p->view.cols || p->view.rows > 20000)
    end(LEFT_OUT, name, "not square, or more than 20,000 rows");
  const tristar_scalar scalar = precision ? (tristar_scalar)precision : p->view.scalar;
  if (is_complex(p->view.scalar) && !is_complex(scalar)) end(LEFT_OUT, name, "the matrix is complex");
  p->n = (int)p->view.rows;
  convert(p, name, scalar);
  p->symmetric = p->view.symmetry == TRISTAR_SYMMETRIC;
  p->hermitian = p->view.symmetry == TRISTAR_HERMITIAN || (p->symmetric && !is_complex(scalar));
  list_entries(p);
}

/* ---- Questions ---------------------------------------------------------------------------------------- */

/* Chooses two pairs of rows such that A stores all entries of W W^H. */
static void choose_terms(truth_problem *p) {
  bool *diagonal = truth_allocate(p->n, sizeof *diagonal);
  for (int64_t k = 0; k < p->count; k++)
    if (p->row[k] == p->column[k]) diagonal[p->row[k]] = true;
  for (int t = 0; t < TRUTH_TERMS; t++)
    for (int64_t k = (t + 1) * p->count / (TRUTH_TERMS + 1); k < p->count && p->terms == t; k++) {
      const int i = p->row[k], j = p->column[k];
      if (i == j || !diagonal[i] || !diagonal[j] || p->value[k] == 0) continue;
      double weight = sqrt(cabs(p->value[k]));
      if (is_single(p->view.scalar)) weight = (double)(float)weight;
      p->term[p->terms++] = (truth_term){i, j, weight};
    }
  if (p->terms < TRUTH_TERMS) p->terms = 0;
  free(diagonal);
}

static void choose_questions(truth_problem *p) {
  const int n = p->n;
  if (n >= 2 * TRUTH_SCHUR)
    for (; p->schur_count < TRUTH_SCHUR; p->schur_count++)
      p->schur[p->schur_count] = (int)((int64_t)p->schur_count * n / TRUTH_SCHUR);
  if (n >= TRUTH_COLUMNS)
    for (; p->entries < TRUTH_ENTRIES; p->entries++) {
      const int column = (int)((int64_t)(p->entries / 4) * n / TRUTH_COLUMNS);
      p->entry_column[p->entries] = column;
      p->entry_row[p->entries] = (column + (int)((int64_t)(p->entries % 4) * n / 4)) % n;
    }
  if (p->hermitian || p->symmetric) choose_terms(p);
}

/* ---- Report ------------------------------------------------------------------------------------------- */

/* Largest difference relative to the largest value; -1: one of the two has no result. */
static double difference(bool both, const truth_entry *x, const truth_entry *y, int64_t count) {
  double largest = 0, worst = 0;
  if (!both) return -1;
  for (int64_t k = 0; k < count; k++) {
    const double size = cabs(y[k]), error = cabs(x[k] - y[k]);
    if (!(size <= largest)) largest = size;
    if (!(error <= worst)) worst = error;
  }
  return worst == 0 ? 0 : worst / largest;
}

static double compare_determinants(bool both, const truth_determinant *x, const truth_determinant *y) {
  if (!both) return -1;
  if (x->sign == 0 || y->sign == 0) return x->sign == y->sign ? 0 : 1;
  return cabs(x->sign - y->sign) + fabs(expm1(fmin(x->log_abs - y->log_abs, 600)));
}

static void print_number(const char *key, double value) {
  if (isfinite(value))
    printf("\"%s\": %.3g, ", key, value);
  else
    printf("\"%s\": null, ", key);
}

static void print_text(const char *key, const char *text) {
  printf("\"%s\": \"", key);
  for (; *text; text++) putchar(*text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? ' ' : *text);
  printf("\"");
}

static void print_answers(const char *solver, const truth_answers *a) {
  printf(", \"%s\": {", solver);
  if (a->has_inertia)
    printf("\"inertia\": [%" PRId64 ", %" PRId64 ", %" PRId64 "], ", a->positive, a->negative, a->zero);
  if (a->has_null) printf("\"null\": %" PRId64 ", ", a->null);
  printf("\"singular\": %s, \"delayed\": %s, \"schur\": %s, ", a->singular ? "true" : "false",
         a->delayed ? "true" : "false", a->has_schur ? "true" : "false");
  if (a->has_determinant) print_number("determinant", a->determinant.log_abs);
  print_number("reciprocal", a->reciprocal);
  print_number("schur_reciprocal", a->schur_reciprocal);
  print_text("why", a->why);
  printf("}");
}

static void print_differences(const truth_problem *p, const char *pair, const truth_answers *x,
                              const truth_answers *y) {
  printf(", \"%s\": {", pair);
  print_number("determinant", compare_determinants(x->has_determinant && y->has_determinant, &x->determinant,
                                                   &y->determinant));
  print_number("schur", difference(x->has_schur && y->has_schur, x->schur, y->schur,
                                   (int64_t)p->schur_count * p->schur_count));
  print_number("inverse", difference(x->has_inverse && y->has_inverse, x->inverse, y->inverse, p->entries));
  print_number("update",
               fmax(difference(x->has_update && y->has_update, x->x, y->x, p->n),
                    compare_determinants(x->has_update && y->has_update, &x->updated, &y->updated)));
  printf("\"pair\": \"%s\"}", pair);
}

static const char *kind(const truth_problem *p) {
  return p->hermitian   ? p->symmetric ? "symmetric" : "Hermitian"
         : p->symmetric ? "complex symmetric"
                        : "general";
}

int main(int argc, char **argv) {
  truth_problem p = {.most_dense = 1000};
  truth_answers *a = truth_allocate(4, sizeof *a), *tristar = &a[0], *mumps = &a[1], *lapack = &a[2],
                *cholmod = &a[3];
  char precision = 0;
  int k = 1;
  for (; k + 2 < argc; k += 2)
    if (!strcmp(argv[k], "--precision") && strchr("sdcz", argv[k + 1][0]))
      precision = argv[k + 1][0];
    else if (!strcmp(argv[k], "--dense"))
      p.most_dense = atoi(argv[k + 1]);
    else
      break;
  if (k + 1 != argc) end(FAILED, "usage", "truth_mumps [--precision s|d|c|z] [--dense N] MATRIX");
  for (int s = 0; s < 4; s++) a[s].reciprocal = a[s].schur_reciprocal = -1;
  tristar_config config;
  tristar_config_init(&config);
  config.use_starpu = 0;
  need(&p, tristar_create(&config, &p.ts), "TriStar");
  read_matrix(&p, argv[k], precision);
  choose_questions(&p);
  truth_query_tristar(&p, tristar);
  truth_query_lapack(&p, lapack);
  truth_query_cholmod(&p, cholmod);
  (p.view.scalar == TRISTAR_SINGLE           ? truth_query_mumps_s
   : p.view.scalar == TRISTAR_DOUBLE         ? truth_query_mumps_d
   : p.view.scalar == TRISTAR_COMPLEX_SINGLE ? truth_query_mumps_c
                                             : truth_query_mumps_z)(&p, mumps);
  printf("{\"rows\": %d, \"scalar\": \"%c\", \"kind\": \"%s\", \"laplacian\": %s", p.n, (char)p.view.scalar,
         kind(&p), p.laplacian ? "true" : "false");
  print_answers("tristar", tristar);
  print_answers("mumps", mumps);
  print_answers("lapack", lapack);
  print_differences(&p, "tristar_mumps", tristar, mumps);
  print_differences(&p, "tristar_lapack", tristar, lapack);
  print_differences(&p, "mumps_lapack", mumps, lapack);
  print_differences(&p, "tristar_cholmod", tristar, cholmod);
  print_differences(&p, "cholmod_lapack", cholmod, lapack);
  printf("}\n");
  return 0;
}
