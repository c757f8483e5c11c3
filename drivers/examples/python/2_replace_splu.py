"""Replaces splu of SciPy by splu of TriStar: one word of the program changes."""
import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import tristar

k = 100
line = sp.diags([-1, 2, -1], [-1, 0, 1], (k, k))
A, b = sp.kronsum(line, line, format="csc"), np.ones(k * k)
for module in (sla, tristar):
    start = time.perf_counter()
    lu = module.splu(A)
    for _ in range(20):
        x = lu.solve(b)
    print(f"{module.__name__:20} {time.perf_counter() - start:.3f} s, residual {abs(A @ x - b).max():.1e}")

x, report = lu.solve_refined(b, forward_error=True)  # SuperLU has no such function
print(report)
assert report.forward_error < 1e-8
