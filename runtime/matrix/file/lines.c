/* Reading a file line by line: see lines.h. */
#include "runtime/matrix/file/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/progress.h"

#define BUFFER_SIZE ((size_t)1 << 18)
#define PATH_SHOWN 160      /* messages have limited space: of a longer path they contain the tail */
#define MARK "\xEF\xBB\xBF" /* the byte-order mark of UTF-8 */

tristar_status tsi_lines_open(tsi_text_lines *lines, tsi_env *env, const char *path) {
  tristar_status status = TRISTAR_OK;
  struct stat info;
  int descriptor = -1;
  size_t length = strlen(path);
  bool standard = strcmp(path, "-") == 0;
  memset(lines, 0, sizeof *lines);
  lines->env = env;
  lines->path = standard ? "standard input" : path + (length > PATH_SHOWN ? length - PATH_SHOWN : 0);
  descriptor = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || fstat(descriptor, &info) != 0)
    TSI_FAIL_OUT(env, TRISTAR_ERR_IO, "cannot open %s: %s", lines->path, strerror(errno));
  if (S_ISDIR(info.st_mode))
    TSI_FAIL_OUT(env, TRISTAR_ERR_IO, "cannot read %s: it is a directory", lines->path);
  if (S_ISREG(info.st_mode)) lines->bytes = info.st_size;
  TSI_TRY_OUT(TSI_ALLOC(env, lines->buffer, BUFFER_SIZE + 1));
  lines->file = gzdopen(descriptor, "rb");
  if (lines->file == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_MEMORY, "out of memory: zlib for %s", lines->path);
  descriptor = -1; /* gzclose closes it */
  gzbuffer(lines->file, 1 << 16);
out:
  if (descriptor >= 0) close(descriptor);
  return status;
}

void tsi_lines_close(tsi_text_lines *lines) {
  if (lines->file != NULL) gzclose_r(lines->file); /* tsi_lines_next has reported a read error */
  lines->file = NULL;
  TSI_FREE(lines->env, lines->buffer);
}

const char *tsi_lines_where(tsi_text_lines *lines) {
  snprintf(lines->where, sizeof lines->where, "%s:%lld", lines->path, (long long)lines->number);
  return lines->where;
}

const char *tsi_show(char show[TSI_SHOW_SIZE], const char *text) {
  size_t n = 0;
  for (; text[n] != '\0' && n < TSI_SHOW_SIZE - 4; n++)
    show[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : text[n] == '\t' ? ' ' : '?';
  memcpy(show + n, text[n] == '\0' ? "" : "...", text[n] == '\0' ? 1 : 4);
  return show;
}

/* Share of the file that has been read. */
static double share_of(const tsi_text_lines *lines) {
  return lines->bytes > 0 ? fmin(1, (double)gzoffset(lines->file) / (double)lines->bytes) : 0;
}

/* Adds bytes of the file to the buffer; sets ended if there are none. */
static tristar_status fill(tsi_text_lines *lines) {
  int error = Z_OK;
  if (tsi_progress_follows(lines->env))
    TSI_TRY(tsi_progress_call(lines->env, TRISTAR_PHASE_READ, share_of(lines)));
  memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
  lines->end -= lines->begin;
  lines->begin = 0;
  if (lines->end == BUFFER_SIZE)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s:%lld: line of more than %zu bytes", lines->path,
             (long long)lines->number + 1, BUFFER_SIZE);
  errno = 0;
  int got = gzread(lines->file, lines->buffer + lines->end, (unsigned)(BUFFER_SIZE - lines->end));
  const char *cause = gzerror(lines->file, &error);
  if (error == Z_ERRNO)
    TSI_FAIL(lines->env, TRISTAR_ERR_IO, "cannot read %s: %s", lines->path, strerror(errno));
  if (error == Z_MEM_ERROR)
    TSI_FAIL(lines->env, TRISTAR_ERR_MEMORY, "out of memory: zlib for %s", lines->path);
  if (got < 0 || (got == 0 && error == Z_BUF_ERROR))
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s:%lld: %s gzip data: %.80s", lines->path,
             (long long)lines->number + 1, error == Z_BUF_ERROR ? "truncated" : "broken", cause);
  lines->end += (size_t)got;
  lines->ended = got == 0;
  return TRISTAR_OK;
}

static void skip_mark(tsi_text_lines *lines) {
  const size_t length = strlen(MARK);
  if (lines->end - lines->begin >= length && memcmp(lines->buffer + lines->begin, MARK, length) == 0)
    lines->begin += length;
}

tristar_status tsi_lines_next(tsi_text_lines *lines, char **text) {
  size_t searched = 0;
  char *newline = NULL;
  *text = NULL;
  for (;;) {
    char *line = lines->buffer + lines->begin;
    size_t held = lines->end - lines->begin;
    newline = memchr(line + searched, '\n', held - searched);
    if (newline != NULL || lines->ended) break;
    searched = held;
    TSI_TRY(fill(lines));
  }
  if (lines->number == 0) skip_mark(lines);
  if (newline == NULL && lines->begin == lines->end) return TRISTAR_OK;
  char *line = lines->buffer + lines->begin;
  char *stop = newline != NULL ? newline : lines->buffer + lines->end;
  lines->begin = (size_t)(stop - lines->buffer) + (newline != NULL);
  lines->unfinished = newline == NULL;
  lines->number++;
  if (memchr(line, '\0', (size_t)(stop - line)) != NULL)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: a zero byte: not a text file", tsi_lines_where(lines));
  if (stop > line && stop[-1] == '\r') stop--;
  *stop = '\0';
  *text = line;
  return TRISTAR_OK;
}

bool tsi_lines_compressed(const tsi_text_lines *lines) {
  return !gzdirect(lines->file);
}

int64_t tsi_lines_position(const tsi_text_lines *lines) {
  return (int64_t)gztell(lines->file) - (int64_t)(lines->end - lines->begin);
}

tristar_status tsi_lines_seek(tsi_text_lines *lines, int64_t at, tsi_count number) {
  if (gzseek(lines->file, (z_off_t)at, SEEK_SET) < 0)
    TSI_FAIL(lines->env, TRISTAR_ERR_IO, "cannot read %s at byte %lld", lines->path, (long long)at);
  lines->begin = lines->end = 0;
  lines->ended = false;
  lines->number = number - 1;
  return TRISTAR_OK;
}

tristar_status tsi_lines_count(tsi_text_lines *lines, int64_t first, int64_t end, tsi_count *count) {
  *count = 0;
  TSI_TRY(tsi_lines_seek(lines, first, 1));
  for (int64_t left = end - first; left > 0;) {
    lines->begin = lines->end = 0;
    TSI_TRY(fill(lines));
    if (lines->ended) break;
    const char *at = lines->buffer, *stop = at + (left < (int64_t)lines->end ? left : (int64_t)lines->end);
    for (; (at = memchr(at, '\n', (size_t)(stop - at))) != NULL; at++) ++*count;
    left -= (int64_t)lines->end;
  }
  return TRISTAR_OK;
}
