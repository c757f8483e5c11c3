/* The median of measured figures. */
#ifndef TSI_BASE_MEDIAN_H
#define TSI_BASE_MEDIAN_H

#include <stddef.h>

/* Sorts values ascending; count > 0. */
double tsi_median(double *values, size_t count);

#endif
