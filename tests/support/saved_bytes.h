/* Saved objects in memory: functions for tristar_..._write and _read. */
#pragma once

#include "tests/support/check.h"
#include "tristar_save.h"

typedef struct saved_bytes {
  unsigned char *data;
  size_t size, room, at; /* at: of the reader */
  int fail_after;        /* calls that succeed; negative: all */
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
