/* Names of the status codes. */
#include "tristar.h"

#define TSI_TEXT_(x) #x
#define TSI_TEXT(x) TSI_TEXT_(x)

const char *tristar_version(void) {
  return TSI_TEXT(TRISTAR_VERSION_MAJOR) "." TSI_TEXT(TRISTAR_VERSION_MINOR) "." TSI_TEXT(
      TRISTAR_VERSION_PATCH);
}

const char *tristar_status_name(tristar_status status) {
  switch (status) {
  case TRISTAR_OK:
    return "TRISTAR_OK";
  case TRISTAR_ERR_ARGUMENT:
    return "TRISTAR_ERR_ARGUMENT";
  case TRISTAR_ERR_MEMORY:
    return "TRISTAR_ERR_MEMORY";
  case TRISTAR_ERR_TOO_LARGE:
    return "TRISTAR_ERR_TOO_LARGE";
  case TRISTAR_ERR_IO:
    return "TRISTAR_ERR_IO";
  case TRISTAR_ERR_FORMAT:
    return "TRISTAR_ERR_FORMAT";
  case TRISTAR_ERR_UNSUPPORTED:
    return "TRISTAR_ERR_UNSUPPORTED";
  case TRISTAR_ERR_RECTANGULAR:
    return "TRISTAR_ERR_RECTANGULAR";
  case TRISTAR_ERR_SINGULAR:
    return "TRISTAR_ERR_SINGULAR";
  case TRISTAR_ERR_NOT_POSITIVE_DEFINITE:
    return "TRISTAR_ERR_NOT_POSITIVE_DEFINITE";
  case TRISTAR_ERR_NOT_FINITE:
    return "TRISTAR_ERR_NOT_FINITE";
  case TRISTAR_ERR_ACCURACY:
    return "TRISTAR_ERR_ACCURACY";
  case TRISTAR_ERR_NO_WORKER:
    return "TRISTAR_ERR_NO_WORKER";
  case TRISTAR_ERR_RUNTIME:
    return "TRISTAR_ERR_RUNTIME";
  case TRISTAR_ERR_STALE:
    return "TRISTAR_ERR_STALE";
  case TRISTAR_ERR_INTERNAL:
    return "TRISTAR_ERR_INTERNAL";
  case TRISTAR_ERR_BUSY:
    return "TRISTAR_ERR_BUSY";
  case TRISTAR_ERR_CANCELLED:
    return "TRISTAR_ERR_CANCELLED";
  }
  return "unknown tristar_status";
}
