/* CHECK(condition): if it is false, prints the place and ends the test. */
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                           \
      std::exit(1);                                                                                          \
    }                                                                                                        \
  } while (0)
