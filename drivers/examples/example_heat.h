/* The computations of a time step of example_heat.c, without tasks.
 *
 * The heat equation u' = u_xx + u_yy + q on the unit square, with u given on its border: n x n inner points,
 * central differences; backward Euler in time:
 *
 *   (I + dt K) u_k = u_(k-1) + f_k,    f_k = dt (q(t_k) + boundary terms of K)
 *
 * q is such that u is a hot spot that moves on a circle, so that errors are known.
 *
 * Reads and writes its arguments. Point (i, j), with i upwards, has number i n + j. */
#ifndef TSI_DRIVERS_EXAMPLES_EXAMPLE_HEAT_H
#define TSI_DRIVERS_EXAMPLES_EXAMPLE_HEAT_H

#include <math.h>
#include <string.h>

#include "example.h"

#define HEAT_TIME 0.2                /* End of the simulation. */
#define HEAT_QUANTUM (1.0 / 0xfffff) /* Quantum, relative to the range of a snapshot. */

typedef struct heat {
  int n, steps;
  double h, dt;
} heat;

static inline heat heat_of(int n, int steps) {
  return (heat){n, steps, 1.0 / (n + 1), HEAT_TIME / steps};
}
static inline int64_t heat_points(const heat *p) {
  return (int64_t)p->n * p->n;
}

/* ---- The exact solution, its source, and the right-hand side ------------------------------------------- */

typedef struct heat_spot { /* State at a given time. */
  double x, y, dx, dy;     /* Its centre, and its velocity. */
} heat_spot;

static inline heat_spot heat_spot_at(double t) {
  const double angle = 6 * t, radius = 0.25;
  return (heat_spot){0.5 + radius * cos(angle), 0.5 + radius * sin(angle), -6 * radius * sin(angle),
                     6 * radius * cos(angle)};
}
#define HEAT_WIDTH 0.35

static inline double heat_exact(const heat_spot *s, double x, double y) {
  const double a = (x - s->x) / HEAT_WIDTH, b = (y - s->y) / HEAT_WIDTH;
  return exp(-a * a - b * b);
}
/* u' - u_xx - u_yy */
static inline double heat_source(const heat_spot *s, double x, double y) {
  const double a = (x - s->x) / HEAT_WIDTH, b = (y - s->y) / HEAT_WIDTH, square = a * a + b * b;
  return exp(-square) *
         (2 * (a * s->dx + b * s->dy) / HEAT_WIDTH - (4 * square - 4) / (HEAT_WIDTH * HEAT_WIDTH));
}

/* Computes rows from .. to - 1 of f at time t. The source is integrated over the cell around each point, by
 * Gauss points. f begins with the first of these rows. */
static inline void heat_assemble(const heat *p, double t, int from, int to, double *f) {
  const heat_spot spot = heat_spot_at(t);
  const double g = p->h / (2 * sqrt(3)), border = p->dt / (p->h * p->h);
  for (int i = from; i < to; i++)
    for (int j = 0; j < p->n; j++) {
      const double x = (j + 1) * p->h, y = (i + 1) * p->h;
      double value = 0.25 * p->dt *
                     (heat_source(&spot, x - g, y - g) + heat_source(&spot, x + g, y - g) +
                      heat_source(&spot, x - g, y + g) + heat_source(&spot, x + g, y + g));
      if (i == 0) value += border * heat_exact(&spot, x, 0);
      if (i == p->n - 1) value += border * heat_exact(&spot, x, 1);
      if (j == 0) value += border * heat_exact(&spot, 0, y);
      if (j == p->n - 1) value += border * heat_exact(&spot, 1, y);
      f[(int64_t)(i - from) * p->n + j] = value;
    }
}

/* Computes rows from .. to - 1 of u at time 0. u begins with the first of these rows. */
static inline void heat_begin(const heat *p, int from, int to, double *u) {
  const heat_spot spot = heat_spot_at(0);
  for (int i = from; i < to; i++)
    for (int j = 0; j < p->n; j++)
      u[(int64_t)(i - from) * p->n + j] = heat_exact(&spot, (j + 1) * p->h, (i + 1) * p->h);
}

/* Largest error of such rows at time t; NaN if any error is NaN. */
static inline double heat_error(const heat *p, double t, int from, int to, const double *u) {
  const heat_spot spot = heat_spot_at(t);
  double error = 0;
  for (int i = from; i < to; i++)
    for (int j = 0; j < p->n; j++) {
      const double exact = heat_exact(&spot, (j + 1) * p->h, (i + 1) * p->h);
      const double off = fabs(u[(int64_t)(i - from) * p->n + j] - exact);
      if (isnan(off)) return off;
      error = fmax(error, off);
    }
  return error;
}

/* The lower triangle of I + dt K, column by column. The caller frees the arrays. */
static inline tristar_view heat_matrix(const heat *p, int64_t **ptr, int32_t **row, double **value) {
  const int64_t count = heat_points(p);
  const double c = p->dt / (p->h * p->h);
  int64_t q = 0;
  *ptr = example_allocate((size_t)count + 1, sizeof **ptr);
  *row = example_allocate((size_t)count * 3, sizeof **row);
  *value = example_allocate((size_t)count * 3, sizeof **value);
  for (int64_t k = 0; k < count; k++) {
    (*row)[q] = (int32_t)k, (*value)[q++] = 1 + 4 * c;
    if (k % p->n != p->n - 1) (*row)[q] = (int32_t)(k + 1), (*value)[q++] = -c;
    if (k + p->n < count) (*row)[q] = (int32_t)(k + p->n), (*value)[q++] = -c;
    (*ptr)[k + 1] = q;
  }
  return (tristar_view){
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, count, count, *ptr, *row, *value, 64, 32, 0};
}

/* ---- Snapshots ----------------------------------------------------------------------------------------- */

/* Compressed snapshots, one after the other, and statistics about them. */
typedef struct heat_film {
  FILE *file;
  unsigned char *buffer; /* Buffer for a compressed snapshot. */
  int32_t *rows;         /* Two rows of numbers. */
  int64_t bytes;         /* Written so far. */
  uint64_t bits;         /* Checksum of the bytes. */
  double error;          /* Of the latest snapshot: the largest of all points. */
  double content;        /* Heat content of the latest snapshot. */
  int failed;            /* Writing failed. */
} heat_film;

static inline void heat_film_open(const heat *p, heat_film *film) {
  *film = (heat_film){.file = tmpfile()}; /* Deleted when it is closed. */
  if (film->file == NULL) example_die("tmpfile", "no file for the snapshots");
  film->buffer = example_allocate((size_t)heat_points(p) + 4, 8);
  film->rows = example_allocate((size_t)p->n * 2, sizeof *film->rows);
}
static inline void heat_film_close(heat_film *film) {
  if (fclose(film->file) != 0) example_die("fclose", "the snapshots were not written");
  free(film->buffer);
  free(film->rows);
}

typedef struct heat_writer { /* Writer of single bits. */
  unsigned char *to;
  uint64_t pending; /* Fewer than 8 bits between calls. */
  int count;
} heat_writer;

static inline void heat_put(heat_writer *w, uint32_t value, int bits) {
  w->pending = w->pending << bits | value;
  w->count += bits;
  while (w->count >= 8) {
    w->count -= 8;
    *w->to++ = (unsigned char)(w->pending >> w->count);
  }
}

/* Golomb-Rice code: the quotient by 2^k in unary, then the remainder; large numbers follow 16 ones. */
static inline void heat_put_rice(heat_writer *w, uint32_t value, int k) {
  const uint32_t quotient = value >> k;
  if (quotient < 16) {
    heat_put(w, (1u << (quotient + 1)) - 2, (int)quotient + 1);
    heat_put(w, value & ((1u << k) - 1), k);
  } else {
    heat_put(w, 0xffff, 16);
    heat_put(w, value, 32);
  }
}

/* Compresses u: integer multiples of the quantum, each predicted from its neighbours. Returns the number of
 * bytes. */
static inline size_t heat_compress(const heat *p, const double *u, double least, double most,
                                   heat_film *film) {
  heat_writer w = {film->buffer, 0, 0};
  const double scale = most > least ? 1 / ((most - least) * HEAT_QUANTUM) : 0;
  int k = 8;
  for (int i = 0; i < p->n; i++) {
    int32_t *row = film->rows + (i % 2) * p->n;
    const int32_t *above = film->rows + ((i + 1) % 2) * p->n;
    uint64_t sum = 0;
    for (int j = 0; j < p->n; j++) {
      row[j] = (int32_t)((u[(int64_t)i * p->n + j] - least) * scale + 0.5);
      const int32_t foretold = (i > 0 ? above[j] : 0) + (j > 0 ? row[j - 1] - (i > 0 ? above[j - 1] : 0) : 0);
      const int32_t off = row[j] - foretold;
      const uint32_t number = off < 0 ? 2 * (uint32_t)(-off) - 1 : 2 * (uint32_t)off;
      sum += number;
      heat_put_rice(&w, number, k);
    }
    for (k = 0; k < 20 && (uint64_t)p->n << k < sum; k++) {
    } /* For the next row: near log2 of the mean. */
  }
  heat_put(&w, 0, 8 - w.count % 8);
  return (size_t)(w.to - film->buffer);
}

/* Computes statistics and error of u at time t; writes the compressed snapshot. */
static inline void heat_film_add(const heat *p, double t, const double *u, heat_film *film) {
  double least = u[0], most = u[0], sum = 0;
  for (int64_t k = 0; k < heat_points(p); k++) {
    least = u[k] < least ? u[k] : least;
    most = u[k] > most ? u[k] : most;
    sum += u[k];
  }
  film->error = heat_error(p, t, 0, p->n, u);
  film->content = sum * p->h * p->h;
  if (!(film->error < 1)) return; /* Not worth a snapshot. */
  const double head[4] = {t, least, most, film->content};
  const size_t bytes = heat_compress(p, u, least, most, film);
  if (fwrite(head, sizeof head, 1, film->file) != 1 || fwrite(film->buffer, 1, bytes, film->file) != bytes)
    film->failed = 1;
  film->bytes += (int64_t)(sizeof head + bytes);
  film->bits = example_bits(example_bits(film->bits, head, sizeof head), film->buffer, bytes);
}

#endif
