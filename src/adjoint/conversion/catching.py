"""What may catch what is raised: the body of a try, and of a with whose manager may swallow errors."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

from adjoint.conversion.calls import call
from adjoint.conversion.special_methods import is_written_in_python

_trying: ContextVar[bool] = ContextVar("adjoint_trying", default=False)


@contextmanager
def trying() -> Generator[None]:
    """The body of a try: what is raised inside may be caught, so it cannot be left to the program."""
    token = _trying.set(True)
    try:
        yield
    finally:
        _trying.reset(token)


def is_trying() -> bool:
    """Whether what is raised now may be caught."""
    return _trying.get()


class Managed:
    """A context manager of the user's, whose methods are converted, or one of contextlib."""

    def __init__(self, manager: Any) -> None:
        self.manager, self.body = manager, trying()

    def __enter__(self) -> Any:
        entered = call(self.manager.__enter__)()
        self.body.__enter__()
        return entered

    def __exit__(self, *problem: Any) -> Any:
        self.body.__exit__(None, None, None)
        return call(self.manager.__exit__)(*problem)


def managed(manager: Any) -> Any:
    """What a with statement enters; all but these let errors pass."""
    is_own = is_written_in_python(manager, "__enter__") or AbstractContextManager in type(manager).__mro__
    return Managed(manager) if is_own else manager
