/* Lines of a text file, plain or gzip-compressed, with line numbers for messages.
 *
 * Reads   the file, or standard input if the path is "-", through zlib (which passes plain files through).
 * Writes  the text of the current line: it may be changed in place, and is valid until the next line is read.
 * Invariants
 *   - a byte-order mark of UTF-8 at the beginning is no part of the first line
 *   - a line has neither '\n' nor a '\r' before it, ends with '\0' and has no other '\0'
 *   - number is the number of the current line, from 1; after the end, of the last line */
#pragma once

#include <zlib.h>

#include "runtime/base/env.h"

#define TSI_SHOW_SIZE 72 /* size of quoted text in messages */

typedef struct tsi_text_lines {
  tsi_env *env;
  gzFile file;
  const char *path; /* The caller's path, or its tail if it is long; "standard input". */
  int64_t bytes;    /* Size of the file on disk; 0: it is no regular file. */
  char *buffer;     /* Bytes begin .. end-1 have been read, but not yet returned. */
  size_t begin, end;
  bool ended;      /* All bytes of the file have been read. */
  bool unfinished; /* The current line ends with the file, not with a newline. */
  tsi_count number;
  char where[256];
} tsi_text_lines;

/* Errors: IO (cannot be opened, a directory), MEMORY. Call tsi_lines_close in any case. */
TRISTAR_CHECKED tristar_status tsi_lines_open(tsi_text_lines *lines, tsi_env *env, const char *path);
void tsi_lines_close(tsi_text_lines *lines);

/* Returns the next line, or NULL after the last. Errors: IO, FORMAT (broken or truncated gzip data, zero
 * bytes, a line of more than 256 KiB), CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_lines_next(tsi_text_lines *lines, char **text);

/* Is the file compressed? Known after a line has been read. The next three functions need a regular file that
 * is not compressed. */
bool tsi_lines_compressed(const tsi_text_lines *lines);
/* Position of the next line, in bytes. */
int64_t tsi_lines_position(const tsi_text_lines *lines);
/* Sets the position and the number of the next line. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_lines_seek(tsi_text_lines *lines, int64_t at, tsi_count number);
/* Counts the lines that end in bytes first .. end - 1. The position of the next line is lost. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_lines_count(tsi_text_lines *lines, int64_t first, int64_t end,
                                               tsi_count *count);

/* "path:number" of the current line, for messages. */
const char *tsi_lines_where(tsi_text_lines *lines);

/* A printable, shortened copy of text, for messages. */
const char *tsi_show(char show[TSI_SHOW_SIZE], const char *text);
