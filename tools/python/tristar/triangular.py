"""Solves with triangular matrices, without a factorization."""
import warnings

import numpy as np
from scipy import sparse

from ._arrays import MatrixArrays, as_sparse, require_format, without_unused
from ._runtime import SingularError, check, lib, make_options, new_cell
from .solver import Solver


class TriangularSolver(Solver):
    """Solves with the lower or upper triangle of a sparse matrix, many times.

    lower: true for the lower triangle; entries of the other one are not read. unit_diagonal: use ones instead of the stored diagonal.
    `partition` is a word of tristar_partition; other options are fields of tristar_plan_options.
    """

    def __init__(self, A, lower=True, unit_diagonal=False, partition="auto", context=None, **options):
        A = as_sparse(A, "TriangularSolver")
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"A must be a square matrix but its shape is {A.shape}.")
        self._arrays = MatrixArrays(A, copy=True)
        self._triangle = {"uplo": "lower" if lower else "upper", "diag": "unit" if unit_diagonal else "non_unit",
                          "partition": partition}
        super().__init__(context, A.shape[0], self._arrays.values.dtype)
        self._make(options)

    def _make_factor(self):
        factor = new_cell("factor")
        options, _ = make_options("triangle_options", self._triangle)
        check(lib.tristar_import_triangle(self._context.handle, self._arrays.view, options, factor))
        return factor

    def __reduce__(self):
        triangle = self._triangle
        return _restore, (self._arrays.matrix(), triangle["uplo"] == "lower", triangle["diag"] == "unit", triangle["partition"],
                          self._plan_options)


def _restore(A, lower, unit_diagonal, partition, options):
    return TriangularSolver(A, lower, unit_diagonal, partition, **options)


def require_triangle(A, lower):
    """Raises the exception of SciPy for an entry in the other triangle, unless it is a stored zero, as blocks of BSR have."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    wrong = np.flatnonzero((A.indices > rows if lower else A.indices < rows) & (A.data != 0))
    if len(wrong):
        raise np.linalg.LinAlgError(f"A is not triangular: A[{rows[wrong[0]]}, {A.indices[wrong[0]]}] is nonzero.")


def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
    """Solves A x = b with a triangular matrix; replaces scipy.sparse.linalg.spsolve_triangular.

    The type of the result is the common type of A, b and double precision. For many solves with the same matrix
    use TriangularSolver. Raises LinAlgError if A is not triangular, or has a zero on the diagonal.
    """
    A = without_unused(require_format(A))
    if not sparse.issparse(A) or A.format != "csr":
        warnings.warn("CSR matrix format is required. Converting to CSR matrix.", sparse.SparseEfficiencyWarning, stacklevel=2)
        A = sparse.csr_matrix(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix but its shape is {A.shape}.")
    b = np.asanyarray(b)
    if b.ndim not in (1, 2):
        raise ValueError(f"b must have 1 or 2 dims but its shape is {b.shape}.")
    if A.shape[0] != b.shape[0]:
        raise ValueError("The size of the dimensions of A must be equal to the size of the first dimension of b but the shape of "
                         f"A is {A.shape} and the shape of b is {b.shape}.")
    dtype = np.result_type(A.data, b, np.float64)
    if overwrite_b and not np.can_cast(dtype, b.dtype, casting="same_kind"):
        raise ValueError(f"Cannot overwrite b (dtype {b.dtype}) with result of type {dtype}.")
    require_triangle(A, lower)
    try:
        solver = TriangularSolver(A.astype(dtype, copy=False), lower, unit_diagonal)
    except SingularError as failure:
        raise np.linalg.LinAlgError(f"A is singular: {failure}") from None
    x = solver.solve(b.astype(dtype, copy=False))
    if overwrite_b:
        b[...] = x
        return b
    return x
