/* Environment variables of TriStar: the only table of their names, defaults and meanings.
 *
 * Reads   the environment, at each call.   Writes  nothing.
 * Invariant: all code that reads a variable TRISTAR_... uses its number here (tools/ci/check_variables), so
 * that no list of them can be incomplete. */
#pragma once

typedef enum tsi_variable_id {
  TSI_VARIABLE_CALIBRATION,
  TSI_VARIABLE_CHECK,
  TSI_VARIABLE_IDLE,
  TSI_VARIABLE_ISA,
  TSI_VARIABLE_TRANSPORT,
  TSI_VARIABLE_SHORT_RATES,
  TSI_VARIABLE_HELPERS,
  TSI_VARIABLE_PEERS,
  TSI_VARIABLE_DATA,
  TSI_VARIABLE_FUZZ_SECONDS,
  TSI_VARIABLE_SIMGRID_STARPU,
  TSI_VARIABLE_STARPU_SOURCE,
  TSI_VARIABLES
} tsi_variable_id;

/* The value of a variable; NULL: not set, or empty. */
const char *tsi_variable(tsi_variable_id id);
