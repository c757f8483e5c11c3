/* Figures of which each process has its own: a table of the least, the mean and the most, and all of them as
 * JSON.
 *
 * Reads   what rank 0 has gathered.   Writes  standard output, JSON. */
#ifndef TSI_DRIVERS_REPORT_RANK_FIGURES_H
#define TSI_DRIVERS_REPORT_RANK_FIGURES_H

#include "drivers/report/report.h"

typedef struct tsi_rank_figure {
  const char *label, *key;
  double (*value)(const void *of_rank);
  const char *(*text)(double); /* NULL: the number itself */
} tsi_rank_figure;

/* The figures of all ranks: so many records, one after the other. */
typedef struct tsi_rank_records {
  int ranks;
  const void *record;
  size_t bytes; /* of a record */
} tsi_rank_records;

void tsi_rank_figures_print(const char *title, int count, const tsi_rank_figure *figure,
                            const tsi_rank_records *records);
/* An array "processes" of objects. */
void tsi_rank_figures_json(cJSON *object, int count, const tsi_rank_figure *figure,
                           const tsi_rank_records *records);

#endif
