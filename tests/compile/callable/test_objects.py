"""Entries as Python objects: methods, attributes, weak references, cycles; and the Python version of the class."""

import copy
import functools
import gc
import inspect
import os
import pickle
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.compile.callable import Entry, fast_class, objects
from adjoint.compile.callable.layout import Unsupported
from tests.compile.callable.kernels import Gave, Missed, copying, entry, gave, missed, status_kernel, whole_number

X = np.arange(3.0)


def test_the_class_has_machine_code() -> None:
    fast = fast_class(Entry)
    assert fast is not None
    assert type(entry()) is fast
    assert issubclass(fast, Entry)
    assert fast.__name__ == "Entry"
    assert fast.__flags__ & (1 << 11)  # vectorcall
    assert fast_class(fast) is fast


def test_methods() -> None:
    class Model:
        call = Entry(lambda entry, args, kwargs: (args, kwargs), gave)

    model = Model()
    assert model.call(1, k=2) == ((model, 1), {"k": 2})
    bound = model.call
    assert bound(1) == ((model, 1), {})
    assert Model.call(3) == ((3,), {})
    assert Model.call is vars(Model)["call"]
    assert vars(Model)["call"].__get__(None, Model) is Model.call
    assert vars(Model)["call"].__get__(model, Model)(4) == ((model, 4), {})
    vars(Model)["call"].add(copying())
    assert Model.call() == ()


def test_all_kinds_of_calls() -> None:
    call = entry(copying(X, k=1.0))
    expected = [X.tolist(), 1.0]
    for result in (
        call(X, k=1.0),
        call(*(X,), **{"k": 1.0}),
        call.__call__(X, k=1.0),
        functools.partial(call, X)(k=1.0),
        next(map(functools.partial(call, k=1.0), [X])),
    ):
        assert [np.asarray(x).tolist() for x in result] == expected


def test_attributes_and_wrapping() -> None:
    def function(x: int, *, k: int = 2) -> int:
        """What it does."""
        return x + k

    call = functools.update_wrapper(entry(), function)
    assert call.__name__ == "function"
    assert call.__doc__ == "What it does."
    assert call.__wrapped__ is function
    assert inspect.signature(call) == inspect.signature(function)
    call.note = 3
    assert vars(call)["note"] == 3
    del call.note
    assert not hasattr(call, "note")
    assert callable(call)
    assert hash(call) == hash(call)
    assert call == call
    assert call != entry()


def test_weak_references() -> None:
    call = entry(copying(X))
    dead: list[Any] = []
    reference = weakref.ref(call, dead.append)
    assert reference() is call
    del call
    assert reference() is None
    assert dead == [reference]


def test_cycles_are_collected() -> None:
    class Token:
        pass

    def cycle() -> list[weakref.ref[Any]]:
        token = Token()

        def miss(*_: Any) -> Any:
            return call, token

        call = Entry(miss, miss)
        call.add(copying(X))
        call.own = call
        call(X)
        assert call()[0] is call
        return [weakref.ref(call), weakref.ref(token)]

    references = cycle()
    gc.collect()
    assert [r() for r in references] == [None, None]


def test_specializations_are_freed_with_the_entry() -> None:
    class Token:
        pass

    token = Token()
    reference = weakref.ref(token)
    call = entry()
    call.add(whole_number(status_kernel(), keep=token))
    del token
    assert reference() is not None
    call.clear()
    assert reference() is None


def test_an_entry_that_the_collector_has_emptied_raises() -> None:
    call = entry(copying(X))
    del call._miss
    with pytest.raises(RuntimeError, match="taken apart"):
        call(1)
    call._miss = missed
    del call._owner
    with pytest.raises(RuntimeError, match="taken apart"):
        call(X)


def test_copies_are_the_entry_itself_and_pickling_is_refused() -> None:
    call = entry(copying(X))
    assert copy.copy(call) is call
    assert copy.deepcopy([call])[0] is call
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(call)


def test_an_entry_that_was_not_set_up_raises() -> None:
    fast = fast_class(Entry)
    assert fast is not None
    with pytest.raises(TypeError):
        object.__new__(fast)()


class Compiled(Entry):
    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(missed, gave)
        self.name = name  # type: ignore[attr-defined]

    def report(self) -> str:
        return f"{self.name}: {self.calls}"  # type: ignore[attr-defined]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Compiled, (self.name,)  # type: ignore[attr-defined]


def test_subclasses_add_methods() -> None:
    call = Compiled("square")
    call.add(copying(X))
    call(X)
    assert call.report() == "square: {0: 1}"
    assert isinstance(call, Compiled)
    assert type(call).__flags__ & (1 << 11)
    assert pickle.loads(pickle.dumps(call)).report() == "square: {}"
    with pytest.raises(TypeError, match="__slots__ = \\(\\)"):
        type("Loose", (Entry,), {})


def test_numbers_count_on_when_specializations_are_removed() -> None:
    call = entry(copying(X), copying(1.0))
    call.remove(0)
    assert call.add(copying("a")) == 2
    assert list(call.specializations) == [1, 2]
    with pytest.raises(Missed):
        call(X)


def test_without_machine_code_the_class_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(base: type) -> Any:
        raise Unsupported

    monkeypatch.setattr(objects, "_make_class", unable)
    fast_class.cache_clear()
    try:
        call = entry(copying(X, k=1.0), whole_number(status_kernel(), retry=True))
        assert not type(call).__flags__ & (1 << 11)
    finally:
        fast_class.cache_clear()
    call.note = "attributes as well"
    assert weakref.ref(call)().note == "attributes as well"
    assert np.array_equal(call(X, k=2.0)[0], X)
    assert call(0) == 7
    with pytest.raises(Missed):
        call(X)
    with pytest.raises(Gave) as info:
        call(4)
    assert info.value.args == (1, 4)
    assert call.calls == {0: 1, 1: 1}


def test_an_interpreter_ends_quietly_with_entries_alive() -> None:
    code = """
import numpy as np
from adjoint.compile.callable import Entry
from tests.compile.callable.kernels import copying
call = Entry(lambda *a: None, lambda *a: None)
call.add(copying(np.ones(3)))
class Late:
    def __del__(self):
        self.call(np.ones(3))
late = Late(); late.call = call; call.late = late
call(np.ones(3))
print("done")
"""
    source = Path(adjoint.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{source.parent}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "done\n"
    assert "Fatal" not in run.stderr
