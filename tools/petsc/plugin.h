/* What the files of the plug-in for PETSc share: errors, the context, options, rows of a matrix.
 *
 * Reads   matrices and vectors of PETSc.   Writes  objects of TriStar, vectors of PETSc.
 * Invariant: all functions return an error code of PETSc, the same on all ranks of a communicator. */
#ifndef TSI_TOOLS_PETSC_PLUGIN_H
#define TSI_TOOLS_PETSC_PLUGIN_H

#include <petscmat.h>

#include "tristar_dmatrix_mpi.h"

#if defined(PETSC_USE_REAL_DOUBLE)
#define TSI_PETSC_SCALAR (PetscDefined(USE_COMPLEX) ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE)
#elif defined(PETSC_USE_REAL_SINGLE)
#define TSI_PETSC_SCALAR (PetscDefined(USE_COMPLEX) ? TRISTAR_COMPLEX_SINGLE : TRISTAR_SINGLE)
#else
#error "TriStar has single and double precision only"
#endif

/* Turns a status of TriStar into an error of PETSc with TriStar's message. */
#define TsiCall(ts, call)                                                                                    \
  do {                                                                                                       \
    const tristar_status tsi_status_ = (call);                                                               \
    if (tsi_status_ != TRISTAR_OK) PetscCall(tsi_petsc_error((ts), tsi_status_, PETSC_FUNCTION_NAME));       \
  } while (0)

/* Raises the error of PETSc for a status. */
PetscErrorCode tsi_petsc_error(tristar_t *ts, tristar_status status, const char *function);

/* Creates a context for objects on comm. workers: number of threads that compute; 1: the calling thread
 * alone; 0: all cores if the program has one rank, else the calling thread alone. */
PetscErrorCode tsi_petsc_context(MPI_Comm comm, PetscInt workers, tristar_t **ts);

/* Arrays of a view, with the rows of this rank. */
typedef struct tsi_petsc_rows {
  tristar_view view; /* CSR; columns are numbered over the whole matrix. */
  PetscInt *ptr, *index;
  PetscScalar *values;
} tsi_petsc_rows;

/* How the entries of A are passed. SBAIJ has one triangle. For other matrices TriStar finds out whether they
 * are symmetric or Hermitian. If `known` is true and PETSc knows that they are, its answer is used. */
PetscErrorCode tsi_petsc_find_symmetry(Mat A, PetscBool known, tristar_symmetry *symmetry);

/* Copies the rows of this rank. upper: of each pair (i, j), (j, i) the entry in the upper triangle only. */
PetscErrorCode tsi_petsc_rows_copy(Mat A, PetscBool upper, tsi_petsc_rows *rows);
PetscErrorCode tsi_petsc_rows_free(tsi_petsc_rows *rows);

/* Register the solver type and the preconditioner type. */
PetscErrorCode tsi_petsc_register_solver(void);
PetscErrorCode tsi_petsc_register_precond(void);

#endif
