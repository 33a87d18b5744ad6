"""Every primitive keeps every promise: the checks of `tests/ops/contract.py` on all of `tests/ops/examples.py`."""

import importlib
import pkgutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import adjoint.ops
from adjoint.ops.elementwise.pointwise import BY_NAME, Ufunc
from adjoint.program.op import PRIMITIVES
from tests.ops.contract_list import CHECKS
from tests.ops.contract_traces import check_mapped_rules, check_second_order, check_symbolic, check_taylor
from tests.ops.examples import TESTED_ELSEWHERE, examples
from tests.ops.samples import Example

for module in pkgutil.walk_packages(adjoint.ops.__path__, "adjoint.ops."):
    importlib.import_module(module.name)

BY_PRIMITIVE: dict[str, list[Example]] = defaultdict(list)
for example in examples():
    op = example.op
    BY_PRIMITIVE[op.title if isinstance(op, Ufunc) else type(op).__name__].append(example)


# Checks that take several times as long as the others: two examples in three are left to the sweeps.
LONG = [check_mapped_rules, check_second_order, check_symbolic, check_taylor]


def run(check, examples) -> None:
    for example in examples:
        try:
            check(example)
        except Exception as problem:
            problem.add_note(f"in the example {example}")
            raise


def shown(check) -> str:
    return check.__name__.removeprefix("check_")


@pytest.mark.parametrize("check", CHECKS, ids=shown)
@pytest.mark.parametrize("name", sorted(BY_PRIMITIVE))
def test_contract(name, check) -> None:
    run(check, BY_PRIMITIVE[name][:: 3 if check in LONG else 1])


@pytest.mark.sweep
@pytest.mark.parametrize("check", LONG, ids=shown)
@pytest.mark.parametrize("name", sorted(BY_PRIMITIVE))
def test_contract_of_all_examples(name, check) -> None:
    run(check, BY_PRIMITIVE[name])


def test_no_primitive_draws_from_numpys_global_generator() -> None:
    """Evaluating one while a program is recorded would pass for a draw of the user's."""
    state = lambda: np.random.get_state(legacy=False)["state"]
    before = state()
    for name, found in BY_PRIMITIVE.items():
        if isinstance(found[0].op, Ufunc):
            continue
        largest = max(found, key=lambda example: sum(np.size(x) for x in example.args))
        largest.op.evaluate(*largest.args)
        assert state()["pos"] == before["pos"], name
        np.testing.assert_array_equal(state()["key"], before["key"], err_msg=name)


def test_every_primitive_has_examples() -> None:
    ours = {name for name, cls in PRIMITIVES.items() if cls.__module__.startswith("adjoint.")}
    missing = (ours | set(BY_NAME)) - set(BY_PRIMITIVE) - set(TESTED_ELSEWHERE)
    assert not missing, f"give these examples in tests/ops/examples.py: {sorted(missing)}"


def test_what_is_tested_elsewhere_exists() -> None:
    root = Path(__file__).resolve().parent.parent
    for name, place in TESTED_ELSEWHERE.items():
        assert name in PRIMITIVES
        assert name not in BY_PRIMITIVE
        assert (root / place).is_file(), f"{name}: there is no tests/{place}"


@pytest.mark.parametrize("name", sorted(BY_PRIMITIVE))
def test_examples_reach_every_kind_of_argument(name) -> None:
    """Each primitive that takes floats is seen in more than one shape."""
    found = BY_PRIMITIVE[name]
    assert len(found) >= 2
    if not any(e.active for e in found):
        return
    shapes = {tuple(e.args[i].shape) for e in found for i in e.active}
    assert len(shapes) >= 2, f"{name}: one shape only"
