/* See report.h. */
#include "tools/gpu/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/base/median.h"
#include "tests/support/check.h"

void gpu_report_begin(gpu_report *r, const char *device, double bandwidth, double dgemm) {
  *r = (gpu_report){.bandwidth = bandwidth, .dgemm = dgemm};
  snprintf(r->device, sizeof r->device, "%s", device);
  printf("%s: reads %.1f GB/s", r->device, 1e-9 * bandwidth);
  printf(dgemm > 0 ? ", DGEMM %.2f TF/s\n" : ", no BLAS to ask for DGEMM\n", 1e-12 * dgemm);
}

void gpu_report_problem(gpu_report *r, int64_t points, int64_t n, int64_t entries) {
  if (r->n == 0) {
    printf("L of a Poisson matrix: %" PRId64 " rows, %" PRId64 " entries\n", n, entries);
    printf("%-36s %-4s %4s %11s %7s %8s %6s %8s %6s %8s %7s\n", "", "type", "rhs", "ms", "spread", "GB/s",
           "read", "GF/s", "DGEMM", "error", "1 core");
  }
  r->points = points;
  r->n = n;
  r->entries = entries;
}

void gpu_case_add(gpu_case *c, double seconds) {
  c->seconds[c->times++] = seconds;
}

/* Prints the share of a known whole in per cent, else a dash. */
static void print_share(double part, double whole) {
  if (whole > 0)
    printf(" %4.0f %%", 100 * part / whole);
  else
    printf(" %6s", "-");
}

static double median(const gpu_case *c) {
  double sorted[GPU_TIMES_MAX];
  memcpy(sorted, c->seconds, (size_t)c->times * sizeof *sorted);
  return tsi_median(sorted, (size_t)c->times);
}

/* (Slowest - fastest) / median. */
static double spread(const gpu_case *c) {
  double least = INFINITY, most = 0;
  for (int k = 0; k < c->times; k++) {
    least = fmin(least, c->seconds[k]);
    most = fmax(most, c->seconds[k]);
  }
  return (most - least) / median(c);
}

double gpu_report_add(gpu_report *r, const gpu_case *c) {
  const double seconds = median(c);
  r->cases = realloc(r->cases, (size_t)(r->count + 1) * sizeof *r->cases);
  CHECK(r->cases != NULL);
  r->cases[r->count++] = *c;
  printf("%-36s %-4s %4d %11.4f %5.0f %% %8.1f", c->what, c->scalars, c->nrhs, 1e3 * seconds, 100 * spread(c),
         1e-9 * c->bytes / seconds);
  print_share(c->bytes / seconds, r->bandwidth);
  printf(" %8.1f", 1e-9 * c->flops / seconds);
  print_share(c->flops / seconds, r->dgemm);
  printf(" %8.1e", c->error);
  if (c->of_core > 0) printf(" %6.2fx", c->of_core / seconds);
  if (c->rows > 0) printf(" %.3g rows/s", c->rows / seconds);
  const bool bits = !c->has_bits || c->same_bits;
  printf("%s%s\n", c->right ? "" : " WRONG", bits ? "" : " OTHER BITS");
  fflush(stdout);
  r->wrong += !c->right || !bits;
  return seconds;
}

static void write_case(FILE *file, const gpu_report *r, const gpu_case *c) {
  const double seconds = median(c);
  fprintf(file,
          "    {\"what\": \"%s\", \"scalars\": \"%s\", \"nrhs\": %d, \"seconds\": %.9g, \"spread\": %.4g,\n",
          c->what, c->scalars, c->nrhs, seconds, spread(c));
  fprintf(file, "     \"bytes\": %.0f, \"flops\": %.0f, ", c->bytes, c->flops);
  if (isfinite(c->error))
    fprintf(file, "\"error\": %.4g", c->error);
  else
    fputs("\"error\": null", file);
  fprintf(file, ", \"right\": %s", c->right ? "true" : "false");
  if (c->has_bits) fprintf(file, ", \"same_bits\": %s", c->same_bits ? "true" : "false");
  if (r->bandwidth > 0) fprintf(file, ", \"bandwidth_share\": %.6g", c->bytes / seconds / r->bandwidth);
  if (r->dgemm > 0) fprintf(file, ", \"dgemm_share\": %.6g", c->flops / seconds / r->dgemm);
  if (c->rows > 0) fprintf(file, ", \"rows_per_s\": %.6g", c->rows / seconds);
  if (c->of_core > 0) fprintf(file, ", \"speed_up_core\": %.6g", c->of_core / seconds);
  fputs("}", file);
}

void gpu_report_write(const gpu_report *r, const char *name) {
  FILE *file = fopen(name, "w");
  CHECK_MSG(file != NULL, "cannot write %s", name);
  fprintf(file, "{\n  \"device\": \"%s\",\n  \"read_bytes_per_s\": %.6g,\n  \"dgemm_flops_per_s\": %.6g,\n",
          r->device, r->bandwidth, r->dgemm);
  fprintf(file,
          "  \"points\": %" PRId64 ",\n  \"rows\": %" PRId64 ",\n  \"entries\": %" PRId64
          ",\n  \"cases\": [\n",
          r->points, r->n, r->entries);
  for (int k = 0; k < r->count; k++) {
    write_case(file, r, &r->cases[k]);
    fputs(k + 1 < r->count ? ",\n" : "\n", file);
  }
  fputs("  ]\n}\n", file);
  CHECK_MSG(!ferror(file) && fclose(file) == 0, "cannot write %s", name);
}

int gpu_report_end(gpu_report *r) {
  printf("%d cases, %d of them wrong\n", r->count, r->wrong);
  free(r->cases);
  return r->wrong > 0 || r->count == 0;
}
