"""Settings: one object, `config`, whose fields are set by name, by environment variable, or for a block of code.

config.progress = False                       for the whole process
ADJOINT_PROGRESS=0 python fit.py              for one run
with config.override(progress=False): ...     for one block, in this thread (or asyncio task) alone
"""

import os
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar, cast, final, overload

__all__ = ["Config", "Setting", "config"]

T = TypeVar("T")

# Values for the current context alone, by the name of the setting.
_overrides: ContextVar[dict[str, object] | None] = ContextVar("adjoint_config", default=None)


def _truth(text: str) -> bool:
    word = text.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"0", "false", "no", "off"}:
        return False
    raise ValueError(word)


def _cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _truth_or_auto(text: str) -> bool | None:
    return None if text.strip().lower() in {"", "auto", "none"} else _truth(text)


class Setting(Generic[T]):
    """One field of `config`: its default, the classes of its values, how text becomes a value, what it means."""

    def __init__(self, default: T, allowed: tuple[type, ...], read: Callable[[str], T], meaning: str) -> None:
        self.default = default
        self.allowed = allowed
        self.read = read
        self.meaning = meaning
        self.__doc__ = meaning

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.variable = f"ADJOINT_{name.upper()}"

    @overload
    def __get__(self, instance: None, owner: type) -> "Setting[T]": ...
    @overload
    def __get__(self, instance: "Config", owner: type) -> T: ...
    def __get__(self, instance: "Config | None", owner: type) -> "T | Setting[T]":
        if instance is None:
            return self
        overrides = _overrides.get()
        if overrides is not None and self.name in overrides:
            return cast(T, overrides[self.name])
        values = vars(instance)
        if self.name not in values:
            values[self.name] = self.from_environment()
        return cast(T, values[self.name])

    def __set__(self, instance: "Config", value: T) -> None:
        vars(instance)[self.name] = self.checked(value)

    def checked(self, value: object) -> T:
        """The value, if the setting can take it."""
        if not isinstance(value, self.allowed):
            raise TypeError(f"config.{self.name} cannot be {value!r}. {self.meaning}")
        return cast(T, value)

    def override(self, value: object) -> None:
        """A block begins or ends in which the current thread has another value (None: that of the process)."""

    def from_environment(self) -> T:
        """The value of the environment variable; the default when there is none, or none that can be read."""
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        try:
            return self.read(text)
        except ValueError:
            # A warning: settings are read while errors are shown, and must not put another error in their place.
            warnings.warn(f"{self.variable}={text!r} is not understood and is ignored. {self.meaning}", stacklevel=3)
            return self.default


@final
class ThreadCount(Setting[int]):
    """How many threads compiled code runs on: machine code reads it from memory, where every change is noted."""

    def __init__(self, meaning: str) -> None:
        super().__init__(0, (int,), int, meaning)
        self._watchers: list[Callable[..., None]] = []

    def watch(self, note: Callable[..., None]) -> None:
        """Call this with every new value, `own=True` when it is for the current thread alone."""
        self._watchers.append(note)

    def checked(self, value: object) -> int:
        if isinstance(value, bool) or super().checked(value) < 1:
            raise ValueError(f"config.{self.name} cannot be {value!r}. {self.meaning}")
        return cast(int, value)

    def from_environment(self) -> int:
        count = super().from_environment()
        if count < 0:
            warnings.warn(f"{self.variable}={count} is not understood and is ignored. {self.meaning}", stacklevel=3)
        return count if count > 0 else _cores()

    def __set__(self, instance: "Config", value: int) -> None:
        super().__set__(instance, value)
        for note in self._watchers:
            note(value, own=False)

    def process_value(self, instance: "Config") -> int:
        """The value outside of `override`."""
        token = _overrides.set(None)
        try:
            return self.__get__(instance, Config)
        finally:
            _overrides.reset(token)

    def override(self, value: object) -> None:
        """A block begins (or ends, with what was said around it) in which this thread has another value."""
        for note in self._watchers:
            note(value, own=True)


@final
class Config:
    """The settings of the library, by name: print it to see them all.

    Each can be set by an environment variable as well (`ADJOINT_THREADS=2`), and for a block of code.

    ```python
    with ad.config.override(threads=1):
        threads = ad.config.threads
    threads  # → 1
    ```
    """

    full_traceback = Setting[bool](
        False, (bool,), _truth, "Whether tracebacks show the library's own frames: True or False (1 or 0)."
    )
    progress = Setting["bool | None"](
        None,
        (bool, type(None)),
        _truth_or_auto,
        "Progress of loops: None (auto: a bar in a terminal, a few lines elsewhere), True (a bar), False (nothing).",
    )

    reports = Setting[bool](
        False,
        (bool,),
        _truth,
        "Whether solvers and other long work inside the library show their progress without being asked: True or False "
        "(1 or 0).",
    )

    specializations = Setting[int](
        16,
        (int,),
        int,
        "How many ways through a function jit compiles for one kind of arguments; others run as plain Python.",
    )
    cache = Setting[bool](
        True, (bool,), _truth, "Whether machine code is kept on disk between runs: True or False (1 or 0)."
    )
    cache_dir = Setting["str | None"](
        None, (str, type(None)), str, "The folder of machine code kept on disk; None: the user's folder for caches."
    )
    cache_size = Setting[int](
        512, (int,), int, "How much machine code is kept on disk, in megabytes; what was not used longest goes first."
    )

    threads = ThreadCount(
        "How many threads large compiled programs run on: a number from 1 on; the cores there are unless it is set."
    )

    convert = Setting(
        True, (bool,), _truth, "Whether functions are converted from their source where NumPy cannot hand values over."
    )
    convert_packages = Setting(
        (), (tuple,), lambda text: tuple(text.split(",")), "Installed packages whose functions are converted, too."
    )

    def __setattr__(self, name: str, value: object) -> None:
        self.setting(name)
        object.__setattr__(self, name, value)

    @classmethod
    def settings(cls) -> dict[str, Setting[object]]:
        """All settings by name."""
        return {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}

    @classmethod
    def setting(cls, name: str) -> Setting[object]:
        """The setting of this name, or an error that lists the names there are."""
        known = cls.settings()
        if name not in known:
            raise AttributeError(f"config has no setting {name!r}; it has {', '.join(known)}.")
        return known[name]

    @contextmanager
    def override(self, **values: object) -> Generator[None]:
        """Change settings inside a `with` block, for the current thread or task only."""
        checked = {name: self.setting(name).checked(value) for name, value in values.items()}
        around = _overrides.get() or {}
        token = _overrides.set({**around, **checked})
        for name in checked:
            self.setting(name).override(checked[name])
        try:
            yield
        finally:
            _overrides.reset(token)
            for name in checked:
                self.setting(name).override(around.get(name))

    def reset(self) -> None:
        """Forget what was assigned; environment variables are read anew."""
        vars(self).clear()
        thread_count.__set__(self, thread_count.process_value(self))

    def __repr__(self) -> str:
        rows = [
            f"  {name} = {getattr(self, name)!r}  [{setting.variable}]  {setting.meaning}"
            for name, setting in self.settings().items()
        ]
        return "\n".join(["config", *rows])


config = Config()
thread_count = cast(ThreadCount, vars(Config)["threads"])
