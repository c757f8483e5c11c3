/* The median of measured figures. */
#pragma once

#include <stddef.h>

/* Sorts values ascending; count > 0. */
double tsi_median(double *values, size_t count);
