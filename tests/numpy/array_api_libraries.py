"""Functions of SciPy and scikit-learn, differentiated through their Array API dispatch; run as a program.

SciPy looks for SCIPY_ARRAY_API when it is imported, so the test runs this in a process of its own. It prints, as JSON,
for each function the derivative along a direction and the difference quotient.
"""

import json
from collections.abc import Callable

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.constants
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.optimize
import scipy.signal
import scipy.spatial.transform
import sklearn
from scipy import special, stats
from scipy.optimize import elementwise
from sklearn import decomposition, linear_model, preprocessing
from sklearn.metrics import pairwise

import adjoint as ad
import adjoint.numpy as xp
from adjoint.base.errors import TraceError
from adjoint.testing.differences import finite_difference

X = np.array([0.3, 0.7, 0.5, 0.2, 0.9])
M = np.random.default_rng(0).random((6, 3))


def solve(a, array=np.array):
    return elementwise.find_root(lambda t, a: t**2 - a, (array([0.0]), array([2.0])), args=(a,)).x


@ad.custom_rule(vjp=lambda a: (solve(a), lambda ct: (ct / (2 * solve(a)),)))
def square_root(a):
    """A root of t² - a, with the derivative of the solution: that of the solver's steps is refused."""
    return solve(a)


VECTORS: dict[str, Callable] = {
    "special.erf": special.erf,
    "special.gammaln": special.gammaln,
    "special.ndtr": special.ndtr,
    "special.xlogy": lambda x: special.xlogy(x, x),
    "special.rel_entr": lambda x: special.rel_entr(x, x * 2),
    "special.stdtr": lambda x: special.stdtr(3.0, x),
    "special.logsumexp": special.logsumexp,
    "special.log_softmax": special.log_softmax,
    "stats.skew": stats.skew,
    "stats.kurtosis": stats.kurtosis,
    "stats.gmean": stats.gmean,
    "stats.pmean": lambda x: stats.pmean(x, 3),
    "stats.sem": stats.sem,
    "stats.kstat": lambda x: stats.kstat(x, 3),
    "stats.entropy": stats.entropy,
    "stats.circmean": stats.circmean,
    "stats.trim_mean": lambda x: stats.trim_mean(x, 0.2),
    "stats.quantile": lambda x: stats.quantile(x, 0.3),
    "stats.ttest_1samp": lambda x: stats.ttest_1samp(x, 0.3).pvalue,
    "integrate.trapezoid": scipy.integrate.trapezoid,
    "integrate.cumulative_simpson": scipy.integrate.cumulative_simpson,
    "integrate.tanhsinh": lambda x: (
        scipy.integrate.tanhsinh(lambda t: xp.exp(-t * x[0]), xp.array(0.0), xp.array(1.0)).integral
    ),
    "integrate.cubature": lambda x: (
        scipy.integrate.cubature(lambda t: xp.sum(t * x[0], axis=-1), xp.array([0.0]), xp.array([1.0])).estimate
    ),
    "optimize.rosen": scipy.optimize.rosen,
    "optimize.elementwise.find_root": lambda x: square_root(x[:1]),
    "differentiate.derivative": lambda x: scipy.differentiate.derivative(xp.sin, x).df,
    "fft.rfft": scipy.fft.rfft,
    "signal.fftconvolve": lambda x: scipy.signal.fftconvolve(x, x),
    "signal.freqz": lambda x: scipy.signal.freqz(x, worN=4)[1],
    "spatial.transform.Rotation": lambda x: scipy.spatial.transform.Rotation.from_rotvec(x[:3]).as_matrix(),
    "constants.convert_temperature": lambda x: scipy.constants.convert_temperature(x, "C", "F"),
}

MATRICES: dict[str, Callable] = {
    "cluster.vq.whiten": scipy.cluster.vq.whiten,
    "sklearn.StandardScaler": lambda m: preprocessing.StandardScaler().fit_transform(m) ** 3,
    "sklearn.MinMaxScaler": lambda m: preprocessing.MinMaxScaler().fit_transform(m),
    "sklearn.Normalizer": lambda m: preprocessing.Normalizer().fit_transform(m),
    "sklearn.PolynomialFeatures": lambda m: preprocessing.PolynomialFeatures(2).fit_transform(m),
    "sklearn.PCA": lambda m: decomposition.PCA(2, svd_solver="full").fit(m).explained_variance_,
    "sklearn.Ridge": lambda m: linear_model.Ridge(solver="svd").fit(m, m[:, 0] ** 2).coef_,
    "sklearn.cosine_similarity": pairwise.cosine_similarity,
    "sklearn.rbf_kernel": lambda m: pairwise.rbf_kernel(m, m + 0.1),
    "sklearn.polynomial_kernel": pairwise.polynomial_kernel,
}


def main() -> None:
    sklearn.set_config(array_api_dispatch=True)
    with pytest.raises(TraceError, match=r"find_root was about to decide .*adjoint\.scipy\.optimize"):
        ad.grad(lambda x: solve(x, xp.array)[0])(X[:1])
    found = {}
    for functions, point in ((VECTORS, X), (MATRICES, M)):
        direction = np.cos(np.arange(float(point.size))).reshape(point.shape)
        for name, function in functions.items():
            f = lambda x, function=function: xp.sum(xp.real(function(x)))
            quotient = finite_difference(lambda xs, f=f: f(*xs), (point,), (direction,), accuracy=4)
            found[name] = [float(np.sum(ad.grad(f)(point) * direction)), float(quotient)]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
