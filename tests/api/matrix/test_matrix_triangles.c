/* Generated triangles: their shapes, and rows without entries. */
#include "tests/api/matrix/generated.h"
#include "tests/support/subtests.h"

/* Mean numbers of off-diagonal entries in a row of each triangle, and level sets of the lower one. */
typedef struct triangles_shape {
  double lower, upper;
  int64_t levels, widest; /* widest: the largest distance of an entry from the diagonal */
} triangles_shape;

static triangles_shape look_at(const columns *m) {
  triangles_shape shape = {0};
  OWNED int64_t *level = xcalloc((size_t)m->rows, sizeof *level);
  for (int32_t j = 0; j < m->cols; j++)
    for (int64_t k = m->ptr[j]; k < m->ptr[j + 1]; k++) {
      const int32_t i = m->index[k];
      const int64_t apart = i > j ? i - j : j - i;
      shape.lower += i > j;
      shape.upper += i < j;
      if (apart > shape.widest) shape.widest = apart;
      if (i > j && level[i] <= level[j]) level[i] = level[j] + 1;
      if (i >= j && level[i] >= shape.levels) shape.levels = level[i] + 1;
    }
  shape.lower /= m->rows;
  shape.upper /= m->rows;
  return shape;
}

/* Both triangles have the expected numbers of entries. A random pattern has few level sets, a band many, a
 * chain as many as rows. The diagonal dominates each row. */
static void test_triangles(tristar_t *ts) {
  enum { K = 40000 };
  static const struct {
    const char *kind;
    double entries, tolerance; /* in a row of a triangle */
    int64_t levels_least, levels_most, widest;
  } kinds[] = {
      {"erdos", 10, 0.1, 20, 200, K}, {"band", 1.474, 0.03, 300, 3000, 128}, {"chain", 1, 1e-4, K, K, 1}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    static double excess[K];
    CLEANUP(free_columns) columns *m = generate(ts, kinds[i].kind, K);
    const triangles_shape shape = look_at(m);
    CHECK_MSG(fabs(shape.lower - kinds[i].entries) < kinds[i].tolerance &&
                  fabs(shape.upper - kinds[i].entries) < kinds[i].tolerance,
              "%s: %g and %g entries a row", kinds[i].kind, shape.lower, shape.upper);
    CHECK_MSG(shape.levels >= kinds[i].levels_least && shape.levels <= kinds[i].levels_most,
              "%s: %lld level sets", kinds[i].kind, (long long)shape.levels);
    CHECK_MSG(shape.widest <= kinds[i].widest, "%s: an entry %lld from the diagonal", kinds[i].kind,
              (long long)shape.widest);
    memset(excess, 0, sizeof excess);
    for (int32_t j = 0; j < m->cols; j++)
      for (int64_t k = m->ptr[j]; k < m->ptr[j + 1]; k++)
        excess[m->index[k]] += m->index[k] == j ? m->values[k] : -fabs(m->values[k]);
    for (int row = 0; row < K; row++)
      CHECK_MSG(fabs(excess[row] - 1) < 1e-12, "%s: row %d", kinds[i].kind, row);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(test_triangles(ts));
  return 0;
}
