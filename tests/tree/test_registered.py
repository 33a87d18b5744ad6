import pickle

import numpy as np
import pytest

from adjoint import tree
from adjoint.base.errors import TreeError
from tests.tree.strategies import Box, named

X = np.arange(3.0)


class Sensor:
    def __init__(self, gain, offset, unit):
        self.gain, self.offset, self.unit = gain, offset, unit


tree.register(
    Sensor,
    lambda sensor: ({"gain": sensor.gain, "offset": sensor.offset}, sensor.unit),
    lambda unit, named: Sensor(**named, unit=unit),
)


def test_named_children():
    sensor = Sensor(2.0, [0.5], "V")
    leaves, structure = tree.flatten(sensor)
    assert leaves == [2.0, 0.5]
    assert structure.paths("sensor") == ["sensor.gain", "sensor.offset[0]"]
    assert repr(structure) == "Structure(Sensor(gain=*, offset=[*], static='V'))"
    again = structure.unflatten([3.0, 4.0])
    assert (again.gain, again.offset, again.unit) == (3.0, [4.0], "V")
    assert tree.replace(sensor, "offset[0]", 9.0).offset == [9.0]


def test_numbered_children():
    leaves, structure = tree.flatten(Box([1.0, (2.0,)], None))
    assert leaves == [1.0, 2.0]
    assert structure.paths() == ["[0]", "[1][0]"]
    assert repr(structure) == "Structure(Box(*, (*,)))"
    assert tree.get(Box([1.0, 2.0], None), "[-1]") == 2.0


def test_static_data_is_part_of_the_structure():
    assert tree.structure(Box([X], "a")) == tree.structure(Box([X], "a"))
    assert tree.structure(Box([X], "a")) != tree.structure(Box([X], "b"))
    assert tree.structure(Box([X], "a")) != tree.structure(Box([X, X], "a"))


def test_structures_pickle():
    structure = tree.structure([Box([X], "a"), Sensor(1.0, 2.0, "V")])
    assert pickle.loads(pickle.dumps(structure)) == structure


@pytest.mark.parametrize("answer", [None, 3, [X], (X,), (X, None, None)], ids=named)
def test_a_flatten_function_that_returns_something_else_is_named(answer):
    class Wrong: ...

    tree.register(Wrong, lambda _: answer, lambda _, children: Wrong())
    with pytest.raises(TreeError, match=r"registered for Wrong must return \(children, static data\)"):
        tree.flatten(Wrong())


def test_children_may_come_from_a_generator():
    class Lazy:
        def __init__(self, items):
            self.items = items

    tree.register(Lazy, lambda lazy: ((x for x in lazy.items), None), lambda _, children: Lazy(children))
    assert tree.map(lambda x: -x, Lazy([1.0, 2.0])).items == (-1.0, -2.0)
