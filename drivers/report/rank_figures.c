/* Figures of all processes: see rank_figures.h. */
#include "drivers/report/rank_figures.h"

#include <math.h>
#include <stdio.h>

static double value_of(const tsi_rank_figure *figure, const tsi_rank_records *records, int rank) {
  return figure->value((const char *)records->record + (size_t)rank * records->bytes);
}

static void print_value(const char *(*text)(double), double value) {
  if (text)
    printf(" %11s", text(value));
  else
    printf(" %11.4g", value);
}

void tsi_rank_figures_print(const char *title, int count, const tsi_rank_figure *figure,
                            const tsi_rank_records *records) {
  printf("\n%-22s %11s %11s %11s\n", title, "least", "mean", "most");
  for (int f = 0; f < count; f++) {
    double least = INFINITY, mean = 0, most = 0;
    for (int r = 0; r < records->ranks; r++) {
      const double value = value_of(&figure[f], records, r);
      least = fmin(least, value);
      most = fmax(most, value);
      mean += value / records->ranks;
    }
    printf("%-24s", figure[f].label);
    print_value(figure[f].text, least);
    print_value(figure[f].text, mean);
    print_value(figure[f].text, most);
    putchar('\n');
  }
}

void tsi_rank_figures_json(cJSON *object, int count, const tsi_rank_figure *figure,
                           const tsi_rank_records *records) {
  cJSON *all = cJSON_AddArrayToObject(object, "processes");
  for (int r = 0; r < records->ranks; r++) {
    cJSON *one = tsi_json_add_item(all);
    cJSON_AddNumberToObject(one, "rank", r);
    for (int f = 0; f < count; f++)
      cJSON_AddNumberToObject(one, figure[f].key, value_of(&figure[f], records, r));
  }
}
