/* Files that are named on the command line. "-" is standard input or output.
 *
 * An output is proven writable before long work, which would be in vain otherwise, and opened when there is
 * something to write: whatever fails in between, a file that was there is still there. */
#ifndef TSI_DRIVERS_FILES_H
#define TSI_DRIVERS_FILES_H

#include <stdbool.h>
#include <stdio.h>

bool tsi_file_is_standard(const char *path); /* "-" */
/* What messages call a file. */
const char *tsi_input_name(const char *path);
const char *tsi_output_name(const char *path);

/* Why a file cannot be written, as an errno; 0: it can. Changes no file, and leaves none behind. */
int tsi_output_problem(const char *path);
/* Opens an output, to be closed with fclose in any case; "-": standard output, which stays open. NULL: errno
 * says why. */
FILE *tsi_output_open(const char *path);

#endif
