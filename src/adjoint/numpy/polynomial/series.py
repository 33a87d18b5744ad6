"""Series c₀ P₀(x) + c₁ P₁(x) + … in polynomials with a recurrence of three terms:

    x Pₖ = aₖ Pₖ₊₁ + bₖ Pₖ + gₖ Pₖ₋₁          P₀ = 1

Everything that NumPy's modules do with a series follows from these three numbers: values (Clenshaw), products,
quotients, roots. Derivatives and integrals are linear in c: their matrices are NumPy's own, of the unit vectors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.numpy.asking import settled, without_leading_zeros
from adjoint.numpy.dispatch import as_array, normal_axis
from adjoint.numpy.shaping import convert
from adjoint.program.types import Value


class Recurrence(NamedTuple):
    """a, b and g of the degrees k."""

    a: Callable[[Any], Any]
    b: Callable[[Any], Any]
    g: Callable[[Any], Any]


def coefficients(c: Any) -> Value:
    """A series as an array of floats with at least one axis."""
    c = np.atleast_1d(as_array(c))
    return convert(c, np.float64) if c.dtype.kind in "biu" else c


def point(x: Any) -> Value:
    """An array of points; a number of Python's stays one, which does not change the type of coefficients."""
    return x if type(x) in (int, float, complex) else as_array(x)


def _in_type_of(c: Value, factors: Any) -> Any:
    """Plain numbers in the precision of coefficients."""
    return np.asarray(factors, np.finfo(c.dtype).dtype)


def _scaled(c: Value, scl: Any) -> Value:
    """c times a number, in the precision of c, as NumPy does it in place."""
    z = c * scl
    return convert(z, c.dtype) if z.dtype.kind == c.dtype.kind else z


def _trimmed(c: Value) -> Value:
    """Without zeros of the highest degrees, as far as they are known."""
    return without_leading_zeros(c, -1)


def value(rule: Recurrence, x: Any, c: Any, tensor: bool = True) -> Value:
    """Clenshaw: sₖ = cₖ + (x - bₖ)/aₖ sₖ₊₁ - gₖ₊₁/aₖ₊₁ sₖ₊₂, and s₀ is the value."""
    x, c = point(x), coefficients(c)
    if tensor:
        c = np.reshape(c, c.shape + (1,) * np.ndim(x))
    return sum_up(rule, x, c)


def sum_up(rule: Recurrence, x: Any, c: Value) -> Any:
    """The same at an x that has sums and products, such as another series."""
    later, now = None, c[-1] + x * 0
    for k in range(c.shape[0] - 2, -1, -1):
        a, b = float(rule.a(k)), float(rule.b(k))
        new = c[k] + (x - b if b else x) * now / a if a != 1 else c[k] + (x - b if b else x) * now
        factor = float(rule.g(k + 1)) / float(rule.a(k + 1))
        if later is not None and factor:
            new = new - factor * later
        later, now = now, new
    return now


def points(rule: Recurrence, c: Any, *xs: Any) -> Value:
    """The series in several variables at points: one coordinate of each."""
    arrays = [as_array(x) for x in xs]
    if any(x.shape != arrays[0].shape for x in arrays):
        raise ValueError("the coordinates of the points do not have one shape")
    for i, x in enumerate(arrays):
        c = value(rule, x, c, tensor=i == 0)
    return c


def grid(rule: Recurrence, c: Any, *xs: Any) -> Value:
    """The series in several variables on the grid of their coordinates."""
    for x in xs:
        c = value(rule, x, c)
    return c


def table(rule: Recurrence, x: Any, deg: Any) -> Value:
    """P₀(x) … P_deg(x) along a new last axis: the Vandermonde matrix."""
    degree = operator.index(deg)
    if degree < 0:
        raise ValueError("deg must be non-negative")
    x = coefficients(x)
    columns = [x * 0 + 1]
    for k in range(degree):
        a, b, g = (float(f(k)) for f in rule)
        new = (x - b if b else x) * columns[-1]
        columns.append((new - g * columns[-2] if k and g else new) / a if a != 1 or (k and g) else new)
    return np.stack(columns, axis=-1)


def tables(rule: Recurrence, degrees: Any, *xs: Any) -> Value:
    """All products of P's of several variables, along one last axis."""
    arrays = np.broadcast_arrays(*[coefficients(x) for x in xs])
    if len(degrees) != len(arrays):
        raise ValueError(f"{len(arrays)} degrees are needed, not {len(degrees)}")
    n = len(arrays)
    z: Value = None
    for i, (x, degree) in enumerate(zip(arrays, degrees, strict=True)):
        part = table(rule, x, degree)
        part = np.reshape(part, (*part.shape[:-1], *[part.shape[-1] if j == i else 1 for j in range(n)]))
        z = part if z is None else z * part
    return np.reshape(z, (*z.shape[: z.ndim - n], -1))


def add(c1: Any, c2: Any) -> Value:
    """The sum of two series."""
    a, b = coefficients(c1), coefficients(c2)
    n = max(a.shape[0], b.shape[0])
    return _trimmed(np.pad(a, (0, n - a.shape[0])) + np.pad(b, (0, n - b.shape[0])))


def subtract(c1: Any, c2: Any) -> Value:
    """The difference of two series."""
    return add(c1, -coefficients(c2))


def times_x(rule: Recurrence, c: Any) -> Value:
    """x times a series."""
    c = coefficients(c)
    degrees = np.arange(c.shape[0], dtype=float)
    a, b, g = (_in_type_of(c, f(degrees) * np.ones_like(degrees)) for f in rule)
    z = np.pad(a * c, (1, 0))
    if np.any(b):
        z = z + np.pad(b * c, (0, 1))
    return z + np.pad((g * c)[1:], (0, 2)) if np.any(g[1:]) else z


def _multiples(rule: Recurrence, c: Value, count: int) -> list[Value]:
    """P₀ c, P₁ c, … as series."""
    found = [c]
    for k in range(count - 1):
        a, b, g = (float(f(k)) for f in rule)
        new = times_x(rule, found[-1])
        if b:
            new = new - b * np.pad(found[-1], (0, 1))
        if k and g:
            new = new - g * np.pad(found[-2], (0, 2))
        found.append(new / a)
    return found


def multiply(rule: Recurrence, c1: Any, c2: Any) -> Value:
    """The product of two series."""
    a, b = _trimmed(coefficients(c1)), _trimmed(coefficients(c2))
    if a.shape[0] > b.shape[0]:
        a, b = b, a
    n = a.shape[0] + b.shape[0] - 1
    z: Value = None
    for k, part in enumerate(_multiples(rule, b, a.shape[0])):
        term = a[k] * np.pad(part, (0, n - part.shape[0]))
        z = term if z is None else z + term
    return _trimmed(z)


def divide(rule: Recurrence, c1: Any, c2: Any) -> tuple[Value, Value]:
    """Long division: (quotient, remainder)."""
    a, b = _trimmed(coefficients(c1)), _trimmed(coefficients(c2))
    if settled(b[-1] == 0):
        raise ZeroDivisionError("division by the series 0")
    steps = a.shape[0] - b.shape[0] + 1
    if steps < 1:
        return a[:1] * 0, a
    if b.shape[0] == 1:
        return a / b[-1], a[:1] * 0
    digits, rest = [], a
    for multiple in reversed(_multiples(rule, b, steps)):
        digits.append(rest[-1] / multiple[-1])
        rest = rest[:-1] - digits[-1] * multiple[:-1]
    return np.stack(digits[::-1]), _trimmed(rest)


def power(rule: Recurrence, c: Any, pow: Any, maxpower: Any = None) -> Value:
    """The series to a whole power."""
    exponent = operator.index(pow)
    if exponent < 0:
        raise ValueError("Power must be a non-negative integer.")
    if maxpower is not None and exponent > maxpower:
        raise ValueError("Power is too large")
    c = _trimmed(coefficients(c))
    z = c if exponent else np.ones(1, c.dtype)
    for _ in range(exponent - 1):
        z = multiply(rule, z, c)
    return z


def line(rule: Recurrence, off: Any, scl: Any) -> Value:
    """off + scl x as a series."""
    x = times_x(rule, np.ones(1))
    return _trimmed(as_array(off) * np.array([1.0, 0.0]) + as_array(scl) * x)


def from_roots(rule: Recurrence, roots: Any) -> Value:
    """The series with these roots whose leading power of x has the factor one."""
    roots = coefficients(roots)
    if roots.shape[0] == 0:
        return np.ones(1)
    z: Value = None
    for k in range(roots.shape[0]):
        factor = line(rule, -roots[k], 1.0)
        z = factor if z is None else multiply(rule, z, factor)
    return z


def linear(matrix: Any, c: Value, axis: int) -> Value:
    """A matrix along an axis of c."""
    moved = np.moveaxis(c, axis, 0)
    return np.moveaxis(np.tensordot(matrix.astype(c.dtype), moved, 1), 0, axis)


def derivative(numpys: Callable[..., Any], c: Any, m: Any = 1, scl: Any = 1, axis: int = 0) -> Value:
    """The m-th derivative, times sclᵐ."""
    c, m = coefficients(c), operator.index(m)
    axis = normal_axis(axis, c.ndim)
    if m < 0:
        raise ValueError("The order of derivation must be non-negative")
    n = c.shape[axis]
    if m >= n:
        return np.take(c, [0], axis=axis) * 0
    return _scaled(linear(numpys(np.eye(n), m), c, axis), scl**m) if m else c


def integral(
    rule: Recurrence,
    numpys: Callable[..., Any],
    c: Any,
    m: Any = 1,
    k: Any = (),
    lbnd: Any = 0,
    scl: Any = 1,
    axis: int = 0,
) -> Value:
    """The m-th integral from lbnd, with the constants k, each times scl."""
    c, m = coefficients(c), operator.index(m)
    axis = normal_axis(axis, c.ndim)
    if m < 0:
        raise ValueError("The order of integration must be non-negative")
    constants = list(k) if np.ndim(k) or isinstance(k, list | tuple) else [k]
    if len(constants) > m:
        raise ValueError("Too many integration constants")
    c = np.moveaxis(c, axis, 0)
    for i in range(m):
        constant = constants[i] if i < len(constants) else 0
        c = _scaled(c, scl)
        if c.shape[0] == 1 and settled(np.all(np.equal(c[0], 0))):
            c = c + constant
            continue
        c = linear(numpys(np.eye(c.shape[0]), 1), c, 0)
        c = np.concatenate([c[:1] + (constant - value(rule, lbnd, c)), c[1:]])
    return np.moveaxis(c, 0, axis)


def fit(rule: Recurrence, x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None) -> Any:
    """Least squares, with the columns of the Vandermonde matrix scaled to length one."""
    x, y = coefficients(x), coefficients(y)
    degrees = np.sort(np.atleast_1d(np.asarray(deg)))
    if degrees.size == 0 or degrees.dtype.kind not in "iu" or degrees.min() < 0:
        raise ValueError(f"deg must be integers that are not negative, not {deg}")
    if x.ndim != 1 or x.shape[0] == 0 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise TypeError(f"expected a vector x and as many y's, not shapes {x.shape} and {y.shape}")
    chosen = np.arange(degrees[0] + 1) if np.ndim(deg) == 0 else degrees
    matrix, right = table(rule, x, degrees[-1])[:, chosen], y
    if w is not None:
        weights = np.expand_dims(coefficients(w), 1)
        matrix, right = matrix * weights, right * (weights if y.ndim == 2 else weights[:, 0])
    scale = np.sqrt(np.sum(np.real(matrix * np.conjugate(matrix)), axis=0))
    scale = np.where(np.equal(scale, 0), 1.0, scale)
    rcond = x.shape[0] * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    c, residuals, rank, s = np.linalg.lstsq(matrix / scale, right, rcond)
    c = np.transpose(np.transpose(c) / scale)
    if np.ndim(deg):
        positions = np.full(degrees[-1] + 1, len(chosen))
        positions[chosen] = np.arange(len(chosen))
        c = np.take(np.concatenate([c, np.zeros_like(c[:1])]), positions, axis=0)
    return (c, [residuals, rank, s, rcond]) if full else c


def companion(numpys: Callable[..., Any], c: Any) -> Value:
    """The matrix whose eigenvalues are the roots: its last column alone depends on c, by the shares of cₙ."""
    c = _trimmed(coefficients(c))
    n = c.shape[0]
    if n < 2:
        raise ValueError("Series must have maximum degree of at least 1.")
    fixed = _in_type_of(c, numpys([*np.zeros(n - 1), 1.0]))
    factors = _in_type_of(c, numpys(np.ones(n)))[:, -1] - fixed[:, -1]
    column = np.expand_dims(factors * (c[:-1] / c[-1]), 1)
    return np.concatenate([fixed[:, :-1] + 0 * column, fixed[:, -1:] + column], axis=1)


def roots(numpys: Callable[..., Any], c: Any) -> Value:
    """The eigenvalues of the companion matrix, in order."""
    c = _trimmed(coefficients(c))
    if c.shape[0] < 2:
        return np.zeros(0, c.dtype)
    matrix = companion(numpys, c)
    if c.shape[0] == 2:
        return matrix[0]
    found = np.linalg.eigvals(matrix[::-1, ::-1])
    if found.dtype.kind == "c" and c.dtype.kind != "c" and settled(np.all(np.equal(np.imag(found), 0))):
        found = np.real(found)
    return np.sort(found)
