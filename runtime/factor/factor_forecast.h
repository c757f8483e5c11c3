/* Forecast of the bytes and seconds of a factorization, before it starts.
 *
 * Job. Makes the steps of the factorization, as tsi_factorize does, and runs them without arithmetic: their
 * own functions allocate and free. Their arrays are hollow: they are counted, but have no memory
 * (tsi_allocate_hollow). Such a run is a dry run. For several workers, a list schedule by the priorities of
 * the steps determines which steps run at the same time. Each step counts with the bytes of its run alone.
 *
 * Assumptions: an ordinary scaling (scaling.h), no front on a device, and the method of the analysis. A
 * second factorization (tsi_factorize), another method and trial solves may take more.
 *
 * Reads   an analysis.   Writes  its result. */
#pragma once

#include "runtime/factor/factor.h"

/* Ways to run a factorization. */
typedef enum tsi_forecast_run {
  TSI_FORECAST_ALL,  /* All workers, with tasks. */
  TSI_FORECAST_ALONE /* One thread, step after step. */
} tsi_forecast_run;

typedef struct tsi_factor_forecast {
  size_t created;    /* Bytes of the factor before its first factorization: pivots, copied values. */
  size_t factor;     /* Bytes of the factor after its factorization. */
  size_t peak[2];    /* By tsi_forecast_run: largest number of bytes, including the factor. */
  double seconds[2]; /* By tsi_forecast_run: at the rates that estimates of tasks assume. */
  int workers;       /* Number of workers that factor. */
} tsi_factor_forecast;

/* Needs memory in proportion to the rows and the steps. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_factor_forecast_make(tristar_analysis_t *analysis,
                                                        tsi_factor_forecast *forecast);

/* Before the factor gets its values: checks that the factorization fits into the memory limit of the context.
 * Sets factor->alone if only a run on one thread does. Without a limit nothing is forecast. Errors: MEMORY
 * (it does not fit: the message has the numbers), TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_factor_check_limit(tristar_factor_t *factor);

/* Bytes that the search of PIVOTING_DELAYED needs in addition to the factor and its analysis, if it delays no
 * column; 0 without that option (delayed_pivots.c). Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_weigh_search(const tristar_analysis_t *analysis, double *bytes);

/* Bytes that an analysis holds. */
size_t tsi_analysis_bytes(const tristar_analysis_t *analysis);
