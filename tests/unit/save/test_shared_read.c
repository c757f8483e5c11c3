/* A large record that several threads read from a file: the elements and the fingerprint equal the result of
 * one thread. Damage anywhere, and a file that shrinks after it was opened, give FORMAT. */
#include <unistd.h>

#include "runtime/save/file.h"
#include "tests/support/context.h"
#include "tests/support/saved_bytes.h"
#include "tests/support/subtests.h"

#define FILE_NAME "shared_read.tristar"
enum { COUNT = (int)(17 * TSI_SAVED_PIECE + 4321) }; /* number of bytes; the last piece is incomplete */

static unsigned char *elements(void) {
  unsigned char *data = xcalloc(1, COUNT);
  uint64_t state = 7;
  for (int k = 0; k < COUNT; k++) data[k] = (unsigned char)next_random(&state);
  return data;
}

static void write_records(tristar_t *ts, const unsigned char *data) {
  tsi_sink_file file;
  const int64_t word = 5;
  CHECK_OK(tsi_sink_file_open(tsi_context_env(ts), FILE_NAME, &file));
  CHECK_OK(tsi_sink_begin(&file.sink, "factor"));
  CHECK_OK(TSI_PUT(&file.sink, "large", COUNT, data));
  CHECK_OK(TSI_PUT(&file.sink, "word", 1, &word));
  CHECK_OK(tsi_sink_end(&file.sink));
  CHECK_OK(tsi_sink_file_close(&file, TRISTAR_OK));
  CHECK_OK(tsi_sink_file_end(&file, true));
}

/* Truncates the file to `keep` bytes (if not 0) after reading has begun. Also verifies the word after the
 * record. */
static tristar_status read_records(tristar_t *ts, int threads, off_t keep, unsigned char *data) {
  CLEANUP(tsi_source_file_close) tsi_source_file file;
  char kind[TSI_RECORD_NAME];
  int64_t word = 0;
  CHECK_OK(tsi_source_file_open(ts, FILE_NAME, &file));
  file.threads = threads;
  if (threads == 0) file.source.read_pieces = NULL;
  CHECK_OK(tsi_source_begin(&file.source, kind));
  if (keep > 0) CHECK(truncate(FILE_NAME, keep) == 0);
  const tristar_status status =
      tsi_source_file_explain(&file, tsi_get_to(&file.source, "large", 1, COUNT, data));
  if (status != TRISTAR_OK) return status;
  CHECK_OK(tsi_get_to(&file.source, "word", sizeof word, 1, &word));
  CHECK(word == 5 && tsi_source_has(&file.source, "end"));
  return TRISTAR_OK;
}

static void check_elements(tristar_t *ts) {
  OWNED unsigned char *data = elements(), *got = xcalloc(1, COUNT);
  write_records(ts, data);
  for (int threads = 0; threads < 6; threads++) {
    memset(got, 0, COUNT);
    CHECK_OK(read_records(ts, threads, 0, got));
    CHECK_MSG(memcmp(got, data, COUNT) == 0, "%d threads", threads);
  }
}

static void check_damage(tristar_t *ts) {
  OWNED unsigned char *data = elements(), *got = xcalloc(1, COUNT);
  static const int places[] = {0, (int)TSI_SAVED_PIECE, COUNT / 2, COUNT - 1};
  for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
    write_records(ts, data);
    FILE *file = fopen(FILE_NAME, "r+b");
    CHECK(file != NULL && fseek(file, HEADER + (long)sizeof(tsi_record) + places[k], SEEK_SET) == 0);
    CHECK(fputc(data[places[k]] ^ 16, file) != EOF && fclose(file) == 0);
    for (int threads = 0; threads < 4; threads += 3)
      CHECK_STATUS(read_records(ts, threads, 0, got), TRISTAR_ERR_FORMAT);
  }
}

static void check_shorter(tristar_t *ts) {
  OWNED unsigned char *data = elements(), *got = xcalloc(1, COUNT);
  for (int threads = 0; threads < 4; threads++) {
    char text[512];
    write_records(ts, data);
    CHECK_STATUS(read_records(ts, threads, COUNT / 2, got), TRISTAR_ERR_FORMAT);
    tristar_get_error(ts, text, sizeof text);
    CHECK_MSG(strstr(text, "ends early") != NULL, "%s", text);
  }
}

int test_shared_read(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(false);
  RUN(check_elements(ts));
  RUN(check_damage(ts));
  RUN(check_shorter(ts));
  unlink(FILE_NAME);
  close_context(&ts);
  return 0;
}
