/* `tristar krylov`: what its files share.
 *
 * Reads   the command line.   Writes  the history of norms, a picture of it. */
#ifndef TSI_DRIVERS_KRYLOV_H
#define TSI_DRIVERS_KRYLOV_H

#include "drivers/session.h"
#include "tristar_krylov.h"

/* The norms of a solve, told one after the other; those of a column begin with iteration 0. */
typedef struct tsi_norms {
  int64_t count, capacity;
  tristar_krylov_point *point;
  bool full; /* no memory for more */
} tsi_norms;

/* A tristar_krylov_progress_fn; arg: a tsi_norms. The first point of the first column begins anew. */
int tsi_norms_add(void *arg, const tristar_krylov_point *point);

typedef struct tsi_krylov_picture {
  const char *method;  /* such as "GMRES(30)" */
  const char *precond; /* the word of --precond */
  const char *norm;    /* what the norm is of */
  double tolerance;
  int64_t nrhs, iterations; /* the most of a column */
  bool converged;
  const tsi_norms *norms;
} tsi_krylov_picture;

/* --svg. */
bool tsi_krylov_draw(tsi_session *s, const tsi_krylov_picture *picture);

/* --precond. */
typedef struct tsi_krylov_precond {
  const char *word;
  bool none, factor; /* neither: options */
  tristar_precond_options options;
} tsi_krylov_precond;

/* An exit status: what is wrong with --precond and the options of preconditioners. */
int tsi_krylov_precond_read(const tsi_settings *settings, tsi_krylov_precond *precond);

#endif
