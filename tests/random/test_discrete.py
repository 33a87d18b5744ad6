"""Discrete distributions against SciPy's; bounds, dtypes and refusals."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

import adjoint as ad
from adjoint.base.errors import DtypeError, RuleError, ShapeError
from tests.random.test_rejection import fits

N = 20_000


def rng(seed=8):
    return ad.random.default_rng(seed)


@pytest.mark.parametrize("method, parameters, distribution", [
    ("integers", (-3, 9), stats.randint(-3, 9)),
    ("integers", (2**40,), stats.randint(0, 2**40)),
    ("binomial", (12, 0.3), stats.binom(12, 0.3)),
    ("poisson", (4.5,), stats.poisson(4.5)),
    ("geometric", (0.15,), stats.geom(0.15)),
    ("negative_binomial", (3.5, 0.4), stats.nbinom(3.5, 0.4)),
])  # fmt: skip
def test_distributions(method, parameters, distribution):
    x = getattr(rng(), method)(*parameters, size=N)
    assert x.dtype == np.int64
    assert fits(x, distribution) > 1e-3
    assert np.shape(getattr(rng(), method)(*parameters)) == ()


def test_integers_reach_both_ends_and_no_further():
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, bool):
        low, high = (0, 1) if dtype is bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        x = rng().integers(low, high, size=4000, dtype=dtype, endpoint=True)
        assert x.dtype == dtype
        if np.dtype(dtype).itemsize == 1:
            assert (x.min(), x.max()) == (low, high)
        else:
            spread = float(high) - float(low)
            assert stats.kstest((x.astype(float) - low) / spread, "uniform").pvalue > 1e-3
    assert set(rng().integers(2, 5, size=200).tolist()) == {2, 3, 4}
    assert set(rng().integers(2, 5, size=200, endpoint=True).tolist()) == {2, 3, 4, 5}
    assert_array_equal(rng().integers(4, 5, size=9), np.full(9, 4))
    assert rng().integers(2**63, 2**64, dtype=np.uint64) >= 2**63


def test_integers_of_several_ranges():
    x = rng().integers([0, 10, 2**50], [5, 12, 2**51], size=(500, 3))
    assert (x.min(axis=0) >= [0, 10, 2**50]).all()
    assert (x.max(axis=0) < [5, 12, 2**51]).all()
    narrow = rng().integers(0, 5, size=(500, 3))
    assert_array_equal(x[:, 0], narrow[:, 0])  # each element by its own range
    ends = np.array([3, 7])
    mapped = ad.vmap(lambda n: rng().integers(0, n, size=50))(ends)
    for lane, n in enumerate(ends):
        assert_array_equal(mapped[lane], rng().integers(0, n, size=50))


@pytest.mark.parametrize("size", [None, 7, (2, 3)])
def test_multinomial(size):
    p = np.array([0.2, 0.5, 0.3])
    x = rng().multinomial(20, p, size=size)
    shape = () if size is None else (size,) if isinstance(size, int) else size
    assert x.shape == (*shape, 3)
    assert_array_equal(x.sum(axis=-1), np.full(shape, 20))


def test_multinomial_counts():
    x = rng().multinomial(20, [0.2, 0.5, 0.3], size=N)
    for i, p in enumerate((0.2, 0.5, 0.3)):
        assert fits(x[:, i], stats.binom(20, p)) > 1e-3
    assert_array_equal(rng().multinomial(5, [0.0, 1.0, 0.0]), [0, 5, 0])


def test_bytes():
    found = rng().bytes(11)
    assert isinstance(found, bytes)
    assert len(found) == 11
    assert rng().bytes(3) == found[:3]
    assert rng().bytes(0) == b""


@pytest.mark.parametrize("call", [
    lambda p: rng().binomial(1, p), lambda p: rng().poisson(p), lambda p: rng().geometric(p),
    lambda p: rng().negative_binomial(2.0, p), lambda p: rng().choice(2, p=np.stack([p, 1 - p])),
    lambda p: rng().multinomial(3, np.stack([p, 1 - p]))[0],
])  # fmt: skip
def test_differentiating_whole_numbers_is_refused(call):
    with pytest.raises(RuleError, match="integers"):
        ad.grad(lambda p: 1.0 * call(p))(0.4)
    # the score does it: d/dp E[x] = E[x d/dp log P(x)]
    assert ad.grad(lambda p: p * call(ad.stop_gradient(p)))(0.4) == call(0.4)
    assert_array_equal(ad.vmap(call)(np.array([0.4, 0.6])), [call(0.4), call(0.6)])


@pytest.mark.parametrize("call, error, message", [
    (lambda r: r.integers(5, 5), ValueError, "integers: low >= high"),
    (lambda r: r.integers(0), ValueError, "integers: low >= high"),
    (lambda r: r.integers(300, dtype=np.uint8), ValueError, "integers: high is out of bounds for uint8"),
    (lambda r: r.integers(-1, 4, dtype=np.uint8), ValueError, "integers: low is out of bounds for uint8"),
    (lambda r: r.integers(2**65), ValueError, "integers: .* 64 bits"),
    (lambda r: r.integers(2.5), DtypeError, "integers: high must be an integer"),
    (lambda r: r.integers(3, dtype=float), TypeError, "integers: unsupported dtype"),
    (lambda r: r.binomial(3, 1.5), ValueError, "binomial: p must be a probability"),
    (lambda r: r.binomial(-3, 0.5), ValueError, "binomial: n must be not negative"),
    (lambda r: r.binomial(2.5, 0.5), DtypeError, "binomial: n must be an integer"),
    (lambda r: r.poisson(-1.0), ValueError, "poisson: lam"),
    (lambda r: r.poisson(1e30), ValueError, "poisson: lam must be at most"),
    (lambda r: r.poisson(np.nan), ValueError, "poisson: lam"),
    (lambda r: r.geometric(0.0), ValueError, "geometric: p must be positive"),
    (lambda r: r.multinomial(3, [0.9, 0.9]), ValueError, r"multinomial: sum\(pvals\)"),
    (lambda r: r.multinomial(3, 0.9), ShapeError, "multinomial: pvals must be a vector"),
])  # fmt: skip
def test_bad_parameters_name_the_method(call, error, message):
    generator = rng()
    with pytest.raises(error, match=message):
        call(generator)
    assert generator.counter == 0
