"""What `ad.check` asks is a part of the explanation: a page refuses inputs that fail."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import CheckError
from adjoint.show.explanation.data import explanation_data
from tests.show.test_page_recomputation import RECOMPUTED, typed


def positive(x):
    ad.check(x > 0, "x must be positive, not {0:.3f}: {why}, {0} < {limit}", x, why="a root", limit=2 * x)
    return np.sqrt(x)


def checks(function, *args):
    return [g for g in explanation_data(ad.explain(function)(*args))["guards"] if g["question"] == "check"]


def test_messages_have_places_for_values():
    (guard,) = checks(positive, 4.0)
    first, value, middle, again, less, limit, where = guard["text"]
    assert (first, middle, less) == ("x must be positive, not ", ": a root, ", " < ")
    assert value == again
    assert [guard["operands"][k] for k in (value, limit)] == [0, 2]
    assert where.startswith(" (checked at test_checks.py:")


def test_parts_of_values_leave_the_message_as_it_is():
    (guard,) = checks(lambda x: (ad.check(x > 0, "{0.shape}", x), x)[1], 4.0)
    assert guard["text"][0] == "{0.shape}"


def test_checks_of_constants_are_not_made_again():
    assert not checks(lambda x: (ad.check(np.bool_(True), "never"), x)[1], 4.0)


def test_a_failing_check_is_told_by_python():
    with pytest.raises(CheckError, match="x must be positive"):
        ad.explain(positive)(-4.0)


def branch(x):
    if x > 1:
        ad.check(x > 1.5, "far from 1")
        return x * x
    return x


def loop(x):
    return ad.while_loop(lambda s: s < 100, lambda s: (ad.check(s != 32, "s is {}", s), 2 * s)[1], x)


def lanes(x):
    """The check is made where its branch is taken: 0.5 and -3 pass for different reasons."""
    return np.sum(ad.vmap(lambda a: ad.cond(a > 0, lambda a: inside(a), lambda a: -a, a))(x))


def inside(a):
    ad.check(a < 1, "{} is too large", a)
    return np.log(a)


def elements(x):
    ad.check(x > 0, "all positive")
    return np.sum(np.log(x))


@pytest.mark.browser
@pytest.mark.parametrize(
    "function, here, passing, failing, told",
    [
        (positive, 4.0, 9.0, -2.0, "x must be positive, not −2: a root, −2 < −4 (checked at test_checks.py:"),
        (branch, 2.0, 1.7, 1.2, "far from 1"),
        (loop, 4.5, 4.6, 4.0, "s is 32"),
        (lanes, np.array([0.5, -3.0]), np.array([-7.0, 0.1]), np.array([-2.0, 4.0]), "4 is too large"),
        (elements, np.array([1.0, 2.0]), np.array([3.0, 0.5]), np.array([3.0, -0.5]), "all positive"),
    ],
)
def test_a_page_refuses_what_fails(opened, function, here, passing, failing, told):
    page = opened(ad.explain(function)(here))
    recomputed = lambda x: page.evaluate(RECOMPUTED, {"inputs": [typed(x)], "mode": "reverse"})
    model = ad.explain(function)(passing).model
    np.testing.assert_allclose(np.ravel(recomputed(passing)["adjoint"][0][0]), np.ravel(model.inputs[0].adjoint))
    problem = recomputed(failing)["problem"]
    assert problem.startswith("the check fails: ")
    assert told in problem
    with pytest.raises(CheckError):
        ad.explain(function)(failing)


@pytest.mark.browser
def test_another_way_is_told_before_its_checks(opened):
    page = opened(ad.explain(branch)(2.0))
    out = page.evaluate(RECOMPUTED, {"inputs": [typed(0.5)], "mode": "reverse"})
    assert "another way" in out["problem"]
    assert ad.explain(branch)(0.5).model.outputs[0].value == 0.5
