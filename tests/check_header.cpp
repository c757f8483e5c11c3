// The public header compiles as C++ without a warning, and its functions link with C names.
#include "tristar.h"

#include <cstring>

int main() {
  tristar_config config;
  tristar_config_init(&config);
  const bool named = std::strcmp(tristar_status_name(TRISTAR_OK), "TRISTAR_OK") == 0;
  const bool versioned = std::strchr(tristar_version(), '.') != nullptr;
  return named && versioned && config.use_starpu == 1 ? 0 : 1;
}
