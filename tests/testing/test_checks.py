"""check_grads passes what is right, and finds and names what is wrong."""

from contextlib import ExitStack

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.base.errors import DtypeError
from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.testing import checks
from adjoint.testing.checks import MismatchError, check_grads, dot_test
from adjoint.testing.counting import count_calls
from tests.support.partials import partials

X = np.array([0.3, 0.7, 1.2])
Z = np.array([0.5 + 0.2j, -0.3 + 1.0j])

RIGHT = {
    "number": (np.sin, (0.4,)),
    "Python integer": (lambda x: x**3.0, (2,)),
    "array": (lambda x: np.exp(np.sin(x)) / x, (X,)),
    "two arguments": (lambda x, y: x * np.log(y), (X, X + 1)),
    "tree": (
        lambda p, s: {"y": [p["w"] * np.tanh(p["b"]), s], "n": 3},
        ({"w": X, "b": np.float64(0.3), "count": np.arange(3)}, (1.5,)),
    ),
    "constant output": (lambda x: (x * 2.0, np.ones(2)), (X,)),
    "result larger than the argument": (lambda x: np.sin(x) * np.ones((4, 1)) * X, (X,)),
    "large values": (lambda x: 1e9 * np.sin(x), (X,)),
    "small values": (lambda x: 1e-30 * np.sin(x), (X,)),
    "large arguments": (lambda x: np.log(x), (1e6 * X,)),
    "small arguments": (np.log, (1e-3 * X,)),
    "cancellation": (lambda x: (1e4 + np.sin(x)) - 1e4, (X,)),
    "zero": (lambda x: 0.0 * x, (X,)),
    "empty": (np.sin, (np.ones((0, 3)),)),
    "away from a kink": (np.abs, (X,)),
    "steep": (lambda x: np.exp(20 * x), (X,)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name):
    check_grads(*RIGHT[name])


def test_high_orders():
    check_grads(lambda x: np.sin(x) * np.exp(x), (0.4,), order=4)


@pytest.mark.parametrize("modes", [("forward",), ("reverse",)])
def test_one_mode_alone(modes):
    check_grads(lambda x: np.sin(x) * x, (X,), modes=modes, order=3)


@pytest.mark.parametrize("f", [np.exp, np.conj, np.abs, np.real, lambda z: z * np.conj(z), lambda z: np.sin(z) / z])
def test_complex_arguments(f):
    check_grads(f, (Z,))


def test_real_to_complex():
    check_grads(lambda x: np.exp(1j * x), (X,))


def test_single_precision():
    check_grads(lambda x: np.sin(x) * x, (X.astype(np.float32),))


def scaled(factor, scale):
    """A partial that is wrong by a factor."""
    return lambda x, y, z: np.float64(scale) if factor is None else scale * factor(x, y, z)


@pytest.fixture
def broken():
    """Makes the partials of a ufunc wrong by a factor, until the test ends."""
    with ExitStack() as stack:

        def make_wrong(ufunc, scale):
            op = UFUNCS[ufunc]
            stack.enter_context(partials(op, [scaled(factor, scale) for factor in op.factors]))

        yield make_wrong


@pytest.mark.parametrize("mode, name", [("forward", "jvp"), ("reverse", "vjp")])
def test_the_error_names_mode_order_argument_and_both_numbers(broken, mode, name):
    broken(np.sin, 2.0)
    with pytest.raises(MismatchError) as caught:
        check_grads(lambda p, y: {"out": np.sin(p["w"]) + y}, ({"w": X}, X), modes=(mode,))
    message = str(caught.value)
    assert f"check_grads: {mode} mode, order 1" in message
    assert "args[0]['w']" in message
    assert f"{name} gives" in message
    assert "differences give" in message
    assert "factor 0.5" in message


def test_the_innocent_argument_is_not_named(broken):
    broken(np.sin, 1.001)
    for mode in ("forward", "reverse"):
        with pytest.raises(MismatchError, match=r"args\[1\]"):
            check_grads(lambda a, b: np.cos(a) * np.sin(b), (X, X), modes=(mode,))


def test_one_wrong_element_of_many_is_found_and_named(broken):
    wrong = np.ones(40)
    wrong[17] = 1.01
    broken(np.sin, wrong)
    point = np.linspace(0.1, 1.0, 40)
    with pytest.raises(MismatchError, match=r"output\[17\]"):
        check_grads(np.sin, (point,), modes=("forward",))
    with pytest.raises(MismatchError, match=r"args\[0\]\[17\]"):
        check_grads(np.sin, (point,), modes=("reverse",))


@pytest.mark.parametrize("scale", [1.0 + 1e-5, -1.0, 0.0, np.nan])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_errors_of_every_size(broken, scale, mode):
    broken(np.sin, scale)
    with pytest.raises(MismatchError) as caught:
        check_grads(lambda x: np.sin(x) * 1e-12, (X,), modes=(mode,))
    expected = {-1.0: "factor -1", 0.0: "dropped"}.get(scale, "not finite" if np.isnan(scale) else "rules")
    assert expected in str(caught.value)


def test_a_second_derivative_that_was_dropped():
    """The partial of sin is right as a number, but its own derivative is gone."""
    with partials(UFUNCS[np.sin], [lambda x, y, z: ad.stop_gradient(np.cos(x))]):
        check_grads(np.sin, (X,), order=1)
        with pytest.raises(MismatchError, match=r"forward mode, order 2 .of the derivative by forward.*dropped"):
            check_grads(np.sin, (X,), order=2)
        with pytest.raises(MismatchError, match=r"reverse mode, order 2 .of the derivative by reverse.*dropped"):
            check_grads(np.sin, (X,), order=2, modes=("reverse",))


def test_a_forgotten_conjugate(monkeypatch):
    """jvp and vjp of z ↦ i z: the adjoint is multiplication by -i."""

    def wrong(f, *x):
        y, pullback = ad.vjp(f, *x)
        return y, lambda u: tuple(-g for g in pullback(u))

    check_grads(lambda z: 1j * z, (Z,))
    monkeypatch.setattr(checks, "vjp", wrong)
    with pytest.raises(MismatchError, match="reverse mode, order 1"):
        check_grads(lambda z: 1j * z, (Z,))
    with pytest.raises(MismatchError, match="vjp is not the adjoint of jvp"):
        dot_test(lambda z: 1j * z, (Z,))


def test_modes_that_disagree_by_little(monkeypatch):
    """An error of 1e-9 is below what differences can see, but not below what the two modes can see of each other."""

    def nearly(f, *x):
        y, pullback = ad.vjp(f, *x)
        return y, lambda u: tuple(g * (1 + 1e-9) for g in pullback(u))

    monkeypatch.setattr(checks, "vjp", nearly)
    with pytest.raises(MismatchError, match="vjp is not the adjoint of jvp"):
        check_grads(np.sin, (X,), order=1)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda d: d[:2], r"tangent of output is float64\[2\], but output itself is float64\[3\]"),
        (lambda d: d.astype(np.float32), r"tangent of output is float32\[3\]"),
        (lambda d: d + 0j, r"tangent of output is complex128\[3\]"),
    ],
)
def test_a_derivative_of_another_type_is_refused(monkeypatch, change, message):
    def wrong(f, x, v):
        y, dy = ad.jvp(f, x, v)
        return y, tuple(change(d) for d in dy)

    monkeypatch.setattr(checks, "jvp", wrong)
    with pytest.raises(MismatchError, match=message):
        check_grads(np.sin, (X,))


def test_a_wrong_value_is_refused(monkeypatch):
    monkeypatch.setattr(checks, "jvp", lambda f, x, v: (tuple(1.1 * y for y in f(*x)), ad.jvp(f, x, v)[1]))
    with pytest.raises(MismatchError, match="f alone gives"):
        check_grads(np.sin, (0.4,))


def test_a_function_that_changes_from_call_to_call_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(MismatchError, match="from call to call"):
        check_grads(lambda x: x * rng.normal(), (1.0,))


def test_a_kink_is_called_a_kink():
    with pytest.raises(MismatchError, match="do not settle"):
        check_grads(np.abs, (1e-6,))


def test_the_edge_of_the_domain_is_called_so():
    with pytest.raises(MismatchError, match="not defined all around"):
        check_grads(np.sqrt, (0.0,))


def test_tolerances_and_steps_can_be_given(broken):
    broken(np.sin, 1.001)
    check_grads(np.sin, (X,), order=1, rtol=1e-2)
    check_grads(np.sin, (X,), order=1, atol=1e-1)
    with pytest.raises(MismatchError):
        check_grads(np.sin, (X,), order=1)
    check_grads(lambda x: np.log(x), (1e-9,), step=1e-11)


def test_the_number_of_calls_does_not_depend_on_the_number_of_arguments():
    calls = []
    for size in (1, 300):
        f = count_calls(lambda x: np.sin(x) * x)
        check_grads(f, (np.linspace(0.1, 1.0, size),), order=1)
        calls.append(f.calls)
    assert calls[0] == calls[1] <= 10


def test_the_same_seed_gives_the_same_check(broken):
    broken(np.sin, 1.5)
    messages = []
    for seed in (1, 1, 2):
        with pytest.raises(MismatchError) as caught:
            check_grads(np.sin, (X,), seed=seed)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] != messages[2]


def test_arguments_are_not_changed():
    point = {"w": X.copy(), "n": np.arange(2)}
    check_grads(lambda p: p["w"] ** 2.0, (point,))
    assert_allclose(point["w"], X, rtol=0)


def test_dot_test_returns_a_gap_of_rounding():
    assert dot_test(lambda x, z: np.sin(x) * np.sum(np.abs(z)), (X, Z)) < 1e-14


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (
            lambda: check_grads(np.sin, (np.arange(3),)),
            DtypeError,
            r"no real or complex floats in the arguments \(int64",
        ),
        (lambda: check_grads(np.sign, ()), DtypeError, "nothing"),
        (lambda: check_grads(lambda x: 3, (1.0,)), DtypeError, "returns no real or complex floats"),
        (lambda: check_grads(np.sin, (1.0,), modes=("sideways",)), ValueError, "not 'sideways'"),
        (lambda: check_grads(np.sin, (1.0,), modes=()), ValueError, "one mode"),
        (lambda: check_grads(np.sin, (1.0,), order=0), ValueError, "order=0"),
    ],
)
def test_bad_arguments_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
