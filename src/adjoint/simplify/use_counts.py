"""How often each value is read: by equations that were written, by those that are still to be read, by outputs.

A rule that writes an operation otherwise gains only if what it took apart goes away, so it asks whether that is read
only once. Counts are kept up to date: an equation that nothing reads any more reads nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.program.program import Atom, Equation, Program, Var


class Readers:
    """Counts of readers, while a program is written anew."""

    def __init__(self, program: Program, defined: dict[Var, Equation]) -> None:
        self._defined = defined
        self._idle: set[Var] = set()  # results of equations that were written and that nothing reads any more
        self._refused: set[Var] = set()
        self._counts: dict[Var, int] = {}
        counts = self._counts
        for eq in program.equations:
            for a in eq.inputs:
                if isinstance(a, Var):
                    counts[a] = counts.get(a, 0) + 1
        for a in program.outputs:
            if isinstance(a, Var):
                counts[a] = counts.get(a, 0) + 1

    def take(self, atoms: Iterable[Atom]) -> None:
        """These are read once more."""
        waiting = [a for a in atoms if isinstance(a, Var)]
        counts = self._counts
        while waiting:
            v = waiting.pop()
            counts[v] = counts.get(v, 0) + 1
            if v in self._idle:
                self._idle.discard(v)
                waiting += [a for a in self._defined[v].inputs if isinstance(a, Var)]

    def release(self, atoms: Iterable[Atom]) -> None:
        """These are read once less."""
        waiting = [a for a in atoms if isinstance(a, Var)]
        counts = self._counts
        while waiting:
            v = waiting.pop()
            counts[v] -= 1
            if not counts[v] and v in self._defined and not self._defined[v].op.several:
                self._idle.add(v)
                waiting += [a for a in self._defined[v].inputs if isinstance(a, Var)]

    def move(self, old: Var, new: Atom) -> None:
        """What reads the one will read the other."""
        if isinstance(new, Var):
            readers = self._counts.pop(old, 0)
            if readers:
                self.take([new])
                self._counts[new] += readers - 1

    def once(self, atom: Atom) -> bool:
        """Whether an atom is read only once, so that it goes away when its reader is written otherwise."""
        if isinstance(atom, Var) and self._counts.get(atom, 0) > 1:
            self._refused.add(atom)
            return False
        return True

    def waits(self) -> bool:
        """Whether something that was read several times then is not any more: another pass may do more."""
        return any(self._counts.get(v, 0) <= 1 for v in self._refused)
