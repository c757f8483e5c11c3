/* Figures of which each process has its own: a table of the least, the mean and the most, and all of them as
 * JSON.
 *
 * Reads   what rank 0 has gathered.   Writes  standard output, JSON. */
#pragma once

#include "drivers/report/report.h"

typedef struct tsi_rank_figure {
  const char *label, *key;
  double value;
  const char *(*text)(double); /* NULL: the number itself */
} tsi_rank_figure;

enum { TSI_RANK_FIGURES_MOST = 24 };

/* The figures of all ranks: so many records, one after the other. */
typedef struct tsi_rank_records {
  int ranks;
  const void *record;
  size_t bytes; /* of a record */
  /* Lists the figures of a record; returns how many there are. */
  int (*list)(const void *record, tsi_rank_figure figure[TSI_RANK_FIGURES_MOST]);
} tsi_rank_records;

void tsi_rank_figures_print(const char *title, const tsi_rank_records *records);
/* An array "processes" of objects. */
void tsi_rank_figures_json(cJSON *object, const tsi_rank_records *records);
