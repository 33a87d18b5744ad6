"""Functions with loops inside, which solvers compile after some calls: the same answers, effects and errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import compiling
from adjoint.optimize.compiling import Compiling, compile_when_it_pays


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that were compiled; it pays at once."""
    found: list[Any] = []

    def spy(function: Any, **options: Any) -> Any:
        found.append(ad.jit(function, **options))
        return found[-1]

    monkeypatch.setattr(compiling, "jit", spy)
    monkeypatch.setattr(compiling, "WORK", 100)
    return found


def settle(x: Any, a: Any = 1.0, steps: int = 30) -> Any:
    """Where a damped oscillator is after some steps of a loop."""
    step = lambda s, _: ((s[0] + 0.1 * s[1], s[1] - 0.1 * (a * s[0] + 0.4 * s[1])), None)
    return ad.scan(step, (x[0], x[1]), np.zeros(steps))[0]


def energy(x: Any, a: Any = 1.0) -> Any:
    """Of an oscillator that should arrive at (1, 0), and start near zero."""
    p, v = settle(x, a)
    return (p - 1.0) ** 2 + v**2 + 0.1 * np.sum(np.cosh(x))


SOLVERS: dict[str, Callable[..., Any]] = {
    "bfgs": lambda a: optimize.minimize(energy, np.zeros(2), a).value,
    "trust": lambda a: optimize.minimize(energy, np.zeros(2), a, method="trust-exact").value,
    "closed over": lambda a: optimize.minimize(lambda x: energy(x, a), np.zeros(2)).value,
    "least squares": lambda a: (
        optimize.least_squares(lambda x: np.stack([*settle(x, a), 0.3 * np.sinh(x[0])]) - 1.0, np.zeros(2)).value
    ),
    "root": lambda a: optimize.root(lambda x: np.stack(settle(x, a)) + 3.0 * x + x**3 - 1.0, np.zeros(2)).value,
    "constraint": lambda a: (
        optimize.minimize(
            lambda x: np.sum(x**2), np.ones(2), subject_to=optimize.equality(lambda x: settle(x, a)[0] - 1.0)
        ).value
    ),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_answers_and_derivatives_are_those_of_the_function_as_it_is(
    name: str, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = SOLVERS[name]
    value, slope = solve(1.2), ad.jacfwd(solve)(1.2)
    back = ad.jacrev(solve)(1.2)
    assert name == "constraint" or made
    monkeypatch.setattr(compiling, "WORK", 10**12)
    count = len(made)
    np.testing.assert_allclose(value, solve(1.2), rtol=1e-8, atol=1e-9)
    h = 1e-4
    np.testing.assert_allclose(slope, (solve(1.2 + h) - solve(1.2 - h)) / (2 * h), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(back, slope, rtol=1e-8, atol=1e-10)
    assert len(made) == count


def test_it_is_compiled_once_and_at_the_same_call(made: list[Any]) -> None:
    first, second = (optimize.minimize(energy, np.zeros(2)) for _ in range(2))
    assert len(made) == 2
    assert all(len(one.guarded_programs) == 1 for one in made)
    assert first.value.tobytes() == second.value.tobytes()


def test_functions_without_loops_stay_as_they_are(made: list[Any]) -> None:
    optimize.minimize(lambda x: np.sum((x - 1.0) ** 4), np.zeros(3))
    assert not made


def test_effects_happen_in_every_call(made: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    count = 0
    seen: list[int] = []

    def counted(x: Any) -> Any:
        nonlocal count
        count += 1
        return energy(x)

    def logged(x: Any) -> Any:
        seen.append(1)
        return energy(x)

    def shown(x: Any) -> Any:
        print("asked")
        return energy(x)

    asked = [optimize.minimize(f, np.zeros(2), method="bfgs").evaluations["value"] for f in (counted, logged, shown)]
    assert asked == [count, len(seen), capsys.readouterr().out.count("asked")]
    assert not made


def test_what_it_reads_may_change(made: list[Any]) -> None:
    target = np.zeros(2)
    f = compile_when_it_pays(lambda x: energy(x) + np.sum((x - target) ** 2))
    x = np.array([0.3, -0.2])
    one = [f(x) for _ in range(6)][-1]
    assert made
    target[0] = 5.0
    assert np.isclose(f(x) - one, 4.7**2 - 0.3**2)
    f = compile_when_it_pays(lambda x: settle(x)[0] + next(numbers))
    numbers: Iterator[int] = iter(range(100))
    found = [f(x) for _ in range(10)]
    np.testing.assert_allclose(np.diff(found)[[0, 1, -1]], 1.0)


def test_draws_are_not_frozen(made: list[Any]) -> None:
    rng, again = (np.random.default_rng(3) for _ in range(2))
    calls = itertools.count()
    f = compile_when_it_pays(
        lambda x: settle(x)[0] + (rng.normal() if next(calls) else 0.0)
    )  # the first call is checked
    x = np.array([0.3, -0.2])
    found = np.array([f(x) for _ in range(10)])
    np.testing.assert_allclose(found[1:], settle(x)[0] + again.normal(size=9))
    assert not made


def test_other_values_than_expected_are_not_taken(made: list[Any]) -> None:
    class Clock:
        time = 0

        def __next__(self) -> int:
            type(self).time += 1
            return self.time

    clock = Clock()
    f = compile_when_it_pays(lambda x: settle(x)[0] + next(clock))  # type: ignore[call-overload]
    found = [f(np.array([0.3, -0.2])) for _ in range(10)]
    np.testing.assert_allclose(np.diff(found), 1.0)


def test_errors_are_those_of_the_function(made: list[Any]) -> None:
    def f(x: Any) -> Any:
        if x[0] > 1.0:
            raise ValueError("too far")
        return energy(x)

    call = compile_when_it_pays(f)
    for _ in range(6):
        call(np.array([0.3, -0.2]))
    assert made
    with pytest.raises(ValueError, match="too far"):
        call(np.array([2.0, 0.0]))
    with pytest.raises(IndexError):
        call(np.array([0.3]))
    assert call(np.array([0.3, -0.2])) == made[0](np.array([0.3, -0.2]))  # it stays compiled
    assert isinstance(call, Compiling)
    assert call._compiled is made[0]
    found = optimize.minimize(f, np.zeros(2), reject=ValueError)
    plain = optimize.minimize(energy, np.zeros(2))
    np.testing.assert_allclose(found.value, plain.value, rtol=1e-6)


def test_a_function_that_takes_many_paths_is_read_again(made: list[Any]) -> None:
    def f(x: Any) -> Any:
        return energy(x) * (1 + int(x[0]))

    call = compile_when_it_pays(f)
    assert isinstance(call, Compiling)
    for k in (0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7):
        x = np.array([k + 0.5, 0.1])
        assert np.isclose(call(x), f(x))
    assert made
    assert len(made[0].guarded_programs) <= compiling.PROGRAMS + 1


def test_inside_other_transformations(made: list[Any]) -> None:
    best = lambda a: optimize.minimize(lambda x: energy(x, a), np.zeros(2), max_iterations=8).value
    a = np.array([0.8, 1.2])
    each = np.stack([best(b) for b in a])
    np.testing.assert_allclose(ad.vmap(best)(a), each, rtol=1e-6)
    count = len(made)
    np.testing.assert_allclose(ad.jit(best)(a[0]), each[0], rtol=1e-6)
    assert len(made) == count


@pytest.mark.parametrize("rules", [None, "below"])
def test_a_loop_of_python_over_the_data_is_compiled_as_well(
    rules: Any, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its operations are entries of tapes, and no equations of a program; the same in arrays has few of them."""
    monkeypatch.setattr(compiling, "WORK", 1500)
    data = np.linspace(-1.0, 2.0, 20)

    def loss(p: Any) -> Any:
        total = 0.0
        for y in data:
            total = total + np.log(1.0 + ((y - p[0]) / np.exp(p[1])) ** 2) + 2.0 * p[1]
        return total + 0.1 * p[1] ** 4

    given = {} if rules is None else {"subject_to": optimize.inequality(lambda p: p[0] - 0.3)}
    found = optimize.minimize(loss, np.array([0.1, 0.0]), **given)
    assert made
    whole = lambda p: (
        np.sum(np.log(1.0 + ((data - p[0]) / np.exp(p[1])) ** 2)) + 2.0 * len(data) * p[1] + 0.1 * p[1] ** 4
    )
    count = len(made)
    other = optimize.minimize(whole, np.array([0.1, 0.0]), **given)
    assert found.converged
    assert len(made) == count
    np.testing.assert_allclose(found.value, other.value, atol=1e-7)
