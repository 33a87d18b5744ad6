"""Programs that runs share end with the function that they are made for."""

import copy
import functools
import gc
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optimize
from adjoint.jit.lifetimes import kept_with
from adjoint.optimize import updates

X = np.random.default_rng(0).normal(size=(64, 3))
Y = X @ np.array([1.0, -2.0, 0.5])


class Data(np.ndarray):
    """An array that can be asked whether it is still there."""


def made_by(function, *more):
    made.append((function, *more))
    return object()


made: list[object] = []
make = kept_with(lambda function, *more: function)(made_by)


def test_once_for_each_function_and_key():
    one, other = (lambda: 1), (lambda: 2)
    assert make(one) is make(one)
    assert make(one, 3) is make(one, 3) is not make(one)
    assert make(other) is not make(one)


def test_what_carries_the_attributes_of_another_function_has_programs_of_its_own():
    one = lambda: 1
    first = make(one)
    wrapper = functools.wraps(one)(lambda: 2)
    assert make(wrapper) is not first
    assert make(wrapper) is make(wrapper)
    assert make(one) is first
    copy.deepcopy(vars(one))


def test_callables_without_attributes_or_hash():
    class Loss:
        __hash__ = None

        def __call__(self) -> None: ...

    loss = Loss()
    assert make(loss) is not make(loss)
    assert make(abs) is make(abs)


def train(loss):
    return optimize.train(
        loss, np.zeros(3), (X, Y), updates.sgd(0.05), batch=8, epochs=40, rng=ad.random.default_rng(0)
    )


def fit(loss):
    w = {"w": np.zeros(3)}
    return nn.fit(w, lambda m, b: loss(m["w"], *b), (X, Y), updates.sgd(0.05), batch=8, epochs=40, rng=0)


@pytest.mark.parametrize("run", [train, fit])
def test_what_a_loss_closes_over_is_not_kept(run):
    left = []
    for scale in (1, 2):
        weight = np.full(8, float(scale)).view(Data)
        left.append(weakref.ref(weight))
        run(lambda w, x, y, weight=weight: weight[0] * (x @ w - y) ** 2)
        del weight
    gc.collect()
    assert [reference() for reference in left] == [None] * 2
