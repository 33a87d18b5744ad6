"""Sets, intervals and calibration errors equal to those of MAPIE, crepes and netcal (tools/trust_references.py)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from adjoint.nn import calibration, conformal

with np.load(Path(__file__).with_name("trust.npz")) as file:
    FROZEN = dict(file)
N, COVERAGE, FOLDS = 100, 0.85, 5  # as in the tool
OLD, NEW = ({name: FROZEN[name][part] for name in ("x", "y", "f", "scale", "low", "high", "group", "p", "label")}
            for part in (slice(None, N), slice(N, None)))  # fmt: skip
scores = conformal.scores


def split(own: Any) -> conformal.Split:
    return conformal.Split(COVERAGE).calibrate(own)


def test_intervals() -> None:
    absolute = scores.absolute(OLD["f"], OLD["y"])
    normalized = scores.normalized(OLD["f"], OLD["scale"], OLD["y"])
    quantile = scores.quantile(OLD["low"], OLD["high"], OLD["y"])
    groups = conformal.Mondrian(COVERAGE).calibrate(absolute, OLD["group"])
    found = {
        "mapie/absolute": split(absolute).interval(NEW["f"]),
        "crepes/absolute": split(absolute).interval(NEW["f"]),
        "crepes/normalized": split(normalized).interval(NEW["f"], scale=NEW["scale"]),
        "mapie/quantile": split(quantile).interval(NEW["low"], NEW["high"]),
        "crepes/groups": groups.interval(NEW["f"], NEW["group"]),
    }
    for name, interval in found.items():
        assert_allclose(np.stack(interval, axis=1), FROZEN[name], rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("name, folds", [("folds", FOLDS), ("jackknife", None)])
def test_folds(name: str, folds: int | None) -> None:
    train = lambda X, y: np.linalg.lstsq(X, y, rcond=None)[0]
    found = conformal.CrossConformal(COVERAGE).fit(train, lambda w, X: X @ w, OLD["x"], OLD["y"], folds)
    assert_allclose(np.stack(found.interval(NEW["x"]), axis=1), FROZEN[f"mapie/{name}"], rtol=1e-12)


def test_sets() -> None:
    p, label = OLD["p"], OLD["label"]
    lac = split(scores.lac(p, label))
    assert_allclose(lac.threshold, FROZEN["mapie/lac_quantile"], rtol=1e-14)
    for name in ("mapie/lac", "crepes/lac"):
        assert_array_equal(lac.sets(scores.lac(NEW["p"]), nonempty=False), FROZEN[name], name)
    groups = conformal.Mondrian(COVERAGE).calibrate(scores.lac(p, label), OLD["group"])
    assert_array_equal(groups.sets(scores.lac(NEW["p"]), NEW["group"]), FROZEN["crepes/lac_groups"])


def test_adaptive_sets() -> None:
    """MAPIE takes 1 - u for our u. Its sets of APS hold the label that reaches the threshold, those of RAPS do not."""
    p, label = OLD["p"], OLD["label"]
    u = lambda n: 1 - np.random.RandomState(3).uniform(size=n)
    own = scores.aps(p, label, u(N))
    assert_allclose(own, FROZEN["mapie/aps_scores"], rtol=1e-12)
    sets = split(own).sets(scores.aps(NEW["p"], u=np.zeros(len(NEW["p"]))))
    assert_array_equal(sets, FROZEN["mapie/aps"])
    rows, (penalty, free) = FROZEN["mapie/raps_rows"], FROZEN["mapie/raps_penalty"]
    own = scores.raps(p[rows], label[rows], u(len(rows)), penalty, int(free))
    assert penalty > 0
    assert free < p.shape[1]
    assert_allclose(split(own).threshold, FROZEN["mapie/raps_quantile"], rtol=1e-14)
    assert_array_equal(split(own).sets(scores.raps(NEW["p"], penalty=penalty, free=int(free))), FROZEN["mapie/raps"])


@pytest.mark.parametrize("bins", [5, 10, 15])
def test_calibration_errors(bins: int) -> None:
    p, label = FROZEN["p"], FROZEN["label"]
    assert_allclose(calibration.ece(p, label, bins), FROZEN[f"netcal/ece_{bins}"], rtol=1e-12)
    assert_allclose(calibration.ece(p, label, bins, norm=np.inf), FROZEN[f"netcal/mce_{bins}"], rtol=1e-12)
    assert_allclose(calibration.ece(FROZEN["chance"], FROZEN["truth"], bins), FROZEN[f"netcal/two_{bins}"], rtol=1e-12)


@pytest.mark.parametrize("n", [20, 99, 1000])
@pytest.mark.parametrize("kind", ["interval", "aps"])
def test_coverage_of_splits(n: int, kind: str) -> None:
    """Over 2000 splits: the mean coverage in the 99.9 % band of k / (n + 1), and its spread that of Beta(k, n + 1 - k).

    Each split has a test set of its own, of m examples, so that what is seen is a binomial part of a Beta number.
    """
    rng = np.random.default_rng(n)
    splits, m, coverage = 2000, 100, 0.9
    law = scipy.stats.beta(k := int(np.ceil(round((n + 1) * coverage, 9))), n + 1 - k)
    seen = np.empty(splits)
    for i in range(splits):
        if kind == "interval":
            f, y = rng.normal(size=(2, n + m))
            own = scores.absolute(f, y)
            low, high = conformal.Split(coverage).calibrate(own[:n]).interval(f[n:])
            seen[i] = np.mean((y[n:] >= low) & (y[n:] <= high))
        else:
            p = rng.dirichlet(np.ones(5), n + m)
            label = np.sum(np.cumsum(p, axis=1) < rng.random((n + m, 1)), axis=1)
            u = rng.random(n + m)
            chosen = conformal.Split(coverage).calibrate(scores.aps(p[:n], label[:n], u[:n]))
            sets = chosen.sets(scores.aps(p[n:], u=u[n:]), nonempty=False)
            seen[i] = np.mean(sets[np.arange(m), label[n:]])
            assert np.all(np.any(chosen.sets(scores.aps(p[n:], u=u[n:])), axis=1))
    variance = law.var() + (law.mean() * (1 - law.mean()) - law.var()) / m
    band = scipy.stats.norm.ppf(0.9995) * np.sqrt(variance / splits)
    assert abs(np.mean(seen) - law.mean()) < band
    assert_allclose(np.var(seen), variance, rtol=0.15)
