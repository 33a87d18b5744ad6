"""Random numbers drawn from NumPy or Python while a program is recorded would be frozen into it: the same in every run.

There is no hook for draws, but a draw moves a generator on. So the state of every generator that the function can
reach by name (the global ones of NumPy and of Python; those in its globals, closures, defaults, bound objects and
containers) is compared before and after. A generator that the function makes itself is its own affair.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NoReturn, cast

import numpy as np

from adjoint.base.errors import TraceError
from adjoint.base.source import describe, here

DEEPEST = 6  # how many steps of names, attributes and containers are followed
LIBRARIES = ("numpy", "scipy", "adjoint")
LARGEST = 64  # containers with more entries are not searched
FROZEN = (
    "it is traced once, so the numbers would be frozen and the same in every run. Use ad.random.default_rng(seed), and "
    "hand the generator in as an argument."
)


@contextmanager
def without_draws(function: Callable[..., Any], purpose: str, because: str = FROZEN) -> Generator[None]:
    """Raise if a generator of NumPy, or Python's `random`, was drawn from inside the block, which tells why."""
    python, known = _python_state(), "numpy.random" in sys.modules
    generators = Generators(function)
    yield
    now = _python_state()
    if now != python and (python is not None or now[1][-1] != _UNUSED):
        _refuse(purpose, "Python's module random", because)
    if not known and "numpy.random" in sys.modules and _drawn_from_since_seeded():
        _refuse(purpose, "NumPy's global generator", because)
    for generator in generators.drawn_from():
        whose = "global generator" if generator is _global_generator() else type(generator).__name__
        _refuse(purpose, f"NumPy's {whose}", because)


class Generators:
    """The generators of NumPy that a function reaches, and where they stand."""

    def __init__(self, function: Any) -> None:
        # before NumPy has loaded them, when they are first named, nothing can hold a generator
        self._all = _generators(function) if "numpy.random" in sys.modules else []
        self.note()

    def note(self) -> None:
        """They stand where they are now."""
        self._states = [_state(generator) for generator in self._all]

    def drawn_from(self) -> list[Any]:
        """Those that no longer stand there."""
        pairs = zip(self._all, self._states, strict=True)
        return [generator for generator, state in pairs if not _same(state, _state(generator))]

    def restore(self) -> None:
        """Let them stand there again."""
        for generator, state in zip(self._all, self._states, strict=True):
            if isinstance(generator, np.random.RandomState):
                generator.set_state(state)
            else:
                getattr(generator, "bit_generator", generator).state = state


_UNUSED = 624  # where a new generator of Python's stands in its block of numbers


def _python_state() -> Any:
    """The state of Python's own generator; None while nobody has loaded it."""
    return sys.modules["random"].getstate() if "random" in sys.modules else None


def _drawn_from_since_seeded() -> bool:
    """Whether NumPy's global generator has given a number: it no longer stands where a new one does in its block."""
    state, new = (g.get_state(legacy=False) for g in (_global_generator(), np.random.RandomState()))
    return state["state"]["pos"] != new["state"]["pos"] or bool(state["has_gauss"])


def _refuse(purpose: str, whose: str, because: str) -> NoReturn:
    others = threading.active_count() > 1
    meanwhile = " Should it have been another thread that drew meanwhile, call the function again." if others else ""
    raise TraceError(f"{purpose} drew from {whose}, at {describe(here())}: {because}{meanwhile}")


def _global_generator() -> Any:
    return np.random.mtrand._rand  # type: ignore[attr-defined]


def _state(generator: Any) -> Any:
    """A picture of a generator's state."""
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return getattr(generator, "bit_generator", generator).state


def _same(a: Any, b: Any) -> bool:
    if type(a) is dict:
        return all(_same(cast(Any, a)[key], b[key]) for key in cast(Any, a))
    return bool(np.array_equal(a, b))


def _generators(function: Any) -> list[Any]:
    """All generators of NumPy that a function reaches, each once."""
    generators: dict[int, Any] = {id(_global_generator()): _global_generator()}
    seen: set[int] = set()
    queue = [(function, 0)]
    while queue:
        value, depth = queue.pop()
        if id(value) in seen or depth > DEEPEST:
            continue
        seen.add(id(value))
        if isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
            generators[id(value)] = value
        else:
            queue += [(part, depth + 1) for part in _parts(value)]
    return list(generators.values())


def _parts(value: Any) -> list[Any]:
    """What a function, an object or a container refers to by name."""
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        if (value.__module__ or "").partition(".")[0] in LIBRARIES:  # it may wrap the user's function
            return cells
        names = _names(value.__code__)
        named = [value.__globals__[name] for name in names if name in value.__globals__]
        modules = [m for m in named if isinstance(m, ModuleType) and m.__name__.partition(".")[0] not in LIBRARIES]
        named += [vars(module)[name] for module in modules for name in names if name in vars(module)]
        return [*cells, *named, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if isinstance(value, MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    kind = cast(Any, type(value))
    if issubclass(kind, dict | list | tuple | set):
        entries: Any = value.values() if issubclass(kind, dict) else value
        return list(entries) if len(entries) <= LARGEST else []
    if issubclass(kind, type) or kind.__module__ in ("builtins", "numpy"):
        return []
    if kind.__module__.startswith("adjoint.program."):  # a program holds numbers, and what it was compiled to
        return []
    attributes = getattr(value, "__dict__", None)
    state = cast(Any, attributes if type(attributes) is dict else {})
    parts: list[Any] = list(state.values()) if len(state) <= LARGEST else []
    call: Any = kind.__dict__.get("__call__")
    return [*parts, call] if isinstance(call, FunctionType) else parts


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names(code: CodeType) -> list[str]:
    """Global names that a code object and the functions inside it mention."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return [*code.co_names, *inner]
