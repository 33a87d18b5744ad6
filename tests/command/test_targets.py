"""Functions and arguments from the command line, and what is said when they cannot be had."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from adjoint.command.failures import CommandError
from adjoint.command.targets import arrays_in, split_pairs, target
from tests.command.commands import folder, refused

MODEL = """
import numpy as np

number = 3

def loss(w, x, *, power=2):
    return np.sum((w * x) ** power)

def fails(x):
    if x > 0:
        raise ValueError("x is too large for this model")
    return x

def leaves(x):
    raise SystemExit(3)

def pair(x):
    return x, x**2

def vector(x):
    return x * np.ones(3)

def nothing(x):
    return None

def flag(x):
    return x > 0

def text(x):
    return "hello"

def steps(x, n):
    for _ in range(n):
        x = np.sin(x)
    return x

class Net:
    @staticmethod
    def forward(x):
        return x**2
"""


@pytest.fixture
def model(tmp_path: Path):
    broken = "import numpy as np\nx = 1 / 0\n"
    wanting = "import a_package_that_is_not_there\n"
    with folder(tmp_path, model=MODEL, broken=broken, wanting=wanting, unwritten="def f(:\n", leaving="exit(1)"):
        yield


def test_pairs() -> None:
    assert split_pairs(["x=1", "y = [1, 2]", "θ=x==1"]) == {"x": "1", "y": " [1, 2]", "θ": "x==1"}
    assert split_pairs(["ﬁ=1"]) == {"fi": "1"}  # as Python reads the letter in code


@pytest.mark.parametrize(
    "pairs, said",
    [
        (["x"], "'x' gives no value to a variable"),
        (["=1"], "gives no value to a variable"),
        (["1x=1"], "gives no value to a variable"),
        (["x==1"], "gives no value to a variable"),
        (["x=1", "x=2"], "x has two values, 1 and 2"),
        (["x="], "x= gives no value"),
    ],
)
def test_wrong_pairs(pairs: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        split_pairs(pairs)


@pytest.mark.usefixtures("model")
def test_functions_and_arguments_by_name() -> None:
    found = target("model:loss", ["x=[1.0, 2.0]", "w=3.0", "power=3"], None)
    assert len(found.args) == 2
    assert found.kwargs == {"power": 3}
    assert found.value()[0] == 27 + 216
    assert target("model.py:loss", ["w=1.0", "x=2.0"], None).value()[0] == 4.0
    assert target("model:Net.forward", ["x=3.0"], None).value()[0] == 9.0
    assert target("model:steps", ["x=1.0", "n=2"], None).value()[0] == np.sin(np.sin(1.0))


@pytest.mark.usefixtures("model")
def test_arguments_from_files() -> None:
    np.savez("named.npz", w=np.array([1.0, 2.0]), x=3.0)
    np.savez("placed.npz", np.array([1.0, 2.0]), np.float64(3.0))
    np.save("one.npy", np.array([1.0, 2.0]))
    for file in ("named.npz", "placed.npz"):
        found = target("model:loss", [], file)
        assert found.value()[0] == 9 + 36
    assert target("model:loss", ["x=2.0"], "one.npy").value()[0] == 4 + 16
    assert target("sum(w) * x", [], "named.npz").value()[0] == 9.0
    assert_array_equal(arrays_in("named.npz")["w"], [1.0, 2.0])


@pytest.mark.parametrize(
    "argv, said",
    [
        (["modle:loss"], "There is no module modle. Did you mean model?"),
        (["numpy.nothing:f"], "There is no module numpy.nothing."),
        (["no_such_module_at_all:f"], "name the file: path/to/file.py:function"),
        (["folder/nothing.py:f"], "There is no file folder/nothing.py."),
        (["model:los"], "model has no function los. Did you mean loss?"),
        (["model:zzzzzz"], "model has no function zzzzzz. It has loss, fails"),
        (["model:Net.back"], "model has no function Net.back"),
        (["model:number"], "model:number is no function but int."),
        (["broken:f"], "broken cannot be imported: ZeroDivisionError: division by zero\n  at broken.py:2"),
        (["wanting:f"], "wanting cannot be imported: ModuleNotFoundError: No module named 'a_package_that_is_not"),
        (["unwritten:f"], "unwritten cannot be imported: SyntaxError"),
        (["leaving:f"], "leaving cannot be imported: SystemExit"),
        (["model:loss"], "missing a required argument: 'w' of model:loss(w, x, *, power=2)"),
        (["model:loss", "w=1.0", "y=2.0"], "model:loss has no argument y. Its arguments are w, x, power."),
        (["model:loss", "w=1.0", "x=1.0", "pwer=2"], "has no argument pwer. Did you mean power?"),
        (["model:fails", "x=1.0"], "model:fails raised ValueError: x is too large for this model\n  at model.py:11"),
        (["model:leaves", "x=1.0"], "model:leaves raised SystemExit: 3"),
        (["model:loss", "--args", "nowhere.npz"], "There is no file nowhere.npz."),
        (["model:loss", "--args", "."], "is a folder"),
        (["x**2"], "x has no value"),
        (["1 + 1"], "no variables to differentiate in"),
    ],
)
@pytest.mark.parametrize("command", ["explain", "check"])
@pytest.mark.usefixtures("model")
def test_what_cannot_be_had(command: str, argv: list[str], said: str) -> None:
    assert said in refused(command, *argv)


@pytest.mark.usefixtures("model")
def test_a_near_name_of_a_file() -> None:
    np.savez("weights.npz", x=1.0)
    assert "Did you mean weights.npz?" in refused("check", "model:loss", "--args", "wieghts.npz")


@pytest.mark.parametrize("command", ["explain", "check"])
def test_malformed_files(command: str, tmp_path: Path) -> None:
    good = tmp_path / "good.npz"
    np.savez_compressed(good, x=np.arange(1000.0))
    content = good.read_bytes()
    damaged = content[:300] + bytes(200) + content[500:]
    objects = tmp_path / "objects.npz"
    np.savez(objects, x=np.array([{"a": 1}], dtype=object))
    files = {"empty.npz": b"", "text.npz": b"x = 1.0\n", "half.npz": content[: len(content) // 2], "bad.npz": damaged}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        message = refused(command, "sum(x)", "--args", str(tmp_path / name))
        assert name in message
        assert "np.savez" in message
    assert "Python objects" in refused(command, "sum(x)", "--args", str(objects))


def test_two_values_for_one_variable(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=1.0)
    assert "x has two values" in refused("explain", "x**2", "x=1", "--args", str(tmp_path / "a.npz"))
