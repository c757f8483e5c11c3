"""Systems of one pattern, factored and solved side by side."""
import threading

import numpy as np
from scipy import sparse

from ._arrays import MatrixArrays, address, as_sparse, order_of, require_cast, require_square
from ._runtime import (NULL, StaleError, call_interruptibly, check, error, ffi, generation, lib, make_options, message, new_cell,
                       usable, word)
from .solver import OPS
from .reports import Report


class Batch:
    """Many systems whose matrices have the pattern of A; the values of A are typical of them.

    `options` are the fields of tristar_batch_options in tristar_batch.h, such as ordering, matching, tolerance. `errors` has the
    backward errors of the latest solutions, `statuses` the names of their statuses.
    """

    def __init__(self, A, context=None, **options):
        same_order, A = order_of(A), as_sparse(A, "Batch")
        require_square(A)
        self._arrays = MatrixArrays(A, copy=True, same_order=same_order)
        self.shape, self.dtype = A.shape, self._arrays.values.dtype
        self._options, self._context = options, context
        self.errors = self.statuses = None
        self._make()

    def _make(self):
        self._context, self._generation = usable(self._context), generation()
        options, _ = make_options("batch_options", self._options)
        cell = new_cell("batch")
        check(lib.tristar_batch(self._context.handle, self._arrays.view, options, cell))
        self._cell, self._lock = cell, threading.Lock()

    def _ready(self):
        if self._generation != generation():  # a child of fork() creates it again; factors are lost
            self._make()
        return self._cell[0]

    @property
    def systems(self):
        """Number of systems that the batch has factors of."""
        return self.statistics().systems

    def _values(self, values):
        """Values of all systems, one row each: an array, or sparse matrices of the pattern."""
        arrays = self._arrays
        if isinstance(values, np.ndarray):
            values = arrays.array_of(values, "Batch")
        else:
            values = np.array([(arrays.values_of if sparse.issparse(A) else arrays.array_of)(A, "Batch") for A in values])
        require_cast(values.dtype, self.dtype)
        if values.ndim != 2 or values.shape[1] != len(self._arrays.values):
            raise ValueError(f"values have the shape {values.shape}: a row of {len(self._arrays.values)} for each system is needed")
        return np.ascontiguousarray(values, self.dtype)

    def _vectors(self, b, systems):
        """(b, stride of a system, columns): b of all systems, or one for all of them."""
        n = self.shape[0]
        require_cast(b.dtype, self.dtype)
        if b.ndim == 1 and b.shape == (n,):
            return np.ascontiguousarray(b, self.dtype), 0, 1
        if b.ndim == 2 and b.shape == (systems, n):
            return np.ascontiguousarray(b, self.dtype), n, 1
        if b.ndim == 3 and b.shape[:2] == (systems, n):  # each system column-major
            return np.ascontiguousarray(b.transpose(0, 2, 1), self.dtype), n * b.shape[2], b.shape[2]
        raise ValueError(f"b has the shape {b.shape}: ({n},), ({systems}, {n}) or ({systems}, {n}, columns) is needed")

    def _run(self, prepare, strict, with_errors=True):
        """Calls prepare() under the lock, so that no other call changes the systems. It returns the number of systems, the result of
        this function, and a function(batch, errors, statuses), which calls the library. Raises the first failure unless `strict` is
        false."""
        cell, lock = self._cell, self._lock
        outcome = []

        def work():  # local variables live until the end of the call, also after Ctrl-C
            with lock:
                return call()

        def call():
            systems, result, function = prepare()
            errors, statuses = np.zeros(systems), ffi.new("tristar_status[]", max(1, systems))
            status = function(cell[0], ffi.cast("double *", ffi.from_buffer(errors)) if systems else NULL, statuses)
            outcome.append((status, message() if status else "", errors, list(statuses)[:systems], result))
            return 0

        call_interruptibly(work)
        status, text, errors, statuses, result = outcome[0]
        kinds = ffi.typeof("tristar_status")
        self.statuses = [word(kinds, one) for one in statuses]
        self.errors = errors if with_errors else None
        if status and (strict or not any(statuses)):
            raise error(status, text)
        return result

    def factor(self, values, strict=True):
        """Factors systems and keeps their factors. values: an array with a row of values in the order of A.data for each system, if A
        was CSC or CSR, or sparse matrices. strict=False: systems that cannot be factored raise nothing; `statuses` names them."""
        self._ready()
        values = self._values(values)
        self._run(lambda: (len(values), None, lambda batch, _, statuses: lib.tristar_batch_factor(
            batch, len(values), address(values), values.shape[1], statuses)), strict, with_errors=False)

    def solve(self, b, trans="N", strict=True):
        """Solutions of the systems that were factored. b: (n,), for all systems, (systems, n), or (systems, n, columns)."""
        if trans not in OPS:
            raise ValueError("trans must be N, T, or H")
        self._ready()
        b = np.asarray(b)

        def prepare():
            systems = self.systems
            if not systems:
                raise StaleError("no systems were factored")
            return self._solve(b, systems, lambda batch, columns, pb, stride, px, errors, statuses: lib.tristar_batch_solve(
                batch, OPS[trans], columns, pb, self.shape[0], stride, px, self.shape[0], self.shape[0] * columns, errors, statuses))

        return self._run(prepare, strict)

    def factor_solve(self, values, b, trans="N", strict=True):
        """Factors and solves, without keeping factors. Returns the solutions, with NaN for systems that failed if strict=False."""
        if trans not in OPS:
            raise ValueError("trans must be N, T, or H")
        self._ready()
        values, b = self._values(values), np.asarray(b)
        return self._run(lambda: self._solve(b, len(values), lambda batch, columns, pb, stride, px, errors, statuses:
                                             lib.tristar_batch_factor_solve(
                                                 batch, len(values), address(values), values.shape[1], OPS[trans], columns, pb,
                                                 self.shape[0], stride, px, self.shape[0], self.shape[0] * columns, errors, statuses)),
                         strict)

    def _solve(self, b, systems, call):
        """What `prepare` of _run returns for solves."""
        b, stride, columns = self._vectors(b, systems)
        x = np.empty((systems, columns, self.shape[0]), self.dtype)
        return (systems, x[:, 0, :] if b.ndim < 3 else x.transpose(0, 2, 1),
                lambda batch, errors, statuses: call(batch, columns, address(b), stride, address(x), errors, statuses))

    def statistics(self):
        """A report: entries, lanes, workers, systems with pivots of their own, seconds."""
        stats = ffi.new("tristar_batch_stats *")
        check(lib.tristar_batch_get_stats(self._ready(), stats))
        return Report("Batch", stats)

    def _repr_html_(self):
        return self.statistics()._repr_html_()
