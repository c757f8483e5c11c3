/* Block triangular form of LU: random matrices of diagonal blocks of 1 to 12 rows, with entries above them,
 * in random orders of rows and columns. Solves with A, A^T and A^H have small backward errors; new values,
 * changes of entries, files, determinants and inverses are those of the form without blocks, or have its
 * bits. */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/dense_systems.h"
#include "tests/support/subtests.h"
#include "tristar_inverse.h"
#include "tristar_layout.h"
#include "tristar_save.h"
#include "tristar_stats.h"
#include "tristar_update.h"

enum { ROWS_MOST = 90, NRHS_MOST = 9, BLOCK_MOST = 12 };

/* A matrix as lists of lines, and dense. */
typedef struct blocks_matrix {
  int n, blocks;
  bool by_rows;
  tristar_scalar scalar;
  int32_t ptr[ROWS_MOST + 1], index[ROWS_MOST * ROWS_MOST];
  int at[ROWS_MOST * ROWS_MOST];        /* row + column ROWS_MOST of each entry */
  bool diagonal[ROWS_MOST * ROWS_MOST]; /* is the entry on the diagonal of a block? */
  char values[ROWS_MOST * ROWS_MOST * sizeof(double _Complex)];
  number dense[ROWS_MOST * ROWS_MOST]; /* row + column ROWS_MOST */
} blocks_matrix;

static int below(uint64_t *state, int n) {
  return (int)(next_random(state) % (uint64_t)n);
}

static number draw_entry(uint64_t *state, bool has_image) {
  number x = (long double)(below(state, 2001) - 1000) / 1000;
  if (has_image) x += power_of_i(1) * ((long double)(below(state, 2001) - 1000) / 1000);
  return x;
}

static void shuffle(int n, int *order, uint64_t *state) {
  for (int i = n - 1; i > 0; i--) {
    const int k = below(state, i + 1), keep = order[i];
    order[i] = order[k];
    order[k] = keep;
  }
}

/* New values: diagonals of blocks exceed what stands beside them. */
static void draw_values(blocks_matrix *m, uint64_t *state) {
  for (int e = 0; e < m->ptr[m->n]; e++) {
    number x = draw_entry(state, is_complex(m->scalar));
    if (m->diagonal[e]) x += creall(x) < 0 ? -6 : 6;
    put(m->scalar, m->values, e, x);
    m->dense[m->at[e]] = get(m->scalar, m->values, e);
  }
}

/* moved: rows are not in the order of the columns. */
static void draw_matrix(blocks_matrix *m, tristar_scalar scalar, bool moved, uint64_t *state) {
  static bool full[ROWS_MOST][ROWS_MOST];
  int row[ROWS_MOST], column[ROWS_MOST], count = 0;
  memset(full, 0, sizeof full);
  memset(m, 0, sizeof *m);
  m->scalar = scalar;
  m->by_rows = below(state, 2);
  const int most = 2 + below(state, BLOCK_MOST - 1), sparse = 3 + below(state, 40);
  while (m->n + most <= ROWS_MOST && (m->blocks < 3 || below(state, 12) > 0)) {
    const int first = m->n, w = below(state, 2) ? 1 : 1 + below(state, most);
    for (int i = 0; i < w; i++) { /* a cycle makes the block irreducible */
      for (int k = 0; k < 2; k++) full[first + i][first + below(state, w)] = true;
      full[first + i][first + i] = full[first + i][first + (i + 1) % w] = true;
      for (int r = 0; r < first; r++) full[r][first + i] = below(state, sparse) == 0;
    }
    m->n += w;
    m->blocks++;
  }
  for (int i = 0; i < m->n; i++) row[i] = i;
  shuffle(m->n, row, state);
  memcpy(column, row, sizeof column);
  if (moved) shuffle(m->n, column, state);
  for (int line = 0; line < m->n; line++) {
    m->ptr[line] = count;
    for (int k = 0; k < m->n; k++) { /* row[i], column[j]: where row i, column j of the blocks stands */
      const int i = m->by_rows ? line : k, j = m->by_rows ? k : line;
      int own_i = 0, own_j = 0;
      while (row[own_i] != i) own_i++;
      while (column[own_j] != j) own_j++;
      if (!full[own_i][own_j]) continue;
      m->index[count] = k;
      m->at[count] = i + j * ROWS_MOST;
      m->diagonal[count++] = own_i == own_j;
    }
  }
  m->ptr[m->n] = count;
  draw_values(m, state);
}

static tristar_view view_of(const blocks_matrix *m) {
  tristar_view view;
  tristar_view_init(&view);
  view.format = m->by_rows ? TRISTAR_CSR : TRISTAR_CSC;
  view.scalar = m->scalar;
  view.rows = view.cols = m->n;
  view.ptr = m->ptr;
  view.index = m->index;
  view.values = m->values;
  return view;
}

static tristar_analysis_options options_of(tristar_block_triangular form) {
  tristar_analysis_options options;
  tristar_analysis_options_init(&options);
  options.method = TRISTAR_METHOD_LU;
  options.block_triangular = form;
  return options;
}

static int64_t blocks_of(const tristar_analysis_t *analysis) {
  tristar_analysis_stats stats;
  CHECK_OK(tristar_analysis_get_stats(analysis, &stats));
  return stats.diagonal_blocks;
}

static number entry_of(const blocks_matrix *m, tristar_op op, int i, int j) {
  const number a = op == TRISTAR_N ? m->dense[i + j * ROWS_MOST] : m->dense[j + i * ROWS_MOST];
  return op == TRISTAR_C ? conjl(a) : a;
}

/* The backward errors of solves, row by row. */
static void check_solves(tristar_plan_t *plan, const blocks_matrix *m, uint64_t *state) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const long double bound = (is_single(m->scalar) ? 0x1p-23L : 0x1p-52L) * 500;
  static char b[ROWS_MOST * NRHS_MOST * sizeof(double _Complex)], x[sizeof b];
  for (int k = 0; k < 3; k++) {
    const int nrhs = 1 + below(state, NRHS_MOST), n = m->n;
    for (int i = 0; i < n * nrhs; i++) put(m->scalar, b, i, draw_entry(state, is_complex(m->scalar)));
    CHECK_OK(tristar_solve(plan, ops[k], nrhs, b, n, x, n));
    for (int r = 0; r < nrhs; r++)
      for (int i = 0; i < n; i++) {
        number rest = get(m->scalar, b, i + r * n);
        long double size = cabsl(rest);
        for (int j = 0; j < n; j++) {
          const number term = entry_of(m, ops[k], i, j) * get(m->scalar, x, j + r * n);
          rest -= term;
          size += cabsl(term);
        }
        CHECK_MSG(cabsl(rest) <= bound * size, "%d rows, %c, op %c, row %d: error %Lg", n, m->scalar, ops[k],
                  i, cabsl(rest) / size);
      }
  }
}

static void check_random(tristar_t *ts, tristar_scalar scalar, bool moved, int systems) {
  static blocks_matrix m;
  uint64_t state = 17 + (uint64_t)scalar + 1000 * moved;
  for (int k = 0; k < systems; k++) {
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
    draw_matrix(&m, scalar, moved, &state);
    tristar_view view = view_of(&m);
    tristar_analysis_options options = options_of(TRISTAR_BLOCK_TRIANGULAR_ON);
    tristar_plan_options how;
    tristar_plan_options_init(&how);
    options.inverse = k % 3 == 0 ? TRISTAR_INVERSE_NONE : TRISTAR_INVERSE_DIAGONAL;
    options.merge = (tristar_merge)below(&state, 3);
    options.ordering = below(&state, 2) ? TRISTAR_ORDERING_AMD : TRISTAR_ORDERING_AUTO;
    how.chunk_bytes_min = k % 4 == 0;
    how.chunk_bytes_max = k % 4 == 0 ? 200 + below(&state, 3000) : 0;
    if (!moved && k % 5 == 0) view.values = NULL;
    CHECK_OK(tristar_analyze(ts, &view, &options, &analysis));
    CHECK_MSG(blocks_of(analysis) == m.blocks, "%d blocks, not %d", (int)blocks_of(analysis), m.blocks);
    CHECK_OK(tristar_factor(analysis, m.values, &factor));
    CHECK_OK(tristar_plan(factor, &how, &plan));
    check_solves(plan, &m, &state);
    draw_values(&m, &state);
    CHECK_OK(tristar_refactor(factor, m.values));
    check_solves(plan, &m, &state);
  }
}

/* x of a fixed right-hand side. */
static void solve_one(tristar_factor_t *factor, int n, tristar_op op, double *x) {
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  double b[ROWS_MOST];
  for (int i = 0; i < n; i++) b[i] = 1 + i % 7;
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  CHECK_OK(tristar_solve(plan, op, 1, b, n, x, n));
}

static void check_same_bits(tristar_factor_t *one, tristar_factor_t *other, int n) {
  double x[ROWS_MOST], y[ROWS_MOST];
  for (int k = 0; k < 2; k++) {
    solve_one(one, n, k ? TRISTAR_T : TRISTAR_N, x);
    solve_one(other, n, k ? TRISTAR_T : TRISTAR_N, y);
    CHECK(memcmp(x, y, (size_t)n * sizeof *x) == 0);
  }
}

static void factor_matrix(tristar_t *ts, const blocks_matrix *m, tristar_block_triangular form,
                          tristar_factor_t **factor) {
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  const tristar_view view = view_of(m);
  const tristar_analysis_options options = options_of(form);
  CHECK_OK(tristar_analyze(ts, &view, &options, &analysis));
  CHECK((blocks_of(analysis) > 0) == (form == TRISTAR_BLOCK_TRIANGULAR_ON));
  CHECK_OK(tristar_factor(analysis, m->values, factor));
}

static void check_file(tristar_t *ts) {
  static blocks_matrix m;
  uint64_t state = 3;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL, *loaded = NULL;
  draw_matrix(&m, TRISTAR_DOUBLE, true, &state);
  factor_matrix(ts, &m, TRISTAR_BLOCK_TRIANGULAR_ON, &factor);
  CHECK_OK(tristar_factor_save(factor, "blocks.tristar"));
  CHECK_OK(tristar_factor_load(ts, "blocks.tristar", &loaded));
  CHECK(remove("blocks.tristar") == 0);
  CHECK(blocks_of(tristar_factor_get_analysis(loaded)) == m.blocks);
  check_same_bits(factor, loaded, m.n);
  draw_values(&m, &state);
  CHECK_OK(tristar_refactor(factor, m.values));
  CHECK_OK(tristar_refactor(loaded, m.values));
  check_same_bits(factor, loaded, m.n);
}

/* A change of entries, inside of blocks and between them, has the bits of new values. */
static void check_update(tristar_t *ts) {
  static blocks_matrix m;
  uint64_t state = 8;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL, *whole = NULL;
  draw_matrix(&m, TRISTAR_DOUBLE, true, &state);
  factor_matrix(ts, &m, TRISTAR_BLOCK_TRIANGULAR_ON, &factor);
  factor_matrix(ts, &m, TRISTAR_BLOCK_TRIANGULAR_ON, &whole);
  CHECK_OK(tristar_update_begin(factor));
  for (int k = 0; k < 20; k++) {
    const int64_t entry = below(&state, m.ptr[m.n]);
    const double value = (double)creall(get(m.scalar, m.values, (int)entry)) * 1.25;
    tristar_update_result result;
    put(m.scalar, m.values, (int)entry, value);
    CHECK_OK(tristar_update_entries(factor, 1, &entry, &value, &result));
    CHECK_OK(tristar_refactor(whole, m.values));
    check_same_bits(factor, whole, m.n);
  }
}

static void check_figures(tristar_t *ts) {
  static blocks_matrix m;
  uint64_t state = 21;
  for (int k = 0; k < 30; k++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL, *whole = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL, *of_whole = NULL;
    double inverse[ROWS_MOST], expected[ROWS_MOST];
    tristar_determinant one, other;
    draw_matrix(&m, TRISTAR_DOUBLE, k % 2 == 0, &state);
    factor_matrix(ts, &m, TRISTAR_BLOCK_TRIANGULAR_ON, &factor);
    factor_matrix(ts, &m, TRISTAR_BLOCK_TRIANGULAR_OFF, &whole);
    CHECK_OK(tristar_factor_get_determinant(factor, &one));
    CHECK_OK(tristar_factor_get_determinant(whole, &other));
    CHECK(one.exponent == other.exponent && fabs(one.mantissa[0] - other.mantissa[0]) < 1e-12);
    CHECK_OK(tristar_plan(factor, NULL, &plan));
    CHECK_OK(tristar_plan(whole, NULL, &of_whole));
    CHECK_OK(tristar_inverse_diagonal(plan, inverse));
    CHECK_OK(tristar_inverse_diagonal(of_whole, expected));
    for (int i = 0; i < m.n; i++) CHECK(fabs(inverse[i] - expected[i]) < 1e-11);
  }
}

/* One of its blocks is singular: of equal entries, or of a zero. */
static void check_singular(tristar_t *ts) {
  static const int32_t ptr[] = {0, 1, 3, 6, 8}, index[] = {0, 1, 2, 1, 2, 0, 3, 0};
  const double singular[] = {3, 1, 1, 1, 1, 5, 2, 7}, regular[] = {3, 1, 1, 1, -1, 5, 2, 7};
  tristar_view view;
  tristar_view_init(&view);
  view.rows = view.cols = 4;
  view.ptr = ptr;
  view.index = index;
  view.values = regular;
  const tristar_analysis_options options = options_of(TRISTAR_BLOCK_TRIANGULAR_ON);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CHECK_OK(tristar_analyze(ts, &view, &options, &analysis));
  CHECK(blocks_of(analysis) == 3);
  CHECK_STATUS(tristar_factor(analysis, singular, &factor), TRISTAR_ERR_SINGULAR);
  CHECK_OK(tristar_factor(analysis, regular, &factor));
  CHECK_STATUS(tristar_refactor(factor, singular), TRISTAR_ERR_SINGULAR);
  CHECK_OK(tristar_refactor(factor, regular));
}

/* A triangular matrix of n rows, and what chooses the form of it. */
static void check_choice(tristar_t *ts) {
  enum { N = 60 };
  int32_t ptr[N + 1], index[2 * N];
  double values[2 * N];
  int64_t order[N];
  int count = 0;
  for (int j = 0; j < N; j++) { /* two columns in three are single */
    ptr[j] = count;
    index[count] = j;
    values[count++] = 2;
    if (j % 3 == 0 && j > 5) index[count] = j - 5, values[count++] = 1;
    order[j] = N - 1 - j;
  }
  ptr[N] = count;
  tristar_view view;
  tristar_view_init(&view);
  view.rows = view.cols = N;
  view.ptr = ptr;
  view.index = index;
  view.values = values;
  for (int k = 0; k < 7; k++) {
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
    tristar_analysis_options options = options_of(TRISTAR_BLOCK_TRIANGULAR_AUTO);
    const int64_t schur[] = {4};
    if (k == 1) options = options_of(TRISTAR_BLOCK_TRIANGULAR_OFF);
    if (k == 2) options.schur = schur, options.schur_count = 1;
    if (k == 3) options.pivoting = TRISTAR_PIVOTING_DELAYED;
    if (k == 4) options.ordering = TRISTAR_ORDERING_USER, options.permutation = order;
    if (k == 5) options.inverse = TRISTAR_INVERSE_PARTITIONED;
    if (k == 6) options.leaf_parts = 2;
    CHECK_OK(tristar_analyze(ts, &view, &options, &analysis));
    CHECK_MSG(blocks_of(analysis) == (k == 0 ? N : 0), "case %d: %d blocks", k, (int)blocks_of(analysis));
    tristar_traffic traffic;
    CHECK_STATUS(tristar_layout_traffic(analysis, NULL, 1, &traffic),
                 k == 0 ? TRISTAR_ERR_UNSUPPORTED : TRISTAR_OK);
  }
  tristar_analysis_options wrong = options_of((tristar_block_triangular)3);
  tristar_analysis_t *none;
  CHECK_STATUS(tristar_analyze(ts, &view, &wrong, &none), TRISTAR_ERR_ARGUMENT);
}

static void check_allocations(tristar_t *ts) {
  static blocks_matrix m;
  uint64_t state = 5;
  draw_matrix(&m, TRISTAR_DOUBLE, true, &state);
  const tristar_view view = view_of(&m);
  const tristar_analysis_options options = options_of(TRISTAR_BLOCK_TRIANGULAR_ON);
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
    tristar_status status = tristar_analyze(ts, &view, &options, &analysis);
    if (status == TRISTAR_OK) status = tristar_factor(analysis, m.values, &factor);
    tristar_factor_destroy(&factor);
    tristar_analysis_destroy(&analysis);
    end_failure(&failing, status);
  }
  CHECK(failing.count > 50);
}

int main(int argc, char **argv) {
  static const tristar_scalar scalars[] = {TRISTAR_SINGLE, TRISTAR_DOUBLE, TRISTAR_COMPLEX_SINGLE,
                                           TRISTAR_COMPLEX_DOUBLE};
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  CLEANUP(close_context) tristar_t *quick = open_without_starpu(false);
  for (int k = 0; k < 4; k++) {
    RUN(check_random(ts, scalars[k], false, 60));
    RUN(check_random(quick, scalars[k], true, TSI_TESTS_SANITIZED ? 60 : 400));
  }
  RUN(check_file(ts));
  RUN(check_update(ts));
  RUN(check_figures(ts));
  RUN(check_singular(ts));
  RUN(check_choice(ts));
  RUN(check_allocations(quick));
  return 0;
}
