"""Adjoint and variational equations against the derivative of the steps, closed forms and the book's numbers."""

import numpy as np
import pytest
from scipy.linalg import expm, expm_frechet

import adjoint as ad
from adjoint import integrate

A = np.array([[0.0, 1.0], [-1.0, -0.1]])
EULER = {"method": "euler", "first_step": 0.1}


def prey(t, y, w):
    return np.stack([w[0] * y[0] - w[1] * y[0] * y[1], -w[2] * y[1] + w[3] * y[0] * y[1]])


def loss(w, y0, t1, s, adjoint):
    path = integrate.solve(
        prey, (0.0, t1), y0, args=(w,), save=np.stack([s, 10.0 + 0 * s]), method="bosh3", rtol=1e-9, atol=1e-9,
        adjoint=adjoint,
    )  # fmt: skip
    return np.sum(path.last * np.array([1.0, 2.0])) + np.sum(path.values * np.array([[1.0, 0.5], [0.3, 0.1]]))


RATES, START = np.array([0.5, 0.02, 0.9, 0.03]), np.array([34.0, 5.9])


@pytest.mark.row("12.6.2-b")
@pytest.mark.parametrize(
    "adjoint",
    [
        "backsolve",
        *[pytest.param(a, marks=pytest.mark.sweep) for a in ("quadrature", "interpolate", "bvp", "forward")],
    ],
)
def test_all_derivatives_with_cotangents_at_saved_times(adjoint):
    arguments = (RATES, START, 15.0, 4.0)
    found = ad.grad(lambda *a: loss(*a, adjoint), (0, 1, 2, 3))(*arguments)
    expected = ad.grad(lambda *a: loss(*a, "discretize"), (0, 1, 2, 3))(*arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)
    tangents = (np.array([0.1, 0.01, -0.1, 0.02]), np.array([1.0, -1.0]), 0.5, -0.3)
    pushed = ad.jvp(lambda *a: loss(*a, adjoint), arguments, tangents)[1]
    assert abs(pushed - sum(np.vdot(g, v) for g, v in zip(expected, tangents, strict=True))) < 1e-6 * abs(pushed)


@pytest.mark.row("12.6.6-a")
@pytest.mark.row("12.6.2-a")
@pytest.mark.parametrize(
    "adjoint",
    [
        "interpolate",
        *[
            pytest.param(a, marks=pytest.mark.sweep)
            for a in ("discretize", "backsolve", "forward", "quadrature", "bvp")
        ],
    ],
)
def test_linear_equation(adjoint):
    x, u, T = np.array([0.7, -0.4]), np.array([1.0, -2.0]), 2.0
    value = lambda x, A: (
        u
        @ integrate.solve(
            lambda t, y, A: A @ y, (0.0, T), x, args=(A,), adjoint=adjoint, method="verner8", rtol=1e-12, atol=1e-12
        ).last
    )
    found_x, found_A = ad.grad(value, (0, 1))(x, A)
    np.testing.assert_allclose(found_x, expm(T * A).T @ u, atol=1e-10)
    np.testing.assert_allclose(found_A, T * expm_frechet(T * A.T, np.outer(u, x))[1], atol=1e-10)


@pytest.mark.row("12.6.3-a")
def test_ten_steps_of_euler():
    end = lambda x, w, adjoint: (
        integrate.solve(lambda t, s, w: w * s, (0.0, 1.0), x, args=(w,), adjoint=adjoint, **EULER).last
    )
    discrete = ad.grad(lambda x, w: end(x, w, "discretize"), (0, 1))(1.0, 1.0)
    np.testing.assert_allclose(discrete, (1.1**10, 1.1**9), rtol=1e-12)
    assert abs(discrete[1] - 2.3579476910) < 1e-9
    with pytest.warns(RuntimeWarning, match=r"is 0.0956 away from the start"):  # (1 - δ²w²)¹⁰ = 0.9043820750
        continuous = ad.grad(lambda x, w: end(x, w, "backsolve"), (0, 1))(1.0, 1.0)
    np.testing.assert_allclose(continuous, (2.5937424601, 2.4800827200), atol=1e-9)


def test_drift_of_what_decays():
    end = lambda x: (
        integrate.solve(
            lambda t, s: -50.0 * s, (0.0, 1.0), x, adjoint="backsolve", method="euler", first_step=1e-3
        ).last
    )
    with pytest.warns(RuntimeWarning, match="backsolve"):
        ad.grad(end)(1.0)


@pytest.mark.row("12.6.4-b")
def test_both_approaches_converge_at_first_order():
    def errors(steps):
        end = lambda w, adjoint: (
            integrate.solve(
                lambda t, s, w: w * s,
                (0.0, 1.0),
                1.0,
                args=(w,),
                adjoint=adjoint,
                method="euler",
                first_step=1.0 / steps,
            ).last
        )
        discrete = ad.grad(lambda w: end(w, "discretize"))(1.0)
        with pytest.warns(RuntimeWarning, match="backsolve"):
            continuous = ad.grad(lambda w: end(w, "backsolve"))(1.0)
        return abs(discrete - np.e), abs(continuous - np.e)

    np.testing.assert_allclose(errors(10), (0.3603, 0.2382), atol=1e-4)
    np.testing.assert_allclose(errors(160), (0.0253, 0.0168), atol=1e-4)


def test_what_is_refused():
    f, span = lambda t, y: -y, (0.0, 1.0)
    with pytest.raises(ValueError, match="'discretize', 'interpolate'"):
        integrate.solve(f, span, 1.0, adjoint="continuous")
    with pytest.raises(ValueError, match="'state and tangents'"):
        integrate.solve(f, span, 1.0, control="tangents")


def test_checkpoints_give_the_same_gradient():
    value = lambda w, checkpoint: integrate.solve(
        prey, (0.0, 15.0), START, args=(w,), method="bosh3", checkpoint=checkpoint
    ).last[0]
    plain = ad.grad(lambda w: value(w, None))(RATES)
    np.testing.assert_allclose(ad.grad(lambda w: value(w, 5))(RATES), plain, rtol=1e-12)


@pytest.mark.row("12.6.2-a")
def test_predator_and_prey():
    # L = z₁ + z₂ at t = 15: the book's numbers
    rates, start = np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])
    value = lambda w, z, adjoint: np.sum(
        integrate.solve(prey, (0.0, 15.0), z, args=(w,), method="verner8", rtol=1e-12, atol=1e-12, adjoint=adjoint).last
    )
    found = ad.grad(value, (0, 1))(rates, start, "interpolate")
    np.testing.assert_allclose(found[0], (-2.392678073, -5.802987647, -13.711450812, 1.884110001), atol=1e-8)
    np.testing.assert_allclose(found[1], (0.07254351, -0.01013192), atol=1e-8)
    expected = ad.jacfwd(lambda w, z: value(w, z, "forward"), (0, 1))(rates, start)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.row("12.6.3-b")
def test_drift_does_not_fade_with_more_steps():
    end = lambda x: (
        integrate.solve(
            lambda t, s: -50.0 * s, (0.0, 1.0), x, adjoint="backsolve", method="euler", first_step=1e-3
        ).last
    )
    with pytest.warns(RuntimeWarning, match="is 0.918 away from the start"):  # ŝ₀ = (1 - 0.05²)¹⁰⁰⁰ = 0.0818
        ad.grad(end)(1.0)


@pytest.mark.row("12.6.3-c")
def test_boundary_value_problem():
    # s′ = w s, L = s(1)²/2: x e^{2w} and x² e^{2w}
    loss = lambda x, w: (
        integrate.solve(
            lambda t, s, w: w * s, (0.0, 1.0), x, args=(w,), adjoint="bvp", method="verner8", rtol=1e-13, atol=1e-13
        ).last
        ** 2
        / 2
    )
    np.testing.assert_allclose(ad.grad(loss, (0, 1))(1.2, 0.7), (4.8662399602, 5.8394879523), atol=1e-10)
    np.testing.assert_allclose(ad.grad(loss, (0, 1))(1.2, 0.7), (1.2 * np.exp(1.4), 1.44 * np.exp(1.4)), rtol=5e-13)


def test_drift_between_nodes():
    """What decays within a 32nd of the span grows on the way back to a node."""
    end = lambda k: (
        integrate.solve(
            lambda t, y, k: -k * (y - np.cos(t)), (0.0, 4.0), 1.0, args=(k,), adjoint="bvp", method="rodas4"
        ).last
    )
    ad.grad(end)(1.0)
    with pytest.warns(RuntimeWarning, match="adjoint='bvp'.*at one of 32 nodes"):
        ad.grad(end)(1e3)


def test_a_way_back_that_fails_has_no_gradient():
    """At w = 0 the solution is smooth; what the adjoint equation integrates is not."""
    end = lambda w: shaken(w, 300.0, adjoint="interpolate", method="tsit5", max_steps=40).last
    with pytest.raises(ad.CheckError, match="adjoint='interpolate' could not integrate the adjoint equation back"):
        ad.grad(end)(0.0)


def shaken(w, rate, **options):
    return integrate.solve(lambda t, y, w: -y + w * np.sin(rate * t), (0.0, 3.0), 1.0, args=(w,), **options)


@pytest.mark.parametrize("adjoint, method", [
    ("interpolate", "tsit5"),
    *[pytest.param(a, "tsit5", marks=pytest.mark.sweep) for a in ("quadrature", "backsolve", "bvp", "forward")],
    *[pytest.param("interpolate", m, marks=pytest.mark.sweep) for m in ("rodas4", "bdf", "radau", "dop853")],
])  # fmt: skip
def test_what_f_is_shaken_by_is_seen_on_the_way_back(adjoint, method):
    """λ = exp(t - 3) is smooth, ∂f/∂w = sin(60 t) is not: its integral has error control of its own."""
    found = ad.grad(lambda w: shaken(w, 60.0, adjoint=adjoint, method=method, rtol=1e-8, atol=1e-9).last)(1.0)
    part = lambda t: np.exp(t - 3.0) * (np.sin(60.0 * t) - 60.0 * np.cos(60.0 * t)) / 3601.0
    np.testing.assert_allclose(found, part(3.0) - part(0.0), atol=3e-7 if method == "bdf" else 3e-8)


def test_integrals_that_a_rule_between_steps_does_not_resolve():
    with pytest.warns(RuntimeWarning, match="adjoint='quadrature': integrals for parameters may be wrong by"):
        ad.grad(lambda w: shaken(w, 3000.0, adjoint="quadrature", method="bosh3").last)(0.0)


@pytest.mark.row("12.6.4-a")
def test_checkpointed_and_stored_agree_to_the_bit():
    end = lambda w, checkpoint: (
        integrate.solve(lambda t, s, w: w * s, (0.0, 1.0), 1.0, args=(w,), checkpoint=checkpoint, **EULER).last
    )
    stored = ad.grad(end)(1.0, None)
    assert abs(stored - 2.3579476910) < 1e-9
    assert ad.grad(end)(1.0, 3) == stored
    step = 1e-5
    assert abs(stored - (end(1.0 + step, None) - end(1.0 - step, None)) / (2 * step)) < 1e-8


def dose(T, k, adjoint):
    f = lambda t, y, k: -k * y + np.where(t > T, 1.0, 0.3 * t)
    path = integrate.solve(
        f, (0.0, 3.0), 1.0, args=(k,), stops=np.stack([T]), save=[0.7, 2.5], rtol=1e-9, atol=1e-9, adjoint=adjoint,
        method="tsit5",
    )  # fmt: skip
    return path.values @ np.array([1.0, 2.0])


@pytest.mark.parametrize(
    "adjoint", ["interpolate", *[pytest.param(a, marks=pytest.mark.sweep) for a in ("quadrature", "backsolve", "bvp")]]
)
def test_stops(adjoint):
    expected = [
        (dose(1.3 + s, 0.8 + r, "discretize") - dose(1.3 - s, 0.8 - r, "discretize")) / 2e-4
        for s, r in ((1e-4, 0.0), (0.0, 1e-4))
    ]
    np.testing.assert_allclose(ad.grad(dose, (0, 1))(1.3, 0.8, adjoint), expected, rtol=1e-6)


def test_tangents_take_part_in_the_choice_of_steps():
    wave = lambda a, control: (
        integrate.solve(
            lambda t, y, a: a * np.sin(20 * t) + 0 * y, (0.0, 1.0), 0.0, args=(a,), method="dopri5", control=control
        ).last
    )
    exact = (1 - np.cos(20.0)) / 20
    pushed = lambda control: ad.jvp(lambda a: wave(a, control), (0.0,), (1.0,))[1]
    assert abs(pushed("state") - exact) > 1e-2
    assert abs(pushed("state and tangents") - exact) < 1e-6
    np.testing.assert_allclose(ad.grad(wave)(0.5, "state and tangents"), exact, rtol=1e-4)


FEATURES = {
    "plain": lambda w, **how: integrate.solve(prey, (0.0, 3.0), START, args=(w,), **how).last,
    "dict": lambda w, **how: (
        lambda last: np.stack([last["a"], last["b"]])
    )(integrate.solve(
        lambda t, y, w: {"a": w[0] * y["a"] - w[1] * y["b"], "b": w[2] * y["a"] - w[3] * y["b"]}, (0.0, 3.0),
        {"a": 1.0, "b": 2.0}, args=(w,), **how,
    ).last),
    "save": lambda w, **how: integrate.solve(prey, (0.0, 3.0), START, args=(w,), save=[1.0, 2.0], **how).values[0],
    "complex": lambda w, **how: (
        lambda last: np.stack([last.real, last.imag])
    )(integrate.solve(lambda t, y, w: (1j * w[0] - w[1]) * y, (0.0, 3.0), 1.0 + 0.5j, args=(w,), **how).last),
    "float32": lambda w, **how: integrate.solve(
        prey, (0.0, 3.0), START.astype(np.float32), args=(w.astype(np.float32),), rtol=1e-5, atol=1e-4, **how
    ).last.astype(float),
}  # fmt: skip


def check_cell(adjoint, feature, transformation):
    options = {"adjoint": adjoint, "method": "tsit5"}
    if feature != "float32":
        options |= {"rtol": 1e-9, "atol": 1e-9}
    f = lambda w, **how: FEATURES[feature](w, **{**options, **how}) @ np.array([1.0, -0.5])
    v, rtol = np.array([0.1, 0.01, -0.1, 0.02]), 2e-2 if feature == "float32" else 1e-6
    plain = lambda w: f(w, adjoint="discretize")
    expected = ad.grad(plain)(RATES)
    if transformation == "eager":
        np.testing.assert_allclose(f(RATES), plain(RATES), rtol=1e-12)
    elif transformation == "grad":
        np.testing.assert_allclose(ad.grad(f)(RATES), expected, rtol=rtol, atol=1e-6)
    elif transformation == "jit":
        jitted = ad.jit(ad.grad(lambda w: f(w, max_steps=200)))
        np.testing.assert_allclose(jitted(RATES), expected, rtol=rtol, atol=1e-6)
    elif transformation == "vmap":
        both = ad.vmap(ad.grad(lambda w: f(w, max_steps=200)))(np.stack([RATES, RATES]))
        np.testing.assert_allclose(both, np.stack([expected, expected]), rtol=rtol, atol=1e-6)
    elif transformation == "jvp":
        np.testing.assert_allclose(ad.jvp(f, (RATES,), (v,))[1], expected @ v, rtol=rtol, atol=1e-6)
    elif transformation == "hvp":
        found = ad.jvp(ad.grad(f), (RATES,), (v,))[1]
        np.testing.assert_allclose(found, ad.jvp(ad.grad(plain), (RATES,), (v,))[1], rtol=10 * rtol, atol=1e-4)


@pytest.mark.parametrize(
    "adjoint, transformation", [("interpolate", "jit"), pytest.param("bvp", "hvp", marks=pytest.mark.sweep)]
)
def test_some_cells(adjoint, transformation):
    check_cell(adjoint, "plain", transformation)


@pytest.mark.sweep
@pytest.mark.parametrize("adjoint", ["interpolate", "quadrature", "backsolve", "bvp", "forward"])
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("transformation", ["eager", "grad", "jit", "vmap", "jvp", "hvp"])
def test_every_cell(adjoint, feature, transformation):
    check_cell(adjoint, feature, transformation)
