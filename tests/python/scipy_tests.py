"""SciPy's own tests of its direct solvers, run with the functions of tristar that replace these."""
import sys

sys.dont_write_bytecode = True
try:
    import pytest
except ImportError:
    print("skipped: python3-pytest is not installed")
    sys.exit(77)
import scipy.sparse.linalg
import scipy.sparse.linalg._dsolve as dsolve
import tristar
from tristar.solver import Solver

# Tests that are not run, and why.
LEFT_OUT = {
    "test_gssv_badinput": "calls SuperLU's internal function _superlu.gssv",
    "test_lu_refcount": "expects that the arrays perm_r and perm_c keep the object alive; here they are arrays of their own",
}


class SuperLUOrTriStar(type):
    """isinstance(x, SuperLU) is true for the objects of tristar."""

    def __instancecheck__(cls, x):
        return isinstance(x, (Solver, tristar.IncompleteLU))


class SuperLU(metaclass=SuperLUOrTriStar):
    """The object that the tests import instead of SuperLU."""


class Plugin:
    """Counts the tests, and skips some."""

    def __init__(self):
        self.passed = 0

    def pytest_collection_modifyitems(self, config, items):
        kept = []
        for item in items:
            reason = LEFT_OUT.get(item.originalname)
            if reason:
                print(f"left out: {item.name}: {reason}")
            else:
                kept.append(item)
        items[:] = kept

    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed


# Before the tests import them.
for name in ("splu", "spilu", "factorized", "spsolve", "spsolve_triangular"):
    setattr(dsolve, name, getattr(tristar, name))
scipy.sparse.linalg.SuperLU = SuperLU
plugin = Plugin()
path = dsolve.__path__[0] + "/tests/test_linsolve.py"
status = pytest.main(["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestUnknownMarkWarning", *sys.argv[1:], path], [plugin])
print(f"{plugin.passed} tests passed")
sys.exit(status or plugin.passed < 25)
