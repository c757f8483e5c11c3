/* The lines of a report and the text of numbers: see report.h. */
#include "drivers/report/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/session/console.h"
#include "tristar_device.h"

#define TEXT_SIZE 64

static char *next_buffer(void) {
  static _Thread_local char buffers[8][TEXT_SIZE];
  static _Thread_local unsigned next;
  return buffers[next++ % 8];
}

/* Writes digits in groups of three; returns the end of the text. */
static char *write_count(char *text, int64_t count) {
  char digits[TEXT_SIZE / 2];
  const int length = snprintf(digits, sizeof digits, "%" PRId64, count);
  for (int k = 0; k < length; k++) {
    if (k > 0 && (length - k) % 3 == 0 && digits[k - 1] != '-') *text++ = ',';
    *text++ = digits[k];
  }
  *text = '\0';
  return text;
}

const char *tsi_text_count(int64_t count) {
  char *text = next_buffer();
  write_count(text, count);
  return text;
}

const char *tsi_text_many(int64_t count, const char *singular) {
  char *text = next_buffer(), *end = write_count(text, count);
  snprintf(end, TEXT_SIZE - (size_t)(end - text), " %s%s", singular, count == 1 ? "" : "s");
  return text;
}

/* Returns value / scale with three significant digits, and the unit. */
static const char *text_scaled(double value, double scale, const char *unit) {
  char *text = next_buffer();
  const double v = value / scale;
  snprintf(text, TEXT_SIZE, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit);
  return text;
}

const char *tsi_text_seconds(double seconds) {
  if (seconds < 1e-3) return text_scaled(seconds, 1e-6, "us");
  return seconds < 1 ? text_scaled(seconds, 1e-3, "ms") : text_scaled(seconds, 1, "s");
}
const char *tsi_text_time(double seconds) {
  return seconds < 1e-3 ? text_scaled(seconds, 1e-6, "\xc2\xb5s") : tsi_text_seconds(seconds);
}
const char *tsi_text_bytes(double bytes) {
  if (bytes < 999.5) {
    char *text = next_buffer();
    snprintf(text, TEXT_SIZE, "%.0f B", bytes);
    return text;
  }
  if (bytes < 1e6) return text_scaled(bytes, 1e3, "KB");
  return bytes < 1e9 ? text_scaled(bytes, 1e6, "MB") : text_scaled(bytes, 1e9, "GB");
}
const char *tsi_text_round_bytes(double bytes) {
  char *text = next_buffer();
  const int unit = bytes < 1e3 ? 0 : bytes < 1e6 ? 1 : bytes < 1e9 ? 2 : 3;
  static const char *const names[] = {"bytes", "KB", "MB", "GB"};
  static const double sizes[] = {1, 1e3, 1e6, 1e9};
  snprintf(text, TEXT_SIZE, "%g %s", bytes / sizes[unit], names[unit]);
  return text;
}
const char *tsi_text_flops(double flops) {
  if (flops < 1e6) return text_scaled(flops, 1e3, "Kflop");
  return flops < 1e9 ? text_scaled(flops, 1e6, "Mflop") : text_scaled(flops, 1e9, "Gflop");
}

const char *tsi_method_name(tristar_method method) {
  static const char *const names[] = {"auto", "llt", "lu", "ldlt"};
  return names[method];
}

const char *tsi_symmetry_text(tristar_symmetry symmetry) {
  static const char *const names[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
  return names[symmetry];
}

double tsi_factor_flops(const tsi_session *s) {
  return s->a.flops / 2 * tsi_precision_flops(s->precision);
}

void tsi_report(const char *label, const char *format, ...) {
  va_list args;
  printf("%-10s", label);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
}

void tsi_report_matrix(const tsi_session *s) {
  const char *pattern = s->view.symmetry != TRISTAR_GENERAL ? ""
                        : s->a.symmetric_pattern            ? ", symmetric pattern"
                                                            : ", unsymmetric pattern";
  tsi_report("matrix", "%s%s", s->settings->laplacian ? "Laplacian of " : "", s->name);
  tsi_report("", "%s, %s entries, %s%s, %s%s; read in %s", tsi_text_many(s->a.n, "row"),
             tsi_text_count(s->a.nnz), s->precision->text, s->single_factors ? " (single factors)" : "",
             tsi_symmetry_text(s->view.symmetry), pattern, tsi_text_seconds(s->read_s));
  if (s->saved)
    tsi_report("", "with its %s: analysis and factor, and their times, are of the run that saved it",
               s->plan != NULL ? "plan" : "factor");
  if (s->a.rounded)
    tsi_report("", "symmetric up to rounding: one entry of each pair (i, j), (j, i) is factored");
  if (s->a.missing_mirrors > 0)
    tsi_report("", "entries (i, j) without an entry (j, i): %s", tsi_text_count(s->a.missing_mirrors));
}

void tsi_report_analysis(const tsi_session *s) {
  static const char *const methods[] = {"auto", "Cholesky", "LU", "L D L^T"};
  const bool lu = s->a.method == TRISTAR_METHOD_LU;
  const double own = lu ? (double)s->a.nnz : (double)(s->a.nnz + s->a.n) / 2; /* entries of A or a triangle */
  const int64_t factor = lu ? 2 * s->a.nnz_lower - s->a.n : s->a.nnz_lower;
  const bool conjugate = s->a.method == TRISTAR_METHOD_LDLT && s->view.symmetry == TRISTAR_HERMITIAN;
  tsi_report("analysis", "%s, %s ordering%s, in %s", conjugate ? "L D L^H" : methods[s->a.method],
             tsi_session_ordering(s), s->a.matched ? ", large entries matched to the diagonal" : "",
             tsi_text_seconds(s->analyze_s));
  if (s->a.ordering_reason != NULL && *s->a.ordering_reason != '\0')
    tsi_report("", "%s: %s", tsi_session_ordering(s), s->a.ordering_reason);
  tsi_report("", "%s entries in %s, %.1f times as many as in %s; %s", tsi_text_count(factor),
             lu ? "L and U" : "L", own > 0 ? (double)factor / own : 1, lu ? "A" : "the lower triangle of A",
             tsi_text_flops(tsi_factor_flops(s)));
  tsi_report("", "%s, the widest with %s; tree of height %s", tsi_text_many(s->a.supernodes, "supernode"),
             tsi_text_many(s->a.widest_supernode, "column"), tsi_text_count(s->a.tree_height));
}

void tsi_report_forecast(const tsi_session *s) {
  const tristar_forecast *f = &s->forecast;
  if (!s->forecasted) return;
  tsi_report("forecast",
             "%s at the peak, the matrix and the analysis (%s) included; %s for the factorization",
             tsi_text_bytes((double)f->peak_bytes), tsi_text_bytes((double)f->analysis_bytes),
             tsi_text_seconds(f->factor_seconds));
  tsi_report("", "factoring: %s by %s, %s by one thread; then the factor has %s",
             tsi_text_bytes((double)f->factor_peak_bytes), tsi_text_many(f->workers, "worker"),
             tsi_text_bytes((double)f->least_peak_bytes), tsi_text_bytes((double)f->factor_bytes));
  if (f->search_peak_bytes > 0)
    tsi_report("", "factoring with a search of delayed pivots: %s; each delayed column adds to it",
               tsi_text_bytes((double)f->search_peak_bytes));
  tsi_report("", "plan and workspace: %s; %s for a solve, by the calibration",
             tsi_text_bytes((double)(f->plan_bytes + f->solve_bytes)), tsi_text_seconds(f->solve_seconds));
  if (s->settings->singular == TRISTAR_SINGULAR_PERTURB)
    tsi_report("", "if the matrix is singular: at most %s more for a solve, of which the plan keeps %s",
               tsi_text_bytes((double)f->singular_bytes), tsi_text_bytes((double)f->singular_kept_bytes));
}

void tsi_report_factor(const tsi_session *s) {
  tsi_report("factor", "%s, %.1f GF/s; %s; %s, %s at the peak", tsi_text_seconds(s->factor_s),
             s->factor_s > 0 ? tsi_factor_flops(s) / s->factor_s / 1e9 : 0,
             tsi_text_many(s->f.perturbed_pivots, "perturbed pivot"),
             tsi_text_bytes((double)s->f.factor_bytes), tsi_text_bytes((double)s->f.peak_bytes));
  if (s->f.pivot_rounds > 0)
    tsi_report("", "%s delayed in %s; %s more entries; %s below the threshold",
               tsi_text_many(s->f.delayed_pivots, "column"), tsi_text_many(s->f.pivot_rounds, "round"),
               tsi_text_count(s->f.added_entries), tsi_text_many(s->f.unstable_pivots, "pivot"));
  if (s->f.device_fronts > 0)
    tsi_report("", "%s on GPUs, %s; %s on their buses", tsi_text_many(s->f.device_fronts, "large front"),
               tsi_text_flops(s->f.device_flops), tsi_text_bytes(s->f.device_bus_bytes));
  if (s->f.device_unfit_fronts > 0)
    tsi_report("", "no room on a GPU for %s, on the cores",
               tsi_text_many(s->f.device_unfit_fronts, "large front"));
}

void tsi_report_memory(const tsi_session *s, const tsi_bandwidth *bandwidth) {
  tristar_memory_stats memory = {0};
  char array[80] = "";
  if (tristar_get_memory(s->ts, &memory) != TRISTAR_OK) return;
  if (bandwidth->one > 0)
    snprintf(array, sizeof array, " (%s to measure the bandwidth)", tsi_text_bytes((double)bandwidth->bytes));
  tsi_report("memory", "%s at the peak in the library; %s in the process, with StarPU and all else%s",
             tsi_text_bytes((double)memory.peak_bytes), tsi_text_bytes(tsi_peak_memory(getpid())), array);
}

/* A triangle by rows on a device has no subtrees. */
void tsi_report_devices(const tristar_plan_t *plan, const tristar_plan_stats *p) {
  tristar_device_stats d;
  for (int i = 0; tristar_plan_get_device(plan, i, &d); i++)
    tsi_report(
        i == 0 ? "devices" : "",
        "%s: %s, %s of factor, %s of tables, %s of workspace; in each solve %s up, %s down its bus, %s",
        d.name, tristar_plan_get_subtree(plan, 0, NULL) ? tsi_text_many(d.chunks, "subtree") : "all rows",
        tsi_text_bytes(d.factor_bytes), tsi_text_bytes(d.table_bytes), tsi_text_bytes(d.workspace_bytes),
        tsi_text_bytes(d.up_bytes), tsi_text_bytes(d.down_bytes), tsi_text_many(d.transfers, "transfer"));
  if (p->unfit_bytes > 0)
    tsi_report(p->devices == 0 ? "devices" : "", "no room for %s of factor, which stay with the cores",
               tsi_text_bytes(p->unfit_bytes));
}

static void report_compression(const tristar_plan_stats *plan) {
  const double all = plan->storage_bytes + plan->storage_saved;
  tsi_report("storage", "%s with the tolerance %.1e: %s, %.0f %% of %s%s",
             plan->factor_released ? "the factor compressed" : "a compressed copy of the factor",
             plan->compress, tsi_text_bytes(plan->storage_bytes), 100 * plan->storage_bytes / all,
             tsi_text_bytes(all), plan->factor_released ? ", which were released" : "");
  tsi_report("", "%s, %lld of %s of low rank: %.0f %% of their bytes, mean rank %.0f %% of the full one",
             tsi_text_many(plan->compressed_panels, "panel"), (long long)plan->low_rank_blocks,
             tsi_text_many(plan->compressed_blocks, "block"),
             plan->compressed_full_bytes > 0 ? 100 * plan->compressed_bytes / plan->compressed_full_bytes : 0,
             100 * plan->rank_share);
}

static void report_storage(const tristar_plan_stats *plan) {
  const double all = plan->storage_bytes + plan->storage_saved;
  if (plan->storage_bytes <= 0) return;
  if (plan->compress > 0) {
    report_compression(plan);
    return;
  }
  tsi_report("storage", "a copy of the factor in %s, %s: %.0f %% of its bytes are saved in each sweep%s",
             plan->storage == TRISTAR_STORAGE_SINGLE ? "single precision" : "bfloat16",
             tsi_text_bytes(plan->storage_bytes), 100 * plan->storage_saved / all,
             plan->storage_panels[TRISTAR_STORAGE_FULL] > 0 ? "; panels beyond its range are as factored"
                                                            : "");
}

void tsi_report_plan(const tsi_session *s) {
  char work[120] = "no tasks: the calling thread solves";
  if (s->p.tasks > 0)
    snprintf(work, sizeof work, "%s on %s, scheduler %.32s", tsi_text_many(s->p.tasks, "task"),
             tsi_text_many(s->p.workers, "worker"), s->p.scheduler);
  tsi_report("plan", "%s, %s; %s; in %s", tsi_text_many(s->p.chunks, "chunk"),
             tsi_text_many(s->p.slices, "row slice"), work, tsi_text_seconds(s->plan_s));
  tsi_report_devices(s->plan, &s->p);
  report_storage(&s->p);
  if (s->settings->variant == NULL) return;
  if (s->p.variant_bytes > 0)
    tsi_report("", "variant %s, with matrices of %s", s->settings->variant,
               tsi_text_bytes((double)s->p.variant_bytes));
  else
    tsi_report("", "variant %s", s->settings->variant);
}

void tsi_report_way(const tsi_session *s, const tristar_explanation *explanation) {
  if (!s->settings->explain) return;
  tsi_report("way", "%s, on %s: %s", explanation->name, tsi_text_many(explanation->threads, "thread"),
             explanation->reason);
}

void tsi_report_paths(const tsi_paths *paths) {
  if (!paths->used) return;
  tsi_report(
      "",
      "only what is needed: %.1f %% of the factor, for %s of B that are given and %s of X that are computed",
      100 * paths->share, tsi_text_many(paths->given_rows, "row"),
      tsi_text_many(paths->requested_rows, "row"));
}

void tsi_report_share(const tsi_bandwidth *bandwidth, int workers, double gbps, const char *what) {
  if (bandwidth->one <= 0) return;
  const double limit = tsi_bandwidth_of(bandwidth, workers);
  tsi_report("", "%.0f %% of the read bandwidth of %s, %.1f GB/s%s%s%s", 100 * gbps / limit,
             tsi_text_many(workers > 1 ? bandwidth->cores : 1, "core"), limit, gbps > limit ? " (the " : "",
             gbps > limit ? what : "", gbps > limit ? " stays in the caches)" : "");
}

void tsi_report_stats(const tristar_solve_stats *stats) {
  const tristar_range *compute = &stats->compute_seconds, *idle = &stats->idle_seconds;
  const double all = compute->total + idle->total;
  if (stats->tasks == 0 || all <= 0) return;
  tsi_report("workers", "%s in the latest solve, %s: %s, %s streamed",
             tsi_text_many(stats->workers, "worker"), tsi_text_seconds(stats->solve_seconds),
             tsi_text_many(stats->tasks, "task"), tsi_text_bytes(stats->bytes));
  tsi_report("", "%.1f %% of their time in tasks: each worker is busy for %s to %s, idle for %s to %s",
             100 * compute->total / all, tsi_text_seconds(compute->min), tsi_text_seconds(compute->max),
             tsi_text_seconds(idle->min), tsi_text_seconds(idle->max));
}

void tsi_report_machine(const char *label, const tristar_calibration *c) {
  char l2[48] = "", l3[80] = "";
  if (c->l2_bytes > 0) snprintf(l2, sizeof l2, "; L2 of %s a core", tsi_text_bytes((double)c->l2_bytes));
  if (c->l3_bytes > 0)
    snprintf(l3, sizeof l3, "; L3 of %s for %s", tsi_text_bytes((double)c->l3_bytes),
             tsi_text_many(c->l3_cores, "core"));
  tsi_report(label, "%s, %s%s%s", tsi_text_many(c->cores, "core"), tsi_text_many(c->numa_nodes, "NUMA node"),
             l2, l3);
}
