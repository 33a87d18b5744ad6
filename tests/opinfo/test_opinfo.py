"""Every operator of the samples, in value, reverse mode, forward mode and second order."""

import pytest

from tests.opinfo.later import INEXACT, LATER
from tests.opinfo.samples import TOLERANCE, fault, load

OPERATORS, SAMPLES = load()


def faults(name: str) -> list[str]:
    """What is wrong with the samples of an operator, one line each."""
    wider = {what: tolerance for (operator, what), (tolerance, _) in INEXACT.items() if operator == name}
    found = []
    for number, sample in enumerate(SAMPLES[name]):
        # where no derivative exists, conventions differ, and only the value is compared
        problem = fault(sample, OPERATORS[name], TOLERANCE | wider, derivatives=not sample.kink)
        if problem is not None:
            found.append(f"sample {number} ({sample.dtype}): {problem}")
    return found


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(LATER)))
def test_operator(name):
    found = faults(name)
    assert not found, "\n".join([f"{name}: {len(found)} of {len(SAMPLES[name])} samples", *found])


def test_the_list_of_what_comes_later_is_short_and_true():
    assert set(LATER) <= set(SAMPLES)
    passing = sorted(name for name in LATER if not faults(name))
    assert not passing, f"these pass; take them out of tests/opinfo/later.py: {passing}"
    assert len(LATER) <= len(SAMPLES) // 20


def test_wider_tolerances_are_needed():
    for name, what in INEXACT:
        found = [fault(sample, OPERATORS[name], TOLERANCE) for sample in SAMPLES[name]]
        assert any(problem is not None and problem.startswith(f"{what}[") for problem in found)


def test_every_operator_is_tried():
    """All of them have a function and samples, and all samples but a few have second derivatives to compare with."""
    assert set(SAMPLES) <= set(OPERATORS)
    assert len(SAMPLES) - len(LATER) >= 226
    twice = sum(sample.hvp is not None for samples in SAMPLES.values() for sample in samples)
    assert twice > 1000


def test_nearly_all_samples_have_derivatives():
    total = sum(map(len, SAMPLES.values()))
    kinks = sum(sample.kink for samples in SAMPLES.values() for sample in samples)
    assert total > 1000
    assert kinks <= total // 20


def test_a_wrong_number_is_seen():
    """The comparison itself: a change of one part in ten thousand is found in each of the four."""
    for what in ("outputs", "vjp", "jvp", "hvp"):
        sample = next(s for s in SAMPLES["sinc"] if s.hvp is not None and s.dtype == "float64")
        right = getattr(sample, what)
        setattr(sample, what, [1.0001 * a for a in right])
        problem = fault(sample, OPERATORS["sinc"], TOLERANCE)
        setattr(sample, what, right)
        assert problem is not None
        assert problem.startswith("value" if what == "outputs" else what)
