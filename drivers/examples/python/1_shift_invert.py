"""Eigenvalues next to a shift: eigsh of SciPy with factors of TriStar."""
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

import tristar

k, sigma = 60, 0.1
line = sp.diags([-1, 2, -1], [-1, 0, 1], (k, k))
A = sp.kronsum(line, line, format="csc")  # the Laplacian of a grid
inverse = tristar.splu(A - sigma * sp.identity(k * k, format="csc")).as_operator()
values, vectors = eigsh(A, k=6, sigma=sigma, OPinv=inverse)
print("eigenvalues next to", sigma, "are", values)

assert np.linalg.norm(A @ vectors - vectors * values) < 1e-10
