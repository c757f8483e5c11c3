// The public headers compile as C++ without a warning, and their functions link with C names.
// TSI_ADAPTER_HEADER: that of an adapter, in quotes.
#include "tristar_adapter.h"
#ifdef TSI_ADAPTER_HEADER
#include TSI_ADAPTER_HEADER
#endif

#include <cstring>

int main() {
  tristar_config config;
  tristar_config_init(&config);
  const bool named = std::strcmp(tristar_status_name(TRISTAR_OK), "TRISTAR_OK") == 0;
  const bool versioned = std::strchr(tristar_version(), '.') != nullptr;
  return named && versioned && config.use_starpu == 1 ? 0 : 1;
}
