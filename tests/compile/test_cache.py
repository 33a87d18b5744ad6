"""Machine code on disk: found again, believed only when whole, bounded, shared by processes, done without."""

import ctypes
import errno
import io
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from adjoint.base.config import config
from adjoint.compile import cache, machine

ROOT = Path(cache.__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "kept"
    with config.override(cache=True, cache_dir=str(folder)):
        yield folder


def text(number: int) -> str:
    return f"define i64 @answer() {{ ret i64 {number} }}"


def answer(content: bytes) -> int:
    code = machine.Loaded(content)
    return ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("answer"))()


def test_an_object_is_found_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, hit = cache.object_for(text(41))
    assert not hit
    assert answer(content) == 41
    monkeypatch.setattr(machine, "compile_object", lambda *_: pytest.fail("compiled again"))
    again, hit = cache.object_for(text(41))
    assert hit
    assert again == content
    assert answer(again) == 41
    assert cache.info().files == 1
    assert cache.info().directory == str(folder)


def test_other_text_is_another_object() -> None:
    cache.object_for(text(1))
    assert not cache.object_for(text(2))[1]
    assert cache.object_for(text(1))[1]


@pytest.mark.parametrize("what", ["host", "llvmlite"])
def test_another_machine_or_llvm_is_another_object(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.object_for(text(3))
    cache._environment.cache_clear()
    try:
        known = machine.identify()
        at = known.index(machine.said_of_processor()["flags"]) if what == "host" else len(known) - 1
        monkeypatch.setattr(machine, "identify", lambda: [*known[:at], "another", *known[at + 1 :]])
        monkeypatch.setattr(machine, "compile_object", lambda *_: b"other")
        assert cache.object_for(text(3)) == (b"other", False)
    finally:
        cache._environment.cache_clear()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:20],
        lambda content: b"",
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: content[:70] + b"\0" + content[71:],
        lambda content: b"x" + content[1:],
        lambda content: content + b"more",
        lambda content: os.urandom(len(content)),
    ],
)
def test_a_damaged_file_is_made_anew(damage: Any, folder: Path) -> None:
    cache.object_for(text(5))
    (file,) = folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    content, hit = cache.object_for(text(5))
    assert not hit
    assert answer(content) == 5
    assert cache.object_for(text(5))[1]


def test_a_file_under_another_name_is_not_believed(folder: Path) -> None:
    cache.keep("a" * 64, b"content")
    (file,) = folder.iterdir()
    file.rename(folder / file.name.replace("a", "b"))
    assert cache.lookup("b" * 64) is None


def test_facts_are_kept_beside_the_object() -> None:
    key = cache.key("a program", b"\0\1")
    assert cache.lookup(key) is None
    cache.keep(key, b"content", {"workspace": 10, "notes": ["a", None, 1.5]})
    assert cache.lookup(key) == (b"content", {"workspace": 10, "notes": ["a", None, 1.5]})
    assert cache.key("a program", b"\0\1") == key
    assert len({key, cache.key("a program"), cache.key("a ", "program"), cache.key("a progra", "m\0\1")}) == 4


def test_keys_depend_on_the_library_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.key("program")
    monkeypatch.setattr(cache, "_own_source", lambda: "another version")
    assert cache.key("program") != before


def test_in_an_archive_nothing_is_taken_for_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = cache._own_source()
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "archive" / "adjoint" / "compile" / "cache.py"))
    assert len({known, cache._own_source.__wrapped__(), cache._own_source.__wrapped__()}) == 3


def test_what_was_not_used_longest_goes_first(folder: Path) -> None:
    for i in range(10):
        cache.keep(f"{i}" * 64, bytes(1000))
        (folder / f"{str(i) * 64}.object").touch()
        os.utime(folder / f"{str(i) * 64}.object", (i, i))
    assert cache.lookup("0" * 64) is not None  # used now
    size = cache.info().bytes
    cache.sweep(str(folder), size)
    assert cache.info().files == 10
    cache.sweep(str(folder), size // 2)
    kept = sorted(path.name[0] for path in folder.iterdir())
    assert kept == ["0", "7", "8", "9"]
    assert cache.info().bytes <= size // 2


def test_the_size_allowed_is_kept_to(folder: Path) -> None:
    with config.override(cache_size=0):
        for i in range(cache._SWEEP_EVERY + 1):
            cache.keep(f"{i:064d}", b"content")
    assert len(list(folder.iterdir())) <= cache._SWEEP_EVERY


def test_unfinished_files_go_when_they_are_old(folder: Path) -> None:
    cache.keep("a" * 64, b"content")
    old, new = folder / "old.unfinished", folder / "new.unfinished"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    cache.sweep(str(folder), 10**9)
    assert sorted(path.suffix for path in folder.iterdir()) == [".object", ".unfinished"]
    assert new.exists()


def test_clear_removes_its_own_files_alone(folder: Path) -> None:
    cache.object_for(text(6))
    other = folder / "letter.txt"
    other.write_text("keep me")
    assert cache.clear() == 1
    assert list(folder.iterdir()) == [other]
    assert not cache.object_for(text(6))[1]


def test_switched_off(folder: Path) -> None:
    with config.override(cache=False):
        assert not cache.object_for(text(7))[1]
        assert not cache.object_for(text(7))[1]
        assert cache.info().directory is None
        assert cache.info().problem == "switched off"
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with config.override(cache_dir=str(tmp_path / "file" / "below")):
        content, hit = cache.object_for(text(8))
        assert not hit
        assert answer(content) == 8
        assert cache.info().directory is None
        assert "file" in str(cache.info().problem)
        assert cache.clear() == 0


def test_a_file_that_cannot_be_written_is_done_without(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    assert answer(cache.object_for(text(9))[0]) == 9
    assert cache.info().problem == "no space left"
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_only_read_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, _ = cache.object_for(text(12))

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    for name in ("utime", "unlink", "replace", "mkdir"):
        monkeypatch.setattr(os, name, refuse)
    (file,) = folder.iterdir()
    monkeypatch.setattr(cache, "_FRESH", -1.0)  # its last use would be noted
    assert cache.object_for(text(12)) == (content, True)
    assert answer(cache.object_for(text(13))[0]) == 13
    assert "Read-only" in str(cache.info().problem)
    assert cache.clear() == 0
    assert list(folder.iterdir()) == [file]


def test_a_disk_that_is_full_is_done_without(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, content: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    def opened(handle: int, *_: Any) -> Full:
        os.close(handle)
        return Full()

    monkeypatch.setattr(os, "fdopen", opened)
    assert answer(cache.object_for(text(14))[0]) == 14
    assert "No space left" in str(cache.info().problem)
    assert list(folder.iterdir()) == []  # nothing unfinished is left behind


def test_nothing_unfinished_stays_after_an_interrupt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cache.object_for(text(15))
    assert list(folder.iterdir()) == []
    assert answer(cache.object_for(text(15))[0]) == 15
    assert cache.object_for(text(15))[1]


def test_a_folder_that_others_may_write_to_is_not_used(folder: Path) -> None:
    cache.object_for(text(10))
    posix = hasattr(os, "getuid")  # Windows gives a user's folder to the user alone
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 or not posix
    folder.chmod(0o777)
    assert cache.object_for(text(10))[1] != posix
    assert "others may write" in str(cache.info().problem) or not posix


@pytest.mark.parametrize("value", ["", "relative"])
def test_the_folder_of_the_user(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert cache._users_directory() == str(tmp_path / ".cache" / "adjoint")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert cache._users_directory() == str(tmp_path / "elsewhere" / "adjoint")


def test_threads_share_it() -> None:
    wrong: list[Any] = []
    context = copy_context()

    def work(me: int) -> None:
        for k in range(60):
            key = f"{k % 7:064d}"
            cache.keep(key, f"content {k % 7}".encode() * 100, {"k": k % 7})
            entry = cache.lookup(key)
            if entry is None or entry != (f"content {k % 7}".encode() * 100, {"k": k % 7}):
                wrong.append((me, k, entry))

    threads = [threading.Thread(target=context.copy().run, args=(work, i)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache.info().files == 7


def test_processes_share_it(folder: Path) -> None:
    code = """
import sys
from adjoint.compile import cache
for iteration in range(40):
    for k in range(5):
        found = cache.lookup(f"{k:064d}")
        assert found is None or found == (bytes([k]) * 20000, {}), found
        cache.keep(f"{k:064d}", bytes([k]) * 20000)
        if iteration % 10 == 9:
            cache.clear()
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ADJOINT_CACHE_DIR": str(folder), "ADJOINT_CACHE": "1"}
    runs = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for run in runs:
        _, errors = run.communicate()
        assert run.returncode == 0, errors
    assert all(path.suffix == ".object" for path in folder.iterdir())


def test_another_process_finds_it(folder: Path) -> None:
    cache.object_for(text(11))
    code = f"from adjoint.compile import cache; print(cache.object_for({text(11)!r})[1], cache.info().hits)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ADJOINT_CACHE_DIR": str(folder)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "1"]
