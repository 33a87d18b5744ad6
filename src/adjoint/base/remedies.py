"""What to write instead of functions of SciPy and scikit-learn that only know plain arrays.

By the name of the function or class (`scipy.integrate.quad`), of its package, of the whole library: the longest that is
known counts.
"""

import functools

RULE = "Give it a rule: @ad.custom_rule(jvp=…, vjp=…) around a function that calls it."

_SOLVER = (
    "Use the function of this name in adjoint.scipy.optimize: SciPy solves with plain numbers, and its solution has a "
    "derivative. For what is not there, adjoint.implicit.root(F, solver) and implicit.argmin(f, solver) do it."
)
_EQUATION = (
    "adjoint.scipy.integrate.solve_ivp and odeint, or adjoint.integrate.solve(f, span, y0), have derivatives in the "
    "start, the times and all that f reads."
)
_QUADRATURE = (
    "Use the function of this name in adjoint.scipy.integrate, or adjoint.integrate.quad(f, a, b): they have "
    "derivatives in the ends and in all that f reads."
)
_CURVE = (
    "In the point its derivative is known, s(x, 1): @ad.custom_rule(jvp=…) around def curve(x): return s(x) (the page "
    "“Working with others” has the rule)."
)
_LINEAR_CURVE = f"{_CURVE} In the data it is linear: built from np.eye(n) it gives the matrix M of M @ y."
_TABLE = (
    "In the data it is linear: built from np.eye(n) it gives the matrix M of M @ y. In the points, give it a rule: "
    "@ad.custom_rule(jvp=…, vjp=…); np.interp takes traced values as it is."
)
_SPARSE = (
    "The operators of sparse arrays take traced values: A @ x, x @ A, A * x, A + x; adjoint.scipy.sparse makes sparse "
    "arrays of traced entries, with methods for both."
)
_DENSITY = (
    "Write its formula with np and scipy.special, whose ufuncs take traced values; adjoint.compat.autograd.scipy.stats "
    "has norm, t, gamma, beta, chi2, poisson, dirichlet and multivariate_normal."
)
_DISTANCE = "np.linalg.norm(a[:, None] - b[None, :], axis=-1) is the matrix of distances, with derivatives."
_ESTIMATOR = (
    "An estimator works on plain arrays: fit it outside and use its numbers (coef_, predict of data that are "
    "constant), "
    "or write the model with np and minimize it with ad.grad."
)

# package, names in it (none: all that have no line of their own), what to write instead
_SAID: list[tuple[str, str, str]] = [
    ("scipy.optimize", "", _SOLVER),
    ("scipy.integrate", "", RULE),
    ("scipy.integrate", "solve_ivp odeint ode complex_ode RK45 RK23 DOP853 LSODA BDF Radau", _EQUATION),
    ("scipy.integrate", "quad quad_vec dblquad tplquad nquad tanhsinh cubature qmc_quad", _QUADRATURE),
    ("scipy.integrate", "trapezoid", "np.trapezoid takes traced values."),
    ("scipy.integrate", "simpson romb", "np.sum(w * y) with the weights w of the rule takes traced values."),
    (
        "scipy.integrate",
        "cumulative_trapezoid cumulative_simpson",
        "np.cumsum((y[1:] + y[:-1]) / 2 * np.diff(x)) takes traced values.",
    ),
    ("scipy.interpolate", "", _TABLE),
    ("scipy.interpolate", "CubicSpline CubicHermiteSpline BSpline PPoly BPoly make_interp_spline", _LINEAR_CURVE),
    ("scipy.interpolate", "Akima1DInterpolator PchipInterpolator UnivariateSpline LSQUnivariateSpline", _CURVE),
    ("scipy.interpolate", "splev splrep", f"Use s = make_interp_spline(x, y) instead. {_LINEAR_CURVE}"),
    (
        "scipy.interpolate",
        "interp1d",
        f"np.interp is the linear one and takes traced values; for smooth ones use s = CubicSpline(x, y). {_CURVE}",
    ),
    ("scipy.sparse", "", _SPARSE),
    ("scipy.sparse.linalg", "", "adjoint.scipy.sparse.linalg takes traced entries and right sides."),
    (
        "scipy.sparse.linalg",
        "SuperLU",
        "adjoint.scipy.sparse.linalg.splu(A).solve(b) takes traced right sides, and traced entries of A.",
    ),
    ("scipy.stats", "", _DENSITY),
    ("scipy.stats", "pearsonr", "np.corrcoef(x, y)[0, 1] takes traced values."),
    ("scipy.stats", "zscore", "(x - np.mean(x)) / np.std(x) takes traced values."),
    ("scipy.stats", "gaussian_kde", "np.mean of np.exp(-(((x[:, None] - data) / h) ** 2) / 2) takes traced values."),
    ("scipy.ndimage", "", "adjoint.scipy.ndimage takes traced images."),
    ("scipy.fft", "", "The functions of np.fft take traced values."),
    ("scipy.spatial", "", _DISTANCE),
    (
        "scipy.spatial",
        "KDTree cKDTree",
        "Ask it with plain points for the indices of neighbors, and compute the distances with np.",
    ),
    ("sklearn", "", _ESTIMATOR),
    ("sklearn.metrics", "", "Write the measure with np: np.mean((a - b) ** 2)."),
    ("pandas", "", "Take the numbers out of pandas first: frame.to_numpy() @ x, series.to_numpy() * x."),
    ("matplotlib", "", "Plot what the transformed function returns: has_aux=True returns more, as plain arrays."),
]


@functools.cache
def remedies() -> dict[str, str]:
    """All of them by full name: `scipy.integrate.quad`, `scipy.integrate`."""
    return {
        f"{package}.{name}" if name else package: text
        for package, names, text in _SAID
        for name in (names.split() if names else [""])
    }


def remedy(title: str) -> str:
    """What is known about a function, a method of a class, its package or its library; else: a rule."""
    while title:
        if title in remedies():
            return remedies()[title]
        title = title.rpartition(".")[0]
    return f"It works on plain arrays. {RULE}"
