/* Buffered output of text to a file, plain or gzip-compressed, or to standard output.
 *
 * An existing file is replaced at the end, if no error occurred (output_file.h). Functions that write return
 * no status: tsi_writer_close returns the first error. */
#pragma once

#include <zlib.h>

#include "runtime/base/env.h"
#include "runtime/base/output_file.h"

typedef struct tsi_writer {
  tsi_env *env;
  gzFile file;
  tsi_output_file output; /* It replaces an existing file at the end. */
  const char *path;
  char *buffer;
  size_t used;
  bool failed;
  int error; /* errno of the first failure. */
} tsi_writer;

/* Compressed if path ends in ".gz"; "-": standard output. Call tsi_writer_close in any case. Errors: IO,
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_writer_open(tsi_writer *writer, tsi_env *env, const char *path);
/* At most 256 bytes of formatted text per call. */
__attribute__((format(printf, 2, 3))) void tsi_writer_print(tsi_writer *writer, const char *format, ...);
/* Text of any length, each of its lines after a '%'. NULL: nothing. */
void tsi_writer_comment(tsi_writer *writer, const char *text);
/* Closes the file. status: the status of the caller so far. Returns status, or IO if status is OK and writing
 * failed. */
TRISTAR_CHECKED tristar_status tsi_writer_close(tsi_writer *writer, tristar_status status);
