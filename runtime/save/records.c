/* Records: see records.h. */
#include "runtime/save/records.h"

#include "runtime/base/fingerprint.h"

#define PIECE                                                                                                \
  ((size_t)1 << 18) /* bytes that are written or read at a time, and fingerprinted in the cache              \
                     */
#define LANES 8
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
 * Word k is mixed into lane k mod 8: (lane ^ word) times an odd number, xor its upper half. Each of these
 * steps is one-to-one, so that a change of one word always changes the fingerprint; eight lanes keep the
 * multiplier busy. */

typedef struct mix {
  uint64_t lane[LANES], bytes;
} mix;

static void mix_block(mix *m, const void *block) {
  uint64_t word[LANES];
  memcpy(word, block, sizeof word);
  for (int k = 0; k < LANES; k++) {
    const uint64_t x = (m->lane[k] ^ word[k]) * UINT64_C(0x9e3779b97f4a7c15);
    m->lane[k] = x ^ (x >> 32);
  }
}

/* All pieces but the last one are whole blocks. */
static void mix_piece(mix *m, const char *data, size_t bytes) {
  const size_t block = sizeof m->lane;
  m->bytes += bytes;
  for (; bytes >= block; bytes -= block, data += block) mix_block(m, data);
  if (bytes == 0) return;
  char last[sizeof m->lane] = {0};
  memcpy(last, data, bytes);
  mix_block(m, last);
}

static uint64_t mix_end(const mix *m) {
  return tsi_fingerprint(m->bytes, m->lane, sizeof m->lane);
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
  mix m = {.bytes = 0};
  if (data == NULL) return TRISTAR_OK;
  set_name(record.name, name);
  record.check = tsi_fingerprint(0, &record, offsetof(tsi_record, check));
  TSI_TRY(write_bytes(sink, &record, sizeof record));
  const char *from = data;
  for (size_t left = bytes * (size_t)count, piece; left > 0; left -= piece, from += piece) {
    piece = left < PIECE ? left : PIECE;
    mix_piece(&m, from, piece);
    TSI_TRY(write_bytes(sink, from, piece));
  }
  const uint64_t check = mix_end(&m);
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

static tristar_status read_bytes(tsi_source *source, void *data, size_t bytes) {
  if (bytes > source->left)
    TSI_DAMAGED(source, "it ends early, %llu bytes are left", (unsigned long long)source->left);
  const int code = bytes > 0 ? source->read(source->arg, data, bytes) : 0;
  if (code != 0)
    TSI_FAIL(source->env, TRISTAR_ERR_RUNTIME, "the function `read` of the caller returned %d", code);
  if (source->left != UINT64_MAX) source->left -= bytes;
  return TRISTAR_OK;
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

/* Is the next record this one, and of this size? */
static tristar_status expect(const tsi_source *source, const char *name, size_t bytes, tsi_count count) {
  const tsi_record *next = &source->next;
  if (!tsi_source_has(source, name))
    TSI_DAMAGED(source, "record \"%s\" is there instead of \"%s\"", next->name, name);
  if (count < 0 || next->bytes != bytes || next->count != (uint64_t)count)
    TSI_DAMAGED(source, "record \"%s\" has %llu elements of %llu bytes, and should have %lld of %zu", name,
                (unsigned long long)next->count, (unsigned long long)next->bytes, (long long)count, bytes);
  return TRISTAR_OK;
}

tristar_status tsi_get_to(tsi_source *source, const char *name, size_t bytes, tsi_count count, void *to) {
  mix m = {.bytes = 0};
  uint64_t check;
  TSI_TRY(expect(source, name, bytes, count));
  char *at = to;
  for (size_t left = bytes * (size_t)count, piece; left > 0; left -= piece, at += piece) {
    piece = left < PIECE ? left : PIECE;
    TSI_TRY(read_bytes(source, at, piece));
    mix_piece(&m, at, piece);
  }
  TSI_TRY(read_bytes(source, &check, sizeof check));
  if (check != mix_end(&m)) TSI_DAMAGED(source, "the checksum of record \"%s\" is wrong", name);
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
