"""mpiexec -n 4 python3 -m mpi4py 6_many_processes_mpi.py: each rank has its rows of the matrix and of the vectors."""
import numpy as np
import scipy.sparse as sp
from mpi4py import MPI

import tristar.mpi

comm = MPI.COMM_WORLD
k = 60
line = sp.diags([-1, 2, -1], [-1, 0, 1], (k, k))
ends = k * k * np.arange(comm.size + 1) // comm.size
rows = slice(ends[comm.rank], ends[comm.rank + 1])
A = tristar.mpi.Matrix(sp.kronsum(line, line, format="csr")[rows])  # a real program assembles only its rows
b = np.ones(A.rows)

lu = tristar.mpi.splu(A)                                            # a factor over all ranks
x = lu.solve(b)                                                     # many times
error = comm.allreduce(abs(A @ x - b).max(initial=0), MPI.MAX)

M = tristar.mpi.Preconditioner(A, "fsai")                           # one approximate inverse over all ranks
y, info = tristar.mpi.cg(A, b, M=M, tol=1e-10)
difference = comm.allreduce(abs(x - y).max(initial=0), MPI.MAX)
if comm.rank == 0:
    print(f"{lu.statistics().layout.px} x {lu.statistics().layout.py} x {lu.statistics().layout.pz} ranks, "
          f"residual {error:.1e}, conjugate gradients differ by {difference:.1e}")
assert error < 1e-10 and info == 0 and difference < 1e-5 * abs(comm.allreduce(abs(x).max(initial=0), MPI.MAX))
