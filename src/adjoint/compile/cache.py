"""Machine code on disk: what was compiled once for this kind of machine is read back in a millisecond.

A file holds one object and some facts about it, as JSON, and is named by its key: a hash of all that the object
depends on. LLVM aborts the process on garbage, so a file is believed only when its checksum is right. Files appear
under their names complete or not at all, so processes may share a folder. A folder that cannot be used is done without.
"""

# pyright: basic

from __future__ import annotations

import json
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from adjoint.base.config import config
from adjoint.base.digests import digest, new_digest
from adjoint.base.forking import free_in_child
from adjoint.base.records import record
from adjoint.compile import machine

_MAGIC = b"adjoint object 1"
_HEAD = struct.Struct("<16s32sQ")  # magic, checksum of what follows the head, length of the facts
_SUFFIX, _UNFINISHED = ".object", ".unfinished"
_SWEEP_EVERY = 64  # files written by this process
_SWEEP_TO = 0.8  # of the size allowed
_FRESH = 3600.0  # seconds in which a second use is not noted, and an unfinished file is left alone


@record
class Info:
    """What the cache holds and has done in this process."""

    directory: str | None
    files: int
    bytes: int
    hits: int
    misses: int
    problem: str | None  # why nothing is kept or found


class _Count:
    """What happened in this process."""

    def __init__(self) -> None:
        self.lock = free_in_child(threading.Lock())
        self.hits = self.misses = self.written = 0
        self.problem: str | None = None

    def add(self, name: str) -> int:
        with self.lock:
            value = getattr(self, name) + 1
            setattr(self, name, value)
            return value


_count = _Count()


# Keys


def _python_files(folder: str, deep: bool = True) -> Iterator[tuple[str, int, int]]:
    """(path, size, time of the last change) of all Python files in a folder, and in those in it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif deep and entry.name != "__pycache__" and entry.is_dir():
                yield from _python_files(entry.path)


# From a program to machine code: the folders of the library that have a hand in it, beside the files above them.
_MAKERS = ("base", "compile", "numpy", "ops", "program", "scipy", "simplify", "transform", "tree")


@cache
def _own_source() -> str:
    """A hash of the library's version and of the times of its files: whatever may change the code that is made."""
    seen = new_digest()
    root = os.path.dirname(os.path.dirname(__file__))
    folders = [folder for part in _MAKERS if os.path.isdir(folder := os.path.join(root, part))]
    if not folders:  # the library is in an archive: what its files were last time is not known
        return os.urandom(16).hex()
    files = sorted(file for folder in folders for file in _python_files(folder))
    files += sorted(_python_files(root, deep=False))
    with open(os.path.join(root, "__init__.py"), "rb") as file:
        seen.update(file.read())
    seen.update(repr([(path[len(root) :], size, time) for path, size, time in files]).encode())
    return seen.hexdigest()


@cache
def _environment() -> str:
    """What machine code depends on besides the text: the machine, LLVM, and how it is called."""
    try:
        with open(str(machine.__file__), "rb") as file:
            how = digest(file.read()).hexdigest()
    except OSError:
        how = os.urandom(16).hex()
    return json.dumps([sys.platform, *machine.identify(), how])


def _hash(*parts: str | bytes) -> str:
    seen = new_digest()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        seen.update(struct.pack("<Q", len(content)))  # so that no two lists of parts run together to the same bytes
        seen.update(content)
    return seen.hexdigest()


def key(*parts: str | bytes) -> str:
    """A key for what depends on these parts, on this machine, and on the library's files that make machine code."""
    return _hash("program", _environment(), _own_source(), *parts)


# Files


def directory() -> str | None:
    """The folder of the cache, made and checked; None when nothing is kept."""
    if not config.cache:
        return None
    try:
        return _usable(config.cache_dir or _users_directory())
    except (OSError, RuntimeError) as problem:
        _count.problem = str(problem)
        return None


def _users_directory() -> str:
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return os.path.join(local, "adjoint", "Cache")
    home = os.path.expanduser("~")
    if home == "~":
        raise RuntimeError("The folder of the user is not known, so that no machine code is kept.")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "adjoint")
    caches = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(caches if os.path.isabs(caches) else os.path.join(home, ".cache"), "adjoint")


def _usable(name: str) -> str:
    """The folder of that name: ours alone, since what is in it will be run."""
    path = os.path.expanduser(name)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if not os.path.isdir(path):
        with suppress(FileExistsError):  # another process was first
            os.mkdir(path, 0o700)
    if hasattr(os, "getuid"):
        status = os.stat(path)
        if status.st_uid not in (os.getuid(), 0) or status.st_mode & 0o022:
            raise PermissionError(f"{path}: others may write here, so that no machine code is kept in it.")
    return path


def lookup(key: str) -> tuple[bytes, dict[str, Any]] | None:
    """The object that is kept under a key, and the facts about it."""
    folder = directory()
    entry = None if folder is None else _read(os.path.join(folder, f"{key}{_SUFFIX}"), key)
    _count.add("misses" if entry is None else "hits")
    return entry


def _read(path: str, key: str) -> tuple[bytes, dict[str, Any]] | None:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    if len(content) < _HEAD.size:
        return None
    magic, checksum, length = _HEAD.unpack_from(content)
    rest = memoryview(content)[_HEAD.size :]
    if magic != _MAGIC or digest(rest).digest() != checksum:
        return None
    said = json.loads(bytes(rest[:length]))
    if said["key"] != key:
        return None
    with suppress(OSError):  # the time of the last use decides what goes first
        if time.time() - os.stat(path).st_mtime > _FRESH:
            os.utime(path)
    return bytes(rest[length:]), said["facts"]


def keep(key: str, content: bytes, facts: Mapping[str, Any] | None = None) -> None:
    """Keep an object under a key, with facts that JSON can write. Nothing happens where nothing can be kept."""
    folder = directory()
    if folder is None:
        return
    import tempfile

    said = json.dumps({"key": key, "facts": dict(facts or {})}).encode()
    rest = said + content
    head = _HEAD.pack(_MAGIC, digest(rest).digest(), len(said))
    unfinished = ""
    try:
        handle, unfinished = tempfile.mkstemp(_UNFINISHED, key[:16], folder)
        with os.fdopen(handle, "wb") as file:
            file.write(head)
            file.write(rest)
        os.replace(unfinished, os.path.join(folder, f"{key}{_SUFFIX}"))
        unfinished = ""
    except OSError as problem:
        _count.problem = str(problem)
        return
    finally:  # after Ctrl-C, too
        if unfinished:
            with suppress(OSError):
                os.unlink(unfinished)
    if _count.add("written") % _SWEEP_EVERY == 1:
        sweep(folder, config.cache_size * 1_000_000)


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The cache's own files."""
    try:
        listed = list(os.scandir(folder))
    except OSError:
        return
    for entry in listed:
        if entry.name.endswith((_SUFFIX, _UNFINISHED)):
            with suppress(OSError):  # another process may have removed it
                yield entry.path, entry.stat()


def sweep(folder: str, allowed: int) -> None:
    """Remove what was not used longest, when the files take more than the bytes allowed; and what was left behind."""
    files = sorted(_files(folder), key=lambda file: file[1].st_mtime)
    for path, status in files:
        if path.endswith(_UNFINISHED) and time.time() - status.st_mtime > _FRESH:
            _remove(path)
    objects = [(path, status.st_size) for path, status in files if path.endswith(_SUFFIX)]
    total = sum(size for _, size in objects)
    if total <= allowed:
        return
    for path, size in objects:
        if total <= _SWEEP_TO * allowed:
            break
        _remove(path)
        total -= size


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


# What the compiler calls


def object_for(text: str) -> tuple[bytes, bool]:
    """LLVM's text as an object file, and whether it was found on disk."""
    if not config.cache:
        return machine.compile_object(text), False
    name = _hash("text", _environment(), text)
    entry = lookup(name)
    if entry is not None:
        return entry[0], True
    content = machine.compile_object(text)
    keep(name, content)
    return content, False


def object_of(name: str, write: Callable[[], str], *parts: str) -> bytes:
    """The object of a text that is written by the library and depends on the parts alone: found by its name."""
    if not config.cache:
        return machine.compile_written(write())
    named = key("text of the library", name, *parts)
    entry = lookup(named)
    if entry is not None:
        return entry[0]
    content = machine.compile_written(write())
    keep(named, content)
    return content


def info() -> Info:
    """What is kept, and what was found in this process."""
    folder = directory()
    sizes = [] if folder is None else [status.st_size for _, status in _files(folder)]
    problem = "switched off" if not config.cache else _count.problem
    return Info(folder, len(sizes), sum(sizes), _count.hits, _count.misses, problem)


def clear() -> int:
    """Remove all that is kept; how many files that was."""
    folder = directory()
    return 0 if folder is None else sum(_remove(path) for path, _ in list(_files(folder)))
