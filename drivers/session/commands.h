/* The subcommands. Each function runs one with its settings and returns the exit status. */
#pragma once

#include "drivers/session/options.h"

int tsi_command_solve(const tsi_settings *settings);
int tsi_command_trisolve(const tsi_settings *settings);
int tsi_command_krylov(const tsi_settings *settings);
int tsi_command_gen(const tsi_settings *settings);
int tsi_command_info(const tsi_settings *settings);
int tsi_command_bench(const tsi_settings *settings);
int tsi_command_calibrate(const tsi_settings *settings);
int tsi_calibrate_cluster(const tsi_settings *settings);
int tsi_command_env(const tsi_settings *settings);
int tsi_command_plot(const tsi_settings *settings);
int tsi_command_simulate(const tsi_settings *settings);
int tsi_command_schur(const tsi_settings *settings);
int tsi_command_inverse(const tsi_settings *settings);
int tsi_command_batch(const tsi_settings *settings);
/* solve.c: checks the options of `tristar solve`, with --layout or without. Returns an exit status. */
int tsi_solve_check_words(const tsi_settings *settings);
/* info_layout.c: `tristar info MATRIX --layout`. */
int tsi_info_layout(const tsi_settings *settings);
/* simulate_ranks.c: `tristar simulate MATRIX --ranks P`, or with --layout. */
int tsi_simulate_ranks(const tsi_settings *settings);
/* info_fsai.c: `tristar info MATRIX --ranks`. */
int tsi_info_fsai(const tsi_settings *settings);
