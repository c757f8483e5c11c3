/* Saved objects in memory: functions for tristar_..._write and _read. */
#pragma once

#include "runtime/save/records.h"
#include "tests/support/check.h"
#include "tests/support/random.h"
#include "tristar_save.h"

typedef struct saved_bytes {
  unsigned char *data;
  size_t size, room, at; /* at: position of the reader */
  int fail_after;        /* number of calls that succeed; negative: all */
} saved_bytes;

static inline int keep_bytes(void *arg, const void *data, size_t bytes) {
  saved_bytes *s = arg;
  if (s->fail_after == 0) return 7;
  if (s->fail_after > 0) s->fail_after--;
  if (s->size + bytes > s->room) {
    s->room = 2 * (s->size + bytes);
    s->data = realloc(s->data, s->room);
    CHECK(s->data != NULL);
  }
  memcpy(s->data + s->size, data, bytes);
  s->size += bytes;
  return 0;
}

static inline int give_bytes(void *arg, void *data, size_t bytes) {
  saved_bytes *s = arg;
  if (s->fail_after == 0 || bytes > s->size - s->at) return 9;
  if (s->fail_after > 0) s->fail_after--;
  memcpy(data, s->data + s->at, bytes);
  s->at += bytes;
  return 0;
}

static inline void free_saved_bytes(saved_bytes *s) {
  free(s->data);
}

/* ---- Forged records with valid checksums --------------------------------------------------------------- */

enum { RECORDS_MOST = 64, HEADER = 56 };

static uint64_t forging = 1; /* the state of the random numbers */

static inline int forged_below(int limit) {
  return (int)(next_random(&forging) % (uint64_t)limit);
}

typedef struct record {
  tsi_record head;
  unsigned char *data; /* in the saved bytes */
} record;

static inline int split_records(const saved_bytes *bytes, record *records) {
  int count = 0;
  for (size_t at = HEADER; at < bytes->size; count++) {
    CHECK(count < RECORDS_MOST);
    record *r = &records[count];
    memcpy(&r->head, bytes->data + at, sizeof r->head);
    r->data = bytes->data + at + sizeof r->head;
    at += sizeof r->head + (size_t)(r->head.bytes * r->head.count) + sizeof(uint64_t);
  }
  return count;
}

/* Returns a wrong number for a field or an index: near the old one, at the limits, or random. */
static inline int64_t forged_word(int64_t old) {
  static const int64_t edges[] = {0, -1, 1, 2, 7, 255, 256, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  switch (forged_below(4)) {
  case 0:
    return (int64_t)((uint64_t)old + 1);
  case 1:
    return (int64_t)((uint64_t)old - 1);
  case 2:
    return edges[forged_below(sizeof edges / sizeof *edges)];
  default:
    return forged_below(100);
  }
}

static inline void forge_element(const record *r, unsigned char *data) {
  int64_t word = 0;
  const size_t size = r->head.bytes < sizeof word ? (size_t)r->head.bytes : sizeof word;
  unsigned char *at = data + (size_t)forged_below((int)r->head.count) * r->head.bytes;
  int32_t half;
  memcpy(&word, at, size);
  if (size == sizeof half) {
    memcpy(&half, at, sizeof half);
    word = half;
  }
  word = forged_word(word);
  memcpy(at, &word, size);
}

/* Writes the records to `to`, one of them changed; chosen -1: none. */
static inline void forge(tsi_env *env, const char *kind, const record *records, int count, int chosen,
                         saved_bytes *to) {
  const int way = forged_below(12), times = 1 + forged_below(3);
  tsi_sink sink = {env, keep_bytes, to};
  to->size = to->at = 0;
  CHECK_OK(tsi_sink_begin(&sink, kind));
  for (int k = 0; k < count; k++) {
    const record *r = &records[k];
    const size_t size = (size_t)(r->head.bytes * r->head.count);
    tsi_count elements = (tsi_count)r->head.count;
    OWNED unsigned char *data = xcalloc(1, size + 64);
    memcpy(data, r->data, size);
    if (k == chosen && way == 0) continue; /* the record is missing */
    if (k == chosen && way == 1) elements += 1 + forged_below(3);
    if (k == chosen && way == 2 && elements > 0) elements--;
    for (int t = 0; k == chosen && way > 2 && elements > 0 && t < times; t++) forge_element(r, data);
    CHECK_OK(tsi_put(&sink, r->head.name, r->head.bytes, elements, data));
    if (k == chosen && way == 3) CHECK_OK(tsi_put(&sink, r->head.name, r->head.bytes, elements, data));
  }
}
