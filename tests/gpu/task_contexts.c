/* Contexts of tests that are on the calling thread alone have tasks all the same, so that their plans can
 * have subtrees on devices. Linked with --wrap=tristar_create. */
#include "tristar.h"

tristar_status __real_tristar_create(const tristar_config *config, tristar_t **ts);
tristar_status __wrap_tristar_create(const tristar_config *config, tristar_t **ts);

tristar_status __wrap_tristar_create(const tristar_config *config, tristar_t **ts) {
  tristar_config c;
  tristar_config_init(&c);
  if (config) c = *config;
  c.use_starpu = 1;
  return __real_tristar_create(&c, ts);
}
