"""Refuse a function that the table of coverage refuses, in its words."""

from typing import NoReturn

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import describe, here
from adjoint.coverage import CONSTANT, REFUSED, SIZES, Row

GENERAL = "Write it with functions that have one, or give it a rule: @ad.custom_rule(jvp=…, vjp=…)."


def refuse(title: str, row: Row | None) -> NoReturn:
    """Raise for a function that was called with a traced value: with its row's reason and remedy, if it has any."""
    if row is not None and row.kind == REFUSED:
        raise UnsupportedError(f"{title} cannot take a traced value, at {describe(here())}: {row.words}")
    if row is not None and row.kind == CONSTANT and row.takes == SIZES:
        raise UnsupportedError(
            f"{title} was given a traced value, at {describe(here())}: its arguments are plain numbers, known before "
            "anything is computed. Take them from shapes or constants, or from stop_gradient(x) outside."
        )
    raise UnsupportedError(f"{title} has no derivative rule here, at {describe(here())}. {advice(row) or GENERAL}")


def advice(row: Row | None) -> str | None:
    """What to write instead of a function that asked a traced value for a plain one; None when nothing is known."""
    if row is not None and row.kind == REFUSED:
        return f"{sentence(row.reason)} {row.remedy}."
    return f"Use {row.offered}, which takes traced values." if row is not None and row.own else None


def sentence(text: str) -> str:
    """A reason as a sentence of its own; one that begins with a name (np.matrix) keeps it as it is written."""
    first = text.split(" ", 1)[0]
    return f"{text}." if "." in first or "(" in first else f"{text[:1].upper()}{text[1:]}."
