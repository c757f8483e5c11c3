/* Variables of launchers: see launcher.h. */
#include "drivers/session/launcher.h"

#include <limits.h>
#include <stdlib.h>

#include "drivers/session/console.h"
#include "drivers/session/options.h"

/* Returns the value of a variable; -1 if it is not set or not a number >= least. */
static int number_of(const char *name, int least) {
  char *end;
  const char *text = getenv(name);
  if (text == NULL || *text == '\0') return -1;
  const long value = strtol(text, &end, 10);
  return *end != '\0' || value < least || value > INT_MAX ? -1 : (int)value;
}

tsi_launch tsi_launched(void) {
  static const char *const names[][2] = {
      {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, {"PMI_SIZE", "PMI_RANK"},
      {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},   {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
      {"JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},     {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const int processes = number_of(names[k][0], 1), rank = number_of(names[k][1], 0);
    if (processes > 0) return (tsi_launch){processes, rank > 0 ? rank : 0, names[k][0]};
  }
  return (tsi_launch){.processes = 1};
}

int tsi_fail_without_mpi(const char *command, const char *option) {
  tsi_console_mute(tsi_launched().rank > 0);
  tsi_console_error("%s: %s: this program was built without MPI (CMake: TRISTAR_WITH_MPI)", command,
                    option != NULL ? option : "started as one of several processes");
  return TSI_EXIT_FAILED;
}
