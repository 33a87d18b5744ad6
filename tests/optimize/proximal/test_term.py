"""What all terms have: the judges' values, optimality, Moreau's identity, derivatives, bad input."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import AdjointError, RuleError, ShapeError
from adjoint.optimize import proximal, sets
from tests.optimize.sets.cases import DATA, DIRECT, STEP, TERMS

LOOSE = {"negentropy": 1e-5, "nuclear": 1e-8, "log_barrier": 1e-8}
MORE = {
    "l0": proximal.l0(0.3),
    "scad": proximal.scad(0.5),
    "scad with a long step": proximal.scad(0.5, 2.1),
    "mcp": proximal.mcp(0.5, 2.0),
    "mcp with a long step": proximal.mcp(0.5, 0.4),
    "zero": proximal.zero(),
    "scale": proximal.scale(proximal.l1(), 0.3),
    "translate": proximal.translate(proximal.l2(0.6), np.arange(6.0) / 5),
    "compose": proximal.compose(proximal.l1(0.4), -2.0, 0.3),
    "add_square": proximal.add_square(proximal.linf(0.5), 2.0, 0.3),
    "add_linear": proximal.add_linear(proximal.l1(0.4), np.arange(6.0) / 10),
    "l1 with weights": proximal.l1(np.arange(6.0) / 5),
}


def points_of(name):
    return np.array(DATA["operators"][name]["x"]) if name in TERMS else np.array(DATA["operators"]["l1"]["x"])


@pytest.mark.row("K4")
@pytest.mark.parametrize("name", TERMS)
def test_the_operator_is_the_judges(name):
    expected = np.array(DATA["operators"][name]["p"])
    found = np.stack([TERMS[name].prox(x, STEP) for x in points_of(name)])
    np.testing.assert_allclose(found, expected, atol=LOOSE.get(name, 1e-9))


@pytest.mark.row("K4")
@pytest.mark.parametrize("name", DIRECT)
def test_formulas_of_others_to_the_last_digits(name):
    term, step = DIRECT[name]
    case = DATA["direct"][name]
    np.testing.assert_allclose(term.prox(np.array(case["x"]), step), case["p"], atol=1e-13)


@pytest.mark.parametrize("name", [*TERMS, *MORE])
def test_no_other_point_is_better(name):
    term = {**TERMS, **MORE}[name]
    rng = np.random.default_rng(0)
    for x in points_of(name)[:2]:
        p = term.prox(x, STEP)
        cost = lambda p, x=x: term(p) + np.sum((p - x) ** 2) / (2 * STEP)
        least = cost(p)
        for scale in (1e-3, 1e-2, 0.1, 1.0):
            for _ in range(20):
                q = p + scale * rng.normal(size=p.shape) * (rng.random(p.shape) < 0.5)
                assert cost(q) >= least - 1e-9
        if p.ndim == 1 and "long" in name:
            for i in range(len(p)):
                for t in np.linspace(-3, 3, 121):
                    q = p.copy()
                    q[i] = t
                    assert cost(q) >= least - 1e-9


@pytest.mark.parametrize("name", [*TERMS, *MORE])
def test_derivatives_under_all_transformations(name):
    term = {**TERMS, **MORE}[name]
    points = points_of(name)
    prox = lambda x: term.prox(x, STEP)
    jacobians = np.stack([ad.jacfwd(prox)(x) for x in points])
    rng = np.random.default_rng(1)
    for x, J in zip(points, jacobians, strict=True):
        v = rng.normal(size=x.shape)
        np.testing.assert_allclose(
            np.tensordot(J, v, x.ndim), (prox(x + 1e-6 * v) - prox(x - 1e-6 * v)) / 2e-6, atol=1e-5
        )
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.jacrev(prox)))(points), jacobians, atol=1e-8)
    slope = ad.jacobian(lambda step: term.prox(points[0], step))(STEP)
    difference = (term.prox(points[0], STEP + 1e-6) - term.prox(points[0], STEP - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, difference, atol=1e-5)
    zero = np.zeros_like(points[0])
    assert np.all(np.isfinite(ad.jacobian(prox)(zero)))


@pytest.mark.parametrize("name", [n for n in TERMS if n != "nuclear"])
def test_the_envelope_has_the_gradient_of_moreau(name):
    term = TERMS[name]
    x = points_of(name)[0]
    gradient = ad.grad(lambda x: term.envelope(x, STEP))(x)
    np.testing.assert_allclose(gradient, (x - term.prox(x, STEP)) / STEP, atol=1e-9)


@pytest.mark.row("K4")
@pytest.mark.parametrize("step", [0.3, 1.0, 2.5])
def test_moreaus_identity(step):
    """Conjugates whose operators are known by themselves: those of norms are projections onto dual balls."""
    x = points_of("l1")[0]
    pairs = [
        (proximal.l1(0.8), sets.linf_ball(0.8)),
        (proximal.l2(0.8), sets.l2_ball(0.8)),
        (proximal.linf(0.8), sets.l1_ball(0.8)),
        (proximal.maximum(0.8), sets.simplex(0.8)),
    ]
    for term, ball in pairs:
        np.testing.assert_allclose(proximal.conjugate(term).prox(x, step), ball.project(x), atol=1e-13)
        np.testing.assert_allclose(term.prox_conjugate(x, step), ball.project(x), atol=1e-13)
        # x = prox_f(x, γ) + γ prox_f*(x / γ, 1 / γ)
        np.testing.assert_allclose(term.prox(x, step) + step * ball.project(x / step), x, atol=1e-13)
    # (λ/2 ‖·‖²)* = ‖·‖² / 2λ
    np.testing.assert_allclose(
        proximal.conjugate(proximal.squared_l2(0.5)).prox(x, step), proximal.squared_l2(2.0).prox(x, step)
    )
    twice = proximal.conjugate(proximal.conjugate(proximal.huber(0.5)))
    np.testing.assert_allclose(twice.prox(x, step), proximal.huber(0.5).prox(x, step), atol=1e-12)


@pytest.mark.row("K4", "16.4a")
def test_values_of_the_catalogue():
    x = np.array([3.0, -0.5, -2.2])
    np.testing.assert_array_equal(proximal.zero().prox(x), x)
    np.testing.assert_array_equal(proximal.from_set(sets.box(0.0, 1.0)).prox(x), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(proximal.l1(1.0).prox(x), [2, 0, -1.2])
    group = proximal.group(1.0, [0, 0])
    np.testing.assert_allclose(group.prox(np.array([3.0, 4.0])), [2.4, 3.2])
    np.testing.assert_array_equal(group.prox(np.array([3.0, 4.0]), 5.0), [0, 0])
    np.testing.assert_array_equal(group.prox(np.zeros(2)), [0, 0])
    assert proximal.from_set(sets.box(0.0, 1.0))(np.array([0.5])) == 0
    assert np.isinf(proximal.from_set(sets.box(0.0, 1.0))(np.array([1.5])))


def test_total_variation_of_long_sequences_is_exact():
    """The conditions of optimality to the last digits: a method that iterates would need thousands of steps."""
    rng = np.random.default_rng(2)
    x = np.repeat(rng.normal(size=20), 100) + 0.3 * rng.normal(size=2000)
    p = proximal.total_variation(2.0).prox(x)
    dual = np.cumsum(x - p)[:-1]
    assert np.max(np.abs(dual)) <= 2.0 + 1e-9
    assert abs(np.sum(x - p)) < 1e-9
    jumps = np.diff(p)
    np.testing.assert_allclose(dual[jumps > 1e-9], -2.0, atol=1e-9)
    np.testing.assert_allclose(dual[jumps < -1e-9], 2.0, atol=1e-9)
    batch = np.stack([x, -x])
    np.testing.assert_allclose(ad.jit(ad.vmap(proximal.total_variation(2.0).prox))(batch)[1], -p, atol=1e-10)
    np.testing.assert_allclose(proximal.total_variation(1e6).prox(x), np.mean(x), atol=1e-10)
    np.testing.assert_array_equal(proximal.total_variation(1.0).prox(np.array([2.0])), [2.0])


def test_negentropy_and_barrier_keep_their_digits_far_out():
    # with W(exp(x)) the first overflows from x = 710 on; with (x + √(x² + 4)) / 2 the second is 0 at -1e9
    assert np.isclose(
        proximal.negentropy().prox(np.array([1e4]))[0], 1e4 - 1 - np.log(1e4 - 1 - np.log(1e4)), rtol=1e-7
    )
    np.testing.assert_allclose(proximal.log_barrier().prox(np.array([-1e9])), [1e-9], rtol=1e-12)
    assert proximal.negentropy().prox(np.array([-700.0]))[0] > 0


def test_coinciding_singular_values_have_a_derivative():
    X = 2.0 * np.eye(3)[:2]
    prox = proximal.nuclear(0.7).prox
    J = ad.jacobian(prox)(X)
    rng = np.random.default_rng(3)
    for _ in range(3):
        H = rng.normal(size=X.shape)
        difference = (prox(X + 1e-6 * H) - prox(X - 1e-6 * H)) / 2e-6
        np.testing.assert_allclose(np.tensordot(J, H, 2), difference, atol=1e-6)


def test_trees():
    term = proximal.separable({"w": proximal.l1(1.0), "b": None, "v": proximal.l2(1.0)})
    x = {"w": np.array([3.0, -0.5]), "b": 2.0, "v": {"a": np.array([3.0]), "c": np.array([4.0])}}
    p = term.prox(x)
    np.testing.assert_allclose(p["w"], [2, 0])
    assert p["b"] == 2.0
    np.testing.assert_allclose([p["v"]["a"][0], p["v"]["c"][0]], [2.4, 3.2])
    np.testing.assert_allclose(term(x), 3.5 + 5.0)
    np.testing.assert_allclose(proximal.l2(1.0).prox_tree((np.array([3.0]), np.array([4.0])))[1], [3.2])


def test_bad_input_is_refused():
    x = np.ones(3)
    refused = [
        (lambda: proximal.l1().prox(x, -1.0), ValueError, "the step is -1.0"),
        (lambda: proximal.l1().prox(x, 0.0), ValueError, "positive"),
        (lambda: proximal.from_set(sets.simplex()).prox(x, -1.0), ValueError, "positive"),
        (lambda: proximal.l1(-1.0), ValueError, "factor"),
        (lambda: proximal.huber(0.0), ValueError, "delta"),
        (lambda: proximal.scad(1.0, 1.5), ValueError, "above 2"),
        (lambda: proximal.mcp(1.0, 0.0), ValueError, "positive"),
        (lambda: proximal.owl([1.0, 2.0]), ValueError, "falls"),
        (lambda: proximal.owl([2.0, 1.0]).prox(x), ShapeError, "weights"),
        (lambda: proximal.group(1.0, [[0, 1], [1, 2]]), ValueError, "once"),
        (lambda: proximal.group([1.0, 2.0, 3.0], [0, 0, 1]), ShapeError, "2 groups"),
        (lambda: proximal.group(1.0, [0, 1]).prox(x), ShapeError, "labels"),
        (lambda: proximal.quadratic(-np.eye(3)), ValueError, "semidefinite"),
        (lambda: proximal.quadratic(np.eye(2)).prox(x), ShapeError, "Q has shape"),
        (lambda: proximal.total_variation().prox(np.ones((2, 2))), ShapeError, "a vector"),
        (lambda: proximal.scale(sets.simplex(), 2.0), TypeError, "from_set"),
        (lambda: proximal.from_set(proximal.l1()), TypeError, "no set"),
        (lambda: proximal.compose(proximal.l1(), 0.0), ValueError, "not zero"),
        (lambda: proximal.conjugate(proximal.l1())(x), RuleError, "its value is not"),
        (lambda: proximal.separable({"a": proximal.l1()}).prox({"b": x}), AdjointError, "terms for a"),
    ]
    for run, kind, words in refused:
        with pytest.raises(kind, match=words):
            run()


@pytest.mark.parametrize("name", TERMS)
def test_single_precision_stays_and_a_negative_step_is_nan_in_compiled_programs(name):
    x = points_of(name)[0]
    prox = ad.jit(TERMS[name].prox)
    assert np.isnan(prox(x, -0.5)).all()
    np.testing.assert_allclose(prox(x, 0.5), TERMS[name].prox(x, 0.5), atol=1e-10)
    found = TERMS[name].prox(x.astype(np.float32), 0.5)
    assert found.dtype == TERMS[name](x.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(found, TERMS[name].prox(x.astype(np.float32).astype(float), 0.5), atol=1e-4)


def test_factors_that_define_no_term_are_nan_in_compiled_programs():
    """Where they are known they are refused."""
    x = np.array([3.0, -0.5, -2.2])
    makers = [
        proximal.l1, proximal.l2, proximal.linf, proximal.maximum, proximal.squared_l2, proximal.negentropy,
        proximal.log_barrier, proximal.total_variation, proximal.l0, proximal.scad, proximal.mcp,
        lambda f: proximal.elastic_net(1.0, f), lambda f: proximal.group(f, [0, 0, 1]), lambda f: proximal.huber(f),
        lambda f: proximal.owl(f * np.array([1.0, 0.5, 0.1])), lambda f: proximal.mcp(1.0, f),
        lambda f: proximal.scad(1.0, 3 * f), lambda f: proximal.scale(proximal.l1(), f),
        lambda f: proximal.translate(proximal.l1(f), 1.0), lambda f: proximal.conjugate(proximal.linf(f)),
        lambda f: proximal.add_square(proximal.l1(), f), lambda f: proximal.add_linear(proximal.l2(f), x),
    ]  # fmt: skip
    for make in makers:
        prox = lambda f, make=make: make(f).prox(x, 0.7)
        assert np.isnan(ad.jit(prox)(-1.0)).all()
        np.testing.assert_allclose(ad.jit(prox)(1.0), prox(1.0), atol=1e-12)
    for make in makers[:5]:
        assert np.isnan(ad.jacobian(lambda f, make=make: make(f).prox(x, 0.7))(-1.0)).all()
    order = ad.jit(lambda last: proximal.owl(np.stack([1.0, 0.5, last])).prox(x))
    assert np.isnan(order(0.7)).all()
    assert np.isfinite(order(0.3)).all()


def test_steps_for_each_number_are_for_terms_of_each_number():
    x, steps = np.array([3.0, -0.5, -2.2]), np.array([1.0, 2.0, 0.1])
    for term in (proximal.l1(0.4), proximal.huber(), proximal.translate(proximal.l1(), x), proximal.mcp()):
        one = lambda i, term=term: term.prox(x, steps[i])[i]
        np.testing.assert_allclose(term.prox(x, steps), [one(i) for i in range(3)])
    for term in (proximal.l2(), proximal.linf(), proximal.total_variation(), proximal.translate(proximal.l2(), x)):
        with pytest.raises(ShapeError, match="takes one number"):
            term.prox(x, steps)


def test_nan_in_one_number_is_nan_in_all_that_move_with_it():
    x = np.array([np.nan, 1.0, 2.0])
    for term in (proximal.l2(), proximal.linf(), proximal.maximum(), proximal.owl(x[[2, 1, 1]])):
        assert np.isnan(term.prox(x)).all()
    np.testing.assert_array_equal(proximal.l1().prox(x), [np.nan, 0.0, 1.0])


def test_calculus_of_sums_over_trees_is_that_of_their_parts():
    w, b = np.array([3.0, -0.5]), 2.0
    x = {"w": w, "b": b}
    parts = proximal.separable({"w": proximal.l1(0.4)})
    l1 = proximal.l1(0.4)
    pairs = [
        (proximal.scale(parts, 0.5), proximal.scale(l1, 0.5).prox(w, 0.7), b),
        (proximal.translate(parts, {"w": w, "b": 1.0}), w, b),
        (proximal.compose(parts, 2.0), proximal.compose(l1, 2.0).prox(w, 0.7), b),
        (proximal.add_linear(parts, {"w": w, "b": 1.0}), l1.prox(w - 0.7 * w, 0.7), b - 0.7),
        (proximal.add_square(parts, 2.0), proximal.add_square(l1, 2.0).prox(w, 0.7), b / 2.4),
        (proximal.conjugate(parts), proximal.conjugate(l1).prox(w, 0.7), 0.0),  # of no term: 0 alone
    ]
    for term, at_w, at_b in pairs:
        found = term.prox(x, 0.7)
        np.testing.assert_allclose(found["w"], at_w, atol=1e-15)
        np.testing.assert_allclose(found["b"], at_b, atol=1e-15)
    np.testing.assert_allclose(parts.prox_conjugate(x, 0.7)["w"], l1.prox_conjugate(w, 0.7))
    np.testing.assert_allclose(parts.envelope(x, 0.7), l1.envelope(w, 0.7))
    within = proximal.from_set(sets.product({"w": sets.simplex()}))
    np.testing.assert_allclose(within.envelope(x, 0.7), np.sum((sets.simplex().project(w) - w) ** 2) / 1.4)
    np.testing.assert_allclose(proximal.conjugate(within).prox(x)["w"], w - sets.simplex().project(w))
    # a factor for each number of a tree
    found = proximal.l1({"w": np.array([1.0, 0.1]), "b": 0.5}).prox_tree(x)
    np.testing.assert_allclose([*found["w"], found["b"]], [2.0, -0.4, 1.5])


def test_conjugates_are_of_convex_terms():
    """Of ℓ0 the conjugate is the indicator of zero; Moreau's identity would leave small numbers as they are."""
    x = np.array([2.0, -0.3])
    for term in (proximal.l0(), proximal.scale(proximal.scad(), 2.0), proximal.from_set(sets.l2_sphere())):
        with pytest.raises(RuleError, match="not convex"):
            proximal.conjugate(term)
        with pytest.raises(RuleError, match="not convex"):
            term.prox_conjugate(x)


def test_terms_of_others_take_what_these_take():
    for make in (lambda t: proximal.scale(t, 2.0), proximal.conjugate, lambda t: proximal.translate(t, 1.0)):
        with pytest.raises(ShapeError, match=r"factor has shape \(3,\), and x \(1,\)"):
            make(proximal.l1(np.ones(3))).prox(np.ones(1))
        with pytest.raises(ShapeError, match="it is a matrix"):
            make(proximal.nuclear()).prox(np.ones(3))
    with pytest.raises(ShapeError, match="2,"):
        proximal.owl([2.0, 1.0])(np.ones(3))
    with pytest.raises(ShapeError, match="none is the largest"):
        proximal.maximum().prox(np.zeros(0))


def test_quadratics_that_are_not_convex_are_nan_in_compiled_programs():
    run = ad.jit(lambda Q: proximal.quadratic(Q).prox(np.array([2.0, 1.0])))
    for Q in (-0.5 * np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]])):
        assert np.isnan(run(Q)).all()
    np.testing.assert_allclose(run(np.eye(2)), [1.0, 0.5])


def test_operators_of_very_large_and_small_numbers():
    np.testing.assert_allclose(proximal.l2(1e-200).prox(np.array([3e-200, 4e-200])), [2.4e-200, 3.2e-200])
    np.testing.assert_allclose(proximal.log_barrier().prox(np.array([1e200, -1e200])), [1e200, 1e-200])


def test_projections_keep_single_precision_whatever_the_step_has():
    x = np.array([2.0, 0.5], np.float32)
    assert ad.jit(lambda x, t: proximal.from_set(sets.l1_ball()).prox(x, t))(x, 0.5).dtype == np.float32
