/* What a factorization will take: bytes and seconds, before it is started.
 *
 * Job. Makes the steps of the factorization, as tsi_factorize does, and runs them without arithmetic: their
 * own functions allocate and free. Their arrays are hollow: they are counted, but have no memory
 * (tsi_allocate_hollow). Such a run is a dry run. For several workers a list schedule by the priorities of
 * the steps determines which of them run at the same time; the bytes of each step are those of its run alone.
 *
 * Assumed are an ordinary scaling (scaling.h), no front on a device, and the method of the analysis. A second
 * factorization (tsi_factorize), another method and trial solves may take more.
 *
 * Reads   an analysis.   Writes  its result. */
#pragma once

#include "runtime/factor/factor.h"

/* Bytes and seconds of a factorization. */
typedef enum tsi_forecast_run {
  TSI_FORECAST_ALL,  /* all workers, with tasks */
  TSI_FORECAST_ALONE /* one thread, step after step */
} tsi_forecast_run;

typedef struct tsi_factor_forecast {
  size_t created;    /* bytes of the factor object before its first factorization: pivots, copied values */
  size_t factor;     /* of the factor afterwards */
  size_t peak[2];    /* by tsi_forecast_run: the most at a time, those of the factor included */
  double seconds[2]; /* by tsi_forecast_run: at the rates that estimates of tasks assume */
  int workers;       /* that factor */
} tsi_factor_forecast;

/* Takes memory in proportion to the rows and the steps. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_factor_forecast_make(tristar_analysis_t *analysis,
                                                        tsi_factor_forecast *forecast);

/* Before the factor gets its values: may it be factored within the limit of the context? Sets factor->alone,
 * if only one thread may. Without a limit nothing is forecast. Errors: MEMORY (it may
 * not: the message has the figures), TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_factor_check_limit(tristar_factor_t *factor);

/* Bytes that the search of PIVOTING_DELAYED takes beside the factor and its analysis, if it delays no column;
 * 0 without that option (delayed_pivots.c). Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_weigh_search(const tristar_analysis_t *analysis, double *bytes);

/* Bytes that an analysis holds. */
size_t tsi_analysis_bytes(const tristar_analysis_t *analysis);
