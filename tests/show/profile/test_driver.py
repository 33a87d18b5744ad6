"""Profiles are tested by structure: what outweighs what, and whether the parts make the whole; never by seconds."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError, TraceError
from adjoint.show.profile.result import Profile

QUICK = 0.02


def dense(x, matrix, angle=0.5):
    small = np.sin(angle) * 2.0
    large = matrix @ x
    return np.sum(large) * small


def row(found: Profile, text: str):
    """The line that contains a text."""
    (one,) = [one for one in found.lines if text in one.line]
    return one


@pytest.fixture(scope="module")
def matrices():
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, 500, 500))


@pytest.fixture(scope="module")
def heavy(matrices) -> Profile:
    return ad.profile(dense, (0, 1, 2), seconds=0.2)(*matrices, 0.5)


def test_a_product_of_matrices_outweighs_a_number(heavy) -> None:
    product, number = row(heavy, "matrix @ x"), row(heavy, "np.sin")
    assert heavy.lines[0] is product
    assert product.forward > 20 * number.forward
    assert product.backward > 20 * number.backward
    assert product.backward > 0.5 * product.forward  # two products go back for one
    assert product.flops == pytest.approx(6 * 500**3, rel=0.01)
    assert product.bytes >= 3 * 3 * 8 * 500**2
    assert product.number == dense.__code__.co_firstlineno + 2
    assert product.file == __file__


def test_the_parts_make_the_whole(heavy) -> None:
    assert heavy.gradient
    assert heavy.kernels == pytest.approx(sum(one.seconds for one in heavy.lines))
    assert heavy.kernels == pytest.approx(sum(heavy.timing.seconds))
    assert heavy.timing.whole_run >= 0.999 * heavy.kernels
    assert 0 <= heavy.overhead <= heavy.seconds
    assert heavy.kernels + heavy.overhead <= 1.001 * max(heavy.seconds, heavy.kernels)
    assert 0.1 < heavy.forward / heavy.value_seconds < 10  # timed apart and together, on a machine that may be busy
    assert 0.1 < heavy.kernels / heavy.seconds < 10
    nest = heavy.nested()
    assert nest.seconds == pytest.approx(heavy.kernels)
    assert sum(f + b for f, b, _ in heavy.by_primitive().values()) == pytest.approx(heavy.kernels)
    assert sum(n for *_, n in heavy.by_primitive().values()) == sum(one.calls for one in heavy.lines)


def test_what_is_kept_for_the_way_back(heavy) -> None:
    assert row(heavy, "matrix @ x").saved >= 2 * 8 * 500**2
    assert heavy.saved == sum(one.saved for one in heavy.lines)
    assert heavy.saved == pytest.approx(2 * 8 * 500**2, rel=0.01)


def test_small_arrays_are_mostly_overhead() -> None:
    def chain(x):
        for _ in range(50):
            x = np.sin(x)
        return x

    found = ad.profile(chain, seconds=QUICK)(0.5)
    assert row(found, "np.sin").calls >= 100
    assert 0 < found.overhead < found.seconds


# Control flow


def looped(x):
    def body(carry, t):
        carry = np.tanh(carry) * t
        return carry, np.sum(carry)

    last, sums = ad.scan(body, x, np.linspace(0.5, 1.0, 7))
    last = ad.while_loop(lambda c: np.sum(c) < 9.5, lambda c: c + 1.0, last)
    return np.sum(last) + ad.cond(sums[-1] > 0, lambda v: v * 2.0, lambda v: np.exp(v), sums[0])


def test_loops_are_followed_into_their_turns() -> None:
    found = ad.profile(looped, seconds=QUICK)(np.full(3, 0.7))
    body = row(found, "np.tanh(carry)")
    assert body.forward > 0
    assert body.backward > 0
    forward = [site for site in found.timing.sites if not site.backward and "np.tanh" in str(site.name) + body.line]
    turns = {site.name: site.calls for site in forward if site.inside == ("scan",)}
    assert turns["tanh"] == turns["multiply"] == 7
    names = {site.inside for site in found.timing.sites if site.calls}
    assert {("scan",), ("while",), ("cond",)} <= names
    assert "exp" not in found.by_primitive()  # the branch not taken
    assert found.nested().seconds == pytest.approx(found.kernels)


def test_python_control_flow_takes_its_way() -> None:
    def f(x):
        if x > 0:
            return np.exp(x)
        return np.sin(x)

    assert "exp" in ad.profile(f, seconds=QUICK)(1.0).by_primitive()
    assert "sin" in ad.profile(f, seconds=QUICK)(-1.0).by_primitive()


def test_trees_keywords_and_random_draws() -> None:
    def loss(parameters, batch, *, scale):
        hidden = np.tanh(batch["x"] @ parameters["w"] + parameters["b"])
        noise = np.random.default_rng(0).normal(size=hidden.shape)
        return np.mean((hidden + noise - batch["y"]) ** 2) * scale

    rng = np.random.default_rng(1)
    parameters = {"w": rng.normal(size=(4, 3)), "b": np.zeros(3)}
    batch = {"x": rng.normal(size=(8, 4)), "y": rng.normal(size=(8, 3)), "label": "train"}
    found = ad.profile(loss, seconds=QUICK)(parameters, batch, scale=2.0)
    assert found.gradient
    assert row(found, "np.tanh").backward > 0
    assert not [note for note in found.notes if "forward only" in note]


def test_solvers_take_their_time_with_the_lines_of_the_operator() -> None:
    weights = np.linspace(1.0, 2.0, 30)

    def apply(v):
        return weights * v

    def f(b):
        return np.sum(ad.linear.cg(apply, b).value)

    found = ad.profile(f, seconds=0.1)(np.ones(30))
    operator = row(found, "weights * v")
    assert operator.forward > 0
    assert operator.calls > 4
    assert found.kernels < 5 * found.seconds


def test_what_is_pulled_through_linear_parts_is_seen() -> None:
    matrix = np.ones((200, 200))

    def f(x):
        product = matrix @ x
        return np.sum(product)

    product = row(ad.profile(f, seconds=QUICK)(np.ones((200, 200))), "matrix @ x")
    assert product.backward > 0.05 * product.forward > 0


def test_what_is_computed_again_on_the_way_back_counts_there() -> None:
    @ad.checkpoint
    def block(x):
        return np.tanh(np.tanh(x))

    def f(x):
        return np.sum(block(x) ** 2)

    found = ad.profile(f, seconds=QUICK)(np.ones(2000))
    forward, backward, calls = found.by_primitive()["tanh"]
    assert calls == 4
    assert backward > 0.05 * forward > 0


# What may be profiled


def test_results_that_are_not_one_number_are_profiled_forwards() -> None:
    found = ad.profile(np.sin, seconds=QUICK)(np.ones(5))
    assert not found.gradient
    assert found.backward == 0.0
    assert "forward only" in str(found)
    assert "(5,)" in str(found)
    assert "backward" not in str(found).splitlines()[2]
    several = ad.profile(lambda x: (x, x * 2), seconds=QUICK)(1.0)
    assert "2 arrays" in several.notes[0]
    whole_numbers = ad.profile(lambda n: np.sum(n), seconds=QUICK)(np.arange(5))
    assert "int64" in whole_numbers.notes[0]
    assert whole_numbers.by_primitive()["sum"][2] == 1
    with pytest.raises(ShapeError, match="scalar output"):
        ad.profile(np.sin, gradient=True, seconds=QUICK)(np.ones(5))


def test_forward_only_on_request() -> None:
    found = ad.profile(np.sum, gradient=False, seconds=QUICK)(np.ones(5))
    assert not found.gradient
    assert not [note for note in found.notes if "forward only" in note]
    assert found.saved == 0


def test_gradients_are_profiled_as_their_functions() -> None:
    for transformed in (ad.grad(dense), ad.value_and_grad(dense), ad.grad(lambda x, a: (dense(x, a), 1), has_aux=True)):
        found = ad.profile(transformed, seconds=QUICK)(np.ones((3, 3)), np.eye(3))
        assert found.gradient
        assert row(found, "matrix @ x").backward > 0


def test_a_gradient_inside_the_function_goes_back_too() -> None:
    def f(x):
        return ad.grad(lambda v: np.sum(np.sin(v) ** 2))(x)

    found = ad.profile(f, seconds=QUICK)(np.ones(4))
    assert not found.gradient
    assert found.backward > 0
    assert "backward" in str(found)


def test_errors_of_the_function_stay_what_they_are() -> None:
    def broken(x):
        raise KeyError("weights")

    with pytest.raises(KeyError, match="weights") as caught:
        ad.profile(broken)(1.0)
    assert "profile" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="needs a function"):
        ad.profile(1.0)
    with pytest.raises(ValueError, match="seconds must be"):
        ad.profile(np.sin, seconds=-1)(1.0)


def test_arguments_and_generators_of_the_caller_stay_as_they_are() -> None:
    def writes(x):
        x[0] = 5.0
        return np.sum(x)

    x = np.zeros(3)
    ad.profile(writes, seconds=QUICK)(x)
    np.testing.assert_array_equal(x, 0.0)


def test_a_function_without_work_says_so() -> None:
    found = ad.profile(lambda x: 1.0, seconds=QUICK)(2.0)
    assert any("no primitive" in note for note in found.notes)
    assert found.lines == ()
    assert "no primitive" in found._repr_html_()
    assert found.as_dict()["lines"] == []
    assert "no arguments" in ad.profile(lambda: 1.0, seconds=QUICK)().notes[0]


def test_errors_while_it_is_written_down_say_so() -> None:
    def f(x):
        return ad.sparse.jacobian(lambda v: v**2)(x)

    with pytest.raises(TraceError) as caught:
        ad.profile(f, seconds=QUICK)(np.ones(3))
    assert "wrote down" in caught.value.__notes__[0]


def test_the_result_of_effects_is_not_repeated_by_the_clock(capsys) -> None:
    def talks(x):
        ad.debug.print("x")
        return np.sin(x)

    found = ad.profile(talks, seconds=0.0)(1.0)
    assert found.by_primitive()["sin"][2] == 1
    assert capsys.readouterr().out
