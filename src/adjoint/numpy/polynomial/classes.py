"""`Polynomial`, `Chebyshev`, `Legendre`, … of NumPy with traced coefficients, at traced points.

A class here is NumPy's own with the functions of our module in place of NumPy's, so that `isinstance` holds and every
method that is made of them has derivatives: sums, products, quotients, powers, `deriv`, `integ`, `roots`, `fit`.
"""

# NumPy's classes know their functions by private names.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.polynomial import polyutils
from numpy.polynomial._polybase import ABCPolyBase

from adjoint.numpy.asking import without_leading_zeros
from adjoint.numpy.dispatch import as_array
from adjoint.numpy.polynomial import series
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

_FUNCTIONS = ("add", "sub", "mul", "div", "pow", "val", "int", "der", "fit", "line", "roots", "fromroots")


def map_interval(x: Any, old: Any, new: Any) -> Any:
    """x of the interval `old` at its place in `new`; a series is mapped as a function."""
    offset, scale = polyutils.mapparms(old, new)
    return offset + scale * (x if isinstance(x, ABCPolyBase) else as_array(x))


def _settle(made: Any, name: str, value: Any) -> None:
    value = as_array(value)
    if value.shape != (2,):
        raise ValueError(f"{type(made).__name__}: {name} has shape {value.shape}. It is the two ends of an interval.")
    setattr(made, name, value)


class Series:
    """What NumPy's classes do by reading coefficients, without reading them."""

    coef: Any
    domain: Any
    window: Any
    symbol: str
    rule: series.Recurrence

    def __init__(self, coef: Any, domain: Any = None, window: Any = None, symbol: str = "x") -> None:
        numpys: Any = super()
        numpys.__init__([0.0], symbol=symbol)  # it checks the symbol
        self.coef = series.coefficients(coef)
        if self.coef.ndim != 1:
            raise ValueError(f"{type(self).__name__}: coef has shape {self.coef.shape}. It is one row of coefficients.")
        if domain is not None:
            _settle(self, "domain", domain)
        if window is not None:
            _settle(self, "window", window)

    def __call__(self, arg: Any) -> Any:
        x = map_interval(arg, self.domain, self.window)
        return (
            series.sum_up(self.rule, x, self.coef)
            if isinstance(x, ABCPolyBase)
            else series.value(self.rule, x, self.coef)
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.coef}, domain={self.domain}, window={self.window}, symbol={self.symbol!r})"

    __str__ = __repr__

    def _get_coefficients(self, other: Any) -> Any:
        if isinstance(other, ABCPolyBase) and isinstance(self, type(other)):  # NumPy's own is one of ours, too
            other = type(self)(other.coef, other.domain, other.window, other.symbol)
        numpys: Any = super()
        return numpys._get_coefficients(other)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Tracer) and not other.shape:
            return type(self)(self.coef / other, self.domain, self.window, self.symbol)
        numpys: Any = super()
        return numpys.__truediv__(other)

    def convert(self, domain: Any = None, kind: Any = None, window: Any = None) -> Any:
        """The same function as a series of another kind, or on another domain."""
        if kind is not None and not issubclass(kind, Series):
            kind = find_class(kind)
        numpys: Any = super()
        return numpys.convert(domain, kind, window)

    def roots(self) -> Value:
        """Where the series is 0, as `numpy` orders them."""
        made: Any = self
        return map_interval(made._roots(self.coef), self.window, self.domain)

    def trim(self, tol: float = 0) -> Any:
        """Without coefficients of the highest degrees that are at most `tol`, as far as they are known."""
        return type(self)(without_leading_zeros(self.coef, -1, tol), self.domain, self.window, self.symbol)

    @classmethod
    def _intervals(cls, points: Value, domain: Any, window: Any) -> tuple[Any, Any]:
        """Domain and window as NumPy reads them: None is what the points span, [] what the class has."""
        if domain is None:
            domain = np.stack([np.min(points), np.max(points)])
        elif isinstance(domain, list) and not domain:
            domain = cls.domain
        return domain, cls.window if window is None else window

    @classmethod
    def fit(
        cls,
        x: Any,
        y: Any,
        deg: Any,
        domain: Any = None,
        rcond: float | None = None,
        full: bool = False,
        w: Any = None,
        window: Any = None,
        symbol: str = "x",
    ) -> Any:
        """The series of least squares through points: cₖ of min Σ wᵢ² (p(xᵢ) - yᵢ)²."""
        x = as_array(x)
        domain, window = cls._intervals(x, domain, window)
        base: Any = cls
        result = base._fit(map_interval(x, domain, window), y, deg, w=w, rcond=rcond, full=full)
        coef = result[0] if full else result
        made = cls(coef, domain=domain, window=window, symbol=symbol)
        return (made, result[1]) if full else made

    @classmethod
    def fromroots(cls, roots: Any, domain: Any = [], window: Any = None, symbol: str = "x") -> Any:  # noqa: B006 (NumPy's)
        """The series Π (x - rᵢ)."""
        roots = series.coefficients(roots)
        domain, window = cls._intervals(roots, domain, window)
        base: Any = cls
        scale = polyutils.mapparms(domain, window)[1]
        coef = base._fromroots(map_interval(roots, domain, window)) / scale ** roots.shape[0]
        return cls(coef, domain=domain, window=window, symbol=symbol)


def _reflect(name: str) -> Callable[..., Any]:
    """other ∘ self: that of ours if both are series, since NumPy's own would read our coefficients."""

    def compute(self: Any, other: Any) -> Any:
        if isinstance(other, ABCPolyBase) and isinstance(self, type(other)):
            other = type(self)(other.coef, other.domain, other.window, other.symbol)
            return getattr(other, f"__{name}__")(self)
        return getattr(super(Series, self), f"__r{name}__")(other)

    return compute


for _name in ("add", "sub", "mul", "floordiv", "mod", "divmod"):
    setattr(Series, f"__r{_name}__", _reflect(_name))

_classes: dict[type, type] = {}


def find_class(numpys: type) -> type:
    """Our class beside one of NumPy's; any other as it is."""
    return _classes.get(numpys, numpys)


def make_class(module: ModuleType, rule: series.Recurrence, prefix: str, numpys: type) -> type:
    """Our class beside one of NumPy's."""
    functions: dict[str, Any] = {f"_{end}": staticmethod(_late(module, f"{prefix}{end}")) for end in _FUNCTIONS}
    names = {"rule": rule, "__doc__": numpys.__doc__, "__module__": "adjoint.numpy.polynomial", **functions}
    return _classes.setdefault(numpys, type(numpys.__name__, (Series, numpys), names))


def _late(module: ModuleType, name: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: getattr(module, name)(*args, **kwargs)
