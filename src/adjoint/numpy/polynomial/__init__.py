"""numpy.polynomial with the promises of adjoint.numpy: traced values in every argument, and in lists.

The functions of its modules (`chebyshev.chebval`, `legendre.legfit`, …) are answered from the recurrence of the
polynomials, and the classes from these functions. Everything else is NumPy's own.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as _numpy

from adjoint.numpy.dispatch import as_array, is_traced
from adjoint.numpy.polynomial import series
from adjoint.numpy.polynomial.classes import make_class
from adjoint.numpy.polynomial.series import Recurrence
from adjoint.program.types import Value


class Family(ModuleType):
    """One of the modules of numpy.polynomial."""

    def __init__(self, name: str, prefix: str, rule: Recurrence) -> None:
        super().__init__(f"adjoint.numpy.polynomial.{name}", getattr(_numpy.polynomial, name).__doc__)
        self._prefix, self._rule, self._name = prefix, rule, name
        self.made = make_class(self, rule, prefix, getattr(_numpy.polynomial, _CLASSES[name]))
        by_rule: dict[str, Callable[..., Any]] = {
            "val": series.value,
            "vander": series.table,
            "mul": series.multiply,
            "mulx": series.times_x,
            "div": series.divide,
            "pow": series.power,
            "line": series.line,
            "fromroots": series.from_roots,
            "fit": series.fit,
        }
        self._answers: dict[str, Callable[..., Any]] = {
            f"{prefix}{end}": functools.partial(f, rule) for end, f in by_rule.items()
        }
        self._answers |= {f"{prefix}add": series.add, f"{prefix}sub": series.subtract}
        self._answers |= {
            f"{prefix}{of}{n}d": self._of_several(getattr(series, "points" if of == "val" else "grid"), n)
            for of in ("val", "grid")
            for n in (2, 3)
        }
        self._answers |= {f"{prefix}vander{n}d": self._tables(n) for n in (2, 3)}
        if prefix == "poly":
            self._answers["polyvalfromroots"] = value_from_roots

    def _of_several(self, answer: Callable[..., Any], n: int) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Value:
            named = dict(zip((*"xyz"[:n], "c"), args, strict=False)) | kwargs
            return answer(self._rule, named["c"], *[named[letter] for letter in "xyz"[:n]])

        return call

    def _tables(self, n: int) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Value:
            named = dict(zip((*"xyz"[:n], "deg"), args, strict=False)) | kwargs
            return series.tables(self._rule, named["deg"], *[named[letter] for letter in "xyz"[:n]])

        return call

    def _answer(self, name: str, numpys: Any) -> Callable[..., Any] | None:
        """Our function for traced values; those that need a matrix of NumPy's are made when first asked for."""
        if name in self._answers:
            return self._answers[name]
        module, prefix = getattr(_numpy.polynomial, self._name), self._prefix
        if name == f"{prefix}der":
            return functools.partial(series.derivative, numpys)
        if name == f"{prefix}int":
            return functools.partial(series.integral, self._rule, numpys)
        if name in (f"{prefix}companion", f"{prefix}roots"):
            of = series.companion if name.endswith("companion") else series.roots
            return functools.partial(of, getattr(module, f"{prefix}companion"))
        if name in (f"poly2{prefix}", f"{prefix}2poly"):
            return functools.partial(converted, numpys)
        return None

    def __getattr__(self, name: str) -> Any:
        numpys = getattr(getattr(_numpy.polynomial, self._name), name)
        if name == _CLASSES[self._name]:
            return self.made
        answer = self._answer(name, numpys)
        if answer is None:
            return numpys

        @functools.wraps(numpys)
        def call(*args: Any, **kwargs: Any) -> Any:
            traced = any(map(is_traced, (*args, *kwargs.values())))
            return (answer if traced else numpys)(*args, **kwargs)

        setattr(self, name, call)
        return call

    def __dir__(self) -> list[str]:
        return dir(getattr(_numpy.polynomial, self._name))

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


def converted(numpys: Callable[..., Any], c: Any) -> Value:
    """The same polynomial in other terms: a matrix, whose columns are those of the unit vectors."""
    c = series.coefficients(c)
    n = c.shape[0]
    columns = [numpys([*_numpy.zeros(k), 1.0]) for k in range(n)]
    matrix = _numpy.stack([_numpy.pad(column, (0, n - len(column))) for column in columns], axis=1)
    return series.linear(matrix, c, 0)


def value_from_roots(x: Any, r: Any, tensor: bool = True) -> Value:
    """Π (x - rᵢ)."""
    x, r = series.point(x), series.coefficients(r)
    r = _numpy.reshape(r, r.shape + (1,) * _numpy.ndim(x)) if tensor else r
    return _numpy.prod(x - r, axis=0)


def _number(value: float) -> Callable[[Any], Any]:
    return lambda k: value


_CLASSES = {
    "polynomial": "Polynomial",
    "chebyshev": "Chebyshev",
    "legendre": "Legendre",
    "hermite": "Hermite",
    "hermite_e": "HermiteE",
    "laguerre": "Laguerre",
}
_FAMILIES = {
    "polynomial": ("poly", Recurrence(_number(1.0), _number(0.0), _number(0.0))),
    "chebyshev": (
        "cheb",
        Recurrence(lambda k: _numpy.where(_numpy.equal(k, 0), 1.0, 0.5), _number(0.0), _number(0.5)),
    ),
    "legendre": ("leg", Recurrence(lambda k: (k + 1) / (2 * k + 1), _number(0.0), lambda k: k / (2 * k + 1))),
    "hermite": ("herm", Recurrence(_number(0.5), _number(0.0), lambda k: k)),
    "hermite_e": ("herme", Recurrence(_number(1.0), _number(0.0), lambda k: k)),
    "laguerre": ("lag", Recurrence(lambda k: -(k + 1.0), lambda k: 2 * k + 1.0, lambda k: -1.0 * k)),
}
polynomial, chebyshev, legendre, hermite, hermite_e, laguerre = (
    Family(name, prefix, rule) for name, (prefix, rule) in _FAMILIES.items()
)
sys.modules |= {family.__name__: family for family in (polynomial, chebyshev, legendre, hermite, hermite_e, laguerre)}


def __getattr__(name: str) -> Any:
    for module, made in _CLASSES.items():
        if name == made:
            return globals()[module].made
    return getattr(_numpy.polynomial, name)


def __dir__() -> list[str]:
    return sorted({*_numpy.polynomial.__all__, *globals()})
