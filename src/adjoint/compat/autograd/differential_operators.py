"""Gradients, Jacobians, Hessians, and products with them, of argument number `argnum`.

Gradients of real functions of complex variables are ∂f/∂x - i ∂f/∂y here: the conjugate of what `adjoint.grad` gives.
"""

# pyright: basic

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.checkpoint import checkpoint as ad_checkpoint
from adjoint.api.gradients import grad as ad_grad
from adjoint.api.gradients import linearize, vmap
from adjoint.api.gradients import value_and_grad as ad_value_and_grad
from adjoint.api.jacobians import jacobian as ad_jacobian
from adjoint.compat.autograd.core import floating
from adjoint.compat.autograd.core import make_jvp as _make_jvp
from adjoint.compat.autograd.core import make_vjp as _make_vjp
from adjoint.compat.autograd.extend import conjugated
from adjoint.compat.autograd.vspaces import vspace
from adjoint.compat.autograd.wrap_util import Argnum, checked, unary_to_nary, wrap_nary_f

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

Function = Callable[..., Any]

make_vjp = unary_to_nary(_make_vjp)
make_jvp = unary_to_nary(_make_jvp)


def _one_number(fun: Function, name: str) -> Function:
    """(the value as a scalar, the value as it is): arrays with one element are numbers too."""

    @functools.wraps(fun)
    def scalar(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        y = fun(*args, **kwargs)
        if np.size(y) != 1 or np.iscomplexobj(y):
            raise TypeError(
                f"{name} is for functions whose value is one real number; this one is {vspace(y)!r}. Use jacobian or "
                "elementwise_grad for arrays, holomorphic_grad for complex functions."
            )
        return (y if np.ndim(y) == 0 else np.reshape(y, ())), y

    return scalar


def _with_floats(args: tuple[Any, ...], argnum: int | tuple[int, ...]) -> list[Any]:
    """The arguments, with integers in the places of those to differentiate made floats."""
    chosen = (argnum,) if isinstance(argnum, int) else argnum
    positions = {i % len(args) for i in chosen} if args else ()
    return [floating(a) if i in positions else a for i, a in enumerate(args)]


def _plain(g: Any) -> Any:
    """A gradient in autograd's convention: the conjugate, where it is complex."""
    return g if isinstance(g, np.ndarray | np.floating) and g.dtype.kind == "f" else conjugated(g)


def grad(fun: Function, argnum: Argnum = 0) -> Function:
    """The gradient of a function whose value is one number; several argnums give a tuple."""
    chosen = checked(argnum)
    gradient = ad_grad(_one_number(fun, "grad"), chosen, has_aux=True)

    @wrap_nary_f(fun, grad, chosen)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _plain(gradient(*_with_floats(args, chosen), **kwargs)[0])

    return call


def value_and_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """(value, gradient): what scipy.optimize calls jac=True."""
    chosen = checked(argnum)
    both = ad_value_and_grad(_one_number(fun, "value_and_grad"), chosen, has_aux=True)

    @wrap_nary_f(fun, value_and_grad, chosen)
    def call(*args: Any, **kwargs: Any) -> Any:
        (_, y), g = both(*_with_floats(args, chosen), **kwargs)
        return y, _plain(g)

    return call


def elementwise_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Sums of the Jacobian's columns, in one pass: of a function of each element by itself, its derivatives."""
    chosen = checked(argnum)

    @functools.wraps(fun)
    def total(*args: Any, **kwargs: Any) -> Any:
        leaves = tree.leaves(fun(*args, **kwargs))
        if any(map(np.iscomplexobj, leaves)):
            raise TypeError("elementwise_grad is for real functions; this one is complex. Use holomorphic_grad.")
        return sum(np.sum(leaf) for leaf in leaves)

    gradient = ad_grad(total, chosen)

    @wrap_nary_f(fun, elementwise_grad, chosen)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _plain(gradient(*_with_floats(args, chosen), **kwargs))

    return call


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """The derivative along ones, by forward mode."""
    return _make_jvp(fun, x)(vspace(floating(x)).ones())[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """The Jacobian, of shape output.shape + input.shape."""
    x = floating(x)
    if not any(map(np.iscomplexobj, tree.leaves(x))):
        return ad_jacobian(fun)(x)
    pull, y = _make_vjp(fun, x)
    if np.iscomplexobj(y):
        raise TypeError(
            "jacobian of a complex function of complex variables: use adjoint.jacobian(f, holomorphic=True) where f is "
            "holomorphic, make_jvp or make_vjp elsewhere."
        )
    n = np.size(y)
    rows = vmap(lambda u: pull(np.reshape(u, np.shape(y))))(np.eye(n, dtype=np.result_type(y)))
    return np.reshape(rows, np.shape(y) + np.shape(x))


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """The Jacobian of the Jacobian."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """f'(z) of a holomorphic function."""
    if not any(map(np.iscomplexobj, tree.leaves(x))):
        warnings.warn("holomorphic_grad: the argument is not complex.", stacklevel=3)
    return grad(lambda z: np.real(fun(z)))(x)


def grad_named(fun: Function, argname: str) -> Function:
    """The gradient in the argument of this name."""
    names = list(inspect.signature(fun).parameters)
    if argname not in names:
        raise ValueError(f"grad_named: {fun.__name__} has no argument {argname!r}; it has {', '.join(names)}.")
    return grad(fun, names.index(argname))


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> Any:
    """(v ↦ H v, the gradient) at a point."""
    return _make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """The Hessian times a tensor: called with (*args, tensor)."""
    gradient = grad(fun, argnum)

    def along(*args: Any, **kwargs: Any) -> Any:
        *given, vector = args
        return np.tensordot(gradient(*given, **kwargs), vector, np.ndim(vector))

    return grad(along, argnum)


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """A tensor times the Jacobian: called with (*args, tensor)."""

    def along(*args: Any, **kwargs: Any) -> Any:
        *given, vector = args
        return np.tensordot(vector, fun(*given, **kwargs), axes=np.ndim(vector))

    return jacobian(along, argnum)


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """v ↦ J v at a point, from one recorded run."""
    return linearize(fun, floating(x))[1]


def _half_square(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: Argnum = 0) -> Function:
    """v ↦ Jᵀ H J v at a point, with J the Jacobian of f and H the Hessian of g at f(x): Gauss and Newton's product."""

    @unary_to_nary
    def products(f: Function, x: Any) -> Function:
        x = floating(x)
        pull, y = _make_vjp(f, x)
        _, push = linearize(f, x)
        curve, _ = _make_vjp(grad(g), y)
        return lambda v: pull(curve(push(v)))

    return products(f, f_argnum)


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> Any:
    """(gradient, aux) of a function that returns (value, aux)."""
    g, aux = ad_grad(lambda x: tuple(fun(x)), has_aux=True)(floating(x))
    return _plain(g), aux


def multigrad_dict(fun: Function) -> Function:
    """Gradients in all arguments at once, by their names."""
    signature = inspect.signature(fun)
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}

    def by_name(named: dict[str, Any]) -> Any:
        positional: list[Any] = []
        by_keyword: dict[str, Any] = {}
        for name, kind in kinds.items():
            if kind is inspect.Parameter.VAR_POSITIONAL:
                positional += named[name]
            elif kind is inspect.Parameter.VAR_KEYWORD:
                by_keyword |= named[name]
            elif kind is inspect.Parameter.KEYWORD_ONLY:
                by_keyword[name] = named[name]
            else:
                positional.append(named[name])
        return fun(*positional, **by_keyword)

    @functools.wraps(fun)
    def gradients(*args: Any, **kwargs: Any) -> OrderedDict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        found = grad(by_name)(dict(bound.arguments))
        return OrderedDict((name, found[name]) for name in bound.arguments)

    return gradients


def checkpoint(fun: Function) -> Function:
    """The same function, run again in the backward pass instead of keeping what it computed."""
    return ad_checkpoint(fun)
