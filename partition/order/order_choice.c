/* See order_choice.h. */
#include "partition/order/order_choice.h"

#include <math.h>

/* Rates of two to four cores of a common machine. Only their ratios decide. */
#define FLOPS_PER_SECOND 20e9
#define ENTRY_SECONDS 5e-9    /* Of a factorization, for each entry of L besides its operations. */
#define BYTES_PER_SECOND 20e9 /* Of a solve, which reads L and U, or L twice. */
#define PATH_SHARE 4 /* Cores read four times as fast as one core; one core runs the heaviest path. */
#define DISSECTION_SECONDS 1.5e-7 /* For a vertex and a level, of log2(n) levels. */

/* Largest share of AMD's time of factorization and solves that a dissection usually saves. */
#define LARGEST_GAIN 0.5
#define SMALL_VERTICES 1000

double tsi_order_seconds(const tsi_fill *fill, const tsi_order_costs *costs) {
  const double solve = fmax(fill->entries, PATH_SHARE * fill->path_entries) * costs->entry_bytes;
  return fill->flops * costs->flops_factor / FLOPS_PER_SECOND + fill->entries * ENTRY_SECONDS +
         costs->solves * 2 * solve / BYTES_PER_SECOND;
}

bool tsi_order_tries_dissection(tsi_index n, const tsi_fill *amd, const tsi_order_costs *costs,
                                const char **reason) {
  const double dissection = DISSECTION_SECONDS * n * log2((double)n + 1);
  *reason = "the matrix is small";
  if (n <= SMALL_VERTICES) return false;
  *reason = "a dissection would take more time than it could save";
  return costs->factorizations * LARGEST_GAIN * tsi_order_seconds(amd, costs) > dissection;
}

bool tsi_order_takes_dissection(const tsi_fill *amd, const tsi_fill *dissection, const tsi_order_costs *costs,
                                const char **reason) {
  const bool better = tsi_order_seconds(dissection, costs) < tsi_order_seconds(amd, costs);
  *reason =
      better ? "a dissection promises less time than AMD" : "a dissection was tried and promises more time";
  return better;
}
