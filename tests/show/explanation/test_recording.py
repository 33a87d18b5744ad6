"""What a function did is written down whatever its shapes depend on; what it would do again, is not done."""

import numpy as np
import pandas as pd
import pytest

import adjoint as ad
from adjoint.ops.control.guards import Mismatch
from adjoint.show.explanation.recording import recorded

X = np.array([3.2, -1.0, 2.0, 4.5, 0.5])


def halved(x):
    y = x * 1.0
    y[y > 1] *= 0.5
    return np.sum(y**2)


SHAPES = {
    "unique": lambda x: np.sum(np.unique(x) * np.arange(5.0)),
    "unique with inverse": lambda x: np.sum(np.square(np.take(*np.unique(x, return_inverse=True)))),
    "unique with index": lambda x: np.sum(x[np.unique(x, return_index=True)[1]] * np.arange(5.0)),
    "union": lambda x: np.sum(np.union1d(x, 2.0 * x) * np.arange(10.0)),
    "difference": lambda x: np.sum(np.setdiff1d(x, np.array([7.0])) ** 2),
    "nonzero": lambda x: np.sum(x[np.nonzero(x > 1)] ** 2),
    "argwhere": lambda x: np.sum(x[np.argwhere(x > 1)] ** 3),
    "mask": lambda x: np.sum(x[(x > 1) & (x < 4)] ** 2),
    "assigned mask": halved,
    "compress": lambda x: np.sum(np.compress(x > 1, x) ** 2),
    "sort": lambda x: np.sum(np.sort(x) * np.arange(5.0)),
    "argsort": lambda x: np.sum(x[np.argsort(x)] * np.arange(5.0)),
    "median": lambda x: np.median(x) ** 2,
    "repeated": lambda x: np.sum(np.repeat(x, (x > 1).astype(int)) ** 2),
    "a number of turns": lambda x: sum((x[k] ** 2 for k in range(int(x[0]))), start=0.0),
    "a length": lambda x: np.sum(np.ones(int(x[0])) * x[1] ** 2),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_depend_on_values(name):
    f = SHAPES[name]
    explained = ad.explain(f)(X)
    step = 1e-6 * np.eye(5)
    slopes = [(f(X + h) - f(X - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(explained.model.inputs[0].adjoint, slopes, atol=1e-7)
    assert explained.model.outputs[0].value == pytest.approx(f(X))
    assert "forward primal trace" in str(explained)


def test_tables_beside_numbers_are_the_functions_own():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.1, 0.2], "y": [1.0, 2.0, 2.5]})

    def error(w, table):
        return np.mean((table[["a", "b"]].to_numpy() @ w - table["y"].to_numpy()) ** 2)

    w = np.array([0.3, 0.1])
    found = ad.explain(error)(w, table).model.inputs
    assert [v.label for v in found] == ["w"]
    np.testing.assert_allclose(found[0].adjoint, ad.grad(error)(w, table))
    squares = ad.explain(lambda t: np.sum(t**2))(table[["a", "b"]]).model.inputs[0]  # nothing else to differentiate
    np.testing.assert_allclose(squares.adjoint, 2 * table[["a", "b"]].to_numpy())
    both = ad.explain(lambda w, t: np.sum(w * t), argnums=1)(w, table[["a", "b"]]).model.inputs
    assert [v.is_active for v in both] == [False, True]


def test_what_nobody_reads_after_an_assignment_is_not_told():
    def f(x):
        y = x * 1.0
        y[1:] += 3.0 * y[0]
        return np.sum(y**2)

    model = ad.explain(f)(X).model
    assert [e.op.title for e in model.events].count("slice") == 2  # y[1:] and y[0]
    np.testing.assert_allclose(model.inputs[0].adjoint, ad.grad(f)(X))
    asked = ad.explain(lambda x: np.sum(x) if x[0] else x[1])(X).model
    assert asked.events[0].op.title == "slice"  # Python asked it
    assert asked.guards[0].variable is asked.events[0].outputs[0]


def test_what_was_recorded_is_done_again_without_the_function():
    runs = []

    def f(x, *, y):
        runs.append(1)
        return {"a": x * y if x > 1 else x, "b": np.sum(x)}

    run = recorded(f, (2.0,), {"y": 3.0})
    again = run.again()
    assert again.__name__ == "f"
    assert again(*run.values) == {"a": 6.0, "b": 2.0}
    assert again(0.5, 3.0) == {"a": 1.5, "b": 0.5}  # the way that was taken for x = 2
    assert len(runs) == 1
    with pytest.raises(Mismatch, match="another way through the function"):
        run.again(guarded=True)(0.5, 3.0)
