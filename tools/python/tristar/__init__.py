"""TriStar: sparse direct solvers, triangular solves, preconditioners and Krylov methods for NumPy and SciPy.

    import tristar
    lu = tristar.splu(A)               # replaces scipy.sparse.linalg.splu
    x = lu.solve(b)                    # many times
    lu.refactor(A2)                    # new values, same pattern

Direct solvers       splu, factorized, spsolve, SparseLU
Cholesky             cholesky, CholeskyFactor
Files of factors     load, and the method save of factors
Schur complements    schur, SchurFactor
Forecasts            forecast, Context.limit_memory, Context.follow
Many systems         Batch
Triangles            spsolve_triangular, TriangularSolver
Preconditioners      spilu, Preconditioner
Krylov methods       cg, bicgstab, gmres, fgmres, KrylovSolver
Pictures             plot
Many processes       the module tristar.mpi
Contexts             Context, default_context, set_default_context
Errors               Error and its subclasses, such as SingularError
"""
from ._runtime import (ArgumentError, BusyError, CancelledError, Context, Error, FileError, ForkError, FormatError,
                       NotFiniteError, NotPositiveDefiniteError, OutOfMemoryError, SingularError, StaleError, TooLargeError,
                       UnsupportedError, __version__, default_context, set_default_context)
from .batch import Batch
from .cholesky import CholeskyFactor, cholesky
from .direct import SparseLU, factorized, load, splu, spsolve
from .factor import forecast
from .krylov import KrylovResult, KrylovSolver, bicgstab, cg, fgmres, gmres
from .pictures import Picture, plot
from .precond import IncompleteLU, Preconditioner, spilu
from .reports import Report
from .schur import SchurFactor, schur
from .triangular import TriangularSolver, spsolve_triangular

__all__ = [name for name in dir() if not name.startswith("_")]
