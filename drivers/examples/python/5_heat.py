"""The heat equation by linear finite elements and the trapezoidal rule: one factorization, a solve for each time step."""
import numpy as np
import scipy.sparse as sp

import tristar

k, steps, dt = 60, 200, 1e-4
x, y = (c.ravel() for c in np.meshgrid(np.linspace(0, 1, k + 1), np.linspace(0, 1, k + 1)))
corner = np.add.outer((k + 1) * np.arange(k), np.arange(k)).ravel()  # of the squares; each one is divided into two triangles
triangles = np.concatenate([corner[:, None] + [0, 1, k + 2], corner[:, None] + [0, k + 2, k + 1]])


def assemble(blocks):
    """The matrix of the whole mesh from a 3 x 3 matrix of each triangle. Duplicates are summed."""
    rows, columns = np.repeat(triangles, 3, axis=1), np.tile(triangles, 3)
    return sp.coo_matrix((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(x.size, x.size)).tocsc()


X, Y = x[triangles], y[triangles]
a, b = np.roll(Y, -1, 1) - np.roll(Y, 1, 1), np.roll(X, 1, 1) - np.roll(X, -1, 1)  # gradients, times twice the area
area = abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
stiffness = assemble((a[:, :, None] * a[:, None, :] + b[:, :, None] * b[:, None, :]) / (4 * area[:, None, None]))
mass = assemble(area[:, None, None] / 12 * (np.ones((3, 3)) + np.eye(3)))

inside = np.flatnonzero((x > 0) & (x < 1) & (y > 0) & (y < 1))  # the temperature is zero at the boundary
M, K = mass[inside][:, inside], stiffness[inside][:, inside]
solve = tristar.factorized(M + dt / 2 * K)
forward = (M - dt / 2 * K).tocsr()
start = (np.sin(np.pi * x) * np.sin(np.pi * y))[inside]  # decays by exp(-2 pi^2 t)
u = start
for _ in range(steps):
    u = solve(forward @ u)
decay = np.exp(-2 * np.pi**2 * steps * dt)
print("the temperature is", u.max() / start.max(), "of that at the start, exactly", decay)

assert abs(u.max() / start.max() - decay) < 1e-3
