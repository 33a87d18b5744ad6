"""Distances of pairs and tables: SciPy's values for every metric, derivatives in points and weights."""

import functools
import inspect
import itertools

import numpy as np
import pytest
import scipy.spatial.distance as theirs

import adjoint as ad
from adjoint.base.errors import ControlFlowError, UnsupportedError
from adjoint.scipy.spatial import distance
from adjoint.scipy.spatial.metrics import BOOLEAN, CANONICAL, NAMES
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.signal.agreement import CHECKS

U, V, W = array(4, seed=1), array(4, seed=2), array(4, seed=3)
A, B = signed(3, 4), signed(2, 4, seed=5)
VI = np.eye(4) + 0.1 * array(4, 4)
SMOOTH = sorted(set(NAMES) - BOOLEAN - {"hamming", "jaccard"})
SECOND = {"mahalanobis": (VI,), "seuclidean": (W,)}
OPTIONS = {"mahalanobis": {"VI": VI}, "seuclidean": {"V": W}, "minkowski": {"p": 3.0}}
WEIGHTED = sorted(name for name in NAMES if "w" in inspect.signature(getattr(theirs, name)).parameters)


def first(f):
    """The distance alone, as a number of NumPy's: SciPy gives a float of Python's for some metrics."""

    def call(*xs):
        result = f(*xs)
        result = result[0] if isinstance(result, tuple) else result
        return np.float64(result) if isinstance(result, float) else result

    return call


CASES = [
    *[
        Case(name, first(getattr(distance, name)), (0.5 * U, 0.5 * V, *SECOND.get(name, ())))
        for name in sorted(set(NAMES) - {"hamming", "jaccard"})
    ],
    Case("weighted", lambda u, v, w: distance.euclidean(u, v, w) + distance.cosine(u, v, w), (U, V, W)),
    Case("minkowski 3", lambda u, v, w: distance.minkowski(u, v, 3, w), (U, V, W)),
    Case("hamming weights", lambda w: distance.hamming(np.arange(4.0), np.array([0.0, 2, 2, 4]), w), (W,)),
    Case("jaccard weights", lambda w: distance.jaccard(np.array([1.0, 1, 0, 0]), np.array([0.0, 2, 2, 0]), w), (W,)),
    *[
        Case(f"cdist {name}", lambda a, b, name=name: distance.cdist(a, b, name), (np.abs(A), np.abs(B)))
        for name in ("euclidean", "sqeuclidean", "correlation", "jensenshannon")
    ],
    Case("pdist seuclidean", lambda a: distance.pdist(a, "seuclidean"), (A,)),
    Case("pdist mahalanobis", lambda a: distance.pdist(a, "mahalanobis"), (signed(6, 2),)),
    Case("squareform", distance.squareform, (array(6),)),
    Case("squareform back", lambda d: distance.squareform(d * (1.0 - np.eye(4)), checks=False), (array(4, 4),)),
    Case("directed_hausdorff", first(distance.directed_hausdorff), (A, B)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_the_names_of_metrics_are_those_of_scipy():
    for alias, name in CANONICAL.items():
        options = OPTIONS.get(name, {})
        np.testing.assert_array_equal(theirs.cdist(A, B, alias, **options), theirs.cdist(A, B, name, **options))
    assert set(CANONICAL) == set(theirs._METRIC_ALIAS)


def traced(f, *xs):
    """The value of a function whose arguments are traced."""
    return ad.vjp(f, *xs)[0]


@pytest.mark.parametrize("metric", sorted(NAMES))
def test_tables_are_those_of_scipy(metric):
    a, b = (np.abs(A), np.abs(B)) if metric == "jensenshannon" else (A, B)
    a, b = (a > 0.5, b > 0.5) if metric in {*BOOLEAN, "hamming", "jaccard"} else (a, b)
    a, b = 1.0 * a, 1.0 * b
    for options in ({}, OPTIONS.get(metric, {})):
        if metric == "mahalanobis" and not options:
            continue  # five points in four dimensions are too few for cdist's own covariance
        f, g = (
            (lambda a, b, o=options: distance.cdist(a, b, metric, **o)),
            (lambda a, o=options: distance.pdist(a, metric, **o)),
        )
        np.testing.assert_allclose(traced(f, a, b), theirs.cdist(a, b, metric, **options), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(traced(g, a), theirs.pdist(a, metric, **options), rtol=1e-12, atol=1e-15)
    if metric in WEIGHTED:
        f = lambda a, b: distance.cdist(a, b, metric, w=W)
        np.testing.assert_allclose(traced(f, a, b), theirs.cdist(a, b, metric, w=W), rtol=1e-12, atol=1e-15)


def test_the_covariance_of_all_points_is_the_default():
    a, b = signed(4, 2), signed(3, 2, seed=4)
    f = lambda a, b: distance.cdist(a, b, "mahalanobis")
    np.testing.assert_allclose(traced(f, a, b), theirs.cdist(a, b, "mahalanobis"), rtol=1e-11)
    with pytest.raises(ValueError, match="too small"):
        ad.grad(lambda a: np.sum(distance.pdist(a, "mahalanobis")))(A)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3.5, np.inf])
@pytest.mark.parametrize("w", [None, W])
def test_minkowski(p, w):
    f = lambda u, v: distance.minkowski(u, v, p, w)
    assert traced(f, U, V) == pytest.approx(theirs.minkowski(U, V, p, w), rel=1e-13)
    ad.check_grads(f, (U, V), order=1)


def test_a_function_as_metric():
    f = lambda u, v: np.sum(np.abs(u - v) ** 1.5)
    np.testing.assert_allclose(traced(lambda a, b: distance.cdist(a, b, f), A, B), theirs.cdist(A, B, f))
    np.testing.assert_allclose(traced(lambda a: distance.pdist(a, f), A), theirs.pdist(A, f))


def test_jensenshannon_along_axes():
    p, q = array(3, 2), array(3, 2, seed=7)
    for axis, keepdims, base in itertools.product((0, 1), (False, True), (None, 2.0)):
        options = {"base": base, "axis": axis, "keepdims": keepdims}
        found = traced(functools.partial(distance.jensenshannon, **options), p, q)
        np.testing.assert_allclose(found, theirs.jensenshannon(p, q, **options), rtol=1e-12)


def test_equal_points_have_derivative_zero():
    points = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    for metric in ("euclidean", "seuclidean", "mahalanobis"):
        options = {"mahalanobis": {"VI": np.eye(2)}, "seuclidean": {"V": np.ones(2)}}.get(metric, {})
        slope = ad.grad(lambda x, m=metric, o=options: np.sum(distance.cdist(x, x, m, **o)))(points)
        np.testing.assert_allclose(slope, [[-2.0, 0.0], [-2.0, 0.0], [4.0, 0.0]], atol=1e-15)


def test_compiled_tables():
    f = lambda a, b: np.sum(np.exp(-distance.cdist(a, b, "sqeuclidean")))
    np.testing.assert_allclose(ad.jit(ad.grad(f))(A, B), ad.grad(f)(A, B), rtol=1e-12)
    loop = np.stack([distance.cdist(a, B) for a in (A, 2 * A)])
    np.testing.assert_allclose(ad.vmap(lambda a: distance.cdist(a, B))(np.stack([A, 2 * A])), loop, rtol=1e-13)


def test_what_does_not_fit_is_refused():
    gradient = lambda f, x=A: ad.grad(lambda x: np.sum(f(x)))(x)
    with pytest.raises(ValueError, match="columns"):
        gradient(lambda a: distance.cdist(a, B[:, :2]))
    with pytest.raises(ValueError, match="Unknown Distance Metric"):
        gradient(lambda a: distance.pdist(a, "far"))
    with pytest.raises(TypeError, match="string identifier"):
        gradient(lambda a: distance.pdist(a, 3))
    with pytest.raises(UnsupportedError, match="out= cannot hold"):
        gradient(lambda a: distance.pdist(a, out=np.zeros(3)))
    with pytest.raises(UnsupportedError, match="'p' is a traced value"):
        ad.grad(lambda p: distance.minkowski(U, V, p))(2.0)
    with pytest.raises(ValueError, match="non-negative"):
        ad.grad(lambda w: distance.euclidean(U, V, w))(-W)
    with pytest.raises(ValueError, match="equal lengths"):
        ad.grad(lambda u: distance.euclidean(u, V[:3]))(U)
    with pytest.raises(ValueError, match="1-D"):
        gradient(lambda a: distance.euclidean(a, a))
    with pytest.raises(ValueError, match="symmetric"):
        gradient(distance.squareform, array(3, 3))
    with pytest.raises(ValueError, match="diagonal must be zero"):
        gradient(distance.squareform, np.ones((3, 3)))
    with pytest.raises(ValueError, match="binomial"):
        gradient(distance.squareform, array(4))
    with pytest.raises(ValueError, match="not a distance matrix"):
        gradient(lambda d: distance.squareform(d, "tovector"), array(3))


def test_questions():
    def f(d):
        assert distance.is_valid_dm(d) is False
        assert distance.num_obs_dm(d) == 3
        return np.sum(d) * distance.num_obs_y(distance.squareform(d, checks=False))

    np.testing.assert_array_equal(ad.grad(f)(1.0 - np.eye(3)[::-1]), 3 * np.ones((3, 3)))
    with pytest.raises(ControlFlowError, match="is_valid_y"):
        ad.jit(lambda y: y if distance.is_valid_y(y) else -y)(array(3))
