"""Matrices and checks that the tests of the package share."""
import numpy as np
from scipy import sparse

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def laplacian(k, dtype=np.float64):
    """The five-point Laplacian of a k x k grid, CSC."""
    line = sparse.diags([-1, 2, -1], [-1, 0, 1], (k, k))
    return sparse.csc_matrix(sparse.kron(line, sparse.eye(k)) + sparse.kron(sparse.eye(k), line), dtype=dtype)


def unsymmetric(n, dtype=np.float64, seed=0):
    """A diagonally dominant matrix of random pattern, CSC."""
    rng = np.random.default_rng(seed)
    A = sparse.random(n, n, min(1, 4 / n), random_state=seed, format="csc") + 4 * sparse.eye(n)
    if np.issubdtype(dtype, np.complexfloating):
        A = A + 1j * sparse.diags(rng.random(n))
    return sparse.csc_matrix(A, dtype=dtype)


def vectors(shape, dtype=np.float64, seed=1):
    """Random entries between 0 and 1."""
    rng = np.random.default_rng(seed)
    x = rng.random(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.random(shape)
    return x.astype(dtype)


def assert_solves(A, x, b, factor=1e3):
    """Small residual for the size of the entries."""
    residual = abs(A @ x - b)
    residual = residual.max() if residual.size else 0.0
    scale = abs(A).sum(axis=1).max() * max(1.0, abs(x).max() if x.size else 0.0)
    eps = np.finfo(A.dtype).eps
    assert residual <= factor * eps * scale, f"residual {residual}, scale {scale}"
