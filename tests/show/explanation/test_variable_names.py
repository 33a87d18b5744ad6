"""Names that statements give to values."""

import numpy as np

import adjoint as ad
import adjoint.numpy as anp


def labels(function, *args):
    return [v.label for v in ad.explain(function)(*args).model.variables]


def test_names_of_assigned_values():
    def f(x):
        a = x * 2
        b = c = np.sin(a)
        return b * c + np.cos(x)

    assert labels(f, 0.5) == ["x", "a", "b", "", "", ""]


def test_results_of_python_functions_have_names_too():
    def f(x):
        stacked = anp.array([x, x * 2])
        mean = np.mean(stacked)
        return mean * 3

    found = labels(f, 0.5)
    assert "stacked" in found
    assert "mean" in found


def test_parts_of_expressions_have_none():
    assert labels(lambda x: np.sin(x) * 2 + 1, 0.5) == ["x", "", "", ""]
