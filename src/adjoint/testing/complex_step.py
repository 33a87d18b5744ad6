"""The complex step: a first derivative from one evaluation, exact to rounding.

For f real on the real numbers and analytic, f(x + i δ v) = f(x) + i δ ∂f(x)[v] - δ²/2 ∂²f(x)[v, v] - …, so

    ∂f(x)[v] = Im f(x + i δ v) / δ + O(δ²),

and nothing is subtracted: δ can be far below √ε, and the error is that of rounding alone.

The numbers are handed to f as arrays that know what they are for. A comparison, a sign or an absolute value looks at
real parts, as it does on the real line. What has no analytic continuation (conjugate, real part, norm, …) raises, where
plain complex arrays would give a wrong number in silence. An element taken out of such an array is still one; a new
array made by `np.array([x[0], x[1]])` is plain and no longer watched: use `np.stack`.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import DtypeError, UnsupportedError
from adjoint.testing.differences import check_step, real_scalar
from adjoint.testing.vectors import Array, at_values, describe_leaf, epsilon, has_tangent, line, moving_pairs
from adjoint.tree import Tree, flatten, unflatten


@at_values
def complex_step(f: Callable[[Any], Tree], x: Tree, direction: Tree, *, step: float | None = None) -> Tree:
    """∂f(x)[v] = Im f(x + i δ v) / δ, a tree like f(x), from one call of f.

    f must be made of analytic functions, and x real. The step is tiny by default (1e-77 in double precision).

    ```python
    ad.testing.complex_step(np.sin, 0.0, 1.0)  # → 1.0
    ```
    """
    leaves, structure = flatten(x)
    for leaf in leaves:
        if has_tangent(leaf) and np.iscomplexobj(leaf):
            raise DtypeError(
                f"complex_step: x holds complex numbers ({describe_leaf(leaf)}), and the imaginary part is needed for "
                "the step; use finite_difference, or take real and imaginary parts as inputs."
            )
    δ = tiny_step(x) if step is None else check_step(step)
    stepped = [step_leaf(leaf, v, δ) for leaf, v in moving_pairs(x, direction)]
    outputs, shape_of_output = flatten(watch_call(f, unflatten(structure, stepped)))
    if any(np.asarray(y).dtype.kind == "f" for y in outputs):
        refuse_lost_steps(f, line(x, direction), outputs)
    return unflatten(shape_of_output, [derivative_along(y, δ) for y in outputs])


@at_values
def complex_step_gradient(f: Callable[[Any], Any], x: Tree, *, step: float | None = None) -> Tree:
    """The gradient of a real function of P numbers, by P complex steps: P calls of f.

    ```python
    ad.testing.complex_step_gradient(lambda x: x[0] * x[1], np.array([2.0, 3.0]))  # → [3.0, 2.0]
    ```
    """
    x = float(x) if type(x) is int else x
    leaves, structure = flatten(x)
    zeros = [np.zeros(np.shape(leaf)) if has_tangent(leaf) else np.zeros_like(leaf) for leaf in leaves]
    gradients: list[Any] = []
    for number, leaf in enumerate(leaves):
        gradient = np.zeros(np.shape(leaf), np.asarray(leaf).dtype)
        for index in np.ndindex(np.shape(leaf)) if has_tangent(leaf) else ():
            unit = np.zeros(np.shape(leaf))
            unit[index] = 1.0
            direction = unflatten(structure, [*zeros[:number], unit, *zeros[number + 1 :]])
            gradient[index] = real_scalar(complex_step(f, x, direction, step=step))
        gradients.append(gradient[()])
    return unflatten(structure, gradients)


def tiny_step(x: Tree) -> float:
    """A step whose square is far below ε and which is itself far above underflow: the fourth root of the smallest."""
    smallest = np.finfo(np.float64).tiny if epsilon(x) < 1e-10 else np.finfo(np.float32).tiny
    return 2.0 ** round(np.log2(float(smallest)) / 4)


def step_leaf(leaf: Any, v: Array | None, δ: float) -> Any:
    """x + i δ v as a watched array; single precision stays single."""
    if v is None:
        return leaf
    x = np.asarray(leaf)
    stepped = np.empty(x.shape, np.complex64 if x.dtype.itemsize <= 4 else np.complex128)
    stepped.real, stepped.imag = x, δ * v
    return stepped.view(Watched)


def derivative_along(y: Any, δ: float) -> Any:
    """Im y / δ; zero for an output that is not complex (it was found to be constant)."""
    value: Any = np.asarray(y).view(np.ndarray)
    return (value.imag / δ)[()]


def watch_call(f: Callable[[Any], Tree], x: Tree) -> Tree:
    """f(x), where a discarded imaginary part or a function without a complex form is an error that says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            return f(x)
        except np.exceptions.ComplexWarning as warning:
            raise UnsupportedError(
                "complex_step: f discarded an imaginary part, and the derivative with it (a complex number was written "
                "into a real array or converted to float); use finite_difference."
            ) from warning
        except TypeError as error:
            if isinstance(error, UnsupportedError):
                raise
            raise UnsupportedError(
                f"complex_step: f cannot be evaluated on complex numbers ({error}); use finite_difference."
            ) from error


def refuse_lost_steps(f: Callable[[Any], Tree], along: Callable[[float], Tree], outputs: list[Any]) -> None:
    """Raise if an output that came back real depends on x: on the way its imaginary part was dropped."""
    nearby = flatten(f(along(1e-3)))[0]
    for y, other in zip(outputs, nearby, strict=True):
        if np.asarray(y).dtype.kind == "f" and not np.array_equal(np.asarray(y), np.asarray(other), equal_nan=True):
            raise UnsupportedError(
                "complex_step: f returned a real result that depends on x, so it is not analytic (it dropped the "
                "imaginary part); use finite_difference."
            )


# Functions with a meaning on the real line that their complex form does not continue: take real parts.
def real_parts(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*[np.real(a) for a in args])


ON_REAL_PARTS: dict[Any, Callable[..., Any]] = {
    ufunc: real_parts(ufunc)
    for ufunc in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.sign, np.signbit)
}
ON_REAL_PARTS[np.absolute] = lambda z: z * np.where(np.signbit(np.real(z)), -1.0, 1.0)
ON_REAL_PARTS[np.fabs] = ON_REAL_PARTS[np.absolute]

NOT_ANALYTIC = {
    *("angle", "conj", "conjugate", "imag", "iscomplex", "isreal", "real", "real_if_close", "vdot", "vecdot", "vecmat"),
    *("allclose", "corrcoef", "cov", "isclose", "nanstd", "nanvar", "std", "var"),
    *("cholesky", "cond", "eigh", "eigvalsh", "lstsq", "matrix_norm", "matrix_rank", "norm", "pinv", "qr", "slogdet"),
    *("svd", "svdvals", "vector_norm"),
}


class Watched(np.ndarray[Any, np.dtype[Any]]):
    """A complex array that stands for real numbers with a step in the imaginary direction."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if ufunc.__name__ in NOT_ANALYTIC:
            raise not_analytic(ufunc.__name__)
        plain = [bare(a) for a in inputs]
        if ufunc in ON_REAL_PARTS and method == "__call__":
            return watched(ON_REAL_PARTS[ufunc](*plain))
        if out is not None:
            options["out"] = tuple(bare(o) for o in out)
        return watched(getattr(ufunc, method)(*plain, **options))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func.__name__ in NOT_ANALYTIC:
            raise not_analytic(func.__name__)
        return watched(super().__array_function__(func, types, args, kwargs))

    def __getitem__(self, index: Any) -> Any:
        return watched(super().__getitem__(index))

    def __float__(self) -> float:
        raise not_analytic("float")

    def __complex__(self) -> complex:
        raise not_analytic("complex")

    def item(self, *_: Any) -> Any:
        raise not_analytic("item")

    def tolist(self) -> Any:
        raise not_analytic("tolist")

    def conjugate(self, *_: Any, **__: Any) -> Any:
        raise not_analytic("conjugate")

    conj = conjugate

    @property
    def real(self) -> Any:
        raise not_analytic("real")

    @property
    def imag(self) -> Any:
        raise not_analytic("imag")


def not_analytic(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"complex_step: {name} is not analytic, and would drop or turn the step in the imaginary direction; "
        "use finite_difference for this function."
    )


def bare(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Watched) else value


def watched(value: Any) -> Any:
    """Complex results watched again, also inside a tuple or list; all else as it is."""
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(watched(v) for v in value)
    if isinstance(value, (np.ndarray, np.complexfloating)) and np.iscomplexobj(bare(value)):
        return np.asarray(bare(value)).view(Watched)
    return bare(value)
