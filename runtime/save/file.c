/* Files of saved objects: see file.h. */
#include "runtime/save/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/threads.h"
#include "runtime/context/context.h"

#define BUFFER ((size_t)1 << 20) /* buffer of an output file, which joins small records */
#define PAGE ((size_t)2 << 20)
#define MOST_THREADS 64

static int write_to_file(void *file, const void *data, size_t bytes) {
  return fwrite(data, 1, bytes, file) == bytes ? 0 : errno != 0 ? errno : EIO;
}

static tristar_status fail_to_write(const tsi_env *env, const char *path, int code) {
  TSI_FAIL(env, TRISTAR_ERR_IO, "cannot write %s: %s", path, strerror(code));
}

tristar_status tsi_sink_file_open(tsi_env *env, const char *path, tsi_sink_file *out) {
  int descriptor = -1;
  out->file = NULL;
  out->output.descriptor = -1;
  if (path == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "path is NULL");
  const int code = tsi_output_file_begin(&out->output, path, &descriptor);
  if (code != 0) return fail_to_write(env, path, code);
  out->file = fdopen(descriptor, "wb");
  if (out->file == NULL) {
    close(descriptor);
    (void)tsi_output_file_end(&out->output, false);
    return fail_to_write(env, path, ENOMEM);
  }
  (void)setvbuf(out->file, NULL, _IOFBF, BUFFER);
  out->path = path;
  out->sink = (tsi_sink){env, write_to_file, out->file};
  errno = 0;
  return TRISTAR_OK;
}

tristar_status tsi_sink_file_close(tsi_sink_file *file, tristar_status put) {
  int code = 0;
  if (put == TRISTAR_ERR_RUNTIME || fflush(file->file) != 0) code = errno != 0 ? errno : EIO;
  if (fclose(file->file) != 0 && code == 0) code = errno;
  file->file = NULL;
  return code == 0 ? put : fail_to_write(file->sink.env, file->path, code);
}

tristar_status tsi_sink_file_end(tsi_sink_file *file, bool complete) {
  const int code = tsi_output_file_end(&file->output, complete);
  return code == 0 ? TRISTAR_OK : fail_to_write(file->sink.env, file->path, code);
}

/* ---- Reading --------------------------------------------------------------------------------------------
 */

/* Reads at this offset; negative: at the current position. Returns 0 or an errno. */
static int read_at(int descriptor, char *data, size_t bytes, off_t offset) {
  while (bytes > 0) {
    const ssize_t got = offset < 0 ? read(descriptor, data, bytes) : pread(descriptor, data, bytes, offset);
    if (got == 0) return ENODATA;
    if (got < 0 && errno != EINTR) return errno;
    if (got < 0) continue;
    data += got;
    bytes -= (size_t)got;
    if (offset >= 0) offset += got;
  }
  return 0;
}

static int read_from_file(void *arg, void *data, size_t bytes) {
  tsi_source_file *file = arg;
  return file->code = read_at(file->descriptor, data, bytes, -1);
}

/* A record that threads read together. Each thread reads pieces of one huge page at a time, and is the first
 * to write to it. */
typedef struct shared_read {
  int descriptor;
  off_t offset;
  char *to;
  size_t bytes;
  uint64_t *checks;
  atomic_size_t next;
  atomic_int code;
} shared_read;

/* Reads one page. Returns false if there is none, or a read failed. */
static bool read_page(shared_read *r) {
  const size_t page = atomic_fetch_add(&r->next, PAGE), end = page + PAGE < r->bytes ? page + PAGE : r->bytes;
  if (atomic_load(&r->code) != 0) return false;
  for (size_t at = page, piece; at < end; at += piece) {
    piece = tsi_piece_bytes(end - at);
    const int code = read_at(r->descriptor, r->to + at, piece, r->offset + (off_t)at);
    if (code != 0) atomic_store(&r->code, code);
    r->checks[at / TSI_SAVED_PIECE] = code == 0 ? tsi_piece_fingerprint(r->to + at, piece) : 0;
  }
  return page < r->bytes;
}

static void *read_pages(void *arg) {
  while (read_page(arg)) continue;
  return NULL;
}

static size_t progress_of(const shared_read *r) {
  const size_t next = atomic_load(&r->next);
  return next < r->bytes ? next : r->bytes;
}

/* Reads a record with several threads; with fewer if some cannot be started. The calling thread reports the
 * progress. */
static int read_together(void *arg, void *data, size_t bytes, uint64_t *checks) {
  tsi_source_file *file = arg;
  pthread_t thread[MOST_THREADS];
  int started = 0;
  shared_read r = {.descriptor = file->descriptor,
                   .offset = lseek(file->descriptor, 0, SEEK_CUR),
                   .to = data,
                   .bytes = bytes,
                   .checks = checks};
  if (r.offset < 0) return file->code = errno;
  while (started + 1 < file->threads && (size_t)(started + 1) * PAGE < bytes &&
         tsi_thread_start(NULL, &thread[started], read_pages, &r) == TRISTAR_OK)
    started++;
  while (read_page(&r))
    if (tsi_source_look(&file->source, progress_of(&r)) != TRISTAR_OK) atomic_store(&r.code, ECANCELED);
  while (started > 0) pthread_join(thread[--started], NULL);
  file->code = atomic_load(&r.code);
  if (file->code == 0 && lseek(file->descriptor, (off_t)bytes, SEEK_CUR) < 0) file->code = errno;
  return file->code;
}

tristar_status tsi_source_file_open(tristar_t *ts, const char *path, tsi_source_file *out) {
  tsi_env *env = &ts->env;
  struct stat info;
  *out = (tsi_source_file){.threads = 1};
  if (path == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "path is NULL");
  out->descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (out->descriptor < 0) TSI_FAIL(env, TRISTAR_ERR_IO, "cannot read %s: %s", path, strerror(errno));
  out->open = true;
  const bool regular = fstat(out->descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (ts->workers.allowed)
    out->threads = (int)tsi_index_min(MOST_THREADS, tsi_expected_helping_cores(ts->workers.wishes.workers));
  out->source = (tsi_source){.env = env,
                             .read = read_from_file,
                             .read_pieces = regular ? read_together : NULL,
                             .arg = out,
                             .subject = path,
                             .left = regular ? (uint64_t)info.st_size : UINT64_MAX};
  return TRISTAR_OK;
}

tristar_status tsi_source_file_explain(const tsi_source_file *file, tristar_status status) {
  const tsi_source *source = &file->source;
  if (status != TRISTAR_ERR_RUNTIME || !file->open || file->code == 0) return status;
  if (file->code == ENODATA)
    TSI_FAIL(source->env, TRISTAR_ERR_FORMAT, "%s: damaged: it ends early", source->subject);
  TSI_FAIL(source->env, TRISTAR_ERR_IO, "cannot read %s: %s", source->subject, strerror(file->code));
}

void tsi_source_file_close(tsi_source_file *file) {
  if (file->open) close(file->descriptor);
  file->open = false;
}
