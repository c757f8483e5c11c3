/* The scalar type of a distributed matrix: see dmatrix.h. */
#include "runtime/matrix/matrix.h"
#include "runtime/mpi/matrix/dmatrix.h"

void tsi_dvalue_put(tristar_scalar scalar, const double value[2], void *to, tsi_count k) {
  switch (scalar) {
  case TRISTAR_SINGLE:
    ((float *)to)[k] = (float)value[0];
    break;
  case TRISTAR_DOUBLE:
    ((double *)to)[k] = value[0];
    break;
  case TRISTAR_COMPLEX_SINGLE:
    ((float *)to)[2 * k] = (float)value[0];
    ((float *)to)[2 * k + 1] = (float)value[1];
    break;
  case TRISTAR_COMPLEX_DOUBLE:
    ((double *)to)[2 * k] = value[0];
    ((double *)to)[2 * k + 1] = value[1];
    break;
  }
}

tristar_status tsi_dmatrix_choose_scalar(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                                         tristar_scalar given, bool values) {
  tsi_env *env = &d->ts->env;
  const int requested = options->scalar;
  d->scalar = requested != 0 ? (tristar_scalar)requested : given;
  d->sparse = requested == (char)requested ? tsi_sparse_kernels_select((char)d->scalar) : NULL;
  if (d->sparse == NULL || (unsigned)options->engine > TRISTAR_ENGINE_TASKS)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "scalar %d, engine %d: one is unknown", requested,
             (int)options->engine);
  if (!values) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the matrix has no values");
  if (!d->sparse->is_complex && tsi_scalar_width(given) == 2)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "complex values, but the type %c is real", (int)d->scalar);
  d->kernels = tsi_krylov_kernels_select((char)d->scalar, d->ts->isa);
  d->products = tsi_halves_kernels_select((char)d->scalar, d->ts->isa);
  d->bytes = d->sparse->scalar_bytes;
  return TRISTAR_OK;
}

tristar_status tsi_dmatrix_agree(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                                 tristar_status mine) {
  static const char *const name[] = {"the scalar type", "the engine"};
  const int64_t value[] = {d->scalar, options->engine};
  return tsi_transport_same(d->transport, mine, 2, name, value, 0, NULL);
}
