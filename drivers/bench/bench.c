/* `tristar bench`: inspects the matrices, measures all cases, prints and writes the results: see bench.h. */
#include <stdio.h>
#include <stdlib.h>

#include "drivers/bench/bench.h"
#include "drivers/bench/bench_fsai.h"
#include "drivers/bench/bench_triangular.h"
#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/draw/picture.h"
#include "drivers/session/session.h"
#include "drivers/session/triangle.h"

/* Opens a session with a matrix, without StarPU. */
static bool open_matrix(tsi_session *s, const tsi_settings *settings, const char *name) {
  return tsi_session_open(s, settings, name) && tsi_session_read(s);
}

/* Counts the entries of the whole matrix; a symmetric one stores only a triangle. */
static int64_t count_entries(const tristar_view *view) {
  const int64_t *ptr = view->ptr;
  const int32_t *index = view->index;
  int64_t count = ptr[view->cols];
  if (view->symmetry == TRISTAR_GENERAL) return count;
  for (int64_t j = 0; j < view->cols; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++) count += index[e] != j;
  return count;
}

/* Reads the matrix, so that a wrong name is reported at once, and releases it: the contenders read it
 * themselves. */
int tsi_bench_inspect(const tsi_settings *settings, const char *name, tsi_bench_matrix *m) {
  tsi_session session, *s = &session;
  tsi_settings serial = *settings;
  serial.engine = TRISTAR_ENGINE_SERIAL;
  *m = (tsi_bench_matrix){.name = name, .path = name};
  if (!open_matrix(s, &serial, name) && s->status == TRISTAR_ERR_UNSUPPORTED && s->matrix != NULL &&
      s->view.values == NULL) {
    s->status = TRISTAR_OK; /* a pattern: solves use its Laplacian */
    tsi_session_close(s);
    m->pattern = serial.laplacian = true;
    open_matrix(s, &serial, name);
  }
  if (s->status == TRISTAR_OK) {
    m->n = s->view.rows;
    m->nnz = count_entries(&s->view);
    m->is_complex = s->view.scalar == TRISTAR_COMPLEX_DOUBLE;
    m->triangular = tsi_is_triangle(s->ts, &s->view);
  }
  return tsi_session_close(s);
}

static int inspect_all(const tsi_settings *settings, tsi_bench_matrix *matrices) {
  int status = TSI_EXIT_OK;
  for (int k = 0; k < settings->operand_count && status == TSI_EXIT_OK; k++)
    status = tsi_bench_inspect(settings, settings->operands[k], &matrices[k]);
  return status;
}

void tsi_bench_print_missing(const tsi_bench_setup *setup) {
  const char *between = "";
  for (int k = 0; k < TSI_BENCH_PEERS; k++) {
    if (!setup->missing[k]) continue;
    printf("%s%s", *between ? between : "Peers that are not installed, and are skipped: ",
           setup->family->peers[k].title);
    between = ", ";
  }
  if (*between)
    printf("\nTheir programs are built with TriStar where their libraries are installed (Debian: %s); "
           "--peers none: "
           "without any\n\n",
           setup->family->packages);
}

/* Measures and prints all cases; returns the number of measured cases. */
static int measure_all(const tsi_bench_setup *setup, const tsi_bench_matrix *matrices,
                       tsi_bench_case *cases) {
  const tsi_settings *settings = setup->settings;
  const bool print = !settings->to_stdout;
  const int all = settings->operand_count * setup->nrhs_count;
  if (print) tsi_bench_print_missing(setup);
  for (int k = 0; k < all; k++) {
    tsi_bench_case *c = &cases[k];
    c->begin = k == 0 ? setup->begin : tsi_now();
    const tsi_bench_matrix *m = &matrices[k / setup->nrhs_count];
    c->setup = setup;
    c->matrix = m;
    c->nrhs = setup->nrhs[k % setup->nrhs_count];
    c->repeat = settings->repeat;
    c->number = k + 1;
    c->all = all;
    if (print && k % setup->nrhs_count == 0) tsi_bench_print_matrix(setup, m);
    if (!tsi_bench_case_measure(c)) return k + 1;
    if (!print) continue;
    (settings->quick ? tsi_bench_quick_print : tsi_bench_print)(c);
    tsi_bench_print_variants(c);
    if (settings->reuse) tsi_bench_print_reuse(c);
    tsi_bench_print_schedulers(c);
    fflush(stdout);
  }
  return all;
}

/* Returns the exit status. The purpose is a comparison, so it fails only if no TriStar solved. */
static int judge(const tsi_bench_case *cases, int count) {
  for (int k = 0; k < count; k++)
    if (cases[k].best_tristar < 0) return TSI_EXIT_FAILED;
  return TSI_EXIT_OK;
}

static int run(const tsi_bench_setup *setup, tsi_bench_matrix *matrices, tsi_bench_case *cases) {
  const tsi_settings *settings = setup->settings;
  const int all = settings->operand_count * setup->nrhs_count;
  int status = inspect_all(settings, matrices);
  tsi_bench_process_guard();
  if (status != TSI_EXIT_OK) return status;
  const int count = measure_all(setup, matrices, cases);
  status = count == all && cases[all - 1].results != NULL ? judge(cases, count) : TSI_EXIT_FAILED;
  if (settings->json != NULL && !tsi_bench_write_json(setup, cases, count)) status = TSI_EXIT_FAILED;
  if (settings->svg != NULL && !tsi_bench_write_svg(setup, cases, count)) status = TSI_EXIT_FAILED;
  for (int k = 0; k < count; k++) tsi_bench_case_free(&cases[k]);
  return status;
}

/* TriStar uses the ordering of --ordering; its default is the ordering of most peers. */
static void choose_ordering(tsi_bench_setup *setup) {
  setup->options[0] = "--ordering";
  setup->options[1] = tsi_options_bench_ordering(setup->settings);
  setup->options[2] = NULL;
}

static int measure(const tsi_settings *settings) {
  if (settings->operand_count == 0) return tsi_usage_error("bench", "no MATRIX given");
  if (settings->bench_fsai && settings->triangular)
    return tsi_usage_error("bench", "--fsai and --triangular exclude each other");
  if (settings->quick && (settings->bench_fsai || settings->triangular || settings->fresh))
    return tsi_usage_error("bench", "--quick goes without --fsai, --triangular and --fresh");
  if (settings->bench_fsai) return tsi_bench_fsai(settings);
  if (settings->ranks_list != NULL || settings->steps > 0 || settings->per_step > 0 ||
      settings->tolerance >= 0)
    return tsi_usage_error("bench", "--ranks, --steps, --per-step and --tol need --fsai");
  if (settings->triangular) return tsi_bench_triangular(settings);
  if (settings->partitions_list != NULL || settings->orders_list != NULL || settings->of_list != NULL ||
      settings->uplo_list != NULL)
    return tsi_usage_error("bench", "--partitions, --orders, --of and --uplo need --triangular");
  tsi_bench_setup *setup = malloc(sizeof *setup);
  tsi_bench_matrix *matrices = calloc((size_t)settings->operand_count, sizeof *matrices);
  tsi_bench_case *cases = calloc((size_t)settings->operand_count * TSI_LIST_MAX, sizeof *cases);
  int status = TSI_EXIT_FAILED;
  if (setup == NULL || matrices == NULL || cases == NULL)
    tsi_console_error("bench: out of memory");
  else
    status = tsi_picture_check("bench", "svg", settings->svg);
  if (status == TSI_EXIT_OK) status = tsi_bench_setup_make(setup, settings);
  if (status == TSI_EXIT_OK) choose_ordering(setup);
  if (status == TSI_EXIT_OK) status = run(setup, matrices, cases);
  free(setup);
  free(matrices);
  free(cases);
  return status;
}

int tsi_command_bench(const tsi_settings *settings) {
  const int status = measure(settings);
  tsi_bench_process_unguard();
  return status;
}
