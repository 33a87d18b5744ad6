"""What an operation is done for: the user's line and scope, also while a program or a record is read again."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import NamedTuple

from adjoint.base.scopes import current_scope
from adjoint.base.source import Location, here

__all__ = ["Origin", "at", "origin", "pin", "pinned", "unpin"]


class Origin(NamedTuple):
    """The line and scope that asked for an operation; in the backward pass, also the name of what is pulled through."""

    location: Location | str | None
    scope: tuple[str, ...]
    pulled: str | None = None


_pinned: ContextVar[Origin | None] = ContextVar("adjoint_origin", default=None)


def origin() -> Origin:
    """The origin that is pinned, else the line of user code that is running now."""
    pinned = _pinned.get()
    return Origin(here(), current_scope()) if pinned is None else pinned


def pinned() -> Origin | None:
    """What everything is done for now; None: the line of user code that is running."""
    return _pinned.get()


def pin(origin: Origin | None) -> Token[Origin | None]:
    """From now on everything is done for `origin`, until `unpin`; what `at` does, for inner loops."""
    return _pinned.set(origin)


def unpin(token: Token[Origin | None]) -> None:
    """Go back to before `pin`."""
    _pinned.reset(token)


@contextmanager
def at(origin: Origin) -> Generator[None]:
    """What is done inside is done for `origin`."""
    token = _pinned.set(origin)
    try:
        yield
    finally:
        _pinned.reset(token)
