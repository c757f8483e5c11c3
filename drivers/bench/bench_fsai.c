/* `tristar bench --fsai`: measures all matrices, prints and writes the results: see bench_fsai.h. */
#include "drivers/bench/bench_fsai.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/console.h"
#include "drivers/draw/picture.h"

#define FSAI "TriStar, FSAI"
#define JACOBI "TriStar, Jacobi"
#define FIGURE(name) offsetof(tsi_fsai_figures, name)

const tsi_fsai_claim tsi_fsai_claims[] = {
    {"hypre_setup", "set-up: hypre's FSAI / TriStar's", "hypre, FSAI", FSAI, FIGURE(setup_s)},
    {"hypre_iterations", "iterations: hypre's FSAI / TriStar's", "hypre, FSAI", FSAI, FIGURE(iterations)},
    {"hypre_total", "set-up and solve: hypre's FSAI / TriStar's", "hypre, FSAI", FSAI, FIGURE(total_s)},
    {"jacobi_total", "set-up and solve: TriStar's Jacobi / TriStar's FSAI", JACOBI, FSAI, FIGURE(total_s)},
    {"petsc_jacobi_iteration", "an iteration: PETSc's Jacobi / TriStar's", "PETSc, Jacobi", JACOBI,
     FIGURE(iteration_s)},
    {"petsc_icc_total", "set-up and solve: PETSc's ICC / TriStar's FSAI", "PETSc, ICC", FSAI,
     FIGURE(total_s)},
    {"pipelined_iteration", "an iteration with FSAI: pipelined CG / CG", "TriStar, FSAI, pipelined", FSAI,
     FIGURE(iteration_s)}};
const int tsi_fsai_claim_count = sizeof tsi_fsai_claims / sizeof *tsi_fsai_claims;

/* ---- Figures ------------------------------------------------------------------------------------------- */

double tsi_fsai_bandwidth(const tsi_bench_case *c, int ranks) {
  if (ranks == 1) return tsi_bench_median(c->rates.bandwidths, "bandwidth_one_core_gbps", NULL, NULL);
  return ranks == c->setup->workers_most ? c->rates.bandwidth : 0;
}

bool tsi_fsai_find(const tsi_bench_case *c, int k, tsi_fsai_figures *figures) {
  const tsi_bench_result *r = c->results != NULL ? &c->results[k] : NULL;
  *figures = (tsi_fsai_figures){.iterations = 0};
  if (r == NULL || !r->ok) return false;
  const char *setup = c->setup->contenders[k].peer < 0 ? "setup_s" : "factor_s";
  *figures = (tsi_fsai_figures){.iterations = tsi_bench_median(r->rounds, "iterations", NULL, NULL),
                                .setup_s = tsi_bench_median(r->rounds, setup, NULL, NULL),
                                .solve_s = r->solve_s,
                                .entries = tsi_bench_median(r->rounds, "nnz_factor", NULL, NULL),
                                .backward_error = r->backward_error};
  figures->iteration_s = figures->solve_s / fmax(figures->iterations, 1);
  figures->total_s = figures->setup_s + figures->solve_s;
  if (c->setup->contenders[k].peer >= 0) return true;
  const double product_s = tsi_bench_median(r->rounds, "product_s", NULL, NULL);
  const double bandwidth = tsi_fsai_bandwidth(c, c->setup->contenders[k].ranks);
  if (product_s > 0)
    figures->product_gbps = 1e-9 * tsi_bench_median(r->rounds, "product_read_bytes", NULL, NULL) *
                            tsi_bench_median(r->rounds, "products", NULL, NULL) / product_s;
  if (bandwidth > 0) figures->product_share = figures->product_gbps / bandwidth;
  return true;
}

int tsi_fsai_contender(const tsi_bench_setup *setup, const char *title, int ranks) {
  for (int k = 0; k < setup->count; k++)
    if (setup->contenders[k].ranks == ranks && strcmp(setup->contenders[k].krylov->title, title) == 0)
      return k;
  return -1;
}

int tsi_fsai_ranks(const tsi_bench_setup *setup, int ranks[TSI_LIST_MAX]) {
  int count = 0;
  for (int k = 0; k < setup->count; k++)
    if (setup->contenders[k].peer < 0 && (count == 0 || setup->contenders[k].ranks != ranks[count - 1]))
      ranks[count++] = setup->contenders[k].ranks;
  return count;
}

static double figure_of(const tsi_bench_case *c, const char *title, int ranks, size_t which) {
  tsi_fsai_figures figures;
  const int k = tsi_fsai_contender(c->setup, title, ranks);
  double value = 0;
  if (k >= 0 && tsi_fsai_find(c, k, &figures)) memcpy(&value, (const char *)&figures + which, sizeof value);
  return value;
}

double tsi_fsai_ratio(const tsi_bench_case *c, const tsi_fsai_claim *claim, int ranks) {
  const double over = figure_of(c, claim->over, ranks, claim->figure);
  const double under = figure_of(c, claim->under, ranks, claim->figure);
  return over > 0 && under > 0 ? over / under : 0;
}

double tsi_fsai_mean(const tsi_fsai_bench *b, const tsi_fsai_claim *claim, int ranks) {
  double sum = 0;
  int count = 0;
  for (int m = 0; m < b->count; m++) {
    const double ratio = tsi_fsai_ratio(&b->cases[m], claim, ranks);
    if (ratio <= 0) continue;
    sum += log(ratio);
    count++;
  }
  return count > 0 ? exp(sum / count) : 0;
}

/* ---- The command --------------------------------------------------------------------------------------- */

/* Returns the exit status. The purpose is a comparison, so it fails only if TriStar's FSAI did not solve. */
static int judge(const tsi_fsai_bench *b) {
  int ranks[TSI_LIST_MAX];
  const int count = tsi_fsai_ranks(&b->setup, ranks);
  for (int m = 0; m < b->count; m++)
    for (int r = 0; r < count; r++)
      if (!(figure_of(&b->cases[m], FSAI, ranks[r], FIGURE(total_s)) > 0)) return TSI_EXIT_FAILED;
  return TSI_EXIT_OK;
}

static int measure(tsi_fsai_bench *b) {
  const tsi_settings *settings = b->setup.settings;
  const bool print = !settings->to_stdout;
  int status = TSI_EXIT_OK;
  for (int m = 0; m < settings->operand_count && status == TSI_EXIT_OK; m++)
    status = tsi_bench_inspect(settings, settings->operands[m], &b->matrices[m]);
  tsi_bench_process_guard();
  if (status != TSI_EXIT_OK) return status;
  if (print) tsi_bench_print_missing(&b->setup);
  for (int m = 0; m < settings->operand_count; m++) {
    tsi_bench_case *c = &b->cases[m];
    *c = (tsi_bench_case){.setup = &b->setup,
                          .matrix = &b->matrices[m],
                          .nrhs = 1,
                          .repeat = settings->repeat,
                          .number = m + 1,
                          .all = settings->operand_count};
    if (!tsi_bench_case_measure(c)) return TSI_EXIT_FAILED;
    b->count++;
    if (print) tsi_fsai_print(c);
  }
  if (print) tsi_fsai_print_summary(b);
  status = judge(b);
  if (settings->json != NULL && !tsi_fsai_write_json(b)) status = TSI_EXIT_FAILED;
  if (settings->svg != NULL && !tsi_fsai_write_svg(b)) status = TSI_EXIT_FAILED;
  return status;
}

static int check_words(const tsi_settings *settings) {
  if (settings->nrhs_list != NULL || settings->variants_list != NULL || settings->sched_list != NULL ||
      settings->workers_list != NULL || settings->compress_list != NULL || settings->store_list != NULL ||
      settings->reuse)
    return tsi_usage_error("bench", "--fsai goes without --nrhs, --workers, --sched, --variants, --compress, "
                                    "--store and --reuse");
  if (settings->partitions_list != NULL || settings->orders_list != NULL || settings->of_list != NULL ||
      settings->uplo_list != NULL)
    return tsi_usage_error("bench", "--partitions, --orders, --of and --uplo need --triangular");
  return tsi_picture_check("bench", "svg", settings->svg);
}

int tsi_bench_fsai(const tsi_settings *settings) {
  int status = check_words(settings);
  if (status != TSI_EXIT_OK) return status;
  tsi_fsai_bench *b = calloc(1, sizeof *b);
  if (b != NULL) {
    b->matrices = calloc((size_t)settings->operand_count, sizeof *b->matrices);
    b->cases = calloc((size_t)settings->operand_count, sizeof *b->cases);
  }
  if (b == NULL || b->matrices == NULL || b->cases == NULL) {
    tsi_console_error("bench: out of memory");
    status = TSI_EXIT_FAILED;
  }
  if (status == TSI_EXIT_OK) status = tsi_bench_setup_make(&b->setup, settings);
  if (status == TSI_EXIT_OK) status = measure(b);
  for (int m = 0; b != NULL && b->cases != NULL && m < settings->operand_count; m++)
    tsi_bench_case_free(&b->cases[m]);
  if (b != NULL) free(b->matrices);
  if (b != NULL) free(b->cases);
  free(b);
  return status;
}
