"""Preconditioners: incomplete factors, sparse approximate inverses, SSOR; and spilu with the interface of SciPy."""
import math

import numpy as np
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator

from ._arrays import MatrixArrays, address, as_sparse, as_vectors, require_format, require_square
from ._runtime import SingularError, call_interruptibly, check, ffi, generation, lib, make_options, new_cell, usable
from .factor import LONG_ENTRIES
from .solver import OPS
from .reports import Report


class Preconditioner(LinearOperator):
    """M^-1 of a preconditioner M of A, as a LinearOperator: M of the Krylov methods of SciPy and of this package.

    kind: "jacobi", "ssor", "ilu", "ilut", "ic", "ict", "fsai". `options` are the fields of tristar_precond_options in
    tristar_precond.h, such as level, drop, fill, omega, pair="auto". Threads may apply it at the same time.
    """

    def __init__(self, A, kind="ilu", context=None, **options):
        A = as_sparse(A, "Preconditioner")
        require_square(A)
        self._arrays = MatrixArrays(A, copy=True)
        self._options = dict(options, kind=kind)
        self._context, self._cell = context, None
        super().__init__(self._arrays.values.dtype, A.shape)
        self._make()

    def _make(self):
        self._context = usable(self._context)
        self._generation = generation()
        options, _ = make_options("precond_options", self._options)
        cell, arrays, context = new_cell("precond"), self._arrays, self._context.handle
        self._run(lib.tristar_precond, context, arrays.view, options, cell)
        self._cell = cell

    def _run(self, function, *arguments):
        keep = (self._arrays, self._context, self._cell, arguments)
        if len(self._arrays.index) < LONG_ENTRIES:
            check(function(*arguments))
        else:  # local variables live until the end of the call, also after Ctrl-C
            call_interruptibly(lambda: function(*arguments) if keep else 0)

    @property
    def handle(self):
        """The preconditioner of C. In a child of fork() it is made again."""
        if self._generation != generation():
            self._make()
        return self._cell[0]

    def solve(self, b, trans="N"):
        """The solution of M x = b, or of M^T x = b ('T') or M^H x = b ('H'). b: array of n rows with 1 or 2 dimensions."""
        if trans not in OPS:
            raise ValueError("trans must be N, T, or H")
        n = self.shape[0]
        b = np.asfortranarray(as_vectors(b, n, self.dtype))
        x = np.empty(b.shape, self.dtype, order="F")
        if b.size:
            columns = b.shape[1] if b.ndim == 2 else 1
            check(lib.tristar_precond_apply(self.handle, OPS[trans], columns, address(b), n, address(x), n))
        return x

    def update(self, A):
        """Sets new values: a matrix whose entries are in the same pattern. No application may run. Raises ValueError for other entries."""
        handle, values = self.handle, self._arrays.values_of(A, "update")
        self._arrays.take_values(values)
        self._run(lib.tristar_precond_update, handle, self._arrays.view)

    def statistics(self):
        """A report: entries, density, level sets, seconds."""
        stats = ffi.new("tristar_precond_stats *")
        check(lib.tristar_precond_get_stats(self.handle, stats))
        return Report("Preconditioner", stats)

    def _matvec(self, x):
        return self.solve(np.asarray(x).reshape(-1))

    def _rmatvec(self, x):
        return self.solve(np.asarray(x).reshape(-1), "H")

    def _matmat(self, X):
        return self.solve(X)

    def _rmatmat(self, X):
        return self.solve(X, "H")

    def __reduce__(self):
        return _restore, (self._arrays.matrix(), self._options)

    def _repr_html_(self):
        return self.statistics()._repr_html_()


def _restore(A, options):
    return Preconditioner(A, **options)


class IncompleteLU:
    """Incomplete factors of a matrix whose rows and columns are permuted, with the interface of scipy.sparse.linalg.SuperLU."""

    def __init__(self, A, rows, columns, **options):
        self._rows, self._columns = rows, columns
        self.shape = A.shape
        self.preconditioner = Preconditioner(A.tocsr()[rows].tocsc()[:, columns], "ilut", **options)
        self.dtype = self.preconditioner.dtype
        self.perm_r, self.perm_c = (np.argsort(order).astype(np.int32) for order in (rows, columns))
        stats = self.preconditioner.statistics()
        self.nnz = stats.nnz_lower + stats.nnz_upper + self.shape[0]

    def solve(self, b, trans="N"):
        """The solution of M x = b, or of M^T x = b ('T') or M^H x = b ('H'), where M is close to A."""
        before, after = (self._rows, self._columns) if trans == "N" else (self._columns, self._rows)
        b = as_vectors(b, self.shape[0], self.dtype)
        x = np.empty(b.shape, self.dtype, order="F")
        x[after] = self.preconditioner.solve(b[before], trans)
        return x

    def as_operator(self):
        """M^-1 as a LinearOperator."""
        return LinearOperator(self.shape, self.solve, lambda x: self.solve(x, "H"), self.solve, self.dtype)

    @property
    def L(self):
        """Not available: the library has no function that returns incomplete factors."""
        raise NotImplementedError("the entries of incomplete factors are not available; solve() applies them")

    U = L

    def statistics(self):
        """A report of the incomplete factors."""
        return self.preconditioner.statistics()


RULES = {"basic", "prows", "column", "area", "secondary", "dynamic", "interp"}


def check_rules(drop_rule):
    """Accepts the drop rules of SuperLU."""
    words = drop_rule if isinstance(drop_rule, (list, tuple)) else [drop_rule]
    for rule in words:
        text = rule.decode() if isinstance(rule, bytes) else rule
        if not set(text.split(",")) <= RULES:
            raise ValueError(f"drop_rule={text!r}: must be of {', '.join(sorted(RULES))}")


def spilu(A, drop_tol=None, fill_factor=None, drop_rule=None, permc_spec=None, diag_pivot_thresh=None, relax=None,
          panel_size=None, options=None, *, context=None):
    """Incomplete L U of a square sparse matrix; replaces scipy.sparse.linalg.spilu.

    TriStar's ILUT: row i of the factors drops entries up to drop_tol (default: 1e-4) times its norm, and the factors have at most about
    fill_factor (default: 10) times the entries of A. Columns are ordered by reverse Cuthill-McKee, unless permc_spec is NATURAL; rows
    are matched to columns if the diagonal has zeros. There is no pivoting: if SuperLU would have to exchange rows, this raises SingularError.
    drop_rule and the other arguments of SuperLU are checked, and have no effect.
    """
    A = require_format(as_sparse(A, "spilu"))
    require_square(A)
    n = A.shape[0]
    given = dict(options or {})
    drop_tol = given.pop("ILU_DropTol", drop_tol)
    fill_factor = given.pop("ILU_FillFactor", fill_factor)
    if drop_rule is not None:
        check_rules(drop_rule)
    drop_tol = 1e-4 if drop_tol is None else drop_tol
    fill_factor = 10.0 if fill_factor is None else fill_factor
    if not 0 <= drop_tol <= 1 or not fill_factor >= 1:
        raise ValueError("drop_tol must be between 0 and 1, fill_factor at least 1")
    natural = given.pop("ColPerm", permc_spec) == "NATURAL"
    order = np.arange(n)
    match = order
    csr = A.tocsr()
    if n and np.any(csr.diagonal() == 0):
        match = csgraph.maximum_bipartite_matching(_pattern(csr), perm_type="row")
        if np.any(match < 0):
            raise SingularError("Factor is exactly singular: the matrix is structurally singular")
        match = match.astype(np.int64)
        csr = csr[match]
    if not natural and n:
        order = csgraph.reverse_cuthill_mckee(_pattern(csr + csr.T), symmetric_mode=True).astype(np.int64)
    fill = math.ceil((fill_factor - 1) * A.nnz / max(1, n) / 2)
    return IncompleteLU(A, match[order], order, context=context, drop=drop_tol, fill=fill)


def _pattern(csr):
    """A CSR matrix of ones with 32-bit indices, without stored zeros, for the algorithms of csgraph."""
    csr = csr.copy()
    csr.eliminate_zeros()
    csr.data = np.ones(len(csr.data))
    csr.indices, csr.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    return csr.astype(np.float64)
