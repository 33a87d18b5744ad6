"""jit: Python's own control flow, and what a function reads besides its arguments."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import ControlFlowError, TraceError
from tests.jit.test_function import same, x3


class TestControlFlow:
    def test_branches_flip_back_and_forth(self) -> None:
        calls = 0

        @ad.jit
        def f(x: Any) -> Any:
            nonlocal calls
            calls += 1
            if x > 0:
                return np.sqrt(x) if x > 4 else x * x
            return -x

        for value in (9.0, -1.0, 2.0, 9.0, -2.0, 3.0, 16.0):
            expected = (np.sqrt(value) if value > 4 else value**2) if value > 0 else -value
            assert f(value) == expected
        assert calls == 3

    def test_while_and_range(self) -> None:
        def f(x: Any, n: int) -> Any:
            for i in range(n):
                x = x + i
            while x < 100:
                x = x * 2
            return x

        fast = ad.jit(f)
        for x, n in ((1.0, 3), (50.0, 0), (1.0, 3), (2.0, 5), (200.0, 1)):
            assert fast(x, n) == f(x, n)

    def test_what_depends_on_no_argument_is_no_guard(self) -> None:
        fast = ad.jit(lambda x: x + 1 if ad.numpy.zeros(3)[0] == 0 else x)
        fast(1.0)
        (guarded,) = fast.guarded_programs
        assert not guarded.guards

    def test_rounding_is_guarded_by_its_own_question(self) -> None:
        import math

        f = lambda x: np.arange(math.floor(x) + 5) * x + math.ceil(x) + int(x)
        fast = ad.jit(f)
        for x in (-1.5, 1.5, -1.2, 2.5, -1.5):
            same(fast(x), f(x))

    @pytest.mark.parametrize(
        "f",
        [
            lambda x: x[x > 0] ** 2,
            lambda x: np.sum(x[x > 0] ** 2) + np.flatnonzero(x > 1).size,
            lambda x: np.stack([x, 2 * x])[:, x > 0],
            lambda x: np.argwhere(np.stack([x, -x]) > 0),
            lambda x: np.unique(np.round(x)),
            lambda x: np.unique(np.floor(x), return_index=True, return_inverse=True, return_counts=True),
            lambda x: np.setdiff1d(x, np.array([0.3])),
            lambda x: np.repeat(x, np.where(x > 0, 2, 1)),
            lambda x: x[x[0] > 0],
            lambda x: x[np.nonzero(x)[0][-1] :],
        ],
    )
    def test_shapes_that_depend_on_values(self, f: Any) -> None:
        fast = ad.jit(f)
        for x in (x3, -x3, x3[::-1].copy(), np.array([1.0, 0.0, 0.0]), x3):
            same(fast(x), f(x))

    def test_a_mask_is_guarded_by_its_count(self) -> None:
        fast = ad.jit(lambda x: np.sum(x[x > 0]))
        for x in (x3, -x3, np.roll(x3, 1), np.roll(x3, 2)):
            assert fast(x) == np.sum(x[x > 0])
        assert len(fast.report().specializations) == 2  # two elements, and one

    def test_too_many_ways_run_as_python_with_one_warning(self) -> None:
        f = lambda n: np.arange(n).sum()
        fast = ad.jit(f)
        with config.override(specializations=3):
            for n in range(3):
                assert fast(n) == f(n)
            with pytest.warns(RuntimeWarning, match=r"index.*test_environment_reading\.py"):
                assert fast(7) == f(7)
            assert fast(8) == f(8)  # no second warning: warnings are errors here
            assert fast(2) == f(2)
            strict = ad.jit(f, strict=True)
            for n in range(3):
                strict(n)
            with pytest.raises(ControlFlowError, match="more than 3 specializations"):
                strict(9)

    def test_an_error_on_one_way(self) -> None:
        @ad.jit
        def f(x: Any) -> Any:
            if x < 0:
                raise ValueError("negative")
            return np.sqrt(x)

        assert f(4.0) == 2.0
        for _ in range(2):
            with pytest.raises(ValueError, match="negative"):
                f(-1.0)
        assert f(9.0) == 3.0

    def test_inside_a_loop_it_names_cond(self) -> None:
        body = lambda c, x: (c + x if c > 0 else c, None)
        with config.override(convert=False), pytest.raises(ControlFlowError, match=r"ad\.cond"):
            ad.jit(lambda xs: ad.scan(body, 0.0, xs)[0])(x3)


scale = 2.0
weights = np.ones(3)


def reads_globals(x: Any) -> Any:
    return scale * (x @ weights)


class TestSurroundings:
    def test_globals(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fast = ad.jit(reads_globals)
        same(fast(x3), reads_globals(x3))
        monkeypatch.setitem(globals(), "scale", 3.0)
        same(fast(x3), reads_globals(x3))
        monkeypatch.setitem(globals(), "weights", np.arange(3.0))
        same(fast(x3), reads_globals(x3))
        weights[0] = 7.0
        same(fast(x3), reads_globals(x3))

    def test_cells(self) -> None:
        factor, array, function = 2.0, np.ones(3), np.sin

        def f(x: Any) -> Any:
            return factor * function(x) @ array

        fast = ad.jit(f)
        same(fast(x3), f(x3))
        factor = 5.0
        same(fast(x3), f(x3))
        function = np.cos
        same(fast(x3), f(x3))
        array[1] = 9.0
        same(fast(x3), f(x3))
        array = np.zeros((3, 2))
        same(fast(x3), f(x3))

    def test_arrays_of_other_things_are_part_of_the_program(self) -> None:
        names, masked = np.array(["a", "b"]), np.ma.array([1.0, 2.0], mask=[True, False])
        f = lambda x: x + len(names) + masked.count()
        fast = ad.jit(f)
        assert fast(1.0) == f(1.0)
        names = np.array(["a", "b", "c"])
        assert fast(1.0) == f(1.0)

    def test_defaults_and_partial(self) -> None:
        import functools

        w = np.ones(3)

        def f(x: Any, w: Any = w) -> Any:
            return x @ w

        fast, bound = ad.jit(f), ad.jit(functools.partial(f, w=w))
        same((fast(x3), bound(x3)), (f(x3), f(x3)))
        w[:] = 4.0
        same((fast(x3), bound(x3)), (f(x3), f(x3)))

    def test_inside_of_transformed_functions(self) -> None:
        w = np.ones(3)
        loss = lambda x: np.sum(np.sin(x * w))
        fast = ad.jit(ad.grad(loss))
        same(fast(x3), ad.grad(loss)(x3))
        w[:] = 2.0
        same(fast(x3), ad.grad(loss)(x3))

    @pytest.mark.parametrize(
        "way", ["jit in jit", "three deep", "plain", "given", "gradient", "of jit", "loop", "method"]
    )
    def test_inside_of_functions_that_are_named(self, way: str) -> None:
        w, k = np.array([1.0, 2.0, 3.0]), 2.0
        plain = lambda x: k * np.sin(x * w)
        compiled = ad.jit(plain)
        twice = ad.jit(lambda x: 2 * compiled(x))
        total = lambda x: np.sum(compiled(x))

        class Model:
            def run(self, x: Any) -> Any:
                return compiled(x)

        method = Model().run
        fast, expected = {
            "jit in jit": (ad.jit(lambda x: compiled(x) + 1), lambda x: plain(x) + 1),
            "three deep": (ad.jit(lambda x: twice(x) + 1), lambda x: 2 * plain(x) + 1),
            "plain": (ad.jit(lambda x: plain(x) + 1), lambda x: plain(x) + 1),
            "given": (lambda f: lambda x: f(compiled, x), lambda x: plain(x) + 1),
            "gradient": (ad.jit(lambda x: ad.grad(total)(x)), lambda x: k * w * np.cos(x * w)),
            "of jit": (ad.grad(ad.jit(lambda x: total(x))), lambda x: k * w * np.cos(x * w)),
            "loop": (
                ad.jit(lambda x: ad.fori_loop(0, 2, lambda _, s: compiled(s), x)),
                lambda x: plain(plain(x)),
            ),
            "method": (ad.jit(lambda x: method(x)), plain),
        }[way]
        if way == "given":
            fast = fast(ad.jit(lambda f, x: f(x) + 1))
        for _ in range(3):
            np.testing.assert_allclose(fast(x3), expected(x3), rtol=1e-14)
            w[0] += 10.0
        w = np.array([4.0, 5.0, 6.0])
        np.testing.assert_allclose(fast(x3), expected(x3), rtol=1e-14)
        k = 3.0
        np.testing.assert_allclose(fast(x3), expected(x3), rtol=1e-14)

    def test_a_named_function_is_replaced(self) -> None:
        inner = lambda x: x * array
        array = np.ones(3)
        fast = ad.jit(lambda x: inner(x))
        same(fast(x3), x3)
        inner = lambda x: x + array
        same(fast(x3), x3 + 1)
        array[:] = 5.0
        same(fast(x3), x3 + 5)

    def test_other_libraries_are_given_the_array_itself(self) -> None:
        from scipy.interpolate import CubicSpline

        heights = np.array([1.0, 2.0, 4.0])
        at = lambda x: x * CubicSpline(np.arange(3.0), 2 * heights)(1.5)
        fast = ad.jit(lambda x: at(x) + 1)
        for _ in range(3):
            same(fast(x3), at(x3) + 1)
            heights[1] += 1.0
        with config.override(convert=False), pytest.raises(TraceError, match="CubicSpline"):  # it is not known
            ad.jit(lambda x: CubicSpline(np.arange(3.0), x)(1.5))(x3)

    def test_a_nonlocal_is_written(self) -> None:
        seen = 0

        @ad.jit
        def f(x: Any) -> Any:
            nonlocal seen
            seen += 1
            return x + 1

        f(1.0)
        f(2.0)
        assert seen == 1  # traced once

    def test_recursion(self) -> None:
        fast = ad.jit(power)
        for base in (1.0, 2.0):
            assert fast(x3, 3)[0] == base**3 * x3[0]
            weights[:] = 2.0
        weights[:] = 1.0


def power(x: Any, n: int) -> Any:
    return x if n == 0 else power(x * weights, n - 1)
