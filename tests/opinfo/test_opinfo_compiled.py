"""Every operator of the samples compiled: the same numbers as uncompiled, in value and reverse mode.

The first or the last sample of each operator is tried; the sweeps try them all.
"""

import numpy as np
import pytest

from tests.opinfo.samples import compiled_fault, load

OPERATORS, SAMPLES = load()


def check(name, numbers):
    problems = []
    for number in numbers:
        sample = SAMPLES[name][number]
        problem = compiled_fault(sample, OPERATORS[name], derivatives=not sample.kink)
        if problem is not None:
            problems.append(f"sample {number} ({sample.dtype}): {problem}")
    assert not problems, "\n".join([f"{name}: {len(problems)} of {len(numbers)} samples", *problems])


@pytest.mark.parametrize("number, name", list(enumerate(sorted(SAMPLES))))
def test_operator(number, name):
    check(name, [0 if number % 2 else len(SAMPLES[name]) - 1])


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_all_samples(name):
    check(name, range(len(SAMPLES[name])))


def test_a_difference_is_seen():
    """The comparison itself: an operator that depends on how it is run is found out."""
    sample = next(s for s in SAMPLES["sinc"] if s.dtype == "float64")
    assert compiled_fault(sample, OPERATORS["sinc"]) is None
    traced = iter(range(1, 100))

    def changing(x):
        return np.sin(x) * (1 + 1e-8 * next(traced))

    problem = compiled_fault(sample, changing)
    assert problem is not None
    assert problem.startswith("compiled value[0]")
