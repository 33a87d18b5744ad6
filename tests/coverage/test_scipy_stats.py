"""The rows of scipy.stats are complete and true."""

import inspect

import numpy as np
import pytest
import scipy.stats

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED, TABLES
from adjoint.scipy import stats
from tests.coverage.agreement import Example, at, each, expected, fault, fault_of_compiled, faults_of_names, of, rows_of

X, Y = np.array([1.0, 0.3, 2.0, 1.4, 0.5]), np.array([0.6, 1.1, 0.4, 2.3, 0.9])
W, V = np.array([0.5, 1.0, 2.0, 0.7, 1.2]), np.array([1.5, 0.4, 0.9, 0.6, 1.0])
ROWS = np.stack([X, Y, W])
SIMPLE = """
    tmean tvar tstd tsem tmin tmax circmean circvar circstd skew kurtosis sem variation gstd zscore gzscore kstat
    kstatvar iqr median_abs_deviation
"""
EXAMPLES: dict[str, Example] = {
    **each(SIMPLE, at(X)),
    **each("gmean hmean", of(lambda f, a, w: f(a, weights=w), X, W)),
    "pmean": of(lambda f, a, w: f(a, 2, weights=w), X, W),
    "trim_mean": of(lambda f, a: f(a, 0.3), X),
    **each("trimboth trim1", of(lambda f, a: np.sum(f(a, 0.3)), X)),
    "directional_stats": of(lambda f, a: f(a).mean_direction, ROWS),
    "moment": of(lambda f, a: f(a, 3), X),
    "describe": of(lambda f, a: f(a)[2:], X),
    "zmap": at(X, Y),
    "scoreatpercentile": of(lambda f, a: f(a, 30), X),
    "obrientransform": at(X),
    "rankdata": at(X),
    "pearsonr": of(lambda f, x, y: tuple(f(x, y)), X, Y),
    "linregress": of(lambda f, x, y: tuple(f(x, y)), X, Y),
    "pointbiserialr": of(lambda f, y: tuple(f(np.array([1.0, 0.0, 1.0, 0.0, 0.0]), y)), Y),
    "entropy": at(X, Y),
    **each("wasserstein_distance energy_distance", at(X, Y, W, V)),
    **each("BootstrapMethod MonteCarloMethod PermutationMethod", of(lambda f: np.float64(f().n_resamples))),
}


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.stats")


def test_every_class_has_a_row():
    rows = {row.name for row in TABLES["scipy.stats"].rows.values() if expected(row)}
    public = {name: getattr(scipy.stats, name) for name in scipy.stats.__all__}
    errors = {n for n, v in public.items() if inspect.isclass(v) and issubclass(v, Exception)}
    assert not {name for name, value in public.items() if not inspect.ismodule(value)} - rows - errors


@pytest.mark.parametrize("row", rows_of("scipy.stats", DIFFERENTIABLE), ids=lambda row: row.name)
def test_differentiable(row):
    assert fault(row, EXAMPLES[row.name]) is None


@pytest.mark.parametrize("row", rows_of("scipy.stats", DIFFERENTIABLE)[::6], ids=lambda row: row.name)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, EXAMPLES[row.name]) is None


@pytest.mark.parametrize("row", rows_of("scipy.stats", CONSTANT), ids=lambda row: row.name)
def test_constant(row):
    assert fault(row, EXAMPLES[row.name]) is None


def test_refused():
    """Functions are refused in the words of their rows, whatever else they are called with."""
    functions = [row for row in rows_of("scipy.stats", REFUSED) if inspect.isfunction(getattr(scipy.stats, row.name))]
    assert len(functions) > 90
    for row in functions:
        with pytest.raises(UnsupportedError) as raised:
            ad.grad(lambda x, row=row: np.sum(getattr(stats, row.name)(x)))(X)
        assert row.words in str(raised.value), row.name


@pytest.mark.parametrize(
    "call",
    [
        lambda x: scipy.stats.norm.logpdf(x),
        lambda x: scipy.stats.norm(x, 1.0).cdf(0.3),
        lambda x: scipy.stats.poisson.logpmf(3, x),
        lambda x: scipy.stats.multivariate_normal.logpdf(np.ones(2) * x),
        lambda x: scipy.stats.gaussian_kde(x * X)(0.3)[0],
        lambda x: scipy.stats.ttest_1samp(x * X, 0.0).statistic,
    ],
)
def test_scipy_itself_does_not_run_on_traced_values(call):
    with config.override(convert=False), pytest.raises(TraceError, match=r"scipy\.stats\."):
        ad.grad(call)(0.7)


def test_distributions_stay_what_they_are():
    assert stats.norm is scipy.stats.norm
    assert {"norm", "gmean", "ttest_1samp"} <= set(dir(stats))


def test_functions_of_ours_have_rows():
    rows = {row.name for row in rows_of("scipy.stats", DIFFERENTIABLE)} | {"rankdata"}
    assert set(stats.__all__) == rows
