/* Text into a file, plain or gzip-compressed, or to standard output, through one buffer.
 *
 * A file that is there is replaced at the end, if all went well (output_file.h). Errors are remembered: the
 * functions that write say nothing, and tsi_writer_close gives the first one. */
#pragma once

#include <zlib.h>

#include "runtime/base/env.h"
#include "runtime/base/output_file.h"

typedef struct tsi_writer {
  tsi_env *env;
  gzFile file;
  tsi_output_file output; /* takes the place of the old one at the end */
  const char *path;
  char *buffer;
  size_t used;
  bool failed;
  int error; /* errno of the first failure */
} tsi_writer;

/* Compressed if path ends in ".gz"; "-": standard output. tsi_writer_close follows in any case. Errors: IO,
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_writer_open(tsi_writer *writer, tsi_env *env, const char *path);
/* At most 256 bytes of formatted text a call. */
__attribute__((format(printf, 2, 3))) void tsi_writer_print(tsi_writer *writer, const char *format, ...);
/* Text of any length, each of its lines behind a '%'. NULL: nothing. */
void tsi_writer_comment(tsi_writer *writer, const char *text);
/* Closes; status is that of the caller so far, and is given back unless it is OK and writing failed (IO). */
TRISTAR_CHECKED tristar_status tsi_writer_close(tsi_writer *writer, tristar_status status);
