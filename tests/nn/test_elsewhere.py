"""Names of other libraries: what is written here instead is said, and exists."""

import re

import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn.elsewhere import ELSEWHERE


@pytest.mark.parametrize("name", ["ReLU", "Conv2d", "CrossEntropyLoss", "Module", "MLPClassifier"])
def test_what_it_is_called_here(name: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"'{name}'. Here it is ")):
        getattr(nn, name)


def test_near_names() -> None:
    with pytest.raises(AttributeError, match="Did you mean relu"):
        nn.rellu
    with pytest.raises(AttributeError, match=r"Here it is nn\.losses\.squared"):
        nn.losses.mse
    with pytest.raises(AttributeError, match=r"sklearn\.metrics"):
        nn.metrics.f1_score
    assert not hasattr(nn, "__wrapped__")


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_named_exists(name: str) -> None:
    assert not hasattr(nn, name)
    for path in re.findall(r"\b(?:nn|ad)(?:\.\w+)+", ELSEWHERE[name]):
        found = {"nn": nn, "ad": ad}[path.split(".")[0]]
        for part in path.split(".")[1:]:
            found = getattr(found, part)
