/* Borders of subtrees equal the rows found by a plain search: for factorizations, and for two triangles of
 * unrelated structures with a common tree. Placings of such structures pass their check. A device has space
 * for its share of the factor, and for the tables, rows and borders of its subtrees. With less memory its
 * share is smaller. Every allocation may fail. */
#include "partition/order/borders.h"
#include "partition/order/imported_structure.h"
#include "partition/device/device_split.h"
#include "tests/support/env_allocations.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

enum { SIDES = 2 };

/* ---- Borders ------------------------------------------------------------------------------------------- */

static bool is_below(const tsi_symbolic *symbolic, tsi_index s, tsi_index root) {
  while (s != TSI_NONE && s < root) s = symbolic->parent[s];
  return s == root;
}

static void check_borders(tsi_env *env, const tsi_symbolic *symbolic) {
  OWNED tsi_index *border = xmalloc((size_t)(symbolic->count + 1) * sizeof *border);
  OWNED bool *seen = xmalloc((size_t)symbolic->n + 1);
  CHECK_OK(tsi_borders_count(env, symbolic, border));
  for (tsi_index root = 0; root < symbolic->count; root++) {
    tsi_index count = 0;
    memset(seen, 0, (size_t)symbolic->n + 1);
    for (tsi_index s = 0; s <= root; s++) {
      if (!is_below(symbolic, s, root)) continue;
      for (tsi_count r = symbolic->row_ptr[s]; r < symbolic->row_ptr[s + 1]; r++) {
        const tsi_index j = symbolic->rows[r];
        if (j >= symbolic->start[root + 1] && !seen[j]) count++;
        seen[j] = true;
      }
    }
    CHECK_MSG(border[root] == count, "the border of supernode %d has %d rows, not %d", root, border[root],
              count);
  }
}

static void check_factorizations(tsi_env *env) {
  const char *name;
  pattern a;
  for (int i = 0; pattern_case(i, &name, &a); i++) {
    tsi_graph *graph;
    tsi_symbolic *symbolic;
    tsi_symbolic_options options;
    tsi_symbolic_options_init(&options);
    CHECK_OK(tsi_graph_create(env, a.n, a.ptr, a.index, NULL, false, &graph));
    CHECK_OK(tsi_symbolic_create(env, graph, &options, &symbolic));
    check_borders(env, symbolic);
    symbolic->closed = false; /* so that the count does not rely on this property */
    check_borders(env, symbolic);
    TSI_FREE(env, symbolic);
    TSI_FREE(env, graph);
    pattern_free(&a);
  }
}

/* ---- Triangles of other structures --------------------------------------------------------------------- */

/* Draws the rows below the diagonal of random columns. Groups of columns are only coupled by the last
 * ones. */
static tsi_columns draw(tsi_index n, tsi_index groups, tsi_index tail, tsi_index percent, uint64_t *state) {
  tsi_columns c = {.n = n,
                   .ptr = xcalloc((size_t)n + 1, sizeof *c.ptr),
                   .count = xcalloc((size_t)n + 1, sizeof *c.count),
                   .row = xcalloc((size_t)n * (size_t)n + 1, sizeof *c.row)};
  tsi_count at = 0;
  CHECK(c.ptr && c.count && c.row);
  for (tsi_index j = 0; j < n; j++) {
    c.ptr[j] = at;
    for (tsi_index i = j + 1; i < n; i++) {
      const bool coupled = i >= n - tail || i * groups / (n - tail) == j * groups / (n - tail);
      if (coupled && lcg_below(state, 100) < percent) c.row[at++] = i;
    }
    c.count[j] = (tsi_index)(at - c.ptr[j]);
  }
  return c;
}

static void columns_free(tsi_columns *c) {
  free(c->ptr);
  free(c->count);
  free(c->row);
}

/* ---- Placings with all that there is beside a factor --------------------------------------------------- */

typedef struct kept {
  double *stored, *extra, *scratch;
  tsi_index *border;
  double all; /* bytes of the whole factor, and of the other data */
} kept;

static kept kept_of(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels) {
  const size_t count = (size_t)symbolic->count + 1;
  kept k = {xcalloc(count, sizeof(double)), xcalloc(count, sizeof(double)), xcalloc(count, sizeof(double)),
            xcalloc(count, sizeof(tsi_index)), 0};
  CHECK(k.stored && k.extra && k.scratch && k.border);
  CHECK_OK(tsi_borders_count(env, symbolic, k.border));
  for (tsi_index s = 0; s < symbolic->count; s++) {
    for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++)
      k.stored[s] += 8 * (double)tsi_panel_entries(panels, p);
    k.extra[s] = 100 + 12 * (symbolic->start[s + 1] - symbolic->start[s]);
    k.scratch[s] = 16 * (symbolic->start[s + 1] - symbolic->start[s]);
    k.all += k.stored[s] + k.extra[s] + k.scratch[s];
  }
  return k;
}

static void kept_free(kept *k) {
  free(k->stored);
  free(k->extra);
  free(k->scratch);
  free(k->border);
}

static void check_placings(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels) {
  CLEANUP(kept_free) kept k = kept_of(env, symbolic, panels);
  double before = 0;
  tsi_device_split_costs costs = {.devices = 2,
                                  .device_bandwidth = 1e3,
                                  .bus_bandwidth = 1e3,
                                  .cores = 2,
                                  .core_bandwidth = 0.5,
                                  .cores_bandwidth = 1,
                                  .core_task_seconds = 0.5,
                                  .cut = {.ceiling_bytes = 500, .slice_bytes = 500, .scalar_bytes = 8},
                                  .stream_bytes = 8,
                                  .row_bytes = 8,
                                  .solves = 1,
                                  .devices_first = true,
                                  .stored = k.stored,
                                  .extra = k.extra,
                                  .scratch = k.scratch,
                                  .border = k.border,
                                  .border_bytes = 20,
                                  .border_scratch = 8,
                                  .subtree_bytes = 60};
  for (int part = 0; part <= 4; part++) {
    tsi_device_split *placing;
    costs.device_memory = part == 4 ? 2 * k.all + 1e4 : part * k.all / 4;
    CHECK_OK(tsi_device_split_create(env, symbolic, panels, &costs, &placing));
    CHECK_OK(tsi_device_split_check(env, placing, symbolic, panels, &costs));
    for (tsi_index d = 0; d < placing->devices; d++) {
      const tsi_device_load *load = &placing->load[d];
      CHECK(tsi_device_load_memory(load) <= costs.device_memory);
      CHECK(load->subtrees == 0 || (load->memory > load->bytes && load->scratch > 0));
    }
    CHECK(tsi_device_split_bytes(placing) >= before);
    before = tsi_device_split_bytes(placing);
    CHECK(part < 4 || before > 0);
    TSI_FREE(env, placing);
  }
}

static void check_given(tsi_env *env, tsi_index n, tsi_index groups, tsi_index percent, uint64_t *state) {
  tsi_columns columns[SIDES];
  tsi_symbolic *symbolic[SIDES];
  for (int i = 0; i < SIDES; i++) columns[i] = draw(n, groups, n / 6, percent, state);
  CHECK_OK(tsi_symbolic_of_imported(env, SIDES, columns, 0.6, symbolic));
  for (int i = 0; i < SIDES && symbolic[i]; i++) {
    tsi_panels *panels;
    CHECK_OK(tsi_panels_create(env, symbolic[i], 16, &panels));
    check_borders(env, symbolic[i]);
    check_placings(env, symbolic[i], panels);
    TSI_FREE(env, panels);
  }
  for (int i = 0; i < SIDES; i++) TSI_FREE(env, symbolic[i]);
  for (int i = 0; i < SIDES; i++) columns_free(&columns[i]);
}

static void check_failures(tsi_env *env, uint64_t *state) {
  CLEANUP(columns_free) tsi_columns columns = draw(60, 4, 10, 20, state);
  tsi_symbolic *symbolic[SIDES];
  tsi_index border[60];
  CHECK_OK(tsi_symbolic_of_imported(env, 1, &columns, 0.6, symbolic));
  allocation_failures failing = fail_allocations(env);
  while (next_failure(&failing)) end_failure(&failing, tsi_borders_count(env, symbolic[0], border));
  CHECK(failing.count == 3);
  TSI_FREE(env, symbolic[0]);
}

int test_borders(int argc, char **argv) {
  subtests_begin(&argc, argv);
  uint64_t state = 1;
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  RUN(check_factorizations(&env));
  for (int k = 0; k < 6; k++) RUN(check_given(&env, 40 + 15 * k, 2 + k, k < 3 ? 6 : 15, &state));
  RUN(check_given(&env, 1, 1, 50, &state));
  RUN(check_failures(&env, &state));
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
