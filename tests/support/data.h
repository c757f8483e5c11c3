/* The folder of real matrices: TRISTAR_DATA, or ../shared/data next to the sources. */
#pragma once

#include <stdlib.h>

static inline const char *data_folder(void) {
  const char *data = getenv("TRISTAR_DATA");
  return data != NULL && *data != '\0' ? data : TSI_SOURCE_DIR "/../shared/data";
}
