"""Primitives that act element by element, as ufuncs do: they broadcast and promote inside.

Each is a NumPy or SciPy ufunc and a *factor* for each input: the partial ∂z/∂xᵢ as an expression in inputs (x, y) and
output (z). The parameter names of the expression say what must be kept for the backward pass; so `tanh` with the factor
`lambda z: 1 - z * z` keeps z alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.records import parameter_names
from adjoint.ops.calculus import Differential, Flat, Linear, Multilinear, fit, total
from adjoint.ops.elementwise.work import FUNCTION, Work
from adjoint.ops.kinks import NonSmooth
from adjoint.program.layout import Strides, elementwise_strides
from adjoint.program.op import Op, primitive
from adjoint.program.types import ArrayType, Size, Value, promotion_token

Factor: TypeAlias = Callable[..., Value]  # called with (x, y, z); reads those it names
Partial: TypeAlias = Callable[[Value, Value, Value], Value]  # called with (x, y, z) all three
# x from z; of two arguments, x from (z, y) and y from (z, x)
Inverse: TypeAlias = tuple[Callable[..., Value], ...]


def itself(x: Value) -> Value:
    """The partial x."""
    return x


def other(y: Value) -> Value:
    """The partial y."""
    return y


def minus_one() -> float:
    """The partial -1."""
    return -1.0


def negated(x: Value, y: Value, z: Value) -> float:
    """The partial -1 as the tape reads it: it negates instead of multiplying."""
    return -1.0


def result(z: Value) -> Value:
    """The partial z: exp is its own derivative."""
    return z


def pick_z(x: Value, y: Value, z: Value) -> Value:
    return z


def inverse(y: Value) -> Value:
    """The partial 1/y of a quotient."""
    try:
        return 1.0 / y
    except ZeroDivisionError:  # of Python's numbers alone
        return infinite(y)


def infinite(y: complex) -> complex:
    """1/y for Python's y = 0, as NumPy has it."""
    return complex(math.nan, math.nan) if isinstance(y, complex) else math.copysign(math.inf, y)


def over_y(x: Value, y: Value, z: Value) -> Value:
    """The partial 1/y as the tape reads it: it divides instead of multiplying."""
    return inverse(y)


def pick_x(x: Value, y: Value, z: Value) -> Value:
    return x


def pick_y(x: Value, y: Value, z: Value) -> Value:
    return y


def _reads(*names: str) -> Callable[[Factor], Partial]:
    """Adapters from an expression in some of x, y, z to a function of all three."""
    table: dict[tuple[str, ...], Callable[[Factor], Partial]] = {
        (): lambda f: negated if f is minus_one else lambda x, y, z: f(),
        ("x",): lambda f: pick_x if f is itself else lambda x, y, z: f(x),
        ("y",): lambda f: pick_y if f is other else over_y if f is inverse else lambda x, y, z: f(y),
        ("z",): lambda f: pick_z if f is result else lambda x, y, z: f(z),
        ("x", "y"): lambda f: lambda x, y, z: f(x, y),
        ("x", "z"): lambda f: lambda x, y, z: f(x, z),
        ("y", "z"): lambda f: lambda x, y, z: f(y, z),
        ("x", "y", "z"): lambda f: f,
    }
    return table[names]


class Pointwise(Op):
    """How an elementwise primitive treats axes: broadcasting, promotion, batching."""

    is_elementwise = True
    function: ClassVar[Any]
    work: Work = FUNCTION

    @property
    @abstractmethod
    def ufunc(self) -> Any:
        """The ufunc that decides the dtype of the result."""

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(broadcast_shapes(self.title, types), self._dtype(types))

    def _dtype(self, types: Sequence[ArrayType]) -> np.dtype[Any]:
        tokens = tuple(promotion_token(t) for t in types)
        return self.ufunc.resolve_dtypes((*tokens, *[None] * self.ufunc.nout))[-1]

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return elementwise_strides(types, strides, result)

    def may_raise(self, *types: ArrayType) -> bool:
        return False

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        size, each = np.size(zs[0]), self.work.flops
        if each is None:
            return 0, size
        is_complex = any(np.iscomplexobj(x) for x in xs)
        return size * (self.work.complex_flops if is_complex and each else each), 0


def aligned(xs: Sequence[Value], mapped: Sequence[bool]) -> list[Value]:
    """Give stacked arguments the axes of size one that broadcasting needs between the stack and their own axes."""
    inner = max(np.ndim(x) - m for x, m in zip(xs, mapped, strict=True))
    return [
        np.reshape(x, (x.shape[0],) + (1,) * (inner + 1 - x.ndim) + x.shape[1:]) if m and x.ndim - 1 < inner else x
        for x, m in zip(xs, mapped, strict=True)
    ]


def broadcast_shapes(title: str, types: Sequence[ArrayType]) -> tuple[Any, ...]:
    """The common shape; sizes may be symbolic."""
    ndim = max((t.ndim for t in types), default=0)
    shape: list[Any] = []
    for axis in range(-ndim, 0):
        sizes = {t.shape[axis] for t in types if t.ndim >= -axis} - {1}
        if len(sizes) > 1 and all(isinstance(n, Size) and n.found for n in sizes):
            sizes = {min(sizes, key=str)}  # how often one loop goes round: rows of it are compared when they are there
        if len(sizes) > 1:
            listed = ", ".join(map(str, types))
            raise ShapeError(
                f"{title}: the shapes of {listed} do not broadcast: axis {axis} has sizes "
                f"{' and '.join(sorted(map(str, sizes)))}. Axes are matched from the last one and must be equal or 1: "
                "reshape, or insert an axis with x[:, None]."
            )
        shape.append(sizes.pop() if sizes else 1)
    return tuple(shape)


class Ufunc(Pointwise):
    """A primitive that is a ufunc with one output; the instances are interned in `UFUNCS`."""

    pointwise = True
    own_push: ClassVar[bool] = False  # push is not the sum of partial times tangent (|x| and conj of complex x)

    def __init__(
        self,
        function: Any,
        factors: Sequence[Factor | None],
        *,
        name: str | None = None,
        singular: bool = False,
        work: Work = FUNCTION,
        kinks: NonSmooth | None = None,
        inverse: Inverse = (),
    ) -> None:
        self.function = function  # type: ignore[misc]
        self.name = name or function.__name__
        self.singular = singular  # a partial may be infinite: zero tangents must win over it
        self.work, self._kinks, self.inverse = work, kinks, inverse
        self.arity: int = function.nin
        raw = [parameter_names(f) if f is not None else () for f in factors]
        self.factors = tuple(None if f is None else _reads(*names)(f) for f, names in zip(factors, raw, strict=True))
        reads = [tuple(name in names for name in "xyz") for names in raw]
        # what to keep: (x, y, z) when only the first, only the second, or both inputs are differentiated
        self.keep_first = reads[0]
        self.keep_second = reads[1] if self.arity > 1 else (False, False, False)
        self.keep_both: Any = tuple(a or b for a, b in zip(self.keep_first, self.keep_second, strict=True))
        # the same as the tape wants it: what to keep, and the head of the entry (partials, whether to guard them, the
        # primitive)
        second = self.factors[1] if self.arity > 1 else None
        head = self.head = [self.factors[0], second, singular, self]
        self.plan_first, self.plan_second, self.plan_both = (
            (*k, head) for k in (self.keep_first, self.keep_second, self.keep_both)
        )
        UFUNCS[function] = self
        BY_NAME[self.name] = self

    @property
    def ufunc(self) -> Any:
        return self.function

    @property
    def title(self) -> str:
        return self.name

    @property
    def kinks(self) -> NonSmooth | None:
        return self._kinks

    def evaluate(self, *xs: Value) -> Value:
        return self.function(*xs)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def __reduce__(self) -> Any:
        return (by_name, (self.name,))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        if self.arity == 1:
            return self.keep_first[:1], self.keep_first[2]
        first, second = wanted
        kept = self.keep_both if first and second else self.keep_first if first else self.keep_second
        return kept[:2], kept[2]

    def factor(self, i: int, xs: Sequence[Value], z: Value) -> Value:
        """The partial in argument i; None stands for one."""
        f = self.factors[i]
        return None if f is None else f(xs[0], xs[1] if self.arity > 1 else None, z)

    def term(self, i: int, tangent: Value, xs: Sequence[Value], z: Value) -> Value:
        """The partial in argument i times a tangent; a zero tangent gives zero whatever the partial."""
        d = self.factor(i, xs, z)
        if d is None:
            return tangent
        return masked_multiply(tangent, d) if self.singular and type(d) is not float else tangent * d

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        dz = total(*[self.term(i, dx, xs, z) for i, dx in enumerate(dxs) if dx is not None])
        return dz if dz is None else spread(dz, z)

    def pull(
        self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool], masked: bool = False
    ) -> Sequence[Value]:
        out: list[Value] = []
        for i, want in enumerate(wanted):
            if not want:
                out.append(None)
                continue
            d = self.factor(i, xs, z)
            if d is None:
                out.append(ct)
                continue
            if type(d) is float or type(d) is int:  # a constant factor, such as -1
                out.append(-ct if d == -1 else ct * d)
                continue
            d = conjugated(d)
            out.append(masked_multiply(ct, d) if masked or self.singular else ct * d)
        return out


def conjugated(d: Value) -> Value:
    """The complex conjugate; a real array or a Python number is itself."""
    return np.conjugate(d) if type(d) is complex or (hasattr(d, "dtype") and d.dtype.kind == "c") else d


def spread(dz: Value, z: Value) -> Value:
    """Give a tangent the type of its value: an argument that was broadcast or promoted brings a smaller one."""
    if dz.shape != z.shape:
        dz = np.broadcast_to(dz, z.shape)
    return dz if dz.dtype == z.dtype else dz.astype(z.dtype)


UFUNCS: dict[Any, Op] = {}  # NumPy's or SciPy's ufunc -> the primitive
BY_NAME: dict[str, Ufunc] = {}


def by_name(name: str) -> Ufunc:
    """The interned primitive of this name."""
    return BY_NAME[name]


class SmoothUfunc(Ufunc, Differential):
    """Smooth in every argument that has a factor."""


class LinearUfunc(Ufunc, Linear):
    """A sum of its arguments with constant weights (1 or -1)."""

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return Ufunc.pull(self, ct, xs, None, [True] * self.arity)

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        terms = [self.term(i, x.get(k), (None, None), None) for i, x in enumerate(xs) if x.get(k) is not None]
        dz = total(*terms)
        return None if dz is None else spread(dz, z.get(0))


class ProductUfunc(Ufunc, Multilinear):
    """The product of two arguments."""

    def adjoint(self, i: int, ct: Value, xs: Sequence[Value]) -> Value:
        return fit(ct * conjugated(xs[1 - i]), xs[i])


class FlatUfunc(Ufunc, Flat):
    """Comparisons, rounding, tests, bits: zero derivative."""

    pointwise = False

    def __init__(self, function: Any, *, name: str | None = None, **facts: Any) -> None:
        super().__init__(function, [None] * function.nin, name=name, **facts)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [False] * len(wanted), False

    push, pull, coefficient = Flat.push, Flat.pull, Flat.coefficient  # type: ignore[assignment]


def smooth(function: Any, *factors: Factor | None, **facts: Any) -> SmoothUfunc:
    """Declare a smooth ufunc by its partials; `facts` are the keywords of `Ufunc`."""
    return SmoothUfunc(function, factors, **facts)


@primitive
class MaskedProduct(Pointwise, Multilinear):
    """ct · d, and zero wherever ct is zero, even where d is infinite or NaN: lets no NaN out of a branch not taken."""

    masks = True
    work = Work(1, 1.5, 6)

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return None  # it depends on the way through the routine

    @property
    def ufunc(self) -> Any:
        return np.multiply

    def evaluate(self, *xs: Value) -> Value:
        ct, d = xs
        out = np.zeros(np.broadcast_shapes(np.shape(ct), np.shape(d)), np.result_type(ct, d))
        np.multiply(ct, d, out=out, where=np.not_equal(ct, 0))
        return out[()]

    def adjoint(self, i: int, ct: Value, xs: Sequence[Value]) -> Value:
        other = conjugated(xs[1 - i])
        if i == 0:
            return fit(self(ct, other), xs[i])
        # zero where either is; but where ct is zero it may move, and so the product of what is finite
        lost = np.logical_and(np.equal(ct, 0), np.logical_not(np.isfinite(other)))
        return fit(self(np.where(lost, other.dtype.type(0), other), ct), xs[i])

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return results[0].nbytes // results[0].dtype.itemsize  # a mask


_masked_product = MaskedProduct()


# As Any: a test against them leaves the value Any, where the classes would make it an array of unknown elements.
_ARRAY: Any = np.ndarray
_SCALAR: Any = np.generic
_CONCRETE: Any = (np.ndarray, np.generic)


THREADED = 10_000  # elements: BLAS shares out larger products, and its threads wait for each other on busy machines


def _is_finite(x: Any) -> bool:
    """Whether no element is infinite or NaN; large finite ones may be taken for infinite."""
    if x.size <= THREADED:
        return math.isfinite(np.vdot(x, x).real)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    with np.errstate(all="ignore"):
        total: Any = x.sum()
    return bool(np.isfinite(total))


def masked_multiply(ct: Value, d: Value) -> Value:
    """ct · d, and zero wherever ct is zero.

    On plain arrays the masked product runs only when the plain one is not finite.
    """
    if type(d) is float:
        return ct * d
    if isinstance(ct, _ARRAY) and isinstance(d, _CONCRETE):
        product = ct * d
        return product if _is_finite(product) else _masked_product.evaluate(ct, d)
    if isinstance(ct, _SCALAR) and isinstance(d, _SCALAR):
        return ct * d if ct != 0 else ct
    return _masked_product(ct, d)
