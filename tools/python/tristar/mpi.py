"""Matrices, factors and Krylov methods on the ranks of a communicator of mpi4py.

    import tristar.mpi
    A = tristar.mpi.Matrix(rows)        # each rank: a sparse matrix with its block of rows, and all columns
    lu = tristar.mpi.splu(A)            # a factor over all ranks
    x = lu.solve(b)                     # each rank: its rows of b and x

Matrices           Matrix, with the class methods read and generate
Direct solver      splu, DistributedLU
Preconditioners    Preconditioner
Krylov methods     KrylovSolver, cg, bicgstab, gmres, fgmres
Contexts           Context

Row blocks follow each other by rank; a rank may have no rows. All ranks of the communicator call everything that is not marked as
local, in the same order. An error of one rank is an exception on all of them. Arrays have the rows of the rank.
"""
import atexit
import os
import sys

import numpy as np
from mpi4py import MPI
from scipy import sparse

from . import krylov as one_process
from ._arrays import SCALARS, LETTERS, MatrixArrays, address, as_sparse, as_vectors, copy_of, require_format
from ._runtime import NULL, ForkError, check, ffi, generation, lib, make_options, set_option
from ._runtime import Context as OneContext
from .solver import OPS
from .reports import Report

if not hasattr(lib, "tristar_dmatrix_create_f"):
    raise ImportError("tristar.mpi: the library was built without MPI")

DISTRIBUTED_OPTIONS = {name for name, _ in ffi.typeof("tristar_distributed_options").fields} - {"size", "layout"}
LAYOUT_FIELDS = {name: field for name, field in ffi.typeof("tristar_layout").fields if name not in ("px", "py", "pz")}


class Context(OneContext):
    """A context of every rank. The ranks of a node divide its cores and GPUs. Arguments: those of tristar.Context."""

    def __init__(self, comm=None, log=None, **options):
        self._comm = MPI.COMM_WORLD if comm is None else comm
        super().__init__(log, **options)

    def _prepare(self, config):
        check(lib.tristar_mpi_share_cores_f(self._comm.py2f(), config))


# ---- Objects of a communicator -----------------------------------------------------------------------------


class _Ranks:
    """The ranks of a communicator, and the objects of the library on them.

    Destroying an object is collective, but the ranks drop it at different times. Therefore an object that all ranks have dropped is
    destroyed when the next one is created. The remaining objects are destroyed before the interpreter ends.
    """

    everyone = []

    def __init__(self, comm):
        self.comm = comm.Dup()  # separates its messages from those of the program
        self.made, self.live, self.dropped = 0, {}, []
        self._context = None
        self.everyone.append(self)

    @classmethod
    def of(cls, comm):
        """The ranks of a communicator. Collective at the first call."""
        ranks = comm.Get_attr(_KEY)
        if ranks is None:
            ranks = cls(comm)
            comm.Set_attr(_KEY, ranks)
        return ranks

    @property
    def context(self):
        """The default context, for objects created without a context."""
        if self._context is None:
            self._context = Context(self.comm)
        return self._context

    def agree(self, failure=None, equal=0, what=""):
        """Raises on all ranks if there is a failure on one, or if the numbers `equal` differ."""
        numbers = np.array([failure is not None, equal, -equal], np.int64)
        self.comm.Allreduce(MPI.IN_PLACE, numbers, MPI.MAX)
        if not numbers[0] and numbers[1] == -numbers[2]:
            return
        failures = self.comm.allgather(None if failure is None else (type(failure), str(failure)))
        if failure is not None:
            raise failure
        for rank, other in enumerate(failures):
            if other is not None:
                raise other[0](f"rank {rank}: {other[1]}")
        raise ValueError(f"{what} differ between ranks: between {-numbers[2]} and {numbers[1]}")

    def destroy_dropped(self):
        """Destroys the objects that all ranks have dropped."""
        lists = self.comm.allgather(list(self.dropped))
        for number in sorted(set(lists[0]).intersection(*lists[1:]), reverse=True):
            self.destroy(number)
            self.dropped.remove(number)

    def destroy(self, number):
        """Destroys an object, unless it is destroyed already."""
        cell, destroy, _ = self.live.pop(number, (None, None, None))
        if cell is not None:
            destroy(cell)

    @classmethod
    def end(cls):
        """Called before the interpreter ends. After an exception other ranks may never call it."""
        if MPI.Is_finalized() or getattr(sys, "last_value", None) is not None:
            return
        for ranks in cls.everyone:
            for number in sorted(ranks.live, reverse=True):
                ranks.destroy(number)


_KEY = MPI.Comm.Create_keyval()
atexit.register(_Ranks.end)


class _Distributed:
    """An object of the library on all ranks."""

    kind = ""
    _number = None

    def _make(self, ranks, create, *used):
        """Calls create(cell), which creates the object; it uses the objects `used`."""
        ranks.destroy_dropped()
        cell = ffi.new(f"tristar_{self.kind}_t **")
        check(create(cell))
        self._ranks, self._generation, self._cell = ranks, generation(), cell
        ranks.made += 1
        self._number = ranks.made
        ranks.live[self._number] = cell, getattr(lib, f"tristar_{self.kind}_destroy"), used

    @property
    def handle(self):
        """The object of C. Local."""
        if self._generation != generation():
            raise ForkError("the object was made before fork(), and MPI does not work after it")
        if self._cell[0] == NULL:
            raise ValueError("the object was destroyed")
        return self._cell[0]

    def destroy(self):
        """Frees the memory now. Without this call it is freed after all ranks have dropped the object, when another one is created."""
        if self._number is not None:
            self._ranks.destroy(self._number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy()

    def __del__(self):
        if self._number is not None and self._number in self._ranks.live:
            self._ranks.dropped.append(self._number)

    def _vectors(self, rows, dtype, *arrays):
        """The arrays as column-major ones of `rows` rows, and the number of columns. An error on one rank is raised on all ranks."""
        failure, vectors, columns = None, [], 0
        try:
            vectors = [np.asfortranarray(as_vectors(array, rows, dtype)) for array in arrays]
            columns = vectors[0].shape[1] if vectors[0].ndim == 2 else 1
            if any(vector.shape != vectors[0].shape for vector in vectors):
                raise ValueError("the arrays have different shapes")
        except (TypeError, ValueError) as error:
            failure = error
        self._ranks.agree(failure, columns, "numbers of right-hand sides")
        return (*vectors, columns)

    def _figures(self, title, kind, function, *arguments):
        stats = ffi.new(f"tristar_{kind} *")
        check(function(self.handle, *arguments, stats))
        return Report(title, stats)


def _operation(trans):
    if trans not in OPS:
        raise ValueError("trans must be N, T, or H")
    return OPS[trans]


# ---- Matrices ----------------------------------------------------------------------------------------------


class Matrix(_Distributed):
    """A square sparse matrix whose rows are distributed over the ranks of `comm` (None: COMM_WORLD).

    rows: the rows of this rank, a sparse matrix with all columns; duplicates are summed, the arrays are copied. symmetry: "general";
    with "symmetric" or "hermitian" each pair of entries is stored once. options: dtype, which values are converted to, and engine.
    """

    kind = "dmatrix"

    def __init__(self, rows, comm=None, symmetry="general", context=None, **options):
        ranks = _Ranks.of(MPI.COMM_WORLD if comm is None else comm)
        arrays = self._arrays_of(ranks, rows, symmetry)
        self._create(ranks, context, options, lambda c, o, cell: lib.tristar_dmatrix_create_f(
            c.handle, ranks.comm.py2f(), arrays.view, o, cell))
        self._symmetry = symmetry

    @staticmethod
    def _arrays_of(ranks, rows, symmetry):
        failure = arrays = None
        try:
            if not sparse.issparse(rows) or rows.format not in ("csc", "csr"):
                rows = sparse.csr_matrix(require_format(rows))
            arrays = MatrixArrays(as_sparse(rows, "Matrix"))
            words = {"general": lib.TRISTAR_GENERAL, "symmetric": lib.TRISTAR_SYMMETRIC, "hermitian": lib.TRISTAR_HERMITIAN}
            if symmetry not in words:
                raise ValueError(f"symmetry={symmetry!r}: must be one of {', '.join(words)}")
            arrays.view.symmetry = words[symmetry]
        except (TypeError, ValueError) as error:
            failure = error
        ranks.agree(failure)
        return arrays

    def _create(self, ranks, context, options, create):
        context = ranks.context if context is None else context
        if "dtype" in options:
            options["scalar"] = LETTERS[SCALARS[np.dtype(options.pop("dtype"))]]
        options, _ = make_options("dmatrix_options", options)
        self._make(ranks, lambda cell: create(context, options, cell), context)
        self._context, self._symmetry = context, "general"
        self._describe()

    def _describe(self):
        stats = ffi.new("tristar_dmatrix_stats *")
        check(lib.tristar_dmatrix_get_stats(self.handle, stats))
        self.shape, self.first, self.rows = (stats.n, stats.n), stats.first, stats.rows
        self.dtype = next(dtype for dtype, letter in SCALARS.items() if LETTERS[letter] == stats.scalar)

    @classmethod
    def read(cls, path, comm=None, context=None, **options):
        """The matrix in a Matrix Market file that all ranks can open, in blocks of equal size. "gen:KIND:K" generates one."""
        ranks, made, name = _Ranks.of(MPI.COMM_WORLD if comm is None else comm), cls.__new__(cls), str(path).encode()
        made._create(ranks, context, options, lambda c, o, cell: lib.tristar_dmatrix_read_f(c.handle, ranks.comm.py2f(), name, o, cell))
        return made

    @classmethod
    def generate(cls, kind, size, comm=None, context=None, **options):
        """The model problem `kind` of this size, such as "poisson3d7", 20."""
        ranks, made, name = _Ranks.of(MPI.COMM_WORLD if comm is None else comm), cls.__new__(cls), str(kind).encode()
        made._create(ranks, context, options,
                     lambda c, o, cell: lib.tristar_dmatrix_generate_f(c.handle, ranks.comm.py2f(), name, size, o, cell))
        return made

    def repartition(self, **options):
        """The same matrix with its rows distributed in parts with few entries between them, and renumbered."""
        made = type(self).__new__(type(self))
        made._create(self._ranks, self._context, options, lambda c, o, cell: lib.tristar_dmatrix_repartition(self.handle, o, cell))
        return made

    @property
    def comm(self):
        """A duplicate of the communicator. Local."""
        return self._ranks.comm

    def update(self, rows):
        """Sets new values: the rows of this rank, with the pattern of the matrix. Preconditioners are not updated."""
        arrays = self._arrays_of(self._ranks, rows, self._symmetry)
        check(lib.tristar_dmatrix_update(self.handle, arrays.view))

    def multiply(self, x, trans="N"):
        """A x, A^T x ('T') or A^H x ('H'). x: the rows of this rank, 1 or 2 dimensions."""
        op = _operation(trans)
        x, columns = self._vectors(self.rows, self.dtype, x)
        y, ld = np.empty(x.shape, self.dtype, order="F"), max(1, self.rows)
        check(lib.tristar_dmatrix_multiply(self.handle, op, columns, NULL, address(x), ld, NULL, address(y), ld))
        return y

    def __matmul__(self, x):
        return self.multiply(x)

    def local_rows(self):
        """The rows of this rank in full, as a CSR matrix. Local."""
        view = ffi.new("tristar_view *")
        check(lib.tristar_dmatrix_get_view(self.handle, view))
        return self._csr(view)

    def diagonal_block(self):
        """The rows and the columns of this rank, as a CSR matrix. Local."""
        view = ffi.new("tristar_view *")
        check(lib.tristar_dmatrix_get_diagonal(self.handle, view))
        return self._csr(view)

    def _csr(self, view):
        ptr = copy_of(view.ptr, view.rows + 1, f"i{view.ptr_bits // 8}") - view.base
        index = copy_of(view.index, int(ptr[-1]), f"i{view.index_bits // 8}") - view.base
        return sparse.csr_matrix((copy_of(view.values, int(ptr[-1]), self.dtype), index, ptr), (view.rows, view.cols))

    def origin(self):
        """For each row of this rank its number in the matrix before `repartition`. Local."""
        rows = np.empty(self.rows, np.int64)
        check(lib.tristar_dmatrix_get_origin(self.handle, ffi.cast("int64_t *", ffi.from_buffer(rows))))
        return rows

    def statistics(self):
        """A report for this rank: rows, entries, ghost columns, messages. Local."""
        return self._figures("Matrix", "dmatrix_stats", lib.tristar_dmatrix_get_stats)

    def __repr__(self):
        stats = self.statistics()
        return f"<Matrix: {stats.n} rows, {self.dtype}, {stats.nnz_all} entries; rank {stats.rank} of {stats.ranks}: {stats.rows} rows>"


# ---- Factors -----------------------------------------------------------------------------------------------


def _split(settings):
    """Options of the analysis, and of the distributed factor with its layout."""
    analysis, factor, layout = {}, {}, {}
    for name, value in settings.items():
        (layout if name in LAYOUT_FIELDS else factor if name in DISTRIBUTED_OPTIONS else analysis)[name] = value
    return analysis, factor, layout


class DistributedLU(_Distributed):
    """A factor of a Matrix over its ranks: L U, or L L^H and L D L^H of a symmetric matrix. `splu` creates it."""

    kind = "distributed"

    def __init__(self, A, layout=None, **settings):
        self.shape, self.dtype, self.rows = A.shape, A.dtype, A.rows
        failure = None
        try:
            analysis, factor, of_layout = _split(settings)
            options, kept = make_options("distributed_options", factor)
            for name, value in of_layout.items():
                kept.append(set_option(options.layout, name, value, LAYOUT_FIELDS[name]))
            numbers = layout.split("x") if isinstance(layout, str) else layout
            options.layout.px, options.layout.py, options.layout.pz = map(int, (0, 1, 1) if numbers is None else numbers)
            ordering, more = make_options("analysis_options", analysis)
        except (TypeError, ValueError) as error:
            failure = error
        A._ranks.agree(failure)
        self._make(A._ranks, lambda cell: lib.tristar_dmatrix_factor(A.handle, ordering, options, cell), A._context)
        del kept, more

    @classmethod
    def load(cls, prefix, rows=None, comm=None, context=None, **settings):
        """The factor that `save` or `tristar solve --save` wrote, on as many ranks in the same layout.

        rows: the rows of b and x of this rank; None on all ranks: blocks of nearly equal size. settings: the fields of
        tristar_distributed_options.
        """
        ranks, made, name = _Ranks.of(MPI.COMM_WORLD if comm is None else comm), cls.__new__(cls), os.fsencode(prefix)
        context = ranks.context if context is None else context
        options, kept = make_options("distributed_options", settings)
        options.layout.px = 0
        made._make(ranks, lambda cell: lib.tristar_distributed_load_f(context.handle, ranks.comm.py2f(), name, options, cell), context)
        del kept
        stats = ffi.new("tristar_distributed_stats *")
        check(lib.tristar_distributed_get_stats(made.handle, stats))
        first, end = (stats.n * r // ranks.comm.size for r in (ranks.comm.rank, ranks.comm.rank + 1))
        made.shape, made.rows = (stats.n, stats.n), end - first if rows is None else rows
        made.dtype = next(dtype for dtype, letter in SCALARS.items() if LETTERS[letter] == stats.scalar)
        check(lib.tristar_distributed_set_rows(made.handle, ranks.comm.scan(made.rows) - made.rows, made.rows))
        return made

    def save(self, prefix):
        """Writes the factor with its matrix: each rank the file PREFIX.RANK. `load` reads them."""
        check(lib.tristar_distributed_save(self.handle, os.fsencode(prefix)))

    def solve(self, b, trans="N"):
        """The rows of this rank of the solution of A x = b, or of A^T x = b ('T') or A^H x = b ('H')."""
        op = _operation(trans)
        b, columns = self._vectors(self.rows, self.dtype, b)
        x, ld = np.empty(b.shape, self.dtype, order="F"), max(1, self.rows)
        check(lib.tristar_distributed_solve(self.handle, op, columns, address(b), ld, address(x), ld))
        return x

    def solve_refined(self, b, trans="N", forward_error=False, **options):
        """(x, report), as SparseLU.solve_refined; the report is the same on all ranks."""
        op = _operation(trans)
        settings, kept = make_options("refine_options", dict(options, forward_error=forward_error))
        b, columns = self._vectors(self.rows, self.dtype, b)
        x, ld, result = np.empty(b.shape, self.dtype, order="F"), max(1, self.rows), ffi.new("tristar_refine_result *")
        check(lib.tristar_distributed_solve_refined(self.handle, op, columns, address(b), ld, address(x), ld, settings, result))
        del kept
        return x, Report("Refined solve", result)

    def condition(self):
        """An estimate of the condition number of the scaled matrix in the 1-norm; infinity for a singular one."""
        reciprocal = ffi.new("double *")
        check(lib.tristar_distributed_condition(self.handle, reciprocal))
        return 1 / reciprocal[0] if reciprocal[0] > 0 else np.inf

    def refactor(self, A):
        """Factors the values of a Matrix of the same pattern, such as the original one after `update`, without an analysis."""
        check(lib.tristar_dmatrix_refactor(A.handle, self.handle))

    def statistics(self):
        """A report for this rank: layout, bytes, messages, seconds of the latest solve. Local."""
        return self._figures("Distributed factor", "distributed_stats", lib.tristar_distributed_get_stats)

    def gather_statistics(self):
        """On rank 0 the reports of all ranks; on others None."""
        size = self._ranks.comm.size if self._ranks.comm.rank == 0 else 1
        all_stats = ffi.new("tristar_distributed_stats[]", size)
        check(lib.tristar_distributed_gather_stats(self.handle, all_stats))
        if self._ranks.comm.rank:
            return None
        return [Report("Distributed factor", ffi.addressof(all_stats, rank)) for rank in range(size)]


def splu(A, layout=None, **settings):
    """Factors a Matrix on its ranks. If A is a sparse matrix, it is the block of rows of this rank.

    layout: (px, py, pz) or "2x1x2", with as many ranks as the communicator; None: the library chooses it. settings are the fields of
    tristar_analysis_options, tristar_distributed_options and tristar_layout, such as method="lu", ordering="ptscotch".
    """
    if not isinstance(A, Matrix):
        A = Matrix(A)
    return DistributedLU(A, layout, **settings)


# ---- Preconditioners and Krylov methods --------------------------------------------------------------------


class Preconditioner(_Distributed):
    """A preconditioner of a Matrix, for KrylovSolver.

    kind "fsai": an approximate inverse of the whole matrix; rows use entries of other ranks within a path of `levels` entries. Other
    kinds ("jacobi", "ssor", "ilu", "ilut", "ic", "ict", and "plan": complete factors): additive Schwarz with a subdomain for each rank,
    which has the rows of other ranks within a path of `overlap` entries. restricted: the restricted method. options: the fields of
    tristar_precond_options.
    """

    kind = "precond"

    def __init__(self, A, kind="fsai", levels=3, overlap=0, restricted=False, **options):
        settings, kept = make_options("precond_options", dict(options, kind=kind))
        self.shape, self.dtype, self.rows, self._is_fsai = A.shape, A.dtype, A.rows, kind == "fsai"
        if self._is_fsai:
            self._make(A._ranks, lambda cell: lib.tristar_dmatrix_fsai(A.handle, settings, levels, cell), A._context)
        else:
            self._make(A._ranks, lambda cell: lib.tristar_dmatrix_schwarz(A.handle, settings, overlap, int(restricted), cell),
                       A._context)
        del kept

    def solve(self, b, trans="N"):
        """The rows of this rank of M^-1 b, M^-T b ('T') or M^-H b ('H')."""
        op = _operation(trans)
        b, columns = self._vectors(self.rows, self.dtype, b)
        x, ld = np.empty(b.shape, self.dtype, order="F"), max(1, self.rows)
        check(lib.tristar_precond_apply(self.handle, op, columns, address(b), ld, address(x), ld))
        return x

    def update(self, A):
        """Computes the preconditioner for the values of a Matrix of the same pattern. Only for "fsai"."""
        if not self._is_fsai:
            raise ValueError('only preconditioners of the kind "fsai" take new values: make a new one')
        check(lib.tristar_dmatrix_fsai_update(A.handle, self.handle))

    def statistics(self):
        """A report for this rank. Local."""
        return self._figures("Preconditioner", "precond_stats", lib.tristar_precond_get_stats)


class KrylovSolver(_Distributed, one_process.KrylovSolver):
    """A Krylov method for a Matrix. M: a Preconditioner of this module, or a DistributedLU. Other arguments: tristar.KrylovSolver.

    METHOD "auto" treats matrices of the symmetry "general" as unsymmetric.
    """

    kind = "krylov"

    def __init__(self, A, M=None, method="auto", callback=None, **options):
        if M is not None and not isinstance(M, (Preconditioner, DistributedLU)):
            raise TypeError("M must be a Preconditioner of tristar.mpi, or a DistributedLU")
        self.shape, self.dtype, self.callback, self._n = A.shape, A.dtype, callback, A.rows
        self._A, self._M, self._options, self._context = A, M, dict(options, method=method), A._context
        self._raised = []
        self._progress = one_process.progress_of(self)
        settings, kept = make_options("krylov_options", dict(self._options, progress=self._progress))
        self._make(A._ranks, lambda cell: lib.tristar_dmatrix_krylov(A.handle, settings, cell), self._context, self._progress)
        del kept
        if M is None:
            self._precond = [[NULL]]
        elif isinstance(M, Preconditioner):
            M.handle  # not destroyed
            self._precond = [M._cell, M]
        else:
            self._precond = self._make_function({op: lambda X, name=name: M.solve(X, name) for name, op in OPS.items()})

    def solve(self, b, x0=None):
        """The rows of this rank of the solution, like tristar.KrylovSolver.solve. info and reports are the same on all ranks."""
        for used in (self, self._M):
            if used is not None:
                used.handle  # not destroyed
        x = np.zeros(np.shape(b), self.dtype, order="F") if x0 is None else x0
        b, x, _ = self._vectors(self._n, self.dtype, b, x)
        if x0 is not None:
            x = x.copy(order="F")
        return self._run(b, x, x0 is not None)

    def update_values(self, A):
        raise ValueError("the solver uses the new values of its Matrix after Matrix.update")

    def statistics(self):
        """A report of the solver: method, bytes, workers. Local."""
        return self._figures("Krylov solver", "krylov_stats", lib.tristar_krylov_get_stats)


def _solve_once(method, A, b, x0, M, callback, options):
    with KrylovSolver(A, M, method, callback, norm="residual", **options) as solver:
        return solver.solve(b, x0)


def cg(A, b, x0=None, tol=1e-5, maxiter=None, M=None, callback=None, atol=None, **options):
    """Conjugate gradients for a Matrix, like tristar.cg."""
    return _solve_once("cg", A, b, x0, M, callback, one_process.scipy_options(tol, maxiter, atol, options))


def bicgstab(A, b, x0=None, tol=1e-5, maxiter=None, M=None, callback=None, atol=None, **options):
    """BiCGSTAB for a Matrix, like tristar.bicgstab."""
    return _solve_once("bicgstab", A, b, x0, M, callback, one_process.scipy_options(tol, maxiter, atol, {"side": "right", **options}))


def gmres(A, b, x0=None, tol=1e-5, restart=None, maxiter=None, M=None, callback=None, atol=None, **options):
    """GMRES for a Matrix, like tristar.gmres."""
    more = {"side": "right", "restart": 30 if restart is None else int(restart), **options}
    return _solve_once("gmres", A, b, x0, M, callback, one_process.scipy_options(tol, maxiter, atol, more))


def fgmres(A, b, x0=None, tol=1e-5, restart=None, maxiter=None, M=None, callback=None, atol=None, **options):
    """Flexible GMRES for a Matrix, like tristar.fgmres."""
    more = {"restart": 30 if restart is None else int(restart), **options}
    return _solve_once("fgmres", A, b, x0, M, callback, one_process.scipy_options(tol, maxiter, atol, more))
