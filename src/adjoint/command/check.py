"""`adjoint check`: derivatives of a function against differences, mode by mode and order by order."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from adjoint.api.gradients import jvp, vjp
from adjoint.audit.kinks import Kink, kinks
from adjoint.command.failures import CommandError, Exit, said_of
from adjoint.command.printing import console, table, warn
from adjoint.command.targets import target
from adjoint.testing.checks import (
    Check,
    MismatchError,
    absolute_inner,
    check_types,
    check_value,
    compare_adjoint,
    compare_forward,
    compare_reverse,
    derive_check,
)
from adjoint.testing.flat import Differences, Leaves, flat_function
from adjoint.testing.vectors import epsilon, inner, random_direction

HELP = """
Check the derivatives of a function against differences of its values, in forward and in reverse mode, and the modes
against each other; for every order the derivatives of derivatives too.

  adjoint check model:loss --args weights.npz
  adjoint check model.py:loss "w=[0.5, -1]" steps=3
  adjoint check "sin(x) * exp(y)" x=1 y=2 --order 3

A named function is imported, so that its file runs; numbers written without a point are integers for it.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `adjoint check`."""
    parser.add_argument("target", help="module:function, file.py:function, or an expression")
    parser.add_argument("values", nargs="*", metavar="name=value", help="arguments: numbers, lists, ones(3) ...")
    parser.add_argument("--args", metavar="FILE", help="arguments from a file that np.savez wrote, by name")
    parser.add_argument("--order", type=int, default=2, help="the highest derivative (default: 2)")
    parser.add_argument("--mode", choices=["both", "forward", "reverse"], default="both", help="default: both")
    parser.add_argument("--rtol", type=float, help="relative tolerance (default: 1.5e-7 in double precision)")
    parser.add_argument("--seed", type=int, default=0, help="of the random directions (default: 0)")
    parser.add_argument("--json", action="store_true", help="the rows as JSON")


@dataclass(frozen=True)
class Row:
    """One comparison."""

    order: int
    of: str  # by which modes the function that is checked was derived from the user's
    compared: str
    error: float | None  # relative
    fault: str  # empty when all is well


def run(options: argparse.Namespace) -> Exit:
    """Compare, and tell."""
    if not 1 <= options.order <= 6:
        raise CommandError(f"--order is {options.order}; orders from 1 to 6 are checked.")
    chosen = target(options.target, options.values, options.args)
    for note in chosen.notes:
        warn("check", f"note: {note}")
    value, trouble = chosen.value()
    if trouble is not None:
        raise CommandError(f"{trouble}; derivatives are checked where the value is finite. Choose other values.")
    modes: tuple[Any, ...] = ("forward", "reverse") if options.mode == "both" else (options.mode,)
    function: Callable[..., Any] = partial(chosen.function, **chosen.kwargs) if chosen.kwargs else chosen.function
    try:
        flat = flat_function(function, chosen.args, "check")
        rtol = 10 * epsilon(flat.point) ** 0.5 if options.rtol is None else options.rtol
        whole = Check(flat, modes, rtol, 0.0, None, ())
        with np.errstate(all="ignore"):
            rows = list(compared(whole, options.order, np.random.default_rng(options.seed)))
            remarks = not_smooth(function, chosen.args)
    except CommandError:
        raise
    except Exception as error:
        raise CommandError(said_of(error, f"{chosen.title} cannot be differentiated: ")) from error
    failed = [row for row in rows if row.fault]
    if options.json:
        report = {
            "function": chosen.title,
            "passed": not failed,
            "rows": [asdict(row) for row in rows],
            "kinks": remarks,
        }
        print(json.dumps(report))
    else:
        tell(chosen.title, value, rows, remarks, rtol)
    return Exit.NO if failed else Exit.WELL


def compared(check: Check, order: int, rng: np.random.Generator) -> Iterator[Row]:
    """All comparisons of one function, then of its derivatives; a derivative that is wrong is not taken further."""
    flat, point = check.flat, check.flat.point
    y = flat.at(point)
    v, u = random_direction(point, rng), random_direction(y, rng)
    differences = Differences(flat, y, v, check.step)
    forward: Leaves = ()
    right = set(check.modes)
    if "forward" in check.modes:
        value, forward = jvp(flat.call, point, v)

        def look_forward() -> None:
            check_value(check, "forward", value, y)
            check_types(check.title("forward"), "tangent", forward, y, flat.outputs)
            compare_forward(check, forward, differences)

        row = check_row(check, "forward mode and differences", look_forward, forward_error(forward, differences))
        yield row
        right -= {"forward"} if row.fault else set()
    if "reverse" in check.modes:
        value, pullback = vjp(flat.call, *point)
        backward = pullback(u)

        def look_back() -> None:
            check_value(check, "reverse", value, y)
            check_types(check.title("reverse"), "cotangent", backward, point, flat.inputs)
            compare_reverse(check, backward, u, differences)

        row = check_row(check, "reverse mode and differences", look_back, reverse_error(backward, u, differences))
        yield row
        right -= {"reverse"} if row.fault else set()
        if forward and not row.fault:

            def look_at_both() -> None:
                compare_adjoint(check.title("reverse"), (u, forward), (backward, v), y, None)

            size = absolute_inner(u, forward) + absolute_inner(backward, v)
            gap = abs(inner(u, forward) - inner(backward, v)) / size if size else 0.0
            yield check_row(check, "forward and reverse mode", look_at_both, gap)
    if order > 1:
        for mode in check.modes:
            if mode in right:
                yield from compared(derive_check(check, mode, u, v), order - 1, rng)


def check_row(check: Check, names: str, look: Callable[[], None], error: float) -> Row:
    """One row: the verdict is check_grads' own."""
    fault = ""
    try:
        look()
    except MismatchError as mismatch:
        fault = str(mismatch)
    subject = "f" if not check.derived_by else f"∂f by {', then '.join(check.derived_by)}"
    return Row(len(check.derived_by) + 1, subject, names, error if np.isfinite(error) else None, fault)


_KINDS = {"kink": "has a kink", "jump": "jumps", "singular": "is singular"}


def not_smooth(function: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """The operations that sit at a kink, where differences may agree with a derivative that is only one of many."""
    return [
        f"{kink.primitive} {_KINDS[kink.kind]} here ({kink.line}): {_derivatives_at(kink)}"
        for kink in kinks(function)(*args)
    ]


def _derivatives_at(kink: Kink) -> str:
    """What is known of the derivatives of an operation where it is not smooth."""
    if kink.kind == "singular":
        return "its derivative is not finite"
    used = f"the derivative used is {', '.join(f'{one:g}' for one in kink.used)}"
    return f"{used}, though it has none" if kink.hull.startswith("none") else f"{used}; possible: {kink.hull}"


def forward_error(forward: Leaves, differences: Differences) -> float:
    """The largest difference, relative to the largest element, by the better of both kinds of differences."""
    errors = []
    for values, _ in differences.attempts():
        pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(forward, values, strict=True)]
        gap = max((float(np.max(np.abs(a - b), initial=0.0)) for a, b in pairs if a.shape == b.shape), default=0.0)
        size = max((float(np.max(np.abs(b), initial=0.0)) for _, b in pairs), default=0.0)
        errors.append(gap / size if size else gap)
    return min(errors)


def reverse_error(backward: Leaves, u: Leaves, differences: Differences) -> float:
    """The difference of both inner products, relative to the sum of the sizes of their terms."""
    errors = []
    for values, _ in differences.attempts():
        size = absolute_inner(backward, differences.v) + absolute_inner(u, values)
        gap = abs(inner(backward, differences.v) - inner(u, values))
        errors.append(gap / size if size else gap)
    return min(errors)


def tell(title: str, value: Any, rows: list[Row], remarks: list[str], rtol: float) -> None:
    """The table and the verdict."""
    out = console()
    printed = table(f"Derivatives of {_short(title)}", "order", "function", "compared", "relative error", "", left=3)
    for row in rows:
        error = "-" if row.error is None else f"{row.error:.1e}"
        printed.add_row(
            str(row.order), row.of, row.compared, error, "[red]differs[/]" if row.fault else "[green]agrees[/]"
        )
    out.print(printed)
    failed = [row for row in rows if row.fault]
    for row in failed:
        out.print(f"  {row.fault.removeprefix('check_grads: ')}", markup=False, soft_wrap=True)
    for remark in remarks[:10]:
        out.print(f"  note: {remark}.", markup=False, soft_wrap=True)
    if failed:
        out.print(f"[red]{len(failed)} of {len(rows)} comparisons differ.[/]")
    else:
        shown = f"; the value is {value:.10g}" if np.ndim(value) == 0 and np.isrealobj(value) else ""
        out.print(f"[green]All {len(rows)} comparisons agree[/] to {rtol:.1e} and the doubt about differences{shown}.")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
