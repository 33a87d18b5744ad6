"""Nesting: times follow the calls of the user's functions, forwards and backwards, or the scopes."""

import numpy as np
import pytest

import adjoint as ad


def layer(x):
    return np.tanh(x) * 0.5


def network(x):
    with ad.scope("encoder"):
        first = layer(x)
        with ad.scope("inner"):
            second = layer(first)
    return np.sum(layer(second))


@pytest.fixture(scope="module")
def found():
    return ad.profile(network, seconds=0.02)(np.ones(100))


def walk(nest, path=()):
    yield (*path, nest.name), nest
    for child in nest.children.values():
        yield from walk(child, (*path, nest.name))


def test_calls(found) -> None:
    top = found.nested()
    assert top.name == "network"
    callers = {child.name.rpartition(": ")[2]: child for child in top.children.values()}
    assert set(callers) == {"first = layer(x)", "second = layer(first)", "return np.sum(layer(second))"}
    for caller in callers.values():
        (inside,) = [child for child in caller.children.values() if "in layer" in child.name]
        assert {"tanh", "multiply"} <= set(inside.children)
        assert inside.forward > 0
        assert inside.backward > 0


def test_parents_are_the_sums_of_their_children(found) -> None:
    for by in ("calls", "scope"):
        for _, nest in walk(found.nested(by)):
            if nest.children:
                assert nest.seconds == pytest.approx(sum(child.seconds for child in nest.children.values()))


def test_scopes(found) -> None:
    top = found.nested("scope")
    encoder = top.children["encoder"]
    assert {"inner"} <= set(encoder.children)
    assert encoder.forward > encoder.children["inner"].forward > 0
    assert encoder.backward > encoder.children["inner"].backward > 0
    with pytest.raises(ValueError, match="'calls'"):
        found.nested("file")


def test_text_and_html(found) -> None:
    lines = str(found.nested()).splitlines()
    assert lines[0].endswith("network")
    assert "100.0 %" in lines[0]
    assert [line for line in lines if line.endswith("tanh")]
    assert found.nested().flame().count("title=") > 3
