/* The folder of real matrices: TRISTAR_DATA, or ../shared/data next to the sources. */
#ifndef TSI_TESTS_SUPPORT_DATA_H
#define TSI_TESTS_SUPPORT_DATA_H

#include <stdlib.h>

static inline const char *data_folder(void) {
  const char *data = getenv("TRISTAR_DATA");
  return data != NULL && *data != '\0' ? data : TSI_SOURCE_DIR "/../shared/data";
}

#endif
