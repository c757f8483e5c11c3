/* Records: see records.h. */
#include "runtime/save/records.h"

#include <errno.h>

#include "runtime/base/fingerprint.h"
#include "runtime/base/progress.h"

#define LANES 8
#define SHARED_BYTES (16 * TSI_SAVED_PIECE) /* minimum size of a record that several threads read */
#define ORDER_OF_BYTES 0x01020304u

typedef struct header {
  char magic[8];
  uint32_t order, version;
  char writer[TSI_RECORD_NAME], kind[TSI_RECORD_NAME];
  uint64_t check;
} header;
_Static_assert(sizeof(header) == 56 && sizeof(tsi_record) == 40 && sizeof TRISTAR_SAVED_MAGIC == 9,
               "the file has no padding");

static const char magic[] = TRISTAR_SAVED_MAGIC;

/* ---- The fingerprint of elements ------------------------------------------------------------------------
 *
 * Word k of a piece is mixed into lane k mod 8: (lane ^ word) times an odd number, xor its upper half. Each
 * of these steps is one-to-one, so that a change of one word always changes the fingerprint; eight lanes keep
 * the multiplier busy. Threads compute fingerprints of pieces at the same time. */

static inline uint64_t mix_word(uint64_t lane, const char *from) {
  uint64_t word;
  memcpy(&word, from, sizeof word);
  const uint64_t x = (lane ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return x ^ (x >> 32);
}

static inline void mix_block(uint64_t lane[LANES], const char *block) {
#pragma GCC unroll 8
  for (int k = 0; k < LANES; k++) lane[k] = mix_word(lane[k], block + (size_t)k * sizeof *lane);
}

uint64_t tsi_piece_fingerprint(const void *data, size_t bytes) {
  uint64_t lane[LANES] = {0};
  const char *from = data;
  size_t left = bytes;
  for (; left >= sizeof lane; left -= sizeof lane, from += sizeof lane) mix_block(lane, from);
  if (left > 0) {
    char last[sizeof lane] = {0};
    memcpy(last, from, left);
    mix_block(lane, last);
  }
  return tsi_fingerprint(bytes, lane, sizeof lane);
}

static void set_name(char *to, const char *name) {
  memset(to, 0, TSI_RECORD_NAME);
  memcpy(to, name, strlen(name));
}

/* ---- Writing --------------------------------------------------------------------------------------------
 */

static tristar_status write_bytes(tsi_sink *sink, const void *data, size_t bytes) {
  const int code = bytes > 0 ? sink->write(sink->arg, data, bytes) : 0;
  if (code != 0)
    TSI_FAIL(sink->env, TRISTAR_ERR_RUNTIME, "the function `write` of the caller returned %d", code);
  return TRISTAR_OK;
}

tristar_status tsi_sink_begin(tsi_sink *sink, const char *kind) {
  header h = {.order = ORDER_OF_BYTES, .version = TSI_SAVED_VERSION};
  memcpy(h.magic, magic, sizeof h.magic);
  set_name(h.writer, tristar_version());
  set_name(h.kind, kind);
  h.check = tsi_fingerprint(0, &h, offsetof(header, check));
  return write_bytes(sink, &h, sizeof h);
}

tristar_status tsi_put(tsi_sink *sink, const char *name, size_t bytes, tsi_count count, const void *data) {
  tsi_record record = {.bytes = bytes, .count = (uint64_t)count};
  uint64_t check = 0;
  if (data == NULL) return TRISTAR_OK;
  set_name(record.name, name);
  record.check = tsi_fingerprint(0, &record, offsetof(tsi_record, check));
  TSI_TRY(write_bytes(sink, &record, sizeof record));
  const char *from = data;
  for (size_t left = bytes * (size_t)count, piece; left > 0; left -= piece, from += piece) {
    piece = tsi_piece_bytes(left);
    check = tsi_fingerprint_word(check, tsi_piece_fingerprint(from, piece));
    TSI_TRY(write_bytes(sink, from, piece));
  }
  return write_bytes(sink, &check, sizeof check);
}

static int64_t get_word(const char *from, char kind) {
  int64_t word = 0;
  int32_t four;
  switch (kind) {
  case '1':
    return (signed char)*from;
  case 'b':
    return *(const bool *)from;
  case '4':
    memcpy(&four, from, sizeof four);
    return four;
  default:
    memcpy(&word, from, sizeof word);
    return word;
  }
}

static void set_word(char *to, char kind, int64_t word) {
  const int32_t four = (int32_t)word;
  switch (kind) {
  case '1':
    *to = (char)word;
    break;
  case 'b':
    *(bool *)to = word != 0;
    break;
  case '4':
    memcpy(to, &four, sizeof four);
    break;
  default:
    memcpy(to, &word, sizeof word);
  }
}

tristar_status tsi_put_fields(tsi_sink *sink, const char *name, const tsi_field *fields, size_t count,
                              const void *from) {
  TSI_SCRATCH(sink->env, int64_t, word, count);
  for (size_t k = 0; k < count; k++)
    word[k] = get_word((const char *)from + fields[k].offset, fields[k].kind);
  return TSI_PUT(sink, name, count, word);
}

tristar_status tsi_sink_end(tsi_sink *sink) {
  return tsi_put(sink, "end", 1, 0, "");
}

/* ---- Reading --------------------------------------------------------------------------------------------
 */

tristar_status tsi_source_look(const tsi_source *source, size_t bytes) {
  const double left = (double)source->left - (double)bytes;
  return tsi_progress_look(source->env, TRISTAR_PHASE_READ,
                           source->left == UINT64_MAX ? 0 : 1 - left / (double)source->all);
}

/* Reads bytes. checks: fingerprints of the pieces; NULL: not requested. */
static tristar_status read_pieces(tsi_source *source, void *data, size_t bytes, uint64_t *checks) {
  int code = 0;
  if (source->all == 0) source->all = source->left;
  TSI_TRY(tsi_source_look(source, 0));
  if (bytes > source->left)
    TSI_DAMAGED(source, "it ends early, %llu bytes are left", (unsigned long long)source->left);
  if (bytes > 0)
    code = checks != NULL ? source->read_pieces(source->arg, data, bytes, checks)
                          : source->read(source->arg, data, bytes);
  if (code == ECANCELED && checks != NULL) return TRISTAR_ERR_CANCELLED;
  if (code != 0)
    TSI_FAIL(source->env, TRISTAR_ERR_RUNTIME, "the function `read` of the caller returned %d", code);
  if (source->left != UINT64_MAX) source->left -= bytes;
  return TRISTAR_OK;
}

static tristar_status read_bytes(tsi_source *source, void *data, size_t bytes) {
  return read_pieces(source, data, bytes, NULL);
}

static tristar_status read_record(tsi_source *source) {
  tsi_record *next = &source->next;
  TSI_TRY(read_bytes(source, next, sizeof *next));
  if (next->check != tsi_fingerprint(0, next, offsetof(tsi_record, check)) ||
      next->name[TSI_RECORD_NAME - 1] != '\0')
    TSI_DAMAGED(source, "%s", "the checksum of the head of a record is wrong");
  return TRISTAR_OK;
}

tristar_status tsi_source_begin(tsi_source *source, char *kind) {
  header h;
  if (source->left < sizeof h)
    TSI_FAIL(source->env, TRISTAR_ERR_FORMAT, "%s: no saved object of TriStar: it has %llu bytes",
             source->subject, (unsigned long long)source->left);
  TSI_TRY(read_bytes(source, &h, sizeof h));
  if (memcmp(h.magic, magic, sizeof h.magic) != 0)
    TSI_FAIL(source->env, TRISTAR_ERR_FORMAT, "%s: no saved object of TriStar: it begins in another way",
             source->subject);
  if (h.order != ORDER_OF_BYTES)
    TSI_FAIL(source->env, TRISTAR_ERR_UNSUPPORTED,
             "%s: saved on a machine with another order of bytes: save it on a machine like this one",
             source->subject);
  if (h.version != TSI_SAVED_VERSION)
    TSI_FAIL(source->env, TRISTAR_ERR_UNSUPPORTED,
             "%s: version %u of the format; this library, TriStar %s, reads version %d", source->subject,
             h.version, tristar_version(), TSI_SAVED_VERSION);
  if (h.check != tsi_fingerprint(0, &h, offsetof(header, check)) || h.kind[TSI_RECORD_NAME - 1] != '\0')
    TSI_DAMAGED(source, "%s", "the checksum of its header is wrong");
  memcpy(kind, h.kind, sizeof h.kind);
  return read_record(source);
}

bool tsi_source_has(const tsi_source *source, const char *name) {
  return strcmp(source->next.name, name) == 0;
}

/* Checks the name and the size of the next record. */
static tristar_status expect(const tsi_source *source, const char *name, size_t bytes, tsi_count count) {
  const tsi_record *next = &source->next;
  if (!tsi_source_has(source, name))
    TSI_DAMAGED(source, "record \"%s\" is there instead of \"%s\"", next->name, name);
  if (count < 0 || next->bytes != bytes || next->count != (uint64_t)count)
    TSI_DAMAGED(source, "record \"%s\" has %llu elements of %llu bytes, and should have %lld of %zu", name,
                (unsigned long long)next->count, (unsigned long long)next->bytes, (long long)count, bytes);
  return TRISTAR_OK;
}

static tristar_status read_shared(tsi_source *source, void *to, size_t bytes, uint64_t *check) {
  const size_t pieces = (bytes - 1) / TSI_SAVED_PIECE + 1;
  TSI_SCRATCH(source->env, uint64_t, checks, pieces);
  TSI_TRY(read_pieces(source, to, bytes, checks));
  for (size_t k = 0; k < pieces; k++) *check = tsi_fingerprint_word(*check, checks[k]);
  return TRISTAR_OK;
}

static tristar_status read_elements(tsi_source *source, char *to, size_t bytes, uint64_t *check) {
  *check = 0;
  if (source->read_pieces != NULL && bytes >= SHARED_BYTES) return read_shared(source, to, bytes, check);
  for (size_t left = bytes, piece; left > 0; left -= piece, to += piece) {
    piece = tsi_piece_bytes(left);
    TSI_TRY(read_bytes(source, to, piece));
    *check = tsi_fingerprint_word(*check, tsi_piece_fingerprint(to, piece));
  }
  return TRISTAR_OK;
}

tristar_status tsi_get_to(tsi_source *source, const char *name, size_t bytes, tsi_count count, void *to) {
  uint64_t check, right;
  TSI_TRY(expect(source, name, bytes, count));
  TSI_TRY(read_elements(source, to, bytes * (size_t)count, &right));
  TSI_TRY(read_bytes(source, &check, sizeof check));
  if (check != right) TSI_DAMAGED(source, "the checksum of record \"%s\" is wrong", name);
  return strcmp(name, "end") == 0 ? TRISTAR_OK : read_record(source);
}

tristar_status tsi_get(tsi_source *source, const char *name, size_t bytes, tsi_count count, void *owner,
                       void **out) {
  size_t total;
  TSI_TRY(expect(source, name, bytes, count));
  if (!tsi_size_mul(bytes, (size_t)count, &total) || total > source->left)
    TSI_DAMAGED(source, "record \"%s\" is larger than the rest of the file", name);
  TSI_TRY(TSI_ALLOC_SIZED(source->env, *out, count, bytes));
  if (owner != NULL) tsi_own(owner, *out);
  const tristar_status status = tsi_get_to(source, name, bytes, count, *out);
  if (status != TRISTAR_OK && owner == NULL) TSI_FREE(source->env, *out);
  return status;
}

tristar_status tsi_get_fields(tsi_source *source, const char *name, const tsi_field *fields, size_t count,
                              void *to) {
  TSI_SCRATCH(source->env, int64_t, word, count);
  TSI_TRY(tsi_get_to(source, name, sizeof *word, (tsi_count)count, word));
  for (size_t k = 0; k < count; k++) {
    if (fields[k].kind == '4' && word[k] != (int32_t)word[k])
      TSI_DAMAGED(source, "field %zu of record \"%s\" is %lld", k, name, (long long)word[k]);
    set_word((char *)to + fields[k].offset, fields[k].kind, word[k]);
  }
  return TRISTAR_OK;
}
