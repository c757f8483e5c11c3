/* Files of saved objects: a sink that replaces a file after it is complete, and a source that reads a file.
 *
 * Functions return IO for failures of the system; the message has the file and the cause. */
#pragma once

#include <stdio.h>

#include "runtime/base/output_file.h"
#include "runtime/save/records.h"

typedef struct tsi_sink_file {
  tsi_sink sink;
  const char *path;
  FILE *file; /* NULL: closed */
  tsi_output_file output;
} tsi_sink_file;

/* Opens a temporary file for `path`. After a failure the caller has nothing to close. Errors: ARGUMENT (path
 * is NULL), IO. */
TRISTAR_CHECKED tristar_status tsi_sink_file_open(tsi_env *env, const char *path, tsi_sink_file *out);
/* Closes the temporary file after the last record. put: the status of the records. Returns `put`; RUNTIME
 * becomes IO. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_sink_file_close(tsi_sink_file *file, tristar_status put);
/* Ends the output after tsi_sink_file_close. If complete, the new file replaces the old one; otherwise it is
 * deleted. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_sink_file_end(tsi_sink_file *file, bool complete);

typedef struct tsi_source_file {
  tsi_source source;
  bool open;
  int descriptor;
  int threads; /* threads that read a large record of a regular file together */
  int code;    /* errno of the last read; ENODATA: end of file */
} tsi_source_file;

/* path and *out must not move while the source is in use. The cores that the context may use read large
 * records together. Errors: ARGUMENT (path is NULL), IO. */
TRISTAR_CHECKED tristar_status tsi_source_file_open(tristar_t *ts, const char *path, tsi_source_file *out);
/* status: of records that were just read. RUNTIME becomes IO, or FORMAT at the end of the file. */
TRISTAR_CHECKED tristar_status tsi_source_file_explain(const tsi_source_file *file, tristar_status status);
void tsi_source_file_close(tsi_source_file *file);
