"""Every operator of the samples compiled: the same numbers as uncompiled, in value and reverse mode.

The first and the last sample of each operator are tried; `OPINFO_COMPILED=all pytest tests/opinfo` tries them all.
"""

import os

import numpy as np
import pytest

from tests.opinfo.samples import compiled_fault, load

OPERATORS, SAMPLES = load()
ALL = os.environ.get("OPINFO_COMPILED") == "all"


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_operator(name):
    numbers = range(len(SAMPLES[name])) if ALL else sorted({0, len(SAMPLES[name]) - 1})
    found = []
    for number in numbers:
        sample = SAMPLES[name][number]
        problem = compiled_fault(sample, OPERATORS[name], derivatives=not sample.kink)
        if problem is not None:
            found.append(f"sample {number} ({sample.dtype}): {problem}")
    assert not found, "\n".join([f"{name}: {len(found)} of {len(numbers)} samples", *found])


def test_a_difference_is_seen():
    """The comparison itself: an operator that depends on how it is run is found out."""
    sample = next(s for s in SAMPLES["sinc"] if s.dtype == "float64")
    assert compiled_fault(sample, OPERATORS["sinc"]) is None
    calls = []

    def changing(x):
        calls.append(x)
        return np.sin(x) * (1 + 1e-8 * len(calls))

    problem = compiled_fault(sample, changing)
    assert problem is not None
    assert problem.startswith("compiled value[0]")
