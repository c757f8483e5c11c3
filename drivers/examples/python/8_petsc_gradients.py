"""Preconditioned conjugate gradients with petsc4py. Options, not the script, select the approximate inverse of TriStar.

    export PETSC_OPTIONS="-dll_prepend libtristar_petsc.so"
    mpiexec -n 2 python3 8_petsc_gradients.py -pc_type tristar -pc_tristar_kind fsai
"""
import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc

k = 60
A = PETSc.Mat().createAIJ((k * k, k * k), nnz=5)
for row in range(*A.getOwnershipRange()):
    i, j = divmod(row, k)
    for column, there in ((row - k, i > 0), (row - 1, j > 0), (row + 1, j < k - 1), (row + k, i < k - 1)):
        if there:
            A[row, column] = -1
    A[row, row] = 4
A.assemble()
A.setOption(PETSc.Mat.Option.SPD, True)

x, b = A.createVecs()
b.set(1)
counts = {}
for name in ("none", None):  # without a preconditioner, and with the one of the options
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType("cg")
    ksp.setTolerances(rtol=1e-8)
    ksp.getPC().setType(name or "jacobi")
    if name is None:
        ksp.setFromOptions()
    ksp.solve(b, x)
    counts[ksp.getPC().getType()] = ksp.getIterationNumber()
    assert ksp.getConvergedReason() > 0
PETSc.Sys.Print("iterations", counts)

assert counts["tristar"] < counts["none"] / 2
