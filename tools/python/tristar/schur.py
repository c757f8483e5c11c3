"""Schur complements of chosen unknowns."""
import numpy as np

from ._arrays import address, as_sparse, as_vectors, order_of, require_square, row_numbers
from ._runtime import check, lib
from .factor import Factorization
from .solver import OPS


class SchurFactor(Factorization):
    """Factors of the block A_II of a matrix, and the Schur complement A_SS - A_SI A_II^-1 A_IS of the unknowns S = `schur`.

    `condense` and `expand` are the solves before and after the caller's own solve with the complement. `solve`, which needs all of
    A, raises UnsupportedError. `refactor` factors new values.
    """

    def __init__(self, A, schur, context=None, keep=True, **options):
        schur = np.array(schur)
        if schur.ndim != 1 or schur.dtype.kind not in "iu" or not len(schur):
            raise ValueError("schur must be a list of row numbers")
        schur = row_numbers(schur, "schur")
        super().__init__(A, context=context, keep=keep, **{**options, "schur": schur, "schur_count": len(schur)})

    @property
    def unknowns(self):
        """The rows S, in the order of the complement."""
        return self._analysis_options["schur"].copy()

    @property
    def complement(self):
        """A new column-major array with the Schur complement: row and column k belong to unknowns[k]."""
        self._ready()
        count = self._analysis_options["schur_count"]
        complement = np.empty((count, count), self.dtype, order="F")
        gate = self._gate
        gate.enter()
        try:
            check(lib.tristar_schur_get(self._factor[0], address(complement), count))
        finally:
            gate.leave()
        return complement

    def condense(self, b, trans="N"):
        """(g, y): the right-hand sides of the complement of op(A), and the vectors that `expand` needs.

        b: array of n rows with 1 or 2 dimensions. g has len(unknowns) rows, y the shape of b.
        """
        b = self._prepare(b, self._n, trans)
        y, g = np.empty(b.shape, self.dtype, order="F"), self._complement_vectors(b)
        n, columns = self._n, self._columns(b)
        if columns:
            self._call(columns, lambda: lib.tristar_schur_condense(self._plan, OPS[trans], columns, address(b), n, address(y), n,
                                                                   address(g), len(g)))
        return g, y

    def expand(self, y, x_s, trans="N"):
        """The solution of op(A) x = b from its unknowns in S: x_s, len(unknowns) rows. y: from condense(b, trans)."""
        y = self._prepare(y, self._n, trans)
        x_s = self._prepare(x_s, self._analysis_options["schur_count"], trans)
        if x_s.shape[1:] != y.shape[1:]:
            raise ValueError(f"x_s has the shape {x_s.shape}, y {y.shape}")
        x, n, columns = np.empty(y.shape, self.dtype, order="F"), self._n, self._columns(y)
        if columns:
            self._call(columns, lambda: lib.tristar_schur_expand(self._plan, OPS[trans], columns, address(y), n, address(x_s),
                                                                 len(x_s), address(x), n))
        return x

    def _prepare(self, b, rows, trans):
        if trans not in OPS:
            raise ValueError("trans must be N, T, or H")
        self._ready()
        return np.asfortranarray(as_vectors(b, rows, self.dtype))

    def _complement_vectors(self, b):
        return np.empty((self._analysis_options["schur_count"],) + b.shape[1:], self.dtype, order="F")

    @staticmethod
    def _columns(b):
        return b.shape[1] if b.ndim == 2 else 1

    def __reduce__(self):
        kind, (_, A, options) = super().__reduce__()
        return kind, (type(self), A, {name: value for name, value in options.items() if name != "schur_count"})


def schur(A, unknowns, *, context=None, **options):
    """Eliminates all unknowns of A but `unknowns`, a list of row numbers. Returns a SchurFactor.

    A, A_SS and the complement may be singular; A_II must not be. options: those of splu.
    """
    same_order, A = order_of(A), as_sparse(A, "schur")
    require_square(A)
    return SchurFactor(A, unknowns, context=context, same_order=same_order, **options)
