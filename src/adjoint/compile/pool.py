"""The pool of threads of this process: its state in memory, how many threads there are, and what a fork leaves of it.

The code is in `pool_code`; it is compiled once, and starts threads when the first region runs that wants them. No
thread of the pool ever runs Python. `config.threads` is for the process, `config.override(threads=…)` for the thread
that says so; both are read by machine code.
"""

# pyright: basic

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from adjoint.base.config import config, thread_count
from adjoint.base.forking import free_in_child
from adjoint.base.loading import deferred
from adjoint.compile import pool_state
from adjoint.compile.blas import thread_functions
from adjoint.compile.cache import object_of
from adjoint.compile.machine import Loaded

if TYPE_CHECKING:
    from adjoint.compile.pool_code import write_pool
else:  # written once for all processes
    write_pool = deferred("adjoint.compile.pool_code", "write_pool")

_lock = free_in_child(threading.Lock())


class Pool:
    """The state that all threads share, and the functions that kernels call."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(8 * pool_state.WORDS + 64)
        start = -(-ctypes.addressof(self._memory) // 64) * 64
        self.words = (ctypes.c_int64 * pool_state.WORDS).from_address(start)
        system = _system()
        self._system = system
        self._prepare()
        key = ctypes.c_uint64(0)
        if system["pthread_key_create"](ctypes.byref(key), None) != 0:
            raise OSError("no key for values of threads")
        self._key = key.value
        self.words[pool_state.KEY] = self._key
        self.words[pool_state.WANTED] = thread_count.process_value(config)
        if config.threads != self.words[pool_state.WANTED]:  # it is first asked for inside of `override`
            self.set_own_threads(config.threads)
        symbols = {name: _address(system[name]) for name in pool_state.SYSTEM}
        content = object_of("threads", write_pool, *os.uname()[::4])
        self._code = Loaded(content, {**symbols, pool_state.STATE: start})
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))  # threads run it until the process ends
        names = (pool_state.RUN, pool_state.BEGIN_BLAS, pool_state.END_BLAS)
        self.symbols = {name: self._code.address(name) for name in names}
        os.register_at_fork(after_in_child=self._begin_anew)

    def _prepare(self) -> None:
        """The mutex and the conditions, as nobody holds or waits for them."""
        start = ctypes.addressof(self.words)
        self._system["pthread_mutex_init"](ctypes.c_void_p(start + 8 * pool_state.MUTEX), None)
        for word in (pool_state.WORK, pool_state.FINISHED):
            self._system["pthread_cond_init"](ctypes.c_void_p(start + 8 * word), None)

    def _begin_anew(self) -> None:
        """In a forked child: the threads are not there, whatever they were doing."""
        words = self.words
        ctypes.memset(ctypes.addressof(words) + 8 * pool_state.MUTEX, 0, 8 * (pool_state.WORDS - pool_state.MUTEX))
        for word in (
            pool_state.LOCK,
            pool_state.STARTED,
            pool_state.SLEEPERS,
            pool_state.CHUNKS,
            pool_state.ERROR_LOCK,
        ):
            words[word] = 0
        self._prepare()
        if words[pool_state.BLAS_COUNT] and words[pool_state.BLAS_KEPT] > 1:
            ctypes.CFUNCTYPE(None, ctypes.c_int)(words[pool_state.BLAS_SET])(words[pool_state.BLAS_KEPT])
        words[pool_state.BLAS_COUNT] = words[pool_state.BLAS_LOCK] = 0

    def know_blas(self) -> None:
        """Find what sets the threads of OpenBLAS, before the first kernel calls it."""
        for word, function in zip((pool_state.BLAS_GET, pool_state.BLAS_SET), thread_functions(), strict=True):
            self.words[word] = function

    def set_threads(self, count: int) -> None:
        """How many threads regions have, in the whole process."""
        self.words[pool_state.WANTED] = count

    def set_own_threads(self, count: int | None) -> None:
        """How many threads the regions have that this thread runs; None: as many as those of others."""
        self._system["pthread_setspecific"](ctypes.c_uint64(self._key), ctypes.c_void_p(count or 0))

    @property
    def workers(self) -> int:
        """How many threads were started."""
        return self.words[pool_state.STARTED]


def _system() -> dict[str, Any]:
    process = ctypes.CDLL(None)
    names = (
        "pthread_key_create", "pthread_setspecific", "pthread_mutex_init", "pthread_cond_init", *pool_state.SYSTEM,
    )  # fmt: skip
    return {name: getattr(process, name) for name in names}  # AttributeError where there is none


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _make() -> Pool | None:
    if not is_available():
        return None
    with contextlib.suppress(AttributeError, OSError):
        return Pool()
    return None


def pool() -> Pool | None:
    """The pool of this process, made when it is first asked for; None where the system has no such threads."""
    with _lock:
        return _make()


def known_pool() -> Pool | None:
    """The pool, if anybody has asked for it."""
    return _make() if _make.cache_info().currsize else None


def is_available() -> bool:
    """Whether regions may run on several threads on this system."""
    return os.name == "posix"


def address(name: str) -> int:
    """Where a function of the pool is that machine code names; KeyError where there is none."""
    made = pool()
    if made is None:
        raise KeyError(name)
    if name == pool_state.BEGIN_BLAS:
        made.know_blas()
    return made.symbols[name]


def _changed(count: int | None, *, own: bool) -> None:
    """`config.threads` was set: for the process, or for this thread."""
    made = known_pool()
    if made is None:
        return
    if own:
        made.set_own_threads(count)
    elif count is not None:
        made.set_threads(count)


thread_count.watch(_changed)
