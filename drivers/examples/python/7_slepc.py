"""Eigenvalues next to a shift with SLEPc. Options, not the script, select TriStar as the solver of the shifted systems.

    export PETSC_OPTIONS="-dll_prepend libtristar_petsc.so"
    mpiexec -n 2 python3 7_slepc.py -st_pc_factor_mat_solver_type tristar
"""
import sys

import slepc4py

slepc4py.init(sys.argv)
import numpy as np
from petsc4py import PETSc
from slepc4py import SLEPc

k, shift = 40, 1.0
A = PETSc.Mat().createAIJ((k * k, k * k), nnz=5)
for row in range(*A.getOwnershipRange()):
    i, j = divmod(row, k)
    for column, there in ((row - k, i > 0), (row - 1, j > 0), (row + 1, j < k - 1), (row + k, i < k - 1)):
        if there:
            A[row, column] = -1
    A[row, row] = 4
A.assemble()

solver = SLEPc.EPS().create()
solver.setOperators(A)
solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
solver.setDimensions(6)
solver.setTarget(shift)
solver.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
solver.getST().setType("sinvert")
solver.setFromOptions()
solver.solve()
found = np.array([solver.getEigenvalue(i).real for i in range(6)])

line = 2 - 2 * np.cos(np.pi * np.arange(1, k + 1) / (k + 1))
right = np.add.outer(line, line).ravel()
right = right[np.argsort(abs(right - shift))][:6]
assert abs(np.sort(found) - np.sort(right)).max() < 1e-8, right
PETSc.Sys.Print("solver", solver.getST().getKSP().getPC().getFactorSolverType(), "eigenvalues", found)
