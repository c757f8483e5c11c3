"""Newton's method for -u'' + u^3 = 1: the pattern is analyzed once, and each step factors new values."""
import numpy as np
import scipy.sparse as sp

import tristar

k = 80
line = sp.diags([-1, 2, -1], [-1, 0, 1], (k, k))
A = sp.kronsum(line, line, format="csc") * (k + 1) ** 2
u, lu = np.zeros(k * k), None
for step in range(20):
    residual = A @ u + u**3 - 1
    print("step", step, "residual", np.linalg.norm(residual))
    if np.linalg.norm(residual) < 1e-9:
        break
    jacobian = A + sp.diags(3 * u**2, format="csc")
    if lu is None:
        lu = tristar.splu(jacobian)
    else:
        lu.refactor(jacobian)
    u -= lu.solve(residual)

assert step < 10
