"""Direct solvers with the interface of scipy.sparse.linalg: splu, factorized, spsolve."""
import warnings

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import MatrixRankWarning

from ._arrays import as_sparse, as_vectors, order_of, require_format, require_square
from ._runtime import SingularError
from .explicit import ExplicitFactors
from .factor import Factorization

# Orderings of SuperLU, and the corresponding ones of TriStar.
PERMC = {None: "auto", "COLAMD": "auto", "MMD_ATA": "amd", "MMD_AT_PLUS_A": "amd", "NATURAL": "natural"}


class SparseLU(Factorization):
    """Factors of a square sparse matrix with the interface of scipy.sparse.linalg.SuperLU: Pr A Pc = L U.

    `solve` uses the factors of the library: L U, or L L^H and L D L^H of a symmetric matrix. `L`, `U`, `perm_r` and `perm_c` are
    computed from them at first use, by triangular solves.
    """

    @property
    def nnz(self):
        """Entries of L and U, the unit diagonal of L included."""
        count = self.statistics().nnz_factor
        return count + self._n if self.analysis_statistics().method == "lu" else 2 * count

    @property
    def factors(self):
        """L, U and the permutations, computed once."""
        self._ready()
        with self._lock:
            if self._explicit is None:
                self._explicit = ExplicitFactors.of(self)
            return self._explicit

    _explicit = None

    def _forget_explicit(self):
        self._explicit = None

    @property
    def L(self):
        """The lower factor with a unit diagonal, CSC."""
        return self.factors.L

    @property
    def U(self):
        """The upper factor, CSC."""
        return self.factors.U

    @property
    def perm_r(self):
        """Row i of A is row perm_r[i] of L U."""
        return self.factors.perm_r

    @property
    def perm_c(self):
        """Column j of A is column perm_c[j] of L U."""
        return self.factors.perm_c


def options_of_superlu(permc_spec, options):
    """Converts options of SuperLU to those of the library. Raises an exception for options that would change results."""
    given = dict(options or {})
    permc_spec = given.pop("ColPerm", permc_spec)
    # Options of SuperLU's algorithm that have no counterpart.
    for name in ("SymmetricMode", "DiagPivotThresh", "PanelSize", "Relax", "Equil", "PivotGrowth", "ConditionNumber", "PrintStat",
                 "Fact", "IterRefine", "RowPerm"):
        given.pop(name, None)
    if given:
        raise ValueError(f"options of SuperLU that TriStar does not have: {', '.join(given)}")
    if permc_spec not in PERMC:
        raise ValueError(f"permc_spec={permc_spec!r}: must be one of {', '.join(map(str, PERMC))}")
    return {"ordering": PERMC[permc_spec]} if permc_spec is not None else {}


def singular(failure):
    """The exception for a singular matrix, with the messages of SuperLU and of the library."""
    return SingularError(f"Factor is exactly singular, or singular to working precision: {failure}")


def splu(A, permc_spec=None, diag_pivot_thresh=None, relax=None, panel_size=None, options=None, *, context=None, **settings):
    """Factors a square sparse matrix; replaces scipy.sparse.linalg.splu.

    A: CSC and CSR are used as they are, BSR with square blocks becomes CSR, other formats are converted. `permc_spec` NATURAL keeps the
    order of the columns (of L and U: if the pivots permit it). diag_pivot_thresh, relax and panel_size have no effect. `settings` are
    fields of tristar_analysis_options and tristar_plan_options in tristar.h, with words for constants: method="lu", ordering="metis",
    singular="perturb", engine="serial".

    Raises SingularError, a RuntimeError as in SciPy, also if the matrix is singular to working precision.
    """
    same_order, A = order_of(A), as_sparse(A, "splu")
    require_square(A)
    try:
        return SparseLU(A, context=context, same_order=same_order, **{**options_of_superlu(permc_spec, options), **settings})
    except SingularError as failure:
        raise singular(failure) from None


def factorized(A, **settings):
    """A function that solves A x = b; replaces scipy.sparse.linalg.factorized. settings: those of splu."""
    return splu(A, **settings).solve


def load(file, context=None):
    """Loads the factors in a file as a SparseLU, without analysis and factorization. The method `save` of factors, `tristar solve --save`
    and the library write such files.

    file: a path, or an object with a method read(size). CholeskyFactor.load returns a CholeskyFactor.
    """
    return SparseLU.load(file, context)


def spsolve(A, b, permc_spec=None, use_umfpack=True, **settings):
    """Solves A x = b once; replaces scipy.sparse.linalg.spsolve.

    b: dense or sparse. If b is sparse, x is sparse in the format of A, unless b has one column. use_umfpack has no effect. If A is singular,
    or singular to working precision, the result is NaN, with a MatrixRankWarning. settings: those of splu.
    """
    A = as_sparse(A, "spsolve")
    b_is_sparse = sparse.issparse(b)
    b = require_format(b) if b_is_sparse else np.asarray(b)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"matrix must be square (has shape {A.shape})")
    if b.ndim not in (1, 2) or b.shape[0] != A.shape[0]:
        raise ValueError(f"matrix - rhs dimension mismatch ({A.shape} - {b.shape})")
    is_vector = b.ndim == 1 or b.shape[1] == 1
    if b_is_sparse and is_vector:
        b, b_is_sparse = b.toarray(), False
    dtype = np.promote_types(A.dtype, b.dtype)
    A = A.astype(dtype, copy=False)
    b = b.astype(dtype, copy=False)
    try:
        # Unlike splu this keeps no copy of the matrix.
        lu = SparseLU(A, keep=False, **{**options_of_superlu(permc_spec, None), **settings})
    except SingularError:
        warnings.warn("Matrix is exactly singular", MatrixRankWarning, stacklevel=2)
        shape = b.shape[:1] if is_vector else b.shape
        return type(A)(np.full(shape, np.nan, dtype)) if b_is_sparse else np.full(shape, np.nan, dtype, order="F")
    if b_is_sparse:
        return lu.solve(b).asformat(A.format)
    x = lu.solve(as_vectors(b, A.shape[0], dtype))
    return x.ravel() if is_vector else x
