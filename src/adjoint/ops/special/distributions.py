"""Distribution functions and their inverses, in all real arguments.

In the variable the derivative is the density, in the parameters it is that of the incomplete gamma and beta functions.
An inverse z with F(a, …, z) = p has ∂z/∂p = 1/F_z and ∂z/∂a = -F_a/F_z.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import numpy as np

from adjoint.ops.special.declare import SQRT_2PI, named, partial_of
from adjoint.ops.special.gamma import beta_density, gamma_density
from adjoint.ops.special.information import exprel_derivative
from adjoint.ops.special.laplace import ratio_second
from adjoint.ops.special.library import special, where
from adjoint.ops.special.noncentral import student_shape
from adjoint.program.types import Value


def step() -> float:
    """The derivative in an argument that is rounded down."""
    return 0.0


def gamma_shape(a: Value, x: Value) -> Value:
    """∂P(a, x)/∂a."""
    return partial_of(special.gammainc, "a", a, x)


def beta_shapes(a: Value, b: Value, x: Value) -> tuple[Value, Value]:
    """∂I_x(a, b)/∂a and ∂I_x(a, b)/∂b."""
    return partial_of(special.betainc, "a", a, b, x), partial_of(special.betainc, "b", a, b, x)


# ---------------------------------------------------------------- χ² and gamma


def _chi_square(v: Value, x: Value) -> Value:
    return 0.5 * gamma_density(0.5 * v, 0.5 * x)


def _chi_square_shape(v: Value, x: Value) -> Value:
    return 0.5 * gamma_shape(0.5 * v, 0.5 * x)


named(special.chdtr, "v x", v=_chi_square_shape, x=_chi_square)
named(special.chdtrc, "v x", v=lambda v, x: -_chi_square_shape(v, x), x=lambda v, x: -_chi_square(v, x))
named(
    special.chdtri,
    "v p",
    v=lambda v, z: -_chi_square_shape(v, z) / _chi_square(v, z),
    p=lambda v, z: -1.0 / _chi_square(v, z),
)
named(
    special.chdtriv,
    "p x",
    p=lambda x, z: 1.0 / _chi_square_shape(z, x),
    x=lambda x, z: -_chi_square(z, x) / _chi_square_shape(z, x),
)

named(
    special.gdtr,
    "a b x",
    a=lambda a, b, x: x * gamma_density(b, a * x),
    b=lambda a, b, x: gamma_shape(b, a * x),
    x=lambda a, b, x: a * gamma_density(b, a * x),
)
named(
    special.gdtrc,
    "a b x",
    a=lambda a, b, x: -x * gamma_density(b, a * x),
    b=lambda a, b, x: -gamma_shape(b, a * x),
    x=lambda a, b, x: -a * gamma_density(b, a * x),
)
named(
    special.gdtria,
    "p b x",
    p=lambda b, x, z: 1.0 / (x * gamma_density(b, z * x)),
    b=lambda b, x, z: -gamma_shape(b, z * x) / (x * gamma_density(b, z * x)),
    x=lambda x, z: -z / x,
)
named(
    special.gdtrib,
    "a p x",
    a=lambda a, x, z: -x * gamma_density(z, a * x) / gamma_shape(z, a * x),
    p=lambda a, x, z: 1.0 / gamma_shape(z, a * x),
    x=lambda a, x, z: -a * gamma_density(z, a * x) / gamma_shape(z, a * x),
)
named(
    special.gdtrix,
    "a b p",
    a=lambda a, z: -z / a,
    b=lambda a, b, z: -gamma_shape(b, a * z) / (a * gamma_density(b, a * z)),
    p=lambda a, b, z: 1.0 / (a * gamma_density(b, a * z)),
)


def _poisson(k: Value, m: Value) -> Value:
    """P(count ≤ k) falls by the probability of the count ⌊k⌋."""
    return -gamma_density(np.floor(k) + 1.0, m)


named(special.pdtr, "k m", k=step, m=_poisson)
named(special.pdtrc, "k m", k=step, m=lambda k, m: -_poisson(k, m))
named(special.pdtri, "k y", whole="k", y=lambda k, z: 1.0 / _poisson(k, z))
named(  # here k is not rounded
    special.pdtrik,
    "p m",
    p=lambda m, z: -1.0 / gamma_shape(z + 1.0, m),
    m=lambda m, z: -gamma_density(z + 1.0, m) / gamma_shape(z + 1.0, m),
)

# ---------------------------------------------------------------- beta, binomial, F


named(
    special.btdtria,
    "p b x",
    p=lambda b, x, z: 1.0 / beta_shapes(z, b, x)[0],
    b=lambda b, x, z: -beta_shapes(z, b, x)[1] / beta_shapes(z, b, x)[0],
    x=lambda b, x, z: -beta_density(z, b, x) / beta_shapes(z, b, x)[0],
)
named(
    special.btdtrib,
    "a p x",
    a=lambda a, x, z: -beta_shapes(a, z, x)[0] / beta_shapes(a, z, x)[1],
    p=lambda a, x, z: 1.0 / beta_shapes(a, z, x)[1],
    x=lambda a, x, z: -beta_density(a, z, x) / beta_shapes(a, z, x)[1],
)


def _binomial(k: Value, n: Value, p: Value) -> Value:
    """P(count ≤ k) = I_{1-p}(n-k, k+1)."""
    whole = np.floor(k)
    return -beta_density(n - whole, whole + 1.0, 1.0 - p)


named(special.bdtr, "k n p", whole="n", k=step, p=_binomial)
named(special.bdtrc, "k n p", whole="n", k=step, p=lambda k, n, p: -_binomial(k, n, p))
named(special.bdtri, "k n y", whole="n", k=step, y=lambda k, n, z: 1.0 / _binomial(k, n, z))


def _binomial_derivatives(k: Value, n: Value, p: Value) -> tuple[Value, Value, Value]:
    """Derivatives in k, n and p of I_{1-p}(n-k, k+1), for any real k and n."""
    first, second = beta_shapes(n - k, k + 1.0, 1.0 - p)
    return second - first, first, -beta_density(n - k, k + 1.0, 1.0 - p)


def _over(derivatives: tuple[Value, ...], above: int, below: int) -> Value:
    return -derivatives[above] / derivatives[below]


named(
    special.bdtrik,
    "y n p",
    y=lambda n, p, z: 1.0 / _binomial_derivatives(z, n, p)[0],
    n=lambda n, p, z: _over(_binomial_derivatives(z, n, p), 1, 0),
    p=lambda n, p, z: _over(_binomial_derivatives(z, n, p), 2, 0),
)
named(
    special.bdtrin,
    "k y p",
    k=lambda k, p, z: _over(_binomial_derivatives(k, z, p), 0, 1),
    y=lambda k, p, z: 1.0 / _binomial_derivatives(k, z, p)[1],
    p=lambda k, p, z: _over(_binomial_derivatives(k, z, p), 2, 1),
)


def _negative_binomial(k: Value, n: Value, p: Value) -> Value:
    """P(count ≤ k) = I_p(n, k+1)."""
    return beta_density(n, np.floor(k) + 1.0, p)


named(special.nbdtr, "k n p", whole="k n", p=_negative_binomial)
named(special.nbdtrc, "k n p", whole="k n", p=lambda k, n, p: -_negative_binomial(k, n, p))
named(special.nbdtri, "k n y", whole="k n", y=lambda k, n, z: 1.0 / _negative_binomial(k, n, z))


def _negative_derivatives(k: Value, n: Value, p: Value) -> tuple[Value, Value, Value]:
    """Derivatives in k, n and p of I_p(n, k+1), for any real k and n."""
    first, second = beta_shapes(n, k + 1.0, p)
    return second, first, beta_density(n, k + 1.0, p)


named(
    special.nbdtrik,
    "y n p",
    y=lambda n, p, z: 1.0 / _negative_derivatives(z, n, p)[0],
    n=lambda n, p, z: _over(_negative_derivatives(z, n, p), 1, 0),
    p=lambda n, p, z: _over(_negative_derivatives(z, n, p), 2, 0),
)
named(
    special.nbdtrin,
    "k y p",
    k=lambda k, p, z: _over(_negative_derivatives(k, z, p), 0, 1),
    y=lambda k, p, z: 1.0 / _negative_derivatives(k, z, p)[1],
    p=lambda k, p, z: _over(_negative_derivatives(k, z, p), 2, 1),
)


def _fisher(d: Value, e: Value, x: Value) -> Value:
    """I_w(d/2, e/2) with w = d x/(e + d x)."""
    s = e + d * x
    return beta_density(0.5 * d, 0.5 * e, d * x / s) * d * e / (s * s)


def _fisher_first(d: Value, e: Value, x: Value) -> Value:
    """As P(F ≤ x) is P(1/F > 1/x), and 1/F has its degrees of freedom in the other order."""
    positive = x > 0
    return where(positive, -ratio_second(e, d, 0.0, 1.0 / where(positive, x, 1.0)), 0.0)


def _fisher_second(d: Value, e: Value, x: Value) -> Value:
    return ratio_second(d, e, 0.0, x)


named(
    special.fdtr,
    "dfn dfd x",
    dfn=lambda dfn, dfd, x: _fisher_first(dfn, dfd, x),
    dfd=lambda dfn, dfd, x: _fisher_second(dfn, dfd, x),
    x=lambda dfn, dfd, x: _fisher(dfn, dfd, x),
)
named(
    special.fdtrc,
    "dfn dfd x",
    dfn=lambda dfn, dfd, x: -_fisher_first(dfn, dfd, x),
    dfd=lambda dfn, dfd, x: -_fisher_second(dfn, dfd, x),
    x=lambda dfn, dfd, x: -_fisher(dfn, dfd, x),
)
named(
    special.fdtri,
    "dfn dfd p",
    dfn=lambda dfn, dfd, z: -_fisher_first(dfn, dfd, z) / _fisher(dfn, dfd, z),
    dfd=lambda dfn, dfd, z: -_fisher_second(dfn, dfd, z) / _fisher(dfn, dfd, z),
    p=lambda dfn, dfd, z: 1.0 / _fisher(dfn, dfd, z),
)
named(
    special.fdtridfd,
    "dfn p x",
    dfn=lambda dfn, x, z: -_fisher_first(dfn, z, x) / _fisher_second(dfn, z, x),
    p=lambda dfn, x, z: 1.0 / _fisher_second(dfn, z, x),
    x=lambda dfn, x, z: -_fisher(dfn, z, x) / _fisher_second(dfn, z, x),
)

# ---------------------------------------------------------------- Student's t, normal, Tukey's λ


def _student(df: Value, t: Value) -> Value:
    """(1 + t²/df)^(-(df+1)/2) / (√df B(df/2, ½))."""
    return np.exp(-0.5 * (df + 1.0) * np.log1p(t * t / df)) / (np.sqrt(df) * special.beta(0.5 * df, 0.5))


named(special.stdtr, "df t", df=lambda df, t: student_shape(df, 0.0, t), t=_student)
named(
    special.stdtrit,
    "df p",
    df=lambda df, z: -student_shape(df, 0.0, z) / _student(df, z),
    p=lambda df, z: 1.0 / _student(df, z),
)
named(
    special.stdtridf,
    "p t",
    p=lambda t, z: 1.0 / student_shape(z, 0.0, t),
    t=lambda t, z: -_student(z, t) / student_shape(z, 0.0, t),
)


def _normal_derivative(p: Value) -> Value:
    """The derivative of Φ⁻¹."""
    z = special.ndtri(p)
    return SQRT_2PI * np.exp(0.5 * z * z)


named(  # x - std Φ⁻¹(p)
    special.nrdtrimn,
    "p std x",
    p=lambda p, std: -std * _normal_derivative(p),
    std=lambda p: -special.ndtri(p),
    x=lambda: 1.0,
)
named(  # (x - mn) / Φ⁻¹(p)
    special.nrdtrisd,
    "mn p x",
    mn=lambda p: -1.0 / special.ndtri(p),
    p=lambda p, z: -z * _normal_derivative(p) / special.ndtri(p),
    x=lambda p: 1.0 / special.ndtri(p),
)


def _tukey_derivative(lam: Value, z: Value) -> Value:
    """1/Q′(z) for the quantile function Q(u) = (uᵏ - (1-u)ᵏ)/k, k = λ."""
    return 1.0 / (np.power(z, lam - 1.0) + np.power(1.0 - z, lam - 1.0))


def _tukey_parameter(lam: Value, z: Value) -> Value:
    """-Q_λ/Q′, where ∂/∂λ (uᵏ - 1)/k = log²u exprel′(λ log u)."""
    inside = (z > 0) & (z < 1)
    u = where(inside, z, 0.5)
    a, b = np.log(u), np.log1p(-u)
    derivative = _tukey_derivative(lam, u)
    return where(inside, (b * b * exprel_derivative(lam * b) - a * a * exprel_derivative(lam * a)) * derivative, 0.0)


def _tukey_density(lam: Value, z: Value) -> Value:
    inside = (z > 0) & (z < 1)
    return where(inside, _tukey_derivative(lam, where(inside, z, 0.5)), 0.0)


named(
    special.tklmbda,
    "x lmbda",
    x=lambda lmbda, z: _tukey_density(lmbda, z),
    lmbda=lambda lmbda, z: _tukey_parameter(lmbda, z),
)
