/* Option structs whose first member is their size, for programs and libraries of different versions.
 *
 * A later version adds fields at the end of a struct, and 0 is always the default of such a field. A program
 * passes the size of the struct with which it was compiled. A smaller struct than the library's lacks the
 * last fields, which get their defaults. A larger struct is accepted if its additional bytes are all 0. */
#pragma once

#include "runtime/base/env.h"

/* Fills a program's struct of `size` bytes: the defaults (`full_size` bytes), 0 beyond them, and its size. */
void tsi_options_init(void *options, size_t size, const void *defaults, size_t full_size);

/* Copies the fields of a program's struct over the defaults in `full` (`full_size` bytes). given may be NULL.
 * Errors: ARGUMENT (the struct was not initialized), UNSUPPORTED (it sets a field of a later version). */
TRISTAR_CHECKED tristar_status tsi_options_read(const tsi_env *env, const char *type, const void *given,
                                                void *full, size_t full_size);

/* *full = the defaults of the type, overwritten by *given unless that is NULL. */
#define TSI_OPTIONS(env, type, given, full)                                                                  \
  (type##_init(full), tsi_options_read((env), #type, (given), (full), sizeof *(full)))
