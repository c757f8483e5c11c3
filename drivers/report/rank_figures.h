/* Figures of each process: a table of minimum, mean and maximum, and all figures as JSON.
 *
 * Reads   the records that rank 0 gathered.   Writes  standard output, JSON. */
#pragma once

#include "drivers/report/report.h"

typedef struct tsi_rank_figure {
  const char *label, *key;
  double value;
  const char *(*text)(double); /* converts the value to text; NULL: print the number */
} tsi_rank_figure;

enum { TSI_RANK_FIGURES_MOST = 24 };

/* The figures of all ranks: an array with one record per rank. */
typedef struct tsi_rank_records {
  int ranks;
  const void *record;
  size_t bytes; /* size of a record */
  /* Lists the figures of a record; returns their number. */
  int (*list)(const void *record, tsi_rank_figure figure[TSI_RANK_FIGURES_MOST]);
} tsi_rank_records;

void tsi_rank_figures_print(const char *title, const tsi_rank_records *records);
/* Adds an array "processes" with one object per rank. */
void tsi_rank_figures_json(cJSON *object, const tsi_rank_records *records);
