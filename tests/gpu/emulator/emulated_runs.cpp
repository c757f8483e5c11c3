/* What all runs in the emulator have in common: see runs.h. */
#include "tests/support/gpu/runs.h"

unsigned run_warp(unsigned wanted) {
  return wanted;
}
bool run_has_faults(void) {
  return true;
}
