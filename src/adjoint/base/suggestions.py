"""`Did you mean …?` for a name that is not known."""

import difflib
from collections.abc import Iterable

__all__ = ["closest", "did_you_mean"]


def closest(name: str, known: Iterable[str]) -> str | None:
    """The nearest of the known names, whatever their case; None when none is near."""
    lower = {word.lower(): word for word in reversed(list(dict.fromkeys(known)))}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.65)
    return lower[near[0]] if near else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`Did you mean …?` with the nearest of the known names; nothing when none is near."""
    near = closest(name, known)
    return f"Did you mean {near}?" if near is not None else ""
