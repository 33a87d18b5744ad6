"""Names of optax, torch and Keras: what is written here instead is said, and exists."""

import re

import pytest

from adjoint.optimize import updates
from adjoint.optimize.updates.elsewhere import ELSEWHERE


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_it_is_called_here(name: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"{name!r}. Here it is {ELSEWHERE[name]}")):
        getattr(updates, name)
    for called in re.findall(r"(?<![.\w])(\w+)\(", ELSEWHERE[name]):
        assert called in (*updates.__all__, "fit", "update"), called


def test_near_names() -> None:
    with pytest.raises(AttributeError, match=r"'adan'\. Did you mean adam\?"):
        updates.adan
    with pytest.raises(AttributeError, match=r"no attribute 'quite_other'$"):
        updates.quite_other
    assert not hasattr(updates, "__wrapped__")


def test_a_schedule_for_a_number_of_steps() -> None:
    with pytest.raises(TypeError, match=r"warm_up: the number of steps is a schedule. Write warm_up\(steps, then\)"):
        updates.warm_up(updates.cosine(1.0, 10), 5)
