"""Conjugate gradients of SciPy with preconditioners of TriStar, which are LinearOperators."""
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg

import tristar

k = 60
line = sp.diags([-1, 2, -1], [-1, 0, 1], (k, k))
A, b = sp.kronsum(line, line, format="csr"), np.ones(k * k)
counts = {}
for kind, options in ((None, {}), ("ic", {}), ("ic", {"level": 2}), ("fsai", {"steps": 5})):
    M = tristar.Preconditioner(A, kind, **options) if kind else None
    residuals = []
    x, info = cg(A, b, tol=1e-8, M=M, callback=residuals.append)
    counts[kind] = len(residuals)
    print(kind, options, len(residuals), "iterations, residual", np.linalg.norm(A @ x - b))
    assert info == 0

assert counts["ic"] < counts[None] / 2
