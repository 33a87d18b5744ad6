"""Methods by name."""

from __future__ import annotations

import dataclasses
from typing import Any

from adjoint.base.suggestions import did_you_mean
from adjoint.integrate.adams import adams_names, named_adams
from adjoint.integrate.bdf import BDF
from adjoint.integrate.diagonal import diagonal_names, named_diagonal
from adjoint.integrate.explicit import explicit_names, named_explicit
from adjoint.integrate.radau import Radau
from adjoint.integrate.rosenbrock import named_rosenbrock, rosenbrock_names
from adjoint.integrate.structure import named_structure, structure_names
from adjoint.integrate.switching import named_switching
from adjoint.integrate.taylor import named_taylor

__all__ = ["choose", "methods"]

_ALIASES = {
    "dormand-prince": "dopri5",
    "dp5": "dopri5",
    "rk45": "dopri5",
    "rk23": "bosh3",
    "lsoda": "auto",
    "bogacki-shampine": "bosh3",
    "tsitouras": "tsit5",
    "radau5": "radau",
    "3/8": "three-eighths",
    "vern6": "verner6",
    "vern7": "verner7",
    "vern8": "verner8",
    "vern9": "verner9",
}


def methods() -> list[str]:
    """The names of all methods.

    ```python
    "tsit5" in ad.integrate.methods()  # → True
    ```
    """
    return ["auto", *explicit_names(), *rosenbrock_names(), *diagonal_names(), "radau", "bdf", *structure_names(),
            *adams_names(), "taylor"]  # fmt: skip


def choose(name: str, **changes: Any) -> Any:
    """A method by its name, with other settings.

    ```python
    ad.integrate.choose("dopri5").order  # → 5
    ```
    """
    key = name.lower().replace("_", "-")
    key = _ALIASES.get(key, key)
    found = named_switching() if key == "auto" else _named(key)
    if found is None:
        near = did_you_mean(name, methods())
        raise ValueError(f"integrate: there is no method {name!r}. {near} Methods: {', '.join(methods())}.")
    return dataclasses.replace(found, **changes) if changes else found


def _named(key: str) -> Any:
    if key in ("bdf", "radau"):
        return BDF() if key == "bdf" else Radau()
    found = named_explicit(key) or named_rosenbrock(key) or named_diagonal(key) or named_structure(key)
    return found or named_adams(key) or named_taylor(key)


def choose_method(method: Any, is_large: bool = False, has_mass: bool = False) -> Any:
    """The method that an argument names or is; `auto` is another one for many equations and with a mass matrix."""
    if isinstance(method, str):
        if method.lower() == "auto" and has_mass:  # no explicit method solves M y′ = f
            return choose("bdf" if is_large else "rodas5p")
        return named_switching(True) if is_large and method.lower() == "auto" else choose(method)
    if not hasattr(method, "step"):
        raise TypeError(f"integrate: method is a {type(method).__name__}; give a name or a method object.")
    return method
