"""Solves with a factor and its plan: the part that LU, Cholesky and triangular matrices share."""
import os
import threading
import time
from collections import deque
from contextlib import contextmanager

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from ._arrays import address, as_vectors, from_buffer, require_cast, require_format, row_numbers, sparse_columns, strides_of
from ._runtime import (NULL, ForkError, call_interruptibly, check, error, ffi, generation, lib, make_options, message, new_cell,
                       usable)
from .reports import Report

OPS = {"N": lib.TRISTAR_N, "T": lib.TRISTAR_T, "H": lib.TRISTAR_C}
# Calls that are predicted to take longer, in seconds, are made on another thread, so that Ctrl-C does not wait for them.
LONG_SECONDS = 0.1
# A call of unknown length counts as a solve with this number of right-hand sides, which is long except for small matrices.
LONG_CALL = 100
# Right-hand sides with at most this number of entries are copied instead of passed with their strides.
SMALL = 10000
SOLVE_OPTIONS = ffi.typeof("tristar_solve_options *")
SOLVE_OPTIONS_SIZE = ffi.sizeof("tristar_solve_options")
ndarray, empty_like, solve_plain = np.ndarray, np.empty_like, lib.tristar_solve


_renewal = threading.Lock()


def _renew_lock():
    global _renewal
    _renewal = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class Gate:
    """A lock for many solves or one refactorization. Operations of a deque are atomic; a solve needs two of them."""

    def __init__(self):
        self.inside = deque()
        self.closed = False
        self.lock = threading.Lock()

    def enter(self):
        """Waits while a refactorization runs."""
        self.inside.append(None)
        while self.closed:
            self.inside.pop()
            with self.lock:
                pass
            self.inside.append(None)

    def leave(self):
        """The end of a solve."""
        self.inside.pop()

    @contextmanager
    def exclusive(self):
        """Waits for all solves, and keeps others out."""
        with self.lock:
            self.closed = True
            try:
                while self.inside:
                    time.sleep(1e-4)
                yield
            finally:
                self.closed = False


def integers(array):
    """The address of a contiguous array of 64-bit integers."""
    return ffi.cast("int64_t *", from_buffer(array))


def solve_options(op):
    """The options of one solve, with their defaults."""
    options = ffi.new(SOLVE_OPTIONS)
    lib.tristar_solve_options_init_sized(options, SOLVE_OPTIONS_SIZE)
    options.op = op
    return options


class Solver:
    """Solves with a factor and its plan. Threads may solve at the same time.

    A child of fork() cannot use the factor of its parent. It makes the factor again at the first solve, from the copy of the
    matrix that the object keeps. Copies by pickle do the same.
    """

    def __init__(self, context, n, dtype):
        self.shape = (n, n)
        self.dtype = dtype
        self._n = n
        self._context = context
        self._lock = threading.RLock()
        self._gate = Gate()
        self._factor = self._plan = self._plan_cell = None

    # ---- Making the factor

    def _make_factor(self):
        """A new cell with a factor of the matrix that the object keeps."""
        raise ForkError("the object was made before fork(): make it again in this process")

    def _make(self, plan_options):
        """The factor and its plan, for the first time or in a child of fork()."""
        self._context = usable(self._context)
        self._generation = generation()
        self._plan_options = plan_options
        self._install(*self._build())

    def _build(self):
        """New cells with a factor and its plan."""
        factor, plan = self._make_factor(), new_cell("plan")
        options, _ = make_options("plan_options", self._plan_options)
        check(lib.tristar_plan(factor[0], options, plan))
        return factor, plan

    def _install(self, factor, plan):
        """Destroys the old factor and plan: no solve may use them."""
        self._factor, self._plan_cell, self._plan = factor, plan, plan[0]
        self._new_values()

    def _new_values(self):
        """Called when the factor has other values, while no solve runs. With release_factor the first solve judges them, because it
        releases the entries of the factor."""
        self._before = self._read_factor_stats(), self._read_plan_stats()
        self._judged = not self._plan_options.get("release_factor")
        if self._judged:
            self._look()
        else:
            self._seconds = np.inf  # so that the first solve is made by _call

    def _judge(self):
        """Judges the values of a plan with release_factor before the first solve, while no other solve runs."""
        with self._lock, self._gate.exclusive():
            if not self._judged:
                self._look()
                self._judged = True

    def _look(self):
        """Called while no solve runs: do solves with new values need refinement?"""
        stats = ffi.new("tristar_plan_stats *")
        check(lib.tristar_plan_get_stats(self._plan, stats))
        self._seconds = stats.predicted_seconds
        failed = 0
        if stats.storage != lib.TRISTAR_STORAGE_FULL or stats.compress > 0:  # a solve judges the stored copy
            failed = lib.tristar_solve(self._plan, lib.TRISTAR_N, 0, NULL, max(1, self._n), NULL, max(1, self._n))
            check(lib.tristar_plan_get_stats(self._plan, stats))
        self._refines = failed != 0 or stats.refines != 0

    def _renew(self):
        """In a child of fork(): makes the factor again."""
        with _renewal:
            if self._generation != generation():
                self._lock, self._gate = threading.RLock(), Gate()
                self._make(self._plan_options)

    def _ready(self):
        """Called before all calls except fast solves, which detect a fork by an error."""
        if self._generation != generation():
            self._renew()

    # ---- Solves

    def solve(self, b, trans="N"):
        """The solution of A x = b, or of A^T x = b ('T') or A^H x = b ('H').

        b: array of n rows with 1 or 2 dimensions in any memory order, or a sparse matrix. Returns a new array of the same shape
        (column-major), or a CSC matrix. Raises ValueError for another shape, and TypeError if the type of b cannot be cast safely.
        """
        # Column-major arrays of the right type, with little overhead; cffi accepts the transposed view as contiguous. Copying a small
        # array is faster than all other ways.
        if type(b) is ndarray and b.dtype is self.dtype and b.size and 0 < b.ndim < 3 and trans in OPS:
            if not b.flags.f_contiguous:
                if b.size > SMALL:
                    return self._solve_any(b, trans)
                b = b.copy("F")
            shape, n = b.shape, self._n
            columns = 1 if len(shape) == 1 else shape[1]
            if shape[0] == n and self._seconds * columns < LONG_SECONDS:
                x, gate = empty_like(b), self._gate
                gate.inside.append(None)
                try:
                    if not gate.closed:
                        status = solve_plain(self._plan, OPS[trans], columns, from_buffer(b.T), n, from_buffer(x.T), n)
                        if not status:
                            return x
                        self._explain_failure(status)
                finally:
                    gate.inside.pop()
        return self._solve_any(b, trans)

    def _explain_failure(self, status):
        """Raises the exception of a failed solve, except in a child of fork(), which solves once more."""
        text = message()
        if self._generation == generation():
            raise error(status, text)

    def _solve_any(self, b, trans):
        """All other right-hand sides."""
        if trans not in OPS:
            raise ValueError("trans must be N, T, or H")
        self._ready()
        if sparse.issparse(b):
            return self._solve_sparse(b, trans)
        b = as_vectors(b, self._n, self.dtype)
        x = np.empty(b.shape, self.dtype, order="F")
        self._solve_into(b, x, OPS[trans])
        return x

    def _solve_into(self, b, x, op):
        """x: a column-major array of the shape of b."""
        columns = b.shape[1] if b.ndim == 2 else 1
        if b.size == 0:
            return
        n, strides = self._n, strides_of(b)

        def call():
            # tristar_solve_with does not refine. Until now a refactorization may have changed whether that is needed.
            if b.flags.f_contiguous or strides is None or self._refines:
                whole = np.asfortranarray(b)
                return lib.tristar_solve(self._plan, op, columns, address(whole), n, address(x), n)
            options = solve_options(op)
            options.b_row_stride, options.b_column_stride = strides
            options.x_row_stride, options.x_column_stride = 1, n
            return lib.tristar_solve_with(self._plan, options, columns, address(b), address(x), NULL)

        self._call(columns, call)

    def _solve_sparse(self, B, trans):
        """Solves with a sparse B: reads only the rows of B that have entries, and only the chunks of the factor that they need."""
        if B.shape[0] != self._n:
            raise ValueError(f"b is of incompatible size: it has {B.shape[0]} rows, the matrix {self._n}")
        require_cast(B.dtype, self.dtype)
        B, found, stopped = sparse.csc_matrix(require_format(B), dtype=self.dtype), [], []

        def call():  # of all columns, so that all have the same factor
            status = 0
            for rows, block in sparse_columns(B, 1 if self._refines else 64):
                x = np.empty((self._n, block.shape[1]), self.dtype, order="F")
                if self._refines:
                    b = np.zeros_like(x)
                    b[rows] = block
                    status = lib.tristar_solve(self._plan, OPS[trans], 1, address(b), self._n, address(x), self._n)
                else:
                    status = self._call_with(rows, block, x, solve_options(OPS[trans]), self._plan)
                if status or stopped:
                    break
                found.append(sparse.csc_matrix(x))
            return status

        if B.shape[0] and B.shape[1]:
            try:
                self._call(B.shape[1], call)
            except BaseException:  # Ctrl-C: refactorizations wait for the columns that another thread still computes
                stopped.append(True)
                raise
        return sparse.hstack(found, format="csc", dtype=self.dtype) if found else sparse.csc_matrix(B.shape, dtype=self.dtype)

    def _solve_rows(self, rows, block, op, part, factor_order, plan=None, held=False):
        """Dense solutions, without refinement, for right-hand sides whose nonzero rows are `rows`. plan: a cell with another plan of the
        factor. held: the caller is inside _call."""
        x = np.empty((self._n, block.shape[1]), self.dtype, order="F")
        options = solve_options(op)
        options.part, options.factor_order = part, factor_order

        def call():
            return self._call_with(rows, block, x, options, self._plan if plan is None else plan[0])

        if held:
            check(call())
        else:
            self._call(block.shape[1], call)
        return x

    def _call_with(self, rows, block, x, options, plan):
        """Calls tristar_solve_with for right-hand sides whose nonzero rows are `rows`. Returns its status."""
        if len(rows) < self._n:
            if not len(rows):  # the library treats an empty list as no list
                rows, block = np.zeros(1, np.int64), np.zeros((1, block.shape[1]), self.dtype, order="F")
            options.b_rows, options.b_row = len(rows), integers(rows)
        options.b_row_stride, options.b_column_stride = 1, len(rows)
        options.x_row_stride, options.x_column_stride = 1, self._n
        return lib.tristar_solve_with(plan, options, block.shape[1], address(block), address(x), NULL)

    def _call(self, columns, function, solves=True):
        """Calls function(), which uses the factor for the given number of right-hand sides. After Ctrl-C it ends on another thread.
        solves: may the call release the entries of the factor?"""
        if solves and not self._judged:
            self._judge()
        gate = self._gate

        def work():
            gate.enter()
            try:
                return function()
            finally:
                gate.leave()

        if self._seconds * columns < LONG_SECONDS:
            check(work())
        else:
            call_interruptibly(work)

    # ---- Accuracy

    def solve_refined(self, b, trans="N", forward_error=False, **options):
        """(x, report): a solution with iterative refinement, and its componentwise backward error and other figures.

        With forward_error the report also has an estimated bound of the relative forward error. `options` are the fields of
        `tristar_refine_options`, such as max_steps, tolerance. b: array of n rows with 1 or 2 dimensions.
        """
        self._ready()
        if trans not in OPS:
            raise ValueError("trans must be N, T, or H")
        b = np.asfortranarray(as_vectors(b, self._n, self.dtype))
        x = np.empty(b.shape, self.dtype, order="F")
        settings, kept = make_options("refine_options", dict(options, forward_error=forward_error))
        result = ffi.new("tristar_refine_result *")
        columns = b.shape[1] if b.ndim == 2 else 1
        n = self._n
        self._call(20 * columns, lambda: lib.tristar_solve_refined(self._plan, OPS[trans], columns, address(b), n, address(x), n,
                                                                   settings, result))
        del kept
        return x, Report("Refined solve", result)

    def backward_error(self, x, b, trans="N"):
        """The largest componentwise backward error of solutions x: max |b - A x| / (|A| |x| + |b|)."""
        self._ready()
        b, x = (np.asfortranarray(as_vectors(array, self._n, self.dtype)) for array in (b, x))
        if b.shape != x.shape:
            raise ValueError(f"b has the shape {b.shape}, x {x.shape}")
        result = ffi.new("double *")
        columns = b.shape[1] if b.ndim == 2 else 1
        n = self._n
        self._call(columns, lambda: lib.tristar_residual(self._factor[0], OPS[trans], columns, address(b), n, address(x), n, NULL, 0,
                                                         result), solves=False)
        return result[0]

    def condition(self):
        """An estimate of the condition number of the scaled matrix in the 1-norm; infinity for a singular one."""
        self._ready()
        reciprocal = ffi.new("double *")
        self._call(10, lambda: lib.tristar_condition(self._plan, reciprocal))
        return 1 / reciprocal[0] if reciprocal[0] > 0 else np.inf

    def _pivots(self, function, kind):
        self._ready()
        result = ffi.new(kind)
        self._call(1, lambda: function(self._factor[0], result), solves=False)
        return result

    def slogdet(self):
        """(sign, log |det A|), as numpy.linalg.slogdet; of a complex matrix the sign is a phase."""
        d = self._pivots(lib.tristar_factor_get_determinant, "tristar_determinant *")
        sign = complex(d.sign[0], d.sign[1])
        return (sign if np.issubdtype(self.dtype, np.complexfloating) else sign.real), d.log_abs

    def inertia(self):
        """(positive, negative, zero): the numbers of eigenvalues of a symmetric or Hermitian matrix."""
        counts = self._pivots(lib.tristar_factor_get_inertia, "tristar_inertia *")
        return counts.positive, counts.negative, counts.zero

    def null_space(self, trans="N", most=100):
        """An orthonormal basis of the null space of a singular matrix (singular="perturb"), in columns."""
        self._ready()
        if trans not in OPS:
            raise ValueError("trans must be N, T, or H")
        if most < 0:
            raise ValueError(f"most={most}: must not be negative")
        basis, count = np.empty((self._n, min(most, self._n)), self.dtype, order="F"), ffi.new("int64_t *")
        self._call(8, lambda: lib.tristar_null_space(self._plan, OPS[trans], basis.shape[1], address(basis), max(1, self._n), count))
        return basis[:, :count[0]]

    # ---- Entries of the inverse

    def inverse_diagonal(self):
        """The diagonal of A^-1: variances, if A is an inverse covariance."""
        self._ready()
        values = np.empty(self._n, self.dtype)
        self._call(LONG_CALL, lambda: lib.tristar_inverse_diagonal(self._plan, address(values)), solves=False)
        return values

    def inverse_entries(self, rows, columns):
        """The entries of A^-1 in these rows and columns: arrays of integers from 0, which are broadcast against each other."""
        self._ready()
        rows, columns = np.broadcast_arrays(row_numbers(rows, "rows"), row_numbers(columns, "columns"))
        shape, values = rows.shape, np.empty(rows.size, self.dtype)
        rows, columns = (np.ascontiguousarray(array).reshape(-1) for array in (rows, columns))
        if rows.size:
            self._call(LONG_CALL, lambda: lib.tristar_inverse_entries(self._plan, rows.size, integers(rows), integers(columns),
                                                                      address(values)), solves=False)
        return values.reshape(shape)

    # ---- Figures

    def statistics(self):
        """A report of the factor: entries, bytes, pivots, growth, seconds."""
        return Report("Factor", self._figures(0, self._read_factor_stats))

    def _read_factor_stats(self):
        stats = ffi.new("tristar_factor_stats *")
        check(lib.tristar_factor_get_stats(self._factor[0], stats))
        return stats

    def _read_plan_stats(self):
        stats = ffi.new("tristar_plan_stats *")
        check(lib.tristar_plan_get_stats(self._plan, stats))
        return stats

    def _figures(self, kind, read):
        """What read() returns; during a refactorization, without waiting for it, the figures of the values before: its callbacks may
        call this."""
        self._ready()
        gate = self._gate
        gate.inside.append(None)
        try:
            return self._before[kind] if gate.closed else read()
        finally:
            gate.leave()

    def plan_statistics(self):
        """A report of the plan: chunks, tasks, workers, bytes and predicted seconds of a solve."""
        return Report("Plan", self._figures(1, self._read_plan_stats))

    def explain(self, columns=1):
        """A report of what would run a solve with this number of right-hand sides now, and why."""
        self._ready()
        result = ffi.new("tristar_explanation *")
        self._call(1, lambda: lib.tristar_plan_explain(self._plan, NULL, columns, result), solves=False)
        return Report("Way of a solve", result)

    def as_operator(self):
        """A^-1 as a LinearOperator of SciPy: OPinv of eigsh, or M of a Krylov method."""
        return Inverse(self)


class Inverse(LinearOperator):
    """The inverse of a matrix, by solves with its factor."""

    def __init__(self, solver):
        super().__init__(solver.dtype, solver.shape)
        self.solver = solver

    def _cast(self, x):
        # A Krylov method of SciPy may pass vectors of a wider type.
        return x if np.can_cast(x.dtype, self.dtype, "safe") else x.astype(self.dtype, casting="same_kind")

    def _matvec(self, x):
        return self.solver.solve(self._cast(np.asarray(x)).reshape(-1))

    def _rmatvec(self, x):
        return self.solver.solve(self._cast(np.asarray(x)).reshape(-1), "H")

    def _matmat(self, X):
        return self.solver.solve(self._cast(np.asarray(X)))

    def _rmatmat(self, X):
        return self.solver.solve(self._cast(np.asarray(X)), "H")
