/* Errors, contexts and rows of matrices; the entry point of the library. */
#include "plugin.h"

static PetscErrorCode code_of(tristar_status status) {
  switch (status) {
  case TRISTAR_ERR_ARGUMENT:
  case TRISTAR_ERR_FORMAT:
    return PETSC_ERR_ARG_WRONG;
  case TRISTAR_ERR_MEMORY:
    return PETSC_ERR_MEM;
  case TRISTAR_ERR_TOO_LARGE:
    return PETSC_ERR_ARG_OUTOFRANGE;
  case TRISTAR_ERR_UNSUPPORTED:
    return PETSC_ERR_SUP;
  case TRISTAR_ERR_RECTANGULAR:
    return PETSC_ERR_ARG_SIZ;
  case TRISTAR_ERR_NOT_FINITE:
    return PETSC_ERR_FP;
  case TRISTAR_ERR_STALE:
    return PETSC_ERR_ORDER;
  default:
    return PETSC_ERR_LIB;
  }
}

PetscErrorCode tsi_petsc_error(tristar_t *ts, tristar_status status, const char *function) {
  char message[512] = "";
  tristar_get_error(ts, message, sizeof message);
  return PetscError(PETSC_COMM_SELF, __LINE__, function, __FILE__, code_of(status), PETSC_ERROR_INITIAL,
                    "%s: %s", tristar_status_name(status), message);
}

PetscErrorCode tsi_petsc_context(MPI_Comm comm, PetscInt workers, tristar_t **ts) {
  tristar_config config;
  PetscMPIInt world;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &world));
  tristar_config_init(&config);
  config.use_starpu = workers > 1 || (workers == 0 && world == 1);
  config.workers = (int)workers;
  if (config.use_starpu && world > 1) TsiCall(NULL, tristar_mpi_share_cores(comm, &config));
  TsiCall(NULL, tristar_create(&config, ts));
  PetscFunctionReturn(0);
}

static PetscInt first_entry(PetscInt row, PetscInt count, const PetscInt *column, PetscBool upper) {
  PetscInt first = 0;
  while (upper && first < count && column[first] < row) first++; /* columns are ascending */
  return first;
}

PetscErrorCode tsi_petsc_rows_copy(Mat A, PetscBool upper, tsi_petsc_rows *rows) {
  PetscInt first, end, count, n;
  const PetscInt *column;
  const PetscScalar *value;
  PetscBool halves;
  PetscFunctionBegin;
  PetscCall(PetscMemzero(rows, sizeof *rows));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &halves, MATSEQSBAIJ, MATMPISBAIJ, ""));
  if (halves) PetscCall(MatGetRowUpperTriangular(A));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(PetscCalloc1((size_t)(end - first + 1), &rows->ptr));
  for (PetscInt i = first; i < end; i++) {
    PetscCall(MatGetRow(A, i, &count, &column, NULL));
    rows->ptr[i - first + 1] = rows->ptr[i - first] + count - first_entry(i, count, column, upper);
    PetscCall(MatRestoreRow(A, i, &count, &column, NULL));
  }
  const size_t entries = (size_t)rows->ptr[end - first];
  /* One more: arrays of a rank without rows are not NULL, which would mean a pattern without values. */
  PetscCall(PetscMalloc2(entries + 1, &rows->index, entries + 1, &rows->values));
  for (PetscInt i = first; i < end; i++) {
    PetscCall(MatGetRow(A, i, &count, &column, &value));
    const PetscInt skip = first_entry(i, count, column, upper);
    PetscCall(PetscArraycpy(rows->index + rows->ptr[i - first], column + skip, count - skip));
    PetscCall(PetscArraycpy(rows->values + rows->ptr[i - first], value + skip, count - skip));
    PetscCall(MatRestoreRow(A, i, &count, &column, &value));
  }
  if (halves) PetscCall(MatRestoreRowUpperTriangular(A));
  rows->view = (tristar_view){.format = TRISTAR_CSR,
                              .scalar = TSI_PETSC_SCALAR,
                              .rows = end - first,
                              .cols = n,
                              .ptr = rows->ptr,
                              .index = rows->index,
                              .values = rows->values,
                              .ptr_bits = 8 * (int)sizeof(PetscInt),
                              .index_bits = 8 * (int)sizeof(PetscInt)};
  PetscFunctionReturn(0);
}

PetscErrorCode tsi_petsc_rows_free(tsi_petsc_rows *rows) {
  PetscFunctionBegin;
  PetscCall(PetscFree(rows->ptr));
  PetscCall(PetscFree2(rows->index, rows->values));
  PetscFunctionReturn(0);
}

PetscErrorCode tsi_petsc_find_symmetry(Mat A, PetscBool known, tristar_symmetry *symmetry) {
  PetscBool halves, set, is, hermitian = PETSC_FALSE, symmetric = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &halves, MATSEQSBAIJ, MATMPISBAIJ, ""));
  PetscCall(MatIsHermitianKnown(A, &set, &is));
  if (PetscDefined(USE_COMPLEX) && set) hermitian = is;
  PetscCall(MatIsSymmetricKnown(A, &set, &is));
  if (set) symmetric = is;
  *symmetry = !halves && !(known && (hermitian || symmetric)) ? TRISTAR_GENERAL
              : hermitian                                     ? TRISTAR_HERMITIAN
                                                              : TRISTAR_SYMMETRIC;
  PetscFunctionReturn(0);
}

#if defined(PETSC_USE_COMPLEX)
#define REGISTER PetscDLLibraryRegister_tristar_petsc_complex
#else
#define REGISTER PetscDLLibraryRegister_tristar_petsc
#endif
TRISTAR_API PetscErrorCode REGISTER(void);
/* PETSc calls this function, whose name is that of the file, when it has loaded the library. The first
 * MatSolverTypeRegister before MatInitializePackage would lose all other solvers: it starts a new list after
 * the initialization has filled the list. */
PetscErrorCode REGISTER(void) {
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(tsi_petsc_register_solver());
  PetscCall(tsi_petsc_register_precond());
  PetscFunctionReturn(0);
}
