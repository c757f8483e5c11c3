"""petsc4py solves with TriStar: LU, new values, a transpose, an inertia, a preconditioner; options alone name TriStar."""
import sys

import numpy as np
import petsc4py

petsc4py.init(["-pc_factor_mat_solver_type", "tristar"])
from petsc4py import PETSc  # noqa: E402 (after the options)


def laplacian(n, shift):
    A = PETSc.Mat().createAIJ([n, n], nnz=3)
    for i in range(*A.getOwnershipRange()):
        A.setValue(i, i, 2.0 + shift)
        for j in (i - 1, i + 1):
            if 0 <= j < n:
                A.setValue(i, j, -1.0)
    A.assemble()
    return A


def solve(ksp, A, transposed=False):
    exact, b = A.createVecs()
    exact.setValues(range(exact.getSize()), np.arange(exact.getSize()) % 7 + 1.0)
    exact.assemble()
    x = exact.duplicate()
    if transposed:
        A.multTranspose(exact, b)
        ksp.solveTranspose(b, x)
    else:
        A.mult(exact, b)
        ksp.solve(b, x)
    error = (x - exact).norm() / exact.norm()
    assert error < 1e-10, error


A = laplacian(200, 0.1)
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("preonly")
ksp.getPC().setType("lu")
ksp.setFromOptions()
solve(ksp, A)
assert ksp.getPC().getFactorMatrix().getType() == "tristar"
A.shift(0.5)
ksp.setOperators(A)
solve(ksp, A)
solve(ksp, A, transposed=True)

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("cg")
ksp.setTolerances(rtol=1e-13)
ksp.getPC().setType("tristar")
solve(ksp, A)

if PETSc.ScalarType is not np.complex128:
    # The matrix 2 - mu has as many negative eigenvalues as eigenvalues of the Laplacian lie below mu.
    A = laplacian(50, -0.9)
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType("preonly")
    ksp.getPC().setType("cholesky")
    ksp.setFromOptions()
    ksp.setUp()
    negative = int(np.sum(2 - 2 * np.cos(np.pi * np.arange(1, 51) / 51) < 0.9))
    inertia = ksp.getPC().getFactorMatrix().getInertia()
    assert inertia == (negative, 0, 50 - negative), inertia
sys.exit(0)
