"""Lines are decoded against what Python itself says about them: tracebacks, inspect, the file."""

import functools
import gc
import inspect
import linecache
import os
import subprocess
import sys
import traceback
import weakref
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.optimize

from adjoint.base import source
from adjoint.base.config import config
from adjoint.base.source import Location, clean_traceback, describe, here, line, short, user_facing, user_frame

THIS_FILE = os.path.basename(__file__)


def library(text: str, **names):
    """Functions whose code file lies inside the package, as the library's own do."""
    filename = os.path.join(os.path.dirname(source.__file__), "made_up.py")
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)
    return names


LIBRARY = library(
    """
@user_facing
def api(f, *args):
    return inner(f, *args)

def inner(f, *args):
    if f is None:
        raise TypeError("no function")
    return f(*args)

def locate():
    return here()

def frame():
    return user_frame()
""",
    user_facing=user_facing,
    here=here,
    user_frame=user_frame,
)


def frames(error: BaseException) -> list[str]:
    return [entry.name for entry in traceback.extract_tb(error.__traceback__)]


# Locations


def test_here_is_the_line_that_calls_the_library():
    location = LIBRARY["locate"]()
    number = inspect.currentframe().f_lineno - 1
    assert line(location) == number
    assert short(location) == f"{THIS_FILE}:{number}"
    assert describe(location) == (
        f'{THIS_FILE}:{number}, in test_here_is_the_line_that_calls_the_library: location = LIBRARY["locate"]()'
    )


def test_here_follows_the_line_inside_one_function():
    found = []
    found.append(here())
    found.append(here())

    found.append(here())
    first = line(found[0])
    assert [line(location) - first for location in found] == [0, 1, 3]


def test_here_agrees_with_the_traceback_on_every_instruction():
    """f_lasti is decoded as Python decodes tb_lasti."""

    def fails(x):
        y = [
            x,
            1 / x,
        ]
        return y

    try:
        fails(0)
    except ZeroDivisionError as error:
        entry = error.__traceback__.tb_next
        assert line(Location(entry.tb_frame.f_code, entry.tb_lasti)) == entry.tb_lineno
    else:
        pytest.fail("no error")


def test_methods_and_lambdas_are_named_without_the_functions_around_them():
    class Model:
        def loss(self):
            return here()

    assert ", in Model.loss: return here()" in describe(Model().loss())
    assert ", in <lambda>: " in describe((lambda: here())())


def test_frames_of_numpy_scipy_functools_and_contextlib_are_passed_over():
    class Duck:
        def __array_function__(self, function, types, args, kwargs):
            return LIBRARY["locate"]()

    @contextmanager
    def block():
        yield LIBRARY["locate"]()

    @functools.singledispatch
    def dispatched(x):
        return LIBRARY["locate"]()

    with block() as location:
        assert ", in block: yield" in describe(location)
    assert ", in dispatched: return" in describe(dispatched(1.0))
    assert ", in Duck.__array_function__: return" in describe(np.sum(Duck()))


def test_functools_and_contextlib_calling_the_library_directly():
    locate = LIBRARY["locate"]
    text = "def generate():\n    yield here()\ndef method(self):\n    return here()\n"
    names = library(text, here=here)
    with contextmanager(names["generate"])() as location:
        assert "with contextmanager" in describe(location)
    dispatched = functools.singledispatch(lambda x: locate())
    dispatched.register(float, names["method"])
    location = dispatched(1.0)
    assert "location = dispatched(1.0)" in describe(location)


def test_scipy_calling_the_library_directly_gives_the_line_that_called_scipy():
    found = []
    text = "def objective(x):\n    found.append(here())\n    return x * x\n"
    objective = library(text, here=here, found=found)["objective"]
    scipy.optimize.minimize_scalar(objective)
    assert describe(found[0]).endswith("scipy.optimize.minimize_scalar(objective)")


def test_user_frame_skips_and_ends():
    assert LIBRARY["frame"]() is inspect.currentframe()
    assert user_frame(skip=0) is inspect.currentframe()
    assert (lambda: user_frame(skip=1))() is inspect.currentframe()


def test_no_user_frame_gives_none(monkeypatch):
    class Everything(dict):
        def __missing__(self, filename):
            return True

    monkeypatch.setattr(source, "_is_library", Everything())
    assert here() is None
    assert user_frame() is None
    assert describe(None) == short(None) == "unknown line"


def test_locations_keep_no_frames_alive():
    class Big: ...

    def user():
        big = Big()
        return here(), weakref.ref(big)

    location, big = user()
    gc.collect()
    assert big() is None
    assert "return here()" in describe(location)


def test_code_without_a_file():
    namespace = {"here": here}
    exec(compile("def f():\n    return here()\nlocation = f()", "<made up>", "exec"), namespace)
    assert describe(namespace["location"]) == "<made up>:2, in f"
    exec(compile("location = here()", "<made up>", "exec"), namespace)
    assert describe(namespace["location"]) == "<made up>:1"


def test_notebook_cells_are_called_so():
    filename = os.path.join(os.sep, "tmp", "ipykernel_42", "1234.py")
    namespace = {"here": here}
    exec(compile("\nlocation = here()", filename, "exec"), namespace)
    assert short(namespace["location"]) == "notebook cell:2"


def test_lines_are_known_without_column_information():
    """python -X no_debug_ranges leaves lines and drops columns."""
    program = "from adjoint.base.source import here, line\ndef f():\n    return here()\nprint(line(f()))\n"
    answer = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "3"


# Tracebacks


def user_function(x):
    return 1 / x


def test_user_facing_shows_the_users_frames_only():
    with pytest.raises(ZeroDivisionError) as info:
        LIBRARY["api"](user_function, 0)
    assert frames(info.value) == ["test_user_facing_shows_the_users_frames_only", "user_function"]


def test_error_of_the_library_itself_ends_at_the_users_line():
    with pytest.raises(TypeError, match="no function") as info:
        LIBRARY["api"](None)
    assert frames(info.value) == ["test_error_of_the_library_itself_ends_at_the_users_line"]


def test_nested_calls_are_cleaned_once_and_for_all():
    api = LIBRARY["api"]

    def model(x):
        return api(user_function, x)

    with pytest.raises(ZeroDivisionError) as info:
        api(api, model, 0)
    assert frames(info.value) == ["test_nested_calls_are_cleaned_once_and_for_all", "model", "user_function"]


def test_lines_in_a_cleaned_traceback_are_the_same():
    with pytest.raises(ZeroDivisionError) as full, config.override(full_traceback=True):
        LIBRARY["api"](user_function, 0)
    with pytest.raises(ZeroDivisionError) as clean:
        LIBRARY["api"](user_function, 0)
    theirs = [entry for entry in traceback.extract_tb(full.value.__traceback__) if entry.filename == __file__]
    ours = traceback.extract_tb(clean.value.__traceback__)
    assert [(e.name, e.line, e.colno) for e in ours[1:]] == [(e.name, e.line, e.colno) for e in theirs[1:]]


def test_full_traceback_on_demand():
    with pytest.raises(ZeroDivisionError) as info, config.override(full_traceback=True):
        LIBRARY["api"](user_function, 0)
    assert frames(info.value)[1:] == ["call", "api", "inner", "user_function"]


def test_full_traceback_by_environment_variable():
    program = "from adjoint.base.source import user_facing\nuser_facing(lambda: 1 / 0)()\n"
    for value, expected in (("0", False), ("1", True)):
        answer = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "ADJOINT_FULL_TRACEBACK": value},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "ZeroDivisionError" in answer.stderr
        assert ("source.py" in answer.stderr) is expected


def test_causes_and_contexts_are_kept_and_cleaned():
    def translates(x):
        try:
            LIBRARY["inner"](user_function, x)
        except ZeroDivisionError as error:
            raise ValueError("bad x") from error

    def in_context(x):
        try:
            LIBRARY["inner"](translates, x)
        except ValueError:
            raise KeyError("k")  # noqa: B904

    with pytest.raises(KeyError) as info:
        LIBRARY["api"](in_context, 0)
    error = info.value
    assert frames(error)[1:] == ["in_context"]
    assert frames(error.__context__) == ["in_context", "translates"]
    assert frames(error.__context__.__cause__) == ["translates", "user_function"]


def test_errors_in_a_group_are_cleaned():
    def gathers():
        try:
            LIBRARY["inner"](user_function, 0)
        except ZeroDivisionError as error:
            raise ExceptionGroup("several", [error]) from None

    with pytest.raises(ExceptionGroup) as info:
        LIBRARY["api"](gathers)
    assert frames(info.value.exceptions[0]) == ["gathers", "user_function"]


def test_errors_chained_in_a_circle_do_not_hang():
    one, two = ValueError(1), ValueError(2)
    one.__cause__, two.__cause__ = two, one
    assert clean_traceback(one) is one


def test_interrupts_pass_untouched():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as info:
        LIBRARY["api"](interrupted)
    assert "inner" in frames(info.value)


def test_user_facing_keeps_the_signature_and_pickles_by_name():
    def documented(x: float, *, y: int = 2) -> float:
        """Adds."""
        return x + y

    wrapped = user_facing(documented)
    assert inspect.signature(wrapped) == inspect.signature(documented)
    assert (wrapped.__doc__, wrapped.__name__, wrapped.__wrapped__) == ("Adds.", "documented", documented)
    assert wrapped(1, y=3) == 4
