"""The Array API standard: every name is there, and takes its arguments in every way that the standard allows."""

import inspect
import itertools
import math

import array_api_strict as strict
import numpy as np
import pytest

import adjoint.numpy as xp
from tests.numpy.array_api_calls import CALLS
from tests.numpy.array_api_names import CONSTANTS, DTYPES, SIGNATURES


def found(namespace, name: str):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def declared(text: str) -> inspect.Signature:
    """The signature that a line of the standard means."""
    scope = {}
    exec(f"def {text.replace('.', '_', 1) if '.' in text.partition('(')[0] else text}: pass", scope)
    return inspect.signature(next(f for name, f in scope.items() if name != "__builtins__"))


def signature_of(function) -> inspect.Signature:
    """A ufunc tells its signature in newer versions of NumPy only."""
    if isinstance(function, np.ufunc):
        places = [inspect.Parameter(f"x{k}", inspect.Parameter.POSITIONAL_ONLY) for k in range(function.nin)]
        last = [inspect.Parameter("axis", inspect.Parameter.KEYWORD_ONLY, default=-1)] if function.signature else []
        return inspect.Signature([*places, *last])
    return inspect.signature(function)


def ways_to_call(signature: inspect.Signature):
    """Arguments by place and by name: each that may be either, both ways; with defaults given and left out."""
    parameters = list(signature.parameters.values())
    by_place = [p for p in parameters if p.kind is p.POSITIONAL_ONLY]
    either = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_name = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    several = [p for p in parameters if p.kind is p.VAR_POSITIONAL]
    for placed in range(len(either) + 1):
        for given in (True, False):
            kept = lambda p, given=given: given or p.default is p.empty
            args = [p.name for p in itertools.chain(by_place, either[:placed]) if kept(p)]
            kwargs = {p.name: p.default for p in itertools.chain(either[placed:], by_name) if kept(p)}
            yield [*args, *(["a", "b"] if several else [])], kwargs


NAMES = dict(line.split("(", 1) for line in SIGNATURES)


def test_the_names_are_those_of_the_standard() -> None:
    """Against another implementation of the standard, which also has the names of a later version and its own flags."""
    strict_names = {
        f"{part}{name}"
        for part, module in (("", strict), ("linalg.", strict.linalg), ("fft.", strict.fft))
        for name in module.__all__
        if inspect.isfunction(getattr(module, name)) and not name.endswith("array_api_strict_flags")
    }
    assert strict_names - {"isin", "broadcast_shapes"} == set(NAMES)
    assert {call.name for call in CALLS} == set(NAMES) - {"__array_namespace_info__", "from_dlpack"}


@pytest.mark.parametrize("line", SIGNATURES, ids=lambda line: line.partition("(")[0])
def test_signature(line: str) -> None:
    name, signature = line.partition("(")[0], declared(line)
    ours = signature_of(found(xp, name))
    for args, kwargs in ways_to_call(signature):
        ours.bind(*args, **kwargs)
    others = inspect.signature(found(strict, name))
    kinds = lambda s: [(p.name, p.kind) for p in s.parameters.values()]
    assert kinds(signature) == kinds(others)
    for parameter in signature.parameters.values():
        default = others.parameters[parameter.name].default
        assert default == parameter.default or "UNDEF" in str(default)


def test_a_wrong_signature_is_seen() -> None:
    line = next(line for line in SIGNATURES if line.startswith("sort("))
    with pytest.raises(TypeError, match="descending"):
        for args, kwargs in ways_to_call(declared(line)):
            inspect.signature(np.sort).bind(*args, **kwargs)


def test_constants_and_dtypes() -> None:
    for name, value in CONSTANTS.items():
        constant = getattr(xp, name)
        assert constant is value or constant == value or (math.isnan(value) and math.isnan(constant))
    for name in DTYPES:
        assert getattr(xp, name) == np.dtype(name)
        assert xp.zeros(2, dtype=getattr(xp, name)).dtype == getattr(xp, name)
    assert xp.__array_api_version__ == "2024.12"


def test_namespace_info() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.default_device() == "cpu"
    assert info.devices() == ["cpu"]
    assert (
        info.default_dtypes()
        == info.default_dtypes(device="cpu")
        == {
            "real floating": xp.zeros(2).dtype,
            "complex floating": xp.asarray([1j]).dtype,
            "integral": xp.asarray([1]).dtype,
            "indexing": xp.argmax(xp.zeros(2)).dtype,
        }
    )
    assert list(info.dtypes()) == list(DTYPES)
    assert all(dtype == getattr(xp, name) for name, dtype in info.dtypes(device="cpu").items())
    theirs = strict.__array_namespace_info__()
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")
    for kind in (*kinds, ("bool", "complex floating"), ("integral", "real floating"), None):
        assert set(info.dtypes(kind=kind)) == set(theirs.dtypes(kind=kind))
    for ask in (info.dtypes, info.default_dtypes):
        with pytest.raises(ValueError, match="arrays live on 'cpu'"):
            ask(device="tpu")
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="complex")
