/* Figures of all processes: see rank_figures.h. */
#include "drivers/report/rank_figures.h"

#include <math.h>
#include <stdio.h>

static int list(const tsi_rank_records *records, int rank, tsi_rank_figure figure[TSI_RANK_FIGURES_MOST]) {
  return records->list((const char *)records->record + (size_t)rank * records->bytes, figure);
}

static void print_value(const char *(*text)(double), double value) {
  if (text)
    printf(" %11s", text(value));
  else
    printf(" %11.4g", value);
}

void tsi_rank_figures_print(const char *title, const tsi_rank_records *records) {
  tsi_rank_figure figure[TSI_RANK_FIGURES_MOST];
  const int count = list(records, 0, figure);
  printf("\n%-22s %11s %11s %11s\n", title, "least", "mean", "most");
  for (int f = 0; f < count; f++) {
    double least = INFINITY, mean = 0, most = 0;
    for (int r = 0; r < records->ranks; r++) {
      (void)list(records, r, figure);
      least = fmin(least, figure[f].value);
      most = fmax(most, figure[f].value);
      mean += figure[f].value / records->ranks;
    }
    printf("%-24s", figure[f].label);
    print_value(figure[f].text, least);
    print_value(figure[f].text, mean);
    print_value(figure[f].text, most);
    putchar('\n');
  }
}

void tsi_rank_figures_json(cJSON *object, const tsi_rank_records *records) {
  tsi_rank_figure figure[TSI_RANK_FIGURES_MOST];
  cJSON *all = cJSON_AddArrayToObject(object, "processes");
  for (int r = 0; r < records->ranks; r++) {
    cJSON *one = tsi_json_add_item(all);
    cJSON_AddNumberToObject(one, "rank", r);
    for (int f = 0, count = list(records, r, figure); f < count; f++)
      cJSON_AddNumberToObject(one, figure[f].key, figure[f].value);
  }
}
