/* See variables.h. */
#include "runtime/base/variables.h"

#include <stdlib.h>
#include "tristar.h"

#include "tristar_machine.h"

static const struct {
  const char *name, *fallback, *description;
} variables[TSI_VARIABLES] = {
    [TSI_VARIABLE_CALIBRATION] = {"TRISTAR_CALIBRATION", "the file of this machine",
                                  "file of the calibration; off: use built-in values"},
    [TSI_VARIABLE_CHECK] = {"TRISTAR_CHECK", "0", "1: verify every internal structure as it is built"},
    [TSI_VARIABLE_IDLE] = {"TRISTAR_IDLE", "sleep",
                           "behaviour of idle workers, if TriStar has started StarPU: sleep, doze or poll"},
    [TSI_VARIABLE_ISA] = {"TRISTAR_ISA", "the best of this processor",
                          "instruction set of the solve's kernels: base, avx2 or avx512"},
    [TSI_VARIABLE_TRANSPORT] = {"TRISTAR_TRANSPORT", "direct",
                                "carrier of the messages between processes: direct, starpu_mpi or one_sided"},
    [TSI_VARIABLE_SHORT_RATES] =
        {"TRISTAR_SHORT_RATES", "0",
         "1: measure read bandwidth and DGEMM rate with small arrays, as tests do: a tenth "
         "of the time, but caches hold the arrays"},
    [TSI_VARIABLE_HELPERS] = {"TRISTAR_HELPERS", "found automatically",
                              "folder of the helper programs of the library, such as those for orderings"},
    [TSI_VARIABLE_PEERS] = {"TRISTAR_PEERS", "found automatically",
                            "folder of the programs that tristar bench compares with"},
    [TSI_VARIABLE_DATA] = {"TRISTAR_DATA", "../shared/data",
                           "folder with further matrices, for tests and tools/bench/table_matrices"},
    [TSI_VARIABLE_FUZZ_SECONDS] = {"TRISTAR_FUZZ_SECONDS", "120",
                                   "seconds that tools/check fuzz spends on each of its targets"},
    [TSI_VARIABLE_SIMGRID_STARPU] = {"TRISTAR_SIMGRID_STARPU", "what pkg-config finds",
                                     "folder of the installed StarPU for tools/check simgrid"},
    [TSI_VARIABLE_STARPU_SOURCE] = {"TRISTAR_STARPU_SOURCE", "none",
                                    "source archive of StarPU, from which tools/check simgrid builds one"}};

const char *tsi_variable(tsi_variable_id id) {
  const char *value = getenv(variables[id].name);
  return value != NULL && *value != '\0' ? value : NULL;
}

int tristar_get_variable(int i, const char **name, const char **fallback, const char **description) {
  const int known = i >= 0 && i < TSI_VARIABLES;
  if (name != NULL) *name = known ? variables[i].name : NULL;
  if (fallback != NULL) *fallback = known ? variables[i].fallback : NULL;
  if (description != NULL) *description = known ? variables[i].description : NULL;
  return known;
}
