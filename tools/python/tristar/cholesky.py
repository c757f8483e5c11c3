"""Cholesky factors with the interface of scikit-sparse (sksparse.cholmod.Factor)."""
import numpy as np
from scipy import sparse

from ._arrays import MatrixArrays, as_sparse, as_vectors, order_of, require_format, require_kind, require_square
from ._runtime import check, ffi, lib
from .explicit import ExplicitFactors, Order, inverse_diagonal, place_of
from .factor import Factorization

ORDERINGS = {"default": "auto", "best": "auto", "natural": "natural", "amd": "amd", "colamd": "amd", "metis": "metis",
             "nesdis": "dissection"}


def hermitian(A, beta=0):
    """The matrix whose lower triangle is that of A, plus beta I."""
    require_kind(np.asarray(beta).dtype, A.dtype)
    require_format(A)
    lower = sparse.tril(A, -1, format="csc")
    diagonal = sparse.diags(A.diagonal().real.astype(A.dtype) + np.asarray(beta, A.dtype), format="csc")
    return sparse.csc_matrix(lower + diagonal + lower.conj().T)


def diagonal_of(order):
    """The diagonal of D."""
    D = np.empty_like(order.pivots.real)
    D[order.place] = order.pivots.real**2
    return D


class CholeskyFactor(Factorization):
    """P A P^T = L L^H = L' D L'^H of a symmetric or Hermitian positive definite matrix; L' has a unit diagonal.

    P A is A[P()]. Only the lower triangle of A is used. Methods named solve_... take a vector, an array of columns or a sparse matrix.
    """

    def __init__(self, A, context=None, keep=True, beta=0, same_order=True, **options):
        both = hermitian(A, beta)
        # The rows of a symmetric matrix are its columns.
        same_lines = A.format == "csc" or np.issubdtype(A.dtype, np.floating)
        same_lines = same_lines and np.array_equal(A.indptr, both.indptr) and np.array_equal(A.indices, both.indices)
        super().__init__(both, context=context, keep=keep, same_order=same_lines and same_order, **{**options, "method": "llt"})

    def _loaded(self):
        if self._analysis_options["method"] != "llt":
            raise ValueError(f"the file has a factor of the method {self._analysis_options['method']}, not Cholesky: use tristar.load")

    _order = None

    def _forget_explicit(self):
        self._order = None

    @property
    def order(self):
        """Permutation, scaling and the diagonal of L, computed once. Row k of the factor is row place[k] of P A P^T: the factor has a
        postorder of the natural order."""
        self._ready()
        with self._lock:
            if self._order is None:
                order = Order(self)
                order.scale = order.row_scale[order.rows].astype(self.dtype)
                order.pivots = 1 / (inverse_diagonal(self, order) * order.scale)
                order.place = place_of(self, order)
                self._order = order
            return self._order

    # ---- Solves

    def __call__(self, b):
        """A^-1 b"""
        return self.solve(b)

    solve_A = __call__

    def _with_order(self, b, function):
        """function(order), while refactorizations wait: no new values between scalings and sweeps. Other threads may solve."""
        found, columns = [], int(np.prod(np.shape(b)[1:]))
        while not found:
            order = self.order

            def work(order=order):
                if self._order is order:
                    found.append(function(order))
                return 0

            self._call(columns, work)
        return found[0]

    def _substitute(self, order, part, b, before=None, after=None):
        """One sweep in the order of the factor, with diagonal scalings of b and of the result. The caller holds the gate."""
        if sparse.issparse(b):
            return sparse.csc_matrix(self._substitute(order, part, require_format(b).toarray(), before, after))
        b = as_vectors(b, self._n, self.dtype)
        block = np.asfortranarray(b.reshape(self._n, -1)[order.place])
        if before is not None:
            block *= before[:, None]
        found = self._solve_rows(np.arange(self._n), block, lib.TRISTAR_N, part, 1, held=True)
        if after is not None:
            found *= after[:, None]
        x = np.empty_like(found)
        x[order.place] = found
        return x.reshape(b.shape, order="F")

    def _forward(self, order, b, unit=True):
        return self._substitute(order, lib.TRISTAR_PART_L, b, order.scale, order.pivots if unit else None)

    def _backward(self, order, b, unit=True):
        return self._substitute(order, lib.TRISTAR_PART_U, b, order.pivots if unit else None, order.scale)

    def _divide(self, order, b):
        D = diagonal_of(order)
        if sparse.issparse(b):
            return sparse.csc_matrix(sparse.diags(1 / D) @ require_format(b))
        b = as_vectors(b, self._n, self.dtype)
        return (b.T / D).T.astype(self.dtype, copy=False)

    def solve_L(self, b, use_LDLt_decomposition=True):
        """L'^-1 b, or L^-1 b; b in the order of the factor: apply_P(b)."""
        return self._with_order(b, lambda order: self._forward(order, b, use_LDLt_decomposition))

    def solve_Lt(self, b, use_LDLt_decomposition=True):
        """L'^-H b, or L^-H b."""
        return self._with_order(b, lambda order: self._backward(order, b, use_LDLt_decomposition))

    def solve_D(self, b):
        """D^-1 b"""
        return self._divide(self.order, b)

    def solve_LD(self, b):
        """(L' D)^-1 b"""
        return self._with_order(b, lambda order: self._divide(order, self._forward(order, b)))

    def solve_DLt(self, b):
        """(D L'^H)^-1 b"""
        return self._with_order(b, lambda order: self._backward(order, self._divide(order, b)))

    def solve_LDLt(self, b):
        """(L' D L'^H)^-1 b"""
        return self._with_order(b, lambda order: self._backward(order, self._divide(order, self._forward(order, b))))

    def apply_P(self, b):
        """P b"""
        self._require_rows(b)
        return require_format(b).tocsr()[self.P()].tocsc() if sparse.issparse(b) else np.asarray(b)[self.P()]

    def apply_Pt(self, b):
        """P^T b"""
        self._require_rows(b)
        place = np.argsort(self.P())
        return require_format(b).tocsr()[place].tocsc() if sparse.issparse(b) else np.asarray(b)[place]

    def _require_rows(self, b):
        if np.shape(b)[:1] != (self._n,):
            raise ValueError(f"b has the shape {np.shape(b)}, the matrix {self._n} rows")

    def inv(self):
        """A^-1 as a CSC matrix. It has n x n entries unless A has independent blocks."""
        return self.solve(sparse.identity(self._n, self.dtype, format="csc"))

    # ---- Factors

    def P(self):
        """The permutation: entry k is the row of A that becomes row k."""
        order = self.order
        P = np.empty_like(order.rows)
        P[order.place] = order.rows
        return P

    def D(self):
        """The diagonal of D, real."""
        return diagonal_of(self.order)

    def L_D(self):
        """(L', D), both CSC. Use D of this pair with L', not D(), which has other roundings."""
        self._ready()
        with self._lock:
            factors = ExplicitFactors(self)
        return factors.L, sparse.diags(factors.U.diagonal().real, format="csc")

    def L(self):
        """L, CSC."""
        lower, diagonal = self.L_D()
        return sparse.csc_matrix(lower @ diagonal.sqrt())

    def LD(self):
        """L' and D in one matrix: D on its diagonal, CSC."""
        lower, diagonal = self.L_D()
        return sparse.csc_matrix(sparse.tril(lower, -1) + diagonal)

    def logdet(self):
        """log det A"""
        return super().slogdet()[1]

    def slogdet(self):
        """(1, log det A)"""
        return 1, self.logdet()

    def det(self):
        """det A; infinity or zero where it exceeds the range of numbers."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.exp(self.logdet()))

    # ---- New values

    def cholesky_inplace(self, A, beta=0):
        """Factors A + beta I, whose entries are in the pattern of the first matrix."""
        self.refactor(hermitian(as_sparse(A, "cholesky"), beta))

    def cholesky(self, A, beta=0):
        """A new factor of A + beta I with the options of this one."""
        return cholesky(A, beta, context=self._context, **{**self._analysis_options, **self._plan_options, "method": "llt"})

    def update_inplace(self, C, subtract=False):
        """Factors A + C C^H, or with `subtract` A - C C^H, in the time of a few solves. C: sparse, with few columns.

        Raises ValueError if C C^H has an entry outside the pattern of A, and NotPositiveDefiniteError if the difference is not
        positive definite; the factor is unchanged then.
        """
        self._ready()
        C = require_format(as_sparse(C, "update_inplace"))
        require_kind(C.dtype, self.dtype)
        C = sparse.csc_matrix(C, dtype=self.dtype, copy=True)
        C.sum_duplicates()
        product = C @ C.conj().T
        sum_ = self._arrays.matrix() + (-product if subtract else product)
        values, columns = self._arrays.values_of(sum_, "update_inplace"), MatrixArrays(C)
        with self._lock:
            with self._gate.exclusive():
                check(lib.tristar_update_low_rank(self._factor[0], columns.view, int(subtract), ffi.NULL))
                self._arrays.take_values(values)
                self._forget_explicit()
                self._new_values()


def cholesky(A, beta=0, mode="auto", ordering_method="default", use_long=None, *, context=None, **options):
    """Factors A + beta I, which is symmetric or Hermitian positive definite; replaces sksparse.cholmod.cholesky.

    Only the lower triangle of A is used. ordering_method: "default", "natural", "amd", "metis", "nesdis", "best". mode and use_long
    have no effect. options: those of splu. Raises NotPositiveDefiniteError with the row of the pivot.
    """
    if ordering_method not in ORDERINGS:
        raise ValueError(f"ordering_method={ordering_method!r}: must be one of {', '.join(ORDERINGS)}")
    same_order, A = order_of(A), as_sparse(A, "cholesky")
    require_square(A)
    options.pop("method", None)
    options.setdefault("ordering", ORDERINGS[ordering_method])
    return CholeskyFactor(A, context=context, beta=beta, same_order=same_order, **options)
