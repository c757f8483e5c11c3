// The public headers compile as C++ without a warning, and their functions link with C names.
// TSI_ADAPTER_HEADER: that of an adapter, in quotes. TSI_STARPU: that of solves among StarPU tasks.
#include "tristar_adapter.h"
#include "tristar_batch.h"
#include "tristar_forecast.h"
#include "tristar_device.h"
#include "tristar_inverse.h"
#include "tristar_krylov.h"
#include "tristar_precond.h"
#include "tristar_save.h"
#include "tristar_schur.h"
#include "tristar_typed.h"
#include "tristar_update.h"
#ifdef TSI_STARPU
#include "tristar_starpu.h"
#endif
#ifdef TSI_ADAPTER_HEADER
#include TSI_ADAPTER_HEADER
#endif

#include <cstring>

// An overload for each type; an object that is NULL is refused.
static bool typed_refuse_null() {
  float s = 0;
  double d = 0;
  std::complex<float> c;
  std::complex<double> z;
  return tristar_typed_solve(nullptr, TRISTAR_N, 1, &s, 1, &s, 1) == TRISTAR_ERR_ARGUMENT &&
         tristar_typed_solve(nullptr, TRISTAR_N, 1, &d, 1, &d, 1) == TRISTAR_ERR_ARGUMENT &&
         tristar_typed_solve(nullptr, TRISTAR_N, 1, &c, 1, &c, 1) == TRISTAR_ERR_ARGUMENT &&
         tristar_typed_solve(nullptr, TRISTAR_N, 1, &z, 1, &z, 1) == TRISTAR_ERR_ARGUMENT;
}

int main() {
  tristar_config config;
  tristar_config_init(&config);
  const bool named = std::strcmp(tristar_status_name(TRISTAR_OK), "TRISTAR_OK") == 0;
  const bool versioned = std::strchr(tristar_version(), '.') != nullptr;
  tristar_precond_options precond;
  tristar_precond_options_init(&precond);
  if (precond.kind != TRISTAR_PRECOND_ILU) return 1;
  tristar_krylov_options krylov;
  tristar_krylov_options_init(&krylov);
  if (krylov.method != TRISTAR_KRYLOV_AUTO || krylov.progress != nullptr) return 1;
  tristar_device_vectors vectors;
  tristar_device_vectors_init(&vectors);
  if (vectors.b != nullptr || vectors.device != 0) return 1;
#ifdef TSI_STARPU
  tristar_insert_options options;
  tristar_insert_options_init(&options);
  if (options.op != TRISTAR_N || options.end != nullptr) return 1;
#endif
  return typed_refuse_null() && named && versioned && config.use_starpu == 1 ? 0 : 1;
}
