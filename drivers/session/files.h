/* Files named on the command line. "-" is standard input or output.
 *
 * The program checks that an output is writable before the long work, and opens it when the results are
 * ready. So a failure in between leaves an existing file as it is. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "runtime/base/output_file.h"

bool tsi_file_is_standard(const char *path); /* "-" */
/* Return the name of a file in messages. */
const char *tsi_input_name(const char *path);
const char *tsi_output_name(const char *path);

/* Writes the path of this program. Returns false if it does not fit. */
bool tsi_own_path(char *path, size_t size);
/* Appends the relative path `way` to the folder of a program. Returns false if the path does not fit. */
bool tsi_relative_to_program(const char *program, const char *way, char *path, size_t size);

/* Returns 0 if the file can be written, else an errno. Changes no file and leaves none behind. */
int tsi_output_problem(const char *path);
/* Opens an output; "-": standard output, which stays open. Returns NULL with errno set on failure. */
FILE *tsi_output_open(const char *path, tsi_output_file *output);
/* Closes the file unless it is NULL. Replaces an existing file only if complete is true: all was written.
 * Returns false if the output was not made; then errno has the cause, unless complete was false. */
bool tsi_output_close(FILE *file, tsi_output_file *output, bool complete);
