"""print, callback and check run when the values are there, in order, in every transformation; nans() finds the
culprit.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import CheckError

XS = np.array([0.5, 2.0, 3.0])


def lines(capsys) -> list[str]:
    return capsys.readouterr().out.splitlines()


def seen(x, text="x = {}"):
    ad.debug.print(text, x)
    return x


# ---- print and callback ----


def test_print_takes_values_names_and_trees(capsys) -> None:
    ad.debug.print(
        "{} {y:.2f} {z[0]} {t[a]} {name}", 1.5, y=np.float64(2.0), z=np.arange(2), t={"a": (1, None)}, name="text"
    )
    ad.debug.print("nothing")
    assert lines(capsys) == ["1.5 2.00 0 (1, None) text", "nothing"]
    with pytest.raises(TypeError, match=r"debug\.print\('\{\}', x\)"):
        ad.debug.print(3.0)


TRANSFORMATIONS = {
    "grad": lambda f: ad.grad(f)(2.0),
    "jvp": lambda f: ad.jvp(f, (2.0,), (1.0,)),
    "vjp": lambda f: ad.vjp(f, 2.0)[1](1.0),
    "linearize": lambda f: ad.linearize(f, 2.0)[1](1.0),
    "jet": lambda f: ad.jet(f, (2.0,), ((1.0, 0.0),)),
    "hessian": lambda f: ad.hessian(f)(2.0),
    "checkpoint": lambda f: ad.grad(ad.checkpoint(f))(2.0),
    "grad of grad": lambda f: ad.grad(ad.grad(f))(2.0),
    "linear_transpose": lambda f: ad.linear_transpose(lambda x: seen(x) * 2.0, 2.0)(1.0),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_print_happens_once(name, capsys) -> None:
    TRANSFORMATIONS[name](lambda x: np.sin(seen(x)) * x)
    assert lines(capsys) == ["x = 2.0"]


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_print_in_a_loop_happens_at_every_turn(name, capsys) -> None:
    def f(x):
        def body(c, t):
            ad.debug.print("turn {t}: c = {c:.1f}", t=t, c=c)
            ad.debug.print("-")
            return c * x, None

        return ad.scan(body, x, np.arange(3))[0]

    if name == "linear_transpose":
        return
    TRANSFORMATIONS[name](f)
    assert lines(capsys) == ["turn 0: c = 2.0", "-", "turn 1: c = 4.0", "-", "turn 2: c = 8.0", "-"]


def test_under_vmap_each_lane_prints_once_even_when_lanes_go_different_ways(capsys) -> None:
    def f(x):
        ad.debug.print("{}", x)
        return x * 2 if x > 1 else -x

    for g in (f, ad.grad(f)):
        np.testing.assert_array_equal(ad.vmap(g)(XS)[1:] > 0, [True, True])
        assert lines(capsys) == ["0.5", "2.0", "3.0"]
    ad.vmap(lambda x: ad.vmap(lambda y: seen(x * y, "{}"))(np.array([1.0, 10.0])))(np.array([1.0, 2.0]))
    assert lines(capsys) == ["1.0", "10.0", "2.0", "20.0"]
    ad.vmap(lambda x: seen(7.0) * x)(XS)
    assert lines(capsys) == ["x = 7.0"]


def test_what_was_printed_before_an_error_is_seen(capsys) -> None:
    def f(x):
        seen(x)
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        ad.vmap(f)(XS)
    assert lines(capsys) == ["x = 0.5", "x = 2.0", "x = 3.0"]


def test_branches_not_taken_and_loops_that_have_ended_are_silent(capsys) -> None:
    def branches(x):
        return ad.cond(x > 1, lambda x: seen(x, "big {}"), lambda x: seen(x, "small {}"), x)

    def loop(x):
        return ad.while_loop(lambda s: s[0] < x, lambda s: (seen(s[0] + 1.0, "{}"), s[1] * 2.0), (0.0, 1.0))[1]

    def nested(x):
        return ad.cond(x > 1, lambda x: ad.scan(lambda c, t: (seen(c + t), None), x, np.arange(2.0))[0], lambda x: x, x)

    expected = {branches: ["big 2.0", "big 3.0", "small 0.5"], loop: ["1.0"] * 3 + ["2.0"] * 2 + ["3.0"]}
    expected[nested] = ["x = 2.0", "x = 3.0", "x = 3.0", "x = 4.0"]
    for f, wanted in expected.items():
        ad.vmap(f)(XS)
        assert sorted(lines(capsys)) == sorted(wanted)
        ad.vmap(ad.vmap(f))(np.stack([XS, XS]))
        assert sorted(lines(capsys)) == sorted(wanted * 2)
        ad.trace(ad.vmap(f))(XS)(XS)
        assert sorted(lines(capsys)) == sorted(wanted)


def test_traced_programs_print_when_they_run(capsys) -> None:
    p = ad.trace(lambda x: seen(seen(x), "again {}") * 2)(1.0)
    assert lines(capsys) == []
    p(3.0)
    assert lines(capsys) == ["x = 3.0", "again 3.0"]
    assert "print['x = {}'] a" in str(p)


def test_an_effect_sees_the_value_at_its_time(capsys) -> None:
    def f(x):
        y = ad.numpy.zeros(2)
        ad.debug.print("{}", y)
        y[0] = x
        ad.debug.print("{}", y)
        return np.sum(y)

    for g in (ad.grad(f), lambda x: ad.vmap(f)(np.array([x])), lambda x: ad.trace(f)(x)(x)):
        g(3.0)
        assert lines(capsys) == ["[0. 0.]", "[3. 0.]"]


def test_callback_is_given_arrays_of_its_own() -> None:
    got = []

    def keep(x, *, k):
        got.append((x, k))
        if x.ndim:
            x[:] = 0.0

    def f(x):
        ad.debug.callback(keep, x, k=x[0])
        return np.sum(x * x)

    np.testing.assert_array_equal(ad.grad(f)(XS), 2 * XS)
    ad.trace(f)(XS)(XS)
    ad.vmap(f)(np.stack([XS, XS]))
    assert len(got) == 4
    assert all(type(x) is np.ndarray and k == 0.5 for x, k in got)
    with pytest.raises(TypeError, match="needs a function"):
        ad.debug.callback(3.0)


# ---- check ----


def positive(x):
    ad.check(x > 0, "x must be positive, not {}", x)
    return np.log(x)


def test_check_raises_in_every_transformation() -> None:
    for transform in TRANSFORMATIONS.values():
        transform(positive) if transform is not TRANSFORMATIONS["linear_transpose"] else None
    bad = {
        "plain": lambda: positive(-1.0),
        "grad": lambda: ad.grad(positive)(-1.0),
        "jvp": lambda: ad.jvp(positive, (-1.0,), (1.0,)),
        "jet": lambda: ad.jet(positive, (-1.0,), ((1.0,),)),
        "trace": lambda: ad.trace(positive)(1.0)(-1.0),
        "scan": lambda: ad.scan(lambda c, t: (positive(c - t) * 0 + c - t, None), 2.0, np.ones(5)),
        "checkpoint": lambda: ad.grad(ad.checkpoint(positive))(-1.0),
    }
    for name, call in bad.items():
        with pytest.raises(
            CheckError, match=r"x must be positive, not (-1|0)\.0 \(checked at test_debug\.py:\d+, in positive"
        ):
            call()
            pytest.fail(name)


def test_check_is_a_value_error_and_takes_arrays() -> None:
    with pytest.raises(ValueError, match="all of them"):
        ad.check(np.array([True, False]), "all of them")
    ad.check(np.array([True, True]), "all of them")
    ad.check(True, "braces {} are text without values")
    with pytest.raises(ValueError, match=r"braces \{\} are text"):
        ad.check(False, "braces {} are text without values")
    with pytest.raises(TypeError, match="needs a message"):
        ad.check(True, 3)


def test_check_names_the_lanes() -> None:
    xs = np.array([1.0, -2.0, 3.0, -4.0])
    for f in (positive, ad.grad(positive), ad.trace(positive)(1.0)):
        with pytest.raises(CheckError, match=r"not -2\.0 .*, in batch elements 1, 3 of vmap") as caught:
            ad.vmap(f)(xs)
        assert caught.value.batch_elements == ((1,), (3,))
    with pytest.raises(CheckError, match="in batch element 1 of vmap"):
        ad.vmap(positive)(xs[:3])
    with pytest.raises(CheckError, match=r"in batch elements \(0, 1\), \(1, 0\) of vmap"):
        ad.vmap(ad.vmap(positive))(np.array([[1.0, -1.0], [-1.0, 1.0]]))


def test_lanes_keep_their_numbers_when_they_go_different_ways() -> None:
    xs = np.array([0.0, 5.0, 0.0, 7.0, 50.0])

    def by_python(x):
        if x > 1:
            ad.check(x < 6, "too big")
        return x

    def by_cond(x):
        return ad.cond(x > 1, by_python_body, lambda x: x, x)

    def by_python_body(x):
        ad.check(x < 6, "too big")
        return x

    for f in (by_python, by_cond):
        with pytest.raises(CheckError, match=r"too big.*in batch elements 3, 4 of vmap"):
            ad.vmap(f)(xs)


def test_lanes_that_are_not_alive_are_not_checked() -> None:
    def branch(x):
        return ad.cond(x > 0, positive, lambda x: x, x)

    def loop(n):
        def body(s):
            ad.check(s < n, "past the end")
            return s + 1.0

        return ad.while_loop(lambda s: s < n, body, 0.0)

    xs = np.array([-1.0, 2.0, 4.0])
    for f in (branch, loop):
        expected = [f(x) for x in xs]
        np.testing.assert_allclose(ad.vmap(f)(xs), expected)
        np.testing.assert_allclose(ad.vmap(ad.vmap(f))(xs[None]), [expected])
        np.testing.assert_allclose(ad.trace(ad.vmap(f))(xs)(xs), expected)


def test_checks_are_never_dropped() -> None:
    def f(x):
        ad.check(np.sum(x) < 100, "sum")
        return 1.0

    p = ad.trace(f)(XS)
    assert "check['sum']" in str(p)
    with pytest.raises(CheckError):
        p(XS * 100)
    with pytest.raises(CheckError):
        ad.grad(lambda x: ad.trace(f)(XS)(x * 100))(XS)
