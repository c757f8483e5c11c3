/* The DAG of a sweep as a Graphviz file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dag/sweep.h"

static void write_nodes(FILE *file, const tsi_sweep *sweep, const tsi_chunks *chunks) {
  for (tsi_index c = 0; c < sweep->chunks; c++)
    fprintf(file, "  c%d [label=\"chunk %d\\ncolumns %d..%d\\n%.0f kB\"];\n", c, c, chunks->column[c],
            chunks->column[c + 1] - 1, sweep->bytes[c] / 1e3);
  for (tsi_index k = 0; k < sweep->slices; k++)
    fprintf(file, "  s%d [shape=ellipse, label=\"slice of %d\\n%.0f kB\"];\n", k, sweep->slice_chunk[k],
            sweep->bytes[sweep->chunks + k] / 1e3);
}

static void write_edges(FILE *file, const tsi_sweep *sweep) {
  for (tsi_index v = 0; v < sweep->nodes; v++)
    for (tsi_count e = sweep->next_ptr[v]; e < sweep->next_ptr[v + 1]; e++) {
      const tsi_index to = sweep->next[e];
      fprintf(file, "  %c%d -> %c%d;\n", v < sweep->chunks ? 'c' : 's',
              v < sweep->chunks ? v : v - sweep->chunks, to < sweep->chunks ? 'c' : 's',
              to < sweep->chunks ? to : to - sweep->chunks);
    }
}

/* "-": standard output, which stays open. */
static FILE *open_output(const char *path) {
  if (strcmp(path, "-") != 0) return fopen(path, "w");
  const int descriptor = dup(STDOUT_FILENO);
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
  if (file == NULL && descriptor >= 0) close(descriptor);
  return file;
}

tristar_status tsi_sweep_write_dot(tsi_env *env, const tsi_sweep *sweep, const tsi_chunks *chunks,
                                   const char *path) {
  tristar_status status = TRISTAR_OK;
  FILE *file = open_output(path);
  if (file == NULL)
    TSI_FAIL_OUT(env, TRISTAR_ERR_IO, "%s: cannot be opened for writing: %s", path, strerror(errno));
  fprintf(file, "digraph forward {\n  rankdir=BT;\n  node [shape=box, fontname=\"sans-serif\"];\n");
  write_nodes(file, sweep, chunks);
  write_edges(file, sweep);
  fprintf(file, "}\n");
  if (ferror(file))
    status = tsi_fail(env, TRISTAR_ERR_IO, __func__, __FILE__, __LINE__, "%s: cannot be written", path);
out:
  if (file && fclose(file) != 0 && status == TRISTAR_OK)
    status = tsi_fail(env, TRISTAR_ERR_IO, __func__, __FILE__, __LINE__, "%s: cannot be written", path);
  return status;
}
