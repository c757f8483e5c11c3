/* Files that are named on the command line. "-" is standard input or output.
 *
 * An output is proven writable before long work, which would be in vain otherwise, and opened when there is
 * something to write: whatever fails in between, a file that was there is still there. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "runtime/base/output_file.h"

bool tsi_file_is_standard(const char *path); /* "-" */
/* What messages call a file. */
const char *tsi_input_name(const char *path);
const char *tsi_output_name(const char *path);

/* The path of this program. False: it does not fit. */
bool tsi_own_path(char *path, size_t size);
/* The way from the folder of a program to another file or folder. False: the path does not fit. */
bool tsi_beside_program(const char *program, const char *way, char *path, size_t size);

/* Why a file cannot be written, as an errno; 0: it can. Changes no file, and leaves none behind. */
int tsi_output_problem(const char *path);
/* Opens an output; "-": standard output, which stays open. NULL: errno says why. */
FILE *tsi_output_open(const char *path, tsi_output_file *output);
/* Closes it, if it is not NULL. complete: all was written; only then a file takes the place of the one that
 * was there. False: it is not there; errno says why, unless complete was false. */
bool tsi_output_close(FILE *file, tsi_output_file *output, bool complete);
