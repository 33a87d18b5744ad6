"""`adjoint explain`: what a function and its derivative do, step by step."""

from __future__ import annotations

import argparse
import functools
import json
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import AdjointError
from adjoint.command.failures import CommandError, Exit, said_of
from adjoint.command.printing import console, is_terminal, warn
from adjoint.command.targets import Target, target
from adjoint.show import explain

HELP = """
Show every step of a function with its value, and of its derivative, at given values of the variables.

  adjoint explain "sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2))" x=1.0
  adjoint explain "c = x**2 + exp(x**2); sqrt(c) + cos(c)" x=1.0 --mode forward
  adjoint explain "sum((A @ x - 1)**2)" "A=[[1, 2], [3, 4]]" "x=[0.5, -1]" --html page.html --open
  adjoint explain model:loss --args weights.npz --latex

Expressions know the functions of numpy, numpy.linalg and scipy.special by name (sqrt or np.sqrt, linalg.norm, expit),
pi, e, inf, nan, lists for vectors and matrices, and indices. They are parsed, not evaluated. A named function
(module:function, file.py:function) is imported, so that its file runs; numbers written without a point are whole
numbers for it.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `adjoint explain`."""
    parser.add_argument("target", help="an expression, module:function, or file.py:function")
    parser.add_argument("values", nargs="*", metavar="name=value", help="values: 1.0, pi/2, [1, 2, 3], ones(3) ...")
    parser.add_argument("--args", metavar="FILE", help="values from a file that np.savez wrote, by name")
    parser.add_argument("--mode", choices=["reverse", "forward", "second"], default="reverse", help="default: reverse")
    parser.add_argument(
        "--detail",
        choices=["primitives", "statements"],
        default="primitives",
        help="one row for each; default: primitives",
    )
    parser.add_argument("--html", metavar="FILE", help="write a page that works in a browser without a network")
    parser.add_argument("--svg", metavar="FILE", help="write the graph as a picture")
    parser.add_argument("--latex", action="store_true", help="print the chain rule's derivation as LaTeX")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def run(options: argparse.Namespace) -> Exit:
    """Explain, and write what was asked for."""
    if options.latex and options.json:
        raise CommandError("--latex and --json both print; choose one of them.")
    for path in filter(None, (options.html, options.svg)):
        if not Path(path).resolve().parent.is_dir():
            raise CommandError(f"There is no folder {Path(path).parent} for {path}.")
    chosen = target(options.target, options.values, options.args)
    for note in chosen.notes:
        warn("explain", f"note: {note}")
    if not any(np.asarray(leaf).dtype.kind in "fc" for leaf in tree.leaves((chosen.args, chosen.kwargs))):
        raise CommandError(f"None of the arguments of {chosen.title} is a float; write x=1.0 for x=1.")
    trouble: Any = None
    if chosen.expression is not None:  # parts are checked before they grow
        value, trouble = chosen.value()
        check_result(chosen, value, options.mode)
    raised: list[BaseException] = []
    try:
        with np.errstate(all="ignore"):
            function = once(chosen, options.mode, raised)
            explaining = explain(function, mode=options.mode, detail=options.detail)
            explanation = explaining(*chosen.args, **chosen.kwargs)
            write(explanation, options)
            trouble = trouble or next(iter(explanation.nonfinite), None)
    except (BrokenPipeError, CommandError):
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, OSError) and not raised:
            said = f"{error.filename or 'The output'} cannot be written: {error.strerror or error}."
            raise CommandError(said) from error
        own = raised and not isinstance(error, AdjointError)
        raise CommandError(said_of(error, f"{chosen.title} {'raised' if own else 'cannot be explained:'} ")) from error
    if trouble is None:
        return Exit.WELL
    warn("explain", f"{trouble}.")
    return Exit.NO


def once(chosen: Target, mode: str, raised: list[BaseException]) -> Callable[..., Any]:
    """The function, whose result is looked at when it is explained, so that it need not run before.

    Into `raised` goes what it raises.
    """

    @functools.wraps(chosen.function)
    def function(*args: Any, **kwargs: Any) -> Any:
        raised.clear()
        try:
            value = chosen.function(*args, **kwargs)
        except BaseException as error:
            raised.append(error)
            raise
        check_result(chosen, value, mode)
        return value

    function.__name__ = getattr(chosen.function, "__name__", type(chosen.function).__name__)
    return function


def check_result(chosen: Target, value: Any, mode: str) -> None:
    """Adjoints are those of one real number."""
    leaves = tree.leaves(value)
    if not leaves:
        raise CommandError(f"{chosen.title} gives nothing; it should return a number.")
    for leaf in leaves:
        kind = np.dtype(leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype).kind
        if kind not in "fc":
            what = {"b": "true or false", "i": "integers", "u": "integers"}.get(kind, type(leaf).__name__)
            raise CommandError(f"{chosen.title} gives {what}, which have no derivative; it should give floats.")
    if mode == "forward":
        return
    if len(leaves) > 1:
        raise CommandError(
            f"{chosen.title} gives {len(leaves)} results, and adjoints are those of one number; "
            "take one of them, or --mode forward."
        )
    if np.size(leaves[0]) != 1:
        raise CommandError(
            f"{chosen.title} gives an array of shape {np.shape(leaves[0])}, and adjoints are those of one number; "
            "write sum(...) around it, or --mode forward."
        )


def write(explanation: Any, options: argparse.Namespace) -> None:
    """To the screen, and to the files that were named."""
    html = options.html
    if options.open and not html:
        html = "explanation.html"
    if options.json:
        text = explanation.json()
        print(text if isinstance(text, str) else json.dumps(text))
    elif options.latex:
        print(explanation.latex())
    elif not (html or options.svg):
        if is_terminal():
            console().print(explanation)
        else:
            print(explanation)
    if options.svg:
        explanation.svg(options.svg)
        warn("explain", f"wrote {options.svg}")
    if html:
        explanation.html(html)
        warn("explain", f"wrote {html}")
    if options.open and not webbrowser.open(Path(html).resolve().as_uri()):
        raise CommandError(f"No browser could be started; open {html} yourself.")
