"""What a compiled function does beside computing: it prints, calls back, checks and raises as the function does."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import CheckError, DtypeError, LeakError, TraceError

x3 = np.array([0.3, -0.4, 1.2])


def test_prints_come_in_order_and_at_every_call(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        ad.debug.print("start {}", x)
        y = x * 2
        if y > 2:
            ad.debug.print("large {}", y)
        else:
            ad.debug.print("small {}", y)
        return y

    fast = ad.jit(f)
    for value in (1.0, 3.0, 1.0, 0.5, 3.0):
        assert fast(np.float64(value)) == 2 * value
        compiled = capsys.readouterr().out
        f(np.float64(value))
        assert compiled == capsys.readouterr().out  # a way that is given up has printed nothing


def test_prints_of_loops_and_branches(capsys: pytest.CaptureFixture[str]) -> None:
    def body(c: Any, k: Any) -> Any:
        ad.debug.print("turn {}", k)
        ad.cond(c > 2, lambda c: ad.debug.print("over {}", c), lambda c: None, c)
        return c + k, None

    def f(x: Any) -> Any:
        total, _ = ad.scan(body, x, np.arange(3.0))
        if total > 3:
            total = total * 10
        return total

    fast = ad.jit(f)
    for value in (0.5, 2.0, 0.5):
        assert fast(np.float64(value)) == f(np.float64(value))
    lines = capsys.readouterr().out.splitlines()
    assert lines[: len(lines) // 2] != []
    assert [line for line in lines if line.startswith("turn")] == ["turn 0.0", "turn 1.0", "turn 2.0"] * 6


def test_callbacks_and_derivatives() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        ad.debug.callback(seen.append, x)
        return np.sum(x**2)

    same = ad.jit(ad.grad(f))
    np.testing.assert_array_equal(same(x3), 2 * x3)
    np.testing.assert_array_equal(same(x3 + 1), 2 * (x3 + 1))
    np.testing.assert_array_equal(ad.grad(ad.jit(f))(x3), 2 * x3)
    np.testing.assert_array_equal(np.array(seen), [x3, x3 + 1, x3])


def test_a_mapped_function_prints_once_for_each_lane(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        ad.debug.print("{}", x)
        return x * 2

    ad.jit(ad.vmap(f))(np.arange(3.0))
    ad.vmap(ad.jit(f))(np.arange(3.0))
    assert capsys.readouterr().out == "0.0\n1.0\n2.0\n" * 2


def test_checks() -> None:
    @ad.jit
    def f(x: Any) -> Any:
        ad.check(x > 0, "x must be positive, not {}", x)
        return np.sqrt(x)

    assert f(4.0) == 2.0
    with pytest.raises(CheckError, match="positive, not -1"):
        f(-1.0)
    assert f(9.0) == 3.0
    with pytest.raises(CheckError, match="positive"):
        ad.jit(ad.grad(f))(-1.0)


def test_what_happened_before_an_error_has_happened(capsys: pytest.CaptureFixture[str]) -> None:
    @ad.jit
    def f(x: Any) -> Any:
        ad.debug.print("looking at {}", x)
        ad.check(x < 10, "too large")
        if x < 0:
            raise ValueError("negative")
        return x

    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            f(np.float64(-1.0))
        assert capsys.readouterr().out == "looking at -1.0\n"

    @ad.jit
    def g(x: Any) -> Any:
        ad.check(x > 0, "the check comes first")
        if x < 0:
            raise ValueError("negative")
        return x

    with pytest.raises(CheckError, match="comes first"):
        g(-1.0)


def test_index_out_of_bounds_is_an_error() -> None:
    fast = ad.jit(lambda x, i: x[i])
    assert fast(x3, np.int64(-1)) == x3[-1]
    with pytest.raises(IndexError):
        fast(x3, np.int64(3))
    np.testing.assert_array_equal(fast(x3, np.array([0, 2])), x3[[0, 2]])
    with pytest.raises(IndexError):
        fast(x3, np.array([0, 5]))
    np.testing.assert_array_equal(fast(x3, np.array([1, 1])), x3[[1, 1]])


def test_an_argument_that_is_assigned_to_stays_the_callers() -> None:
    @ad.jit
    def f(x: Any) -> Any:
        x[0] = 9.0
        x *= 2
        return x

    before = x3.copy()
    for _ in range(2):
        np.testing.assert_array_equal(f(before), [18.0, -0.8, 2.4])
        np.testing.assert_array_equal(before, x3)


def test_values_do_not_leak() -> None:
    kept: list[Any] = []
    with pytest.raises(TraceError, match="computed value into kept"):
        ad.jit(lambda x: kept.append(x) or x)(x3)
    assert not kept
    keep = kept.append  # which is no container of the function's
    ad.jit(lambda x: keep(x) or x)(x3)
    with pytest.raises(LeakError, match="jit"):
        kept[0] + 1


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: float(x), "float"),
        (lambda x: np.asarray(x), "np.asarray"),
        (lambda x: f"{x:.2f}", "format"),
        (lambda x: x.tolist(), "tolist"),
    ],
)
def test_plain_values_are_refused_with_the_line(function: Any, message: str) -> None:
    with config.override(convert=False), pytest.raises(TraceError, match=message) as caught:
        ad.jit(function)(x3[0])
    assert "test_function_effects.py" in str(caught.value)


def test_nans_are_found_inside() -> None:
    fast = ad.jit(ad.grad(lambda x: np.sum(np.sqrt(x))))
    fast(np.ones(2))
    with ad.debug.nans(), pytest.raises(FloatingPointError, match="sqrt"):
        fast(np.zeros(2))
    assert np.isinf(fast(np.zeros(2))).all()
    assert fast.specializations


class TestInsideAndAround:
    def test_in_loops_branches_and_programs(self) -> None:
        inner = ad.jit(lambda x, y: np.sin(x) * y)
        f = lambda x: ad.scan(lambda c, b: (inner(c, b), None), 1.0, x)[0]
        g = lambda x: ad.cond(x[0] > 0, lambda x: inner(x, x), lambda x: inner(x, 2.0), x)
        for function in (f, g):
            expected = function(x3)
            for fast in (ad.jit(function), ad.trace(function)(x3), ad.jit(ad.jit(function))):
                np.testing.assert_allclose(fast(x3), expected, rtol=1e-14)
            total = lambda x, function=function: np.sum(function(x))
            np.testing.assert_allclose(ad.jit(ad.grad(total))(x3), ad.grad(total)(x3), rtol=1e-13)

    def test_checkpoints(self) -> None:
        f = ad.jit(lambda x: np.sum(np.sin(x) ** 2))
        expected = np.sin(2 * x3)
        np.testing.assert_allclose(ad.grad(ad.checkpoint(f))(x3), expected, rtol=1e-14)
        np.testing.assert_allclose(ad.jit(ad.grad(ad.checkpoint(f)))(x3), expected, rtol=1e-14)

    def test_closures_over_traced_values(self) -> None:
        def f(w: Any) -> Any:
            return ad.jit(lambda x: np.sum(np.sin(w * x)))(x3)

        held: dict[str, Any] = {}

        def g(w: Any) -> Any:
            held["w"] = w
            return ad.jit(lambda x: np.sum(np.sin(held["w"] * x)))(x3)

        expected = np.sum(np.cos(2.0 * x3) * x3)
        for function in (f, g):
            np.testing.assert_allclose(ad.grad(function)(2.0), expected, rtol=1e-14)
            np.testing.assert_allclose(ad.jvp(function, (2.0,), (1.0,))[1], expected, rtol=1e-14)
            np.testing.assert_allclose(ad.jit(ad.grad(function))(2.0), expected, rtol=1e-14)

    def test_a_call_with_plain_values_inside_a_transformation(self) -> None:
        inner = ad.jit(lambda x: np.sum(x**2))
        f = lambda w: w * inner(x3)
        assert ad.grad(f)(2.0) == inner(x3)
        np.testing.assert_array_equal(ad.vmap(f)(np.arange(2.0)), [0.0, inner(x3)])

    def test_aux_and_trees(self) -> None:
        def loss(p: Any, x: Any) -> Any:
            y = np.tanh(x @ p["w"] + p["b"])
            return np.sum(y**2), {"y": y, "n": 3}

        p = {"w": np.ones((3, 2)), "b": np.zeros(2)}
        fast = ad.jit(ad.value_and_grad(loss, has_aux=True))
        for _ in range(2):
            (value, aux), slopes = fast(p, x3)
            (value2, aux2), slopes2 = ad.value_and_grad(loss, has_aux=True)(p, x3)
            np.testing.assert_allclose(value, value2, rtol=1e-14)
            np.testing.assert_allclose(aux["y"], aux2["y"], rtol=1e-14)
            assert aux["n"] == aux2["n"] == 3
            np.testing.assert_allclose(slopes["w"], slopes2["w"], rtol=1e-13)

    def test_random_generators_in_loops_and_lanes(self) -> None:
        def f(rng: Any, x: Any) -> Any:
            y, _ = ad.scan(lambda c, b: ((c[0], c[1] + c[0].normal() * b), None), (rng, 0.0), x)
            return y[1] + rng.uniform()

        def lanes(rng: Any, x: Any) -> Any:
            return ad.vmap(lambda rng, x: x + rng.normal(), (0, 0))(rng, x)

        for function in (f, lanes):
            a, b = ad.random.default_rng(3), ad.random.default_rng(3)
            fast = ad.jit(function)
            for _ in range(2):
                np.testing.assert_allclose(fast(a, x3), function(b, x3), rtol=1e-13)
                assert a.counter == b.counter

    def test_recursion_of_a_compiled_function(self) -> None:
        @ad.jit
        def factorial(n: Any) -> Any:
            return 1 if n <= 1 else n * factorial(n - 1)

        assert factorial(5) == 120


def test_what_a_write_would_not_reach_is_refused() -> None:
    buffer = np.zeros(3)

    def assigned(x: Any) -> Any:
        buffer[:] = x
        return buffer * 2

    def added(x: Any) -> Any:
        np.add(x, 1, out=buffer)
        return buffer * 2

    def through_a_view(x: Any) -> Any:
        part = buffer[1:]
        part += 1
        return x

    for f in (assigned, added, through_a_view):
        with pytest.raises(TraceError, match="writes to buffer, an array from outside"):
            ad.jit(f)(x3)
    np.testing.assert_array_equal(buffer, 0.0)

    @ad.jit
    def update(state: Any, rate: float) -> None:
        state["x"] -= rate

    with pytest.raises(TraceError, match=r"writes to its argument state\['x'\] and returns nothing"):
        update({"x": np.ones(2)}, 0.1)


def test_arguments_may_be_assigned_to_inside() -> None:
    @ad.jit
    def doubled(x: Any) -> Any:
        x[0] = 5.0
        x *= 2
        return x

    x = np.ones(2)
    np.testing.assert_array_equal(doubled(x), [10.0, 2.0])
    np.testing.assert_array_equal(x, 1.0)


def test_sets_of_computed_values_are_refused() -> None:
    with pytest.raises(DtypeError, match="set of computed values"):
        ad.jit(lambda x: {x * 2})(1.0)
    assert ad.jit(lambda x: {"a", "b"})(1.0) == {"a", "b"}


def test_generators_of_numpy_are_no_arguments() -> None:
    with pytest.raises(DtypeError, match=r"argument rng is NumPy's Generator.*ad\.random\.default_rng"):
        ad.jit(lambda rng, x: x + rng.normal())(np.random.default_rng(0), 1.0)


def test_plain_values_are_not_known_inside() -> None:
    with config.override(convert=False), pytest.raises(TraceError, match=r"float\(\).* not known while a program is"):
        ad.jit(lambda x: float(x) * 2)(1.0)
    with config.override(convert=False), pytest.raises(TraceError, match=r"float\(\).* derivative would be lost"):
        ad.jit(ad.grad(lambda x: float(x) * 2))(1.0)


def test_effects_inside_a_transformation_are_traced_once(capsys: pytest.CaptureFixture[str]) -> None:
    """With plain arguments, too: the transformation around must see the effect, so each call runs as plain Python."""

    @ad.jit
    def shown(n: float) -> float:
        ad.debug.print("n = {}", n)
        return n + 1

    for _ in range(3):
        assert ad.grad(lambda x: x * shown(1.0))(2.0) == 2.0
    assert capsys.readouterr().out == "n = 1.0\n" * 3
    assert len(shown.report().specializations) == 1
    assert shown(1.0) == 2.0  # alone it runs as machine code
    assert capsys.readouterr().out == "n = 1.0\n"
    assert len(shown.report().specializations) == 1
