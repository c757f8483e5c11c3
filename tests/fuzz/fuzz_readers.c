/* All functions that read a file, on arbitrary bytes. The first byte of an input selects the function that
 * reads the rest:
 *
 *   m, M   tristar_matrix_read; M: the rest is compressed first
 *   d, D   tristar_dense_read; D: the same
 *   r      the rows of `tristar solve --rows`
 *   c      the file of a calibration
 *
 * Any other byte is the first byte of a matrix file. A digit k after it: reads again with the k^2-th
 * allocation failing.
 *
 * Checks: the status is one that the header names, with a message; or the object fulfils its invariants
 * (tsi_matrix_check), and has the same bits after it was written and read again. No memory is lost. Sizes: if
 * a file declares more data than memory, MEMORY is right (the stage limits memory). */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "drivers/report/paths.h"
#include "runtime/machine/calibration.h"
#include "runtime/context/context.h"
#include "runtime/matrix/matrix.h"
#include "tests/fuzz/fuzz.h"

enum { ROWS = 12 }; /* order of the systems for lists of rows */

static tristar_t *ts;
static int input = -1, output = -1; /* files in memory */
static char input_path[64], output_path[64];

static void make_file(const char *name, int *descriptor, char *path, size_t size) {
  *descriptor = memfd_create(name, 0);
  if (*descriptor < 0) abort();
  snprintf(path, size, "/proc/self/fd/%d", *descriptor);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  tristar_config config;
  (void)argc;
  (void)argv;
  tristar_config_init(&config);
  config.use_starpu = 0;
  config.check = 1;
  config.calibration = "off";
  if (tristar_create(&config, &ts) != TRISTAR_OK) abort();
  make_file("input", &input, input_path, sizeof input_path);
  make_file("output", &output, output_path, sizeof output_path);
  return 0;
}

static void write_input(const uint8_t *data, size_t size) {
  if (ftruncate(input, 0) != 0 || pwrite(input, data, size, 0) != (ssize_t)size) abort();
}

static void write_compressed(const uint8_t *data, size_t size) {
  if (ftruncate(input, 0) != 0) abort();
  gzFile file = gzopen(input_path, "wb1");
  if (file == NULL || gzwrite(file, data, (unsigned)size) != (int)size || gzclose(file) != Z_OK) abort();
}

/* ---- Judgement ---------------------------------------------------------------------------------------- */

static size_t memory_held(void) {
  tristar_memory_stats memory;
  tristar_get_memory(ts, &memory);
  return memory.current_bytes;
}

static void judge_failure(const char *call, tristar_status status) {
  char message[512] = "";
  tristar_get_error(ts, message, sizeof message);
  note("%s -> %s: %s\n", call, tristar_status_name(status), message);
  MUST(status == TRISTAR_ERR_IO || status == TRISTAR_ERR_FORMAT || status == TRISTAR_ERR_TOO_LARGE ||
           status == TRISTAR_ERR_NOT_FINITE || status == TRISTAR_ERR_MEMORY ||
           status == TRISTAR_ERR_UNSUPPORTED,
       "%s gives %s", call, tristar_status_name(status));
  MUST(*message != '\0', "%s fails without a message", call);
  if (status == TRISTAR_ERR_FORMAT || status == TRISTAR_ERR_NOT_FINITE)
    MUST(strstr(message, input_path) != NULL, "the message of %s does not name the file", call);
}

/* Patterns have no values. */
static bool same_values(const tristar_view *a, const tristar_view *b, int64_t entries) {
  const size_t size = (a->scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1) * sizeof(double);
  if ((a->values == NULL) != (b->values == NULL) || a->scalar != b->scalar) return false;
  return a->values == NULL || entries == 0 || memcmp(a->values, b->values, (size_t)entries * size) == 0;
}

static bool same_matrices(const tristar_matrix_t *first, const tristar_matrix_t *second) {
  tristar_view a, b;
  tristar_matrix_get_view(first, &a);
  tristar_matrix_get_view(second, &b);
  if (a.rows != b.rows || a.cols != b.cols || a.symmetry != b.symmetry) return false;
  const int64_t entries = ((const int64_t *)a.ptr)[a.cols];
  return memcmp(a.ptr, b.ptr, ((size_t)a.cols + 1) * sizeof(int64_t)) == 0 &&
         (entries == 0 || memcmp(a.index, b.index, (size_t)entries * sizeof(int32_t)) == 0) &&
         same_values(&a, &b, entries);
}

/* ---- Readers ------------------------------------------------------------------------------------------ */

static void write_and_read_matrix(const tristar_matrix_t *matrix) {
  tristar_matrix_t *again = NULL;
  tristar_view view;
  tristar_matrix_get_view(matrix, &view);
  if (ftruncate(output, 0) != 0) abort();
  tristar_status status = tristar_matrix_write(ts, output_path, &view, "fuzz");
  MUST(status == TRISTAR_OK, "a matrix that was read cannot be written: %s", tristar_status_name(status));
  status = tristar_matrix_read(ts, output_path, &again);
  MUST(status == TRISTAR_OK, "a matrix that was written cannot be read: %s", tristar_status_name(status));
  MUST(same_matrices(matrix, again), "a matrix differs after it was written and read");
  tristar_matrix_destroy(&again);
}

static void read_matrix(bool whole) {
  tristar_matrix_t *matrix = NULL;
  const tristar_status status = tristar_matrix_read(ts, input_path, &matrix);
  if (status != TRISTAR_OK) {
    MUST(matrix == NULL, "tristar_matrix_read fails and leaves a matrix");
    judge_failure("tristar_matrix_read", status);
    return;
  }
  MUST(tsi_matrix_check(matrix) == TRISTAR_OK, "a matrix that was read breaks its invariants");
  if (whole) write_and_read_matrix(matrix);
  tristar_matrix_destroy(&matrix);
}

static void read_dense(bool whole) {
  tristar_dense dense = {0}, again = {0};
  const tristar_status status = tristar_dense_read(ts, input_path, &dense);
  if (status != TRISTAR_OK) {
    MUST(dense.values == NULL, "tristar_dense_read fails and leaves values");
    judge_failure("tristar_dense_read", status);
    return;
  }
  MUST(dense.rows >= 0 && dense.cols >= 0, "%lld x %lld numbers", (long long)dense.rows,
       (long long)dense.cols);
  const size_t width = dense.scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1;
  const size_t count = (size_t)(dense.rows * dense.cols) * width;
  for (size_t k = 0; k < count; k++)
    MUST(isfinite(((const double *)dense.values)[k]), "a number that was read is not finite");
  if (whole) {
    if (ftruncate(output, 0) != 0) abort();
    MUST(tristar_dense_write(ts, output_path, &dense, NULL) == TRISTAR_OK, "numbers read cannot be written");
    MUST(tristar_dense_read(ts, output_path, &again) == TRISTAR_OK, "numbers written cannot be read");
    MUST(again.rows == dense.rows && again.cols == dense.cols && again.scalar == dense.scalar &&
             (count == 0 || memcmp(again.values, dense.values, count * sizeof(double)) == 0),
         "numbers differ after they were written and read");
    tristar_dense_destroy(ts, &again);
  }
  tristar_dense_destroy(ts, &dense);
}

static void read_rows(void) {
  static double values[ROWS] = {1, 0, 1};
  const tristar_dense b = {ROWS, 1, TRISTAR_DOUBLE, values};
  const tsi_settings settings = {.rows = input_path};
  tsi_session session = {
      .settings = &settings, .name = "fuzz", .ts = ts, .precision = tsi_precision_of(TRISTAR_DOUBLE)};
  tsi_paths paths;
  bool seen[ROWS] = {false};
  if (!tsi_paths_make(&session, &b, &paths)) {
    note("--rows -> %s: %s\n", tristar_status_name(session.status), session.message);
    MUST(session.status == TRISTAR_ERR_FORMAT || session.status == TRISTAR_ERR_IO ||
             session.status == TRISTAR_ERR_TOO_LARGE || session.status == TRISTAR_ERR_MEMORY,
         "--rows gives %s", tristar_status_name(session.status));
    MUST(strstr(session.message, input_path) != NULL, "the message of --rows does not name the file");
  } else {
    MUST(paths.requested_rows >= 1 && paths.requested_rows <= ROWS, "%lld rows",
         (long long)paths.requested_rows);
    for (int64_t k = 0; k < paths.requested_rows; k++) {
      const int64_t row = paths.requested[k];
      MUST(row >= 0 && row < ROWS && !seen[row], "row %lld", (long long)row);
      seen[row] = true;
    }
  }
  tsi_paths_free(&paths);
}

static void read_calibration(void) {
  tristar_calibration c;
  char why[512] = "";
  tsi_calibration_init(&c);
  const tristar_status status = tsi_calibration_read(input_path, &c, why, sizeof why);
  note("calibration -> %s: %s\n", tristar_status_name(status), why);
  if (status != TRISTAR_OK) {
    MUST(status == TRISTAR_ERR_FORMAT || status == TRISTAR_ERR_IO, "a calibration gives %s",
         tristar_status_name(status));
    MUST(strstr(why, input_path) != NULL, "the message of a calibration does not name the file");
    return;
  }
  MUST(c.task_microseconds > 0 && c.read_gbps_one > 0 && c.floor_bytes >= 1e5 && c.floor_bytes <= 3.2e6,
       "a calibration of %g us, %g GB/s, %g bytes", c.task_microseconds, c.read_gbps_one, c.floor_bytes);
  MUST(c.barrier_microseconds >= 0 && c.read_gbps_all >= 0 && c.workers >= 0 && c.cores >= 0 &&
           c.numa_nodes >= 0 && c.l2_bytes >= 0 && c.l3_bytes >= 0 && c.l3_cores >= 0,
       "a calibration has negative figures");
}

static void read_once(int kind, bool whole) {
  const size_t before = memory_held();
  if (kind == 'd' || kind == 'D')
    read_dense(whole);
  else if (kind == 'r')
    read_rows();
  else if (kind == 'c')
    read_calibration();
  else
    read_matrix(whole);
  MUST(memory_held() == before, "%zd bytes are left behind", (ssize_t)(memory_held() - before));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int kind = 0;
  int64_t fail = 0;
  account_begin();
  if (size > 0 && strchr("mMdDrc", data[0]) != NULL && data[0] != '\0') {
    kind = *data++;
    size--;
    if (size > 0 && data[0] >= '0' && data[0] <= '9') {
      fail = (int64_t)(data[0] - '0') * (data[0] - '0');
      data++;
      size--;
    }
  }
  note("%c, allocation %lld fails:\n%.*s\n", kind ? kind : 'm', (long long)fail,
       (int)(size < 4000 ? size : 4000), (const char *)data);
  if (kind == 'M' || kind == 'D')
    write_compressed(data, size);
  else
    write_input(data, size);
  read_once(kind, true);
  if (fail == 0) return 0;
  if (tristar_fail_allocation(ts, fail) != TRISTAR_OK) abort();
  read_once(kind, false);
  if (tristar_fail_allocation(ts, 0) != TRISTAR_OK) abort();
  return 0;
}
