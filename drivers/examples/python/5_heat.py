"""The heat equation by the trapezoidal rule: one factorization, a solve for each time step."""
import numpy as np
import scipy.sparse as sp

import tristar

k, steps, dt = 80, 200, 1e-4
line = sp.diags([1, -2, 1], [-1, 0, 1], (k, k)) * (k + 1) ** 2
laplace = sp.kronsum(line, line, format="csc")
identity = sp.identity(k * k, format="csc")
solve = tristar.factorized(identity - dt / 2 * laplace)
forward = (identity + dt / 2 * laplace).tocsr()
x = np.linspace(0, 1, k + 2)[1:-1]
start = np.outer(np.sin(np.pi * x), np.sin(np.pi * x)).ravel()  # decays by exp(-2 pi^2 t)
u = start
for _ in range(steps):
    u = solve(forward @ u)
decay = np.exp(-2 * np.pi**2 * steps * dt)
print("the temperature is", u.max() / start.max(), "of that at the start, exactly", decay)

assert abs(u.max() / start.max() - decay) < 1e-3
