/* Dense matrices from files. */
#pragma once

#include "runtime/matrix/file/lines.h"
#include "tristar.h"
#include "tristar_matrix.h"

/* tristar_dense_read. complex_text: in plain text two numbers are one complex value. */
TRISTAR_CHECKED tristar_status tsi_dense_read(tsi_env *env, const char *path, bool complex_text,
                                              tristar_dense *dense);

/* dense_text.c: reads a file of plain text whose first line is `text`. width: numbers of a value, 1 or 2.
 * Errors: FORMAT (other text than numbers, rows of different lengths, half a complex value), NOT_FINITE,
 * TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dense_read_text(tsi_text_lines *lines, const char *text, int width,
                                                   tristar_dense *dense);
