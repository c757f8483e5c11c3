"""The notebook of the examples, cell by cell, and pictures in Python."""
import ast
import json
import os
import sys
import tempfile
import unittest

import numpy as np
import scipy.sparse as sp

import tristar
from tristar.pictures import find_program

NOTEBOOK = os.path.join(os.path.dirname(__file__), "../../drivers/examples/python/notebook.ipynb")


def run_cell(source, names):
    """Runs a cell. Returns the value of its last line if that is an expression, as a notebook shows it."""
    lines = ast.parse(source).body
    last = ast.Expression(lines.pop().value) if isinstance(lines[-1], ast.Expr) else None
    exec(compile(ast.Module(lines, []), "cell", "exec"), names)  # pylint: disable=exec-used
    return eval(compile(last, "cell", "eval"), names) if last else None  # pylint: disable=eval-used


class Notebook(unittest.TestCase):
    def test_cells(self):
        with open(NOTEBOOK, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        names = {}
        shown = [run_cell("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]
        self.assertLess(shown[0], 1e-10)
        tables = [value for value in shown if hasattr(value, "_repr_html_")]
        self.assertEqual(len(tables), 3)
        for table in tables:
            self.assertIn("<table>", table._repr_html_())
        pictures = [value for value in shown if isinstance(value, tristar.Picture)]
        self.assertEqual(len(pictures), 2)
        for picture in pictures:
            self.assertTrue(picture._repr_svg_().lstrip().startswith(("<svg", "<?xml")))
        self.assertGreater(len(names["norms"]), 3)


class Pictures(unittest.TestCase):
    A = sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], (300, 300), format="csr")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "spy.html")
            self.assertIsNone(tristar.plot(self.A, "spy", path))
            self.assertTrue(os.path.getsize(path) > 1000)
            tristar.plot("gen:poisson3d7:5", "tree", ordering="metis").save(path)
            with open(path, encoding="utf-8") as file:
                self.assertIn("<svg", file.read())

    def test_types(self):
        for A in (self.A.astype("D") * (1 + 1j), self.A.toarray(), self.A.astype("f").tocoo()):
            self.assertIn("<svg", tristar.plot(A, "spy", nrhs=2).svg)

    def test_errors(self):
        with self.assertRaisesRegex(tristar.Error, "no_such"):
            tristar.plot(self.A, "no_such")
        with self.assertRaisesRegex(tristar.Error, "colour"):
            tristar.plot(self.A, "spy", colour="red")
        with self.assertRaisesRegex(tristar.Error, "the matrix.*rectangular|square"):
            tristar.plot(sp.csr_matrix(np.ones((3, 2))), "spy")
        with self.assertRaisesRegex(tristar.Error, "missing.mtx"):
            tristar.plot("missing.mtx", "spy")


try:
    find_program()
except tristar.UnsupportedError as error:
    print("skipped:", error)
    sys.exit(77)
unittest.main()
