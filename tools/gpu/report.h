/* Results of measurements: a table during the run, JSON at the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GPU_TIMES_MAX = 1000 };

typedef struct gpu_case {
  const char *what, *scalars;
  int nrhs, times;
  double seconds[GPU_TIMES_MAX]; /* `times` measurements */
  double bytes, flops;
  double error;   /* error of x relative to its largest entry */
  double rows;    /* computed rows of an inverse; 0: another kind of case */
  double of_core; /* seconds of one core for the same case; 0: not measured */
  bool right, has_bits, same_bits;
} gpu_case;

typedef struct gpu_report {
  char device[256];
  double bandwidth, dgemm;    /* bytes read per second, flops per second; 0: unknown */
  int64_t points, n, entries; /* points along an edge of the grid; rows and entries of L */
  gpu_case *cases;
  int count, wrong;
} gpu_report;

void gpu_report_begin(gpu_report *r, const char *device, double bandwidth, double dgemm);
void gpu_report_problem(gpu_report *r, int64_t points, int64_t n, int64_t entries);

void gpu_case_add(gpu_case *c, double seconds);
/* Prints the case; returns its median time. */
double gpu_report_add(gpu_report *r, const gpu_case *c);

/* Ends the program if the file cannot be written. */
void gpu_report_write(const gpu_report *r, const char *file);
/* Returns the exit status: 0, or 1 if a result is wrong or nothing was measured. */
int gpu_report_end(gpu_report *r);
