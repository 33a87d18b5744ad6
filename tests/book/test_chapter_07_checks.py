"""Finite differences as a test of derivatives: `check_grads` accepts what is right and catches what is made wrong."""

from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import tree
from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.testing.checks import MismatchError, check_grads
from adjoint.testing.complex_step import complex_step
from adjoint.testing.counting import count_calls
from tests.ops.examples import examples
from tests.support.partials import partials
from tests.support.sweeps import sampled

W = np.array([[0.3, 0.8, 0.5], [0.9, 0.2, 0.6]])


def one_example_of_each_primitive():
    """Every primitive that has a slope, and one example in double precision where it has."""
    chosen = {}
    for example in examples():
        op = example.op
        active = [example.args[i] for i in example.active]
        double = {x.dtype.char for x in active if x.size} in ({"d"}, {"D"})
        name = op.title if hasattr(op, "factors") else type(op).__name__
        if op.flat or "jvp" in op.stated or not example.smooth or not double or name in chosen:
            continue
        if has_slope(example):
            chosen[name] = example
    return chosen


def has_slope(example):
    f, args = as_function(example)
    slopes = tree.leaves(ad.jvp(f, args, tuple(np.full_like(x, 1 + 1j if x.dtype.char == "D" else 1) for x in args))[1])
    return any(np.any(slope != 0) for slope in slopes)


def as_function(example):
    """A primitive as a function of the arguments that have derivatives, and these."""
    places = example.active

    def f(*active):
        args = list(example.args)
        for i, x in zip(places, active, strict=True):
            args[i] = x
        return example.op(*args)

    return f, tuple(example.args[i] for i in places)


EXAMPLES = one_example_of_each_primitive()


def scaled(value, factor=1.01):
    """A derivative wrong by one percent, wherever it is not zero."""
    if isinstance(value, (tuple, list)):
        return type(value)(scaled(part, factor) for part in value)
    return None if value is None else value * np.float64(factor)


def wrong_partial(partial):
    return lambda x, y, z: np.float64(1.01) if partial is None else scaled(partial(x, y, z)) + np.float64(0.02)


@contextmanager
def broken_rule(patch, op, mode):
    """Make one rule of one primitive wrong by one percent: its partials, or its push, or its pull."""
    kind = type(op)
    if hasattr(op, "factors"):
        with partials(op, tuple(wrong_partial(partial) for partial in op.factors)):
            if not (op.pointwise and not op.own_push):
                break_method(patch, kind, mode)
            yield
    else:
        break_method(patch, kind, mode)
        yield


def break_method(patch, kind, mode):
    """Make push, or what reverse mode calls, wrong by one percent."""
    backward = "pull_into" if "pull_into" in kind.stated else "read" if hasattr(kind, "read") else "pull"
    name = "push" if mode == "forward" else backward
    original = getattr(kind, name)
    if name == "pull_into":
        patch.setattr(kind, name, lambda self, buffer, ct, xs: original(self, buffer, scaled(ct), xs))
    else:
        patch.setattr(kind, name, lambda self, *args: scaled(original(self, *args)))


@pytest.mark.row("7.8")
@pytest.mark.parametrize("name", sampled(EXAMPLES, every=3))
def test_check_grads_accepts_every_rule_and_catches_each_one_made_wrong(name, monkeypatch):
    f, args = as_function(EXAMPLES[name])
    check_grads(f, args, order=2)
    for mode in ("forward", "reverse"):
        with (
            monkeypatch.context() as patch,
            broken_rule(patch, EXAMPLES[name].op, mode),
            pytest.raises(MismatchError, match=f"{mode} mode, order 1"),
        ):
            check_grads(f, args, order=1, modes=(mode,))


@pytest.mark.row("7.8")
def test_check_grads_catches_what_only_the_second_order_shows():
    """Partials that are right as numbers, with a derivative that is lost."""
    for ufunc in (np.sin, np.exp, np.tanh, np.multiply):
        op = UFUNCS[ufunc]
        frozen = tuple(lambda x, y, z, partial=partial: ad.stop_gradient(partial(x, y, z)) for partial in op.factors)
        f = (lambda x: np.multiply(x, x)) if ufunc is np.multiply else ufunc
        with partials(op, frozen):
            check_grads(f, (W,), order=1)
            for mode in ("forward", "reverse"):
                with pytest.raises(MismatchError, match=f"{mode} mode, order 2"):
                    check_grads(f, (W,), order=2, modes=(mode,))


@pytest.mark.row("7.8")
def test_check_grads_costs_the_same_for_one_number_and_for_many():
    calls = []
    for size in (1, 1000):
        f = count_calls(lambda x: np.sum(np.sin(x) * x))
        check_grads(f, (np.linspace(0.1, 1.0, size),))
        calls.append(f.calls)
    assert calls[0] == calls[1]


@pytest.mark.row("7.8")
def test_derivatives_agree_with_complex_steps_too():
    v = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    for f in (np.sin, np.tanh, lambda x: np.exp(x) / x, lambda x: np.matmul(x, np.transpose(x))):
        assert_allclose(ad.jvp(f, (W,), (v,))[1], complex_step(f, W, v), rtol=1e-13)
        u = np.ones_like(f(W))
        (pulled,) = ad.vjp(f, W)[1](u)
        assert_allclose(np.vdot(pulled, v), np.sum(complex_step(f, W, v)), rtol=1e-13)
