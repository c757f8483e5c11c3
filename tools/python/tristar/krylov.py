"""Krylov methods of the library, with preconditioners of the library or of SciPy."""
import weakref

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from ._arrays import LETTERS, SCALARS, MatrixArrays, address, as_sparse, as_vectors, from_buffer, require_format, require_kind
from ._runtime import (NULL, CancelledError, Error, call_interruptibly, check, ffi, generation, lib, make_options, new_cell,
                       usable)
from .solver import Inverse, Solver
from .precond import IncompleteLU, Preconditioner
from .reports import Report

# Products with matrices of at least this order may take long.
LONG_ROWS = 10000


def vector_view(pointer, n, columns, ld, dtype):
    """Columns of the library as an array, without a copy."""
    count = (ld * (columns - 1) + n) * dtype.itemsize
    return np.ndarray((n, columns), dtype, ffi.buffer(pointer, max(count, 0)), strides=(dtype.itemsize, ld * dtype.itemsize))


def put(result, view):
    """Copies the result of an operator of the caller. Raises TypeError for complex results of a real operator."""
    result = np.asarray(result)
    require_kind(result.dtype, view.dtype)
    view[...] = result


# Callbacks of C hold no reference to a solver, so that a solver is destroyed with the last reference to it.


def progress_of(solver):
    """The progress function of a solver."""
    me = weakref.ref(solver)
    return ffi.callback("tristar_krylov_progress_fn", lambda _, point: me()._on_point(point), error=1)


def product_of(matvec, n, dtype, raised):
    """The operator of the library for a function of a vector. Exceptions of the function are appended to `raised`."""

    def multiply(_, x, y):
        try:
            put(matvec(vector_view(x, n, 1, n, dtype)[:, 0]), vector_view(y, n, 1, n, dtype)[:, 0])
        except BaseException as exception:  # pylint: disable=broad-except
            raised.append(exception)
            return lib.TRISTAR_ERR_RUNTIME
        return lib.TRISTAR_OK

    return ffi.callback("tristar_operator_fn", multiply, error=lib.TRISTAR_ERR_RUNTIME)


class KrylovResult(tuple):
    """(x, info) as from SciPy: info is 0 if all columns converged, else the number of iterations.

    `columns` has a report for each column, with reason, iterations, true_residual, seconds and other figures.
    """

    def __new__(cls, x, columns):
        failed = [report for report in columns if not report.converged]
        result = super().__new__(cls, (x, max((max(1, report.iterations) for report in failed), default=0)))
        result.x, result.columns, result.converged = x, columns, not failed
        return result

    def __getnewargs__(self):
        return self.x, self.columns

    def _repr_html_(self):
        return "".join(report._repr_html_() for report in self.columns)


class KrylovSolver:
    """A Krylov method for A x = b with the preconditioner M.

    A: a sparse matrix, or a LinearOperator. method: "auto", "cg", "bicgstab", "gmres", "fgmres", "pipelined_cg", "block_cg". M: a
    Preconditioner, the result of splu or spilu, TriangularSolver, or a LinearOperator that applies M^-1. callback(column, iteration,
    residual) gets the relative norm of each iteration; if it returns true, that column and the following ones end. options are the
    fields of tristar_krylov_options, such as tolerance, max_iterations, restart, side, norm. One solve at a time.
    """

    def __init__(self, A, M=None, method="auto", callback=None, context=None, **options):
        self._A = as_sparse(A, "KrylovSolver") if sparse.issparse(A) or isinstance(A, np.ndarray) else aslinearoperator(A)
        if self._A.shape[0] != self._A.shape[1]:
            raise ValueError(f"matrix must be square (has shape {self._A.shape})")
        self.shape = self._A.shape
        self.dtype = np.result_type(self._A.dtype, np.float32) if not sparse.issparse(self._A) else self._A.dtype
        if self.dtype not in SCALARS:
            raise TypeError(f"operators of type {self.dtype} are not supported")
        self.callback = callback
        self._n = self.shape[0]
        self._M, self._options, self._context = M, dict(options, method=method), context
        self._arrays = MatrixArrays(self._A, copy=True) if sparse.issparse(self._A) else None
        self._make()

    def _make(self):
        self._context, self._generation, self._raised = usable(self._context), generation(), []
        self._progress = progress_of(self)
        options, kept = make_options("krylov_options", dict(self._options, progress=self._progress))
        self._cell, self._guess = self._create(options), False
        del kept
        self._precond = self._make_preconditioner(self._M)

    def _create(self, options):
        """A new cell with the solver."""
        cell, context = new_cell("krylov"), self._context.handle
        if self._arrays is not None:
            check(lib.tristar_krylov_create(context, self._arrays.view, options, cell))
        else:
            self._product = product_of(self._A.matvec, self._n, self.dtype, self._raised)
            check(lib.tristar_krylov_create_operator(context, self._n, LETTERS[SCALARS[self.dtype]], self._product, NULL, options,
                                                     cell))
        return cell

    def _make_preconditioner(self, M):
        """The cell of the preconditioner, and what must stay alive: for a Solver the object and its plan."""
        if M is None:
            return [[NULL]]
        if isinstance(M, Inverse):
            M = M.solver
        if isinstance(M, Preconditioner):
            M.handle  # of this process
            return [M._cell, M]
        cell = new_cell("precond")
        if isinstance(M, Solver):
            M._ready()
            if not M._judged:
                M._judge()
            plan = M._plan
            check(lib.tristar_precond_of_plan(plan, cell))
            return [cell, M, plan]
        if isinstance(M, IncompleteLU):
            M = M.as_operator()
        operator = aslinearoperator(require_format(M))
        return self._make_function({lib.TRISTAR_N: operator.matmat, lib.TRISTAR_C: operator.rmatmat,
                                    lib.TRISTAR_T: lambda X: operator.rmatmat(X.conj()).conj()})

    def _make_function(self, apply):
        """A preconditioner from one function for each operation, which takes an array of columns."""
        cell, n, dtype, raised = new_cell("precond"), self._n, self.dtype, self._raised

        def on_apply(_, op, columns, b, ldb, x, ldx):
            try:
                B = vector_view(b, n, columns, ldb, dtype)
                put(apply[op](B), vector_view(x, n, columns, ldx, dtype))
            except BaseException as exception:  # pylint: disable=broad-except
                raised.append(exception)
                return lib.TRISTAR_ERR_RUNTIME
            return lib.TRISTAR_OK

        function = ffi.callback("tristar_precond_fn", on_apply, error=lib.TRISTAR_ERR_RUNTIME)
        check(lib.tristar_precond_of_function(self._context.handle, n, LETTERS[SCALARS[dtype]], function, NULL, cell))
        return [cell, function]

    def _on_point(self, point):
        if self.callback is not None and not self._raised:
            try:
                if self.callback(point.column, point.iteration, point.residual):
                    return 1
            except BaseException as exception:  # pylint: disable=broad-except
                self._raised.append(exception)
        return len(self._raised) > 0

    def solve(self, b, x0=None):
        """Solves for a vector or for the columns of an array, from the initial guess x0. Returns a KrylovResult."""
        if self._generation != generation():
            self._make()
        b = np.asfortranarray(as_vectors(b, self._n, self.dtype))
        x = np.zeros(b.shape, self.dtype, order="F")
        if x0 is not None:
            x[...] = as_vectors(x0, self._n, self.dtype).reshape(b.shape)
        return self._run(b, x, x0 is not None)

    def _run(self, b, x, guess):
        """Solves with the right-hand sides b, column-major. x contains the initial guess if there is one."""
        n, columns = self._n, b.shape[1] if b.ndim == 2 else 1
        _, *used = self._precond
        if len(used) == 2 and used[0]._plan is not used[1]:  # a refactorization with another method has made a new plan
            self._precond = self._make_preconditioner(used[0])
        self._raised.clear()
        self._set_guess(guess)
        results = ffi.new("tristar_krylov_result[]", max(1, columns))
        cells = (self._cell, self._precond, self, b, x)

        def work():  # local variables live until the end of the call, also after Ctrl-C
            return lib.tristar_krylov_solve(cells[0][0], cells[1][0][0], columns, address(b), n, address(x), n, results)

        try:
            if n < LONG_ROWS:
                check(work())
            else:
                call_interruptibly(work, on_interrupt=lambda: self._raised.append(CancelledError("interrupted")))
        except Error:
            if self._raised:
                raise self._raised[0] from None
            raise
        if self._raised:
            raise self._raised[0]
        return KrylovResult(x, [self._report(results[k]) for k in range(columns)])

    _guess = False

    def _set_guess(self, guess):
        if guess != self._guess:
            options, kept = make_options("krylov_options", dict(self._options, progress=self._progress, guess=guess))
            check(lib.tristar_krylov_set_options(self._cell[0], options))
            self._guess = guess
            del kept

    @staticmethod
    def _report(result):
        report = Report("Krylov method", ffi.addressof(result))
        report._values["reason_text"] = ffi.string(lib.tristar_krylov_reason_text(result.reason)).decode()
        return report

    def update_values(self, A):
        """Sets new values: a matrix with the same pattern. The preconditioner does not change."""
        if self._arrays is None:
            raise ValueError("the matrix is a function")
        values = self._arrays.values_of(A, "update_values")
        if self._generation != generation():
            self._make()
        self._arrays.take_values(values)
        check(lib.tristar_krylov_update_values(self._cell[0], from_buffer(self._arrays.values)))

    def statistics(self):
        """A report of the solver: method, bytes, workers."""
        stats = ffi.new("tristar_krylov_stats *")
        check(lib.tristar_krylov_get_stats(self._cell[0], stats))
        return Report("Krylov solver", stats)


def solve_once(method, A, b, x0, M, callback, options):
    """One solve, with the arguments and results of the functions of SciPy."""
    solver = KrylovSolver(A, M, method, callback, norm="residual", **options)
    return solver.solve(b, x0)


def scipy_options(tol, maxiter, atol, more):
    """Converts options of SciPy to those of the library."""
    options = dict(more, tolerance=float(tol))
    if maxiter is not None:
        options["max_iterations"] = int(maxiter)
    if atol not in (None, "legacy"):
        options["absolute"] = float(atol)
    return options


def cg(A, b, x0=None, tol=1e-5, maxiter=None, M=None, callback=None, atol=None, **options):
    """Conjugate gradients; replaces scipy.sparse.linalg.cg, except for `callback(column, iteration, residual)`.

    Converges at || b - A x || <= max(tol || b ||, atol). Returns (x, info); the result also has the figures of each column. b may
    have several columns. options: fields of tristar_krylov_options.
    """
    return solve_once("cg", A, b, x0, M, callback, scipy_options(tol, maxiter, atol, options))


def bicgstab(A, b, x0=None, tol=1e-5, maxiter=None, M=None, callback=None, atol=None, **options):
    """BiCGSTAB, preconditioned from the right; otherwise like cg."""
    return solve_once("bicgstab", A, b, x0, M, callback, scipy_options(tol, maxiter, atol, {"side": "right", **options}))


def gmres(A, b, x0=None, tol=1e-5, restart=None, maxiter=None, M=None, callback=None, atol=None, **options):
    """GMRES, preconditioned from the right; maxiter counts iterations, not restarts; otherwise like cg."""
    more = {"side": "right", "restart": 30 if restart is None else int(restart), **options}
    return solve_once("gmres", A, b, x0, M, callback, scipy_options(tol, maxiter, atol, more))


def fgmres(A, b, x0=None, tol=1e-5, restart=None, maxiter=None, M=None, callback=None, atol=None, **options):
    """Flexible GMRES: M may change in each iteration; otherwise like gmres."""
    more = {"restart": 30 if restart is None else int(restart), **options}
    return solve_once("fgmres", A, b, x0, M, callback, scipy_options(tol, maxiter, atol, more))
