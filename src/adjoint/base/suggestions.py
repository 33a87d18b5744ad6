"""`Did you mean …?` for a name that is not known, and how a function is called."""

import re
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["closest", "did_you_mean", "explain_call"]

_UNKNOWN = r"got an unexpected keyword argument '(\w+)'"
# what SciPy, JAX and others call it
_SPELLED_ELSEWHERE = {
    "jac": "grad", "fun": "f", "maxiter": "max_iterations", "max_iter": "max_iterations", "max_steps": "max_iterations",
    "maxfev": "max_evaluations", "max_nfev": "max_evaluations", "maxfun": "max_evaluations",
    "constraints": "subject_to", "constraint": "subject_to", "xtol": "tol", "ftol": "tol", "gtol": "tol", "rtol": "tol",
    "atol": "tol", "tolerance": "tol", "x_scale": "scale", "init": "x0", "initial": "x0", "guess": "x0",
    "disp": "progress", "verbose": "progress", "solver": "method", "jac_sparsity": "sparsity", "f_scale": "loss",
}  # fmt: skip
_OF_EQUATIONS = {
    "t_eval": "save", "saveat": "save", "t_span": "span", "dense_output": "dense", "dt0": "first_step",
    "epsabs": "atol", "epsrel": "rtol", "limit": "max_intervals", "jac": "jacobian", "jac_sparsity": "jacobian",
    "mass_matrix": "mass", "event": "events", "stepsize_controller": "rtol", "max_nfev": "max_steps",
}  # fmt: skip
_TAKES_REST = 4  # CO_VARARGS


def closest(name: str, known: Iterable[str]) -> str | None:
    """The nearest of the known names, whatever their case; None when none is near."""
    import difflib  # needs its time to load, and is needed for errors alone

    lower = {word.lower(): word for word in reversed(list(dict.fromkeys(known)))}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.65)
    return lower[near[0]] if near else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`Did you mean …?` with the nearest of the known names; nothing when none is near."""
    near = closest(name, known)
    return f"Did you mean {near}?" if near is not None else ""


def explain_call(function: Callable[..., Any], problem: TypeError) -> str | None:
    """Python's words about a call whose arguments do not fit, and how the function is called.

    None when the error is about something else.
    """
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__  # type: ignore[attr-defined]
    message, code = str(problem), getattr(function, "__code__", None)
    if code is None or not message.startswith(f"{function.__qualname__}() ") or "argument" not in message:
        return None
    if message.endswith("."):  # this function has been here before
        return None
    last = code.co_argcount + code.co_kwonlyargcount
    positional, keywords = code.co_varnames[: code.co_argcount], code.co_varnames[code.co_argcount : last]
    needed = len(positional) - len(function.__defaults__ or ())
    words = [*positional[:needed], *(f"{name}=…" for name in positional[needed:])]
    words += [f"*{code.co_varnames[last]}"] if code.co_flags & _TAKES_REST else ["*"] if keywords else []
    words += [f"{name}=…" for name in keywords]
    title = function.__name__
    if positional[:1] == ("cls",):  # a method of a class, which nobody hands over
        title, words = ".".join(function.__qualname__.split(".")[-2:]), words[1:]
    elif title == "__init__":
        title, words = function.__qualname__.split(".")[-2], words[1:]
    unknown = re.search(_UNKNOWN, message)
    near = _suggest(unknown[1], (*positional, *keywords), bool(code.co_flags & _TAKES_REST)) if unknown else ""
    return f"{message}. {near}{near and ' '}It is called as {title}({', '.join(words)})."


def _suggest(name: str, known: tuple[str, ...], takes_rest: bool) -> str:
    """The argument that is called so elsewhere, or the nearest name."""
    if name == "args" and takes_rest:
        return "Arguments of the function are written one after another, behind the others without names."
    for spelled in (_SPELLED_ELSEWHERE, _OF_EQUATIONS):
        if spelled.get(name) in known:
            return f"Here it is {spelled[name]}=."
    if name == "options" and "max_iterations" in known:
        return "Options are arguments of their own, or of a method that is given as an object."
    return did_you_mean(name, known)
