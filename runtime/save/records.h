/* Records: the format of saved objects in a file, or in the bytes of a function of the caller.
 *
 *   header   magic[8], order of bytes, version, writer[16], kind[16], check                56 bytes
 *   record   name[16], bytes of an element, number of elements, check                       40 bytes
 *            the elements, and their fingerprint (8 bytes): of the fingerprints of their pieces
 *   ...      the last record is "end" and has no elements
 *
 * A check is a fingerprint of the bytes before it. Bytes are written and read once, in order, so pipes work
 * as well. The fields of a struct form one record of 8-byte words, in the order of a table: files contain no
 * padding and no pointers.
 *
 * Reads   the objects that the caller saves.
 * Writes  by tsi_sink, reads by tsi_source. */
#pragma once

#include "runtime/base/env.h"
#include "tristar_save.h"

#define TSI_SAVED_VERSION 10
#define TSI_SAVED_PIECE ((size_t)1 << 18) /* bytes that fit in the caches of a core */
#define TSI_RECORD_NAME 16
#define TSI_SAVED_RANK "rank" /* kind of the file of one rank of a distributed factor */

typedef struct tsi_sink {
  tsi_env *env;
  tristar_write_fn write;
  void *arg;
} tsi_sink;

typedef struct tsi_record {
  char name[TSI_RECORD_NAME]; /* padded with zeros */
  uint64_t bytes, count;      /* bytes of an element; number of elements */
  uint64_t check;
} tsi_record;

typedef struct tsi_source {
  tsi_env *env;
  tristar_read_fn read;
  /* Like read, with several threads; NULL: not available. checks: fingerprints of the pieces. Reports the
   * progress meanwhile, and returns ECANCELED if the caller cancels. */
  int (*read_pieces)(void *arg, void *data, size_t bytes, uint64_t *checks);
  void *arg;
  const char *subject; /* name of the source in messages */
  uint64_t left, all;  /* remaining bytes, and bytes at the start; UINT64_MAX: unknown */
  tsi_record next;     /* the next record, whose head was read */
  bool lean;           /* A pattern without entries is allowed (pattern.h). */
} tsi_source;

/* Number of bytes of the next piece. */
static inline size_t tsi_piece_bytes(size_t left) {
  return left < TSI_SAVED_PIECE ? left : TSI_SAVED_PIECE;
}
/* Fingerprint of a piece: TSI_SAVED_PIECE bytes of the elements of a record, or the rest. */
uint64_t tsi_piece_fingerprint(const void *data, size_t bytes);

/* A member of a struct that is saved. */
typedef struct tsi_field {
  size_t offset;
  char kind; /* 'r': double; 'b': bool; '1', '4', '8': a signed integer with this number of bytes */
} tsi_field;

#define TSI_FIELD(type, member)                                                                              \
  { offsetof(type, member), TSI_FIELD_KIND(((type *)0)->member) }
#define TSI_FIELD_KIND(x)                                                                                    \
  _Generic((x), double : 'r', bool : 'b', default : sizeof(x) == 1 ? '1' : sizeof(x) == 4 ? '4' : '8')

/* Errors of the functions below: RUNTIME (the function of the sink failed). */

/* kind: at most 15 characters. */
TRISTAR_CHECKED tristar_status tsi_sink_begin(tsi_sink *sink, const char *kind);
/* data NULL: writes no record. */
TRISTAR_CHECKED tristar_status tsi_put(tsi_sink *sink, const char *name, size_t bytes, tsi_count count,
                                       const void *data);
TRISTAR_CHECKED tristar_status tsi_put_fields(tsi_sink *sink, const char *name, const tsi_field *fields,
                                              size_t count, const void *from);
TRISTAR_CHECKED tristar_status tsi_sink_end(tsi_sink *sink);
#define TSI_PUT(sink, name, count, array)                                                                    \
  tsi_put((sink), (name), sizeof *(array), (tsi_count)(count), (array))
#define TSI_PUT_FIELDS(sink, name, fields, from)                                                             \
  tsi_put_fields((sink), (name), (fields), sizeof(fields) / sizeof *(fields), (from))

/* Errors of the functions below: RUNTIME (the function of the source failed, or the file ends), FORMAT
 * (another record, another size, a wrong check), UNSUPPORTED (another version or order of bytes), MEMORY,
 * CANCELLED. */

/* kind: TSI_RECORD_NAME characters. */
TRISTAR_CHECKED tristar_status tsi_source_begin(tsi_source *source, char *kind);
/* Reports the progress after `bytes` bytes of the present record. Errors: CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_source_look(const tsi_source *source, size_t bytes);
bool tsi_source_has(const tsi_source *source, const char *name);
/* Reads the record `name` with exactly `count` elements to memory that the function allocates. owner: owner
 * of this memory; NULL: the caller. */
TRISTAR_CHECKED tristar_status tsi_get(tsi_source *source, const char *name, size_t bytes, tsi_count count,
                                       void *owner, void **out);
/* The same, to existing memory. */
TRISTAR_CHECKED tristar_status tsi_get_to(tsi_source *source, const char *name, size_t bytes, tsi_count count,
                                          void *to);
TRISTAR_CHECKED tristar_status tsi_get_fields(tsi_source *source, const char *name, const tsi_field *fields,
                                              size_t count, void *to);
#define TSI_TAKE(source, name, count, owner, array)                                                          \
  tsi_get((source), (name), sizeof *(array), (tsi_count)(count), (owner), (void **)&(array))
/* The same for an optional record. If it is missing, array is not changed. */
#define TSI_TAKE_IF(source, name, count, owner, array)                                                       \
  (tsi_source_has((source), (name)) ? TSI_TAKE((source), (name), (count), (owner), (array)) : TRISTAR_OK)
#define TSI_TAKE_FIELDS(source, name, fields, to)                                                            \
  tsi_get_fields((source), (name), (fields), sizeof(fields) / sizeof *(fields), (to))

/* Fails with FORMAT: the source is damaged. The message contains its name. */
#define TSI_DAMAGED(source, format, ...)                                                                     \
  TSI_FAIL((source)->env, TRISTAR_ERR_FORMAT, "%s: damaged: " format, (source)->subject, __VA_ARGS__)
