/* Files of saved objects: a sink that replaces a file once it is complete, and a source that reads one.
 *
 * Functions return IO for what the system refuses; the message has the file and the cause. */
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

/* After a failure there is nothing to be closed. Errors: ARGUMENT (path is NULL), IO. */
TRISTAR_CHECKED tristar_status tsi_sink_file_open(tsi_env *env, const char *path, tsi_sink_file *out);
/* After the last record. put: the status of the records. Errors: put, which becomes IO if it was RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_sink_file_close(tsi_sink_file *file, tristar_status put);
/* After that: the file replaces the old one, or, not complete, vanishes. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_sink_file_end(tsi_sink_file *file, bool complete);

typedef struct tsi_source_file {
  tsi_source source;
  bool open;
  int descriptor;
  int threads; /* that read a large record of a regular file */
  int code;    /* errno of the last read; ENODATA: the file has ended */
} tsi_source_file;

/* path and *out stay where they are as long as the source is used. The cores that the context may use read
 * large records together. Errors: ARGUMENT (path is NULL), IO. */
TRISTAR_CHECKED tristar_status tsi_source_file_open(tristar_t *ts, const char *path, tsi_source_file *out);
/* status: of records that were read just now. RUNTIME becomes IO, or FORMAT at the end of the file. */
TRISTAR_CHECKED tristar_status tsi_source_file_explain(const tsi_source_file *file, tristar_status status);
void tsi_source_file_close(tsi_source_file *file);
