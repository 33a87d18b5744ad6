"""The samples of convolution, pooling and resampling again, through `adjoint.signal`; compiled ones as elsewhere."""

import os

import pytest

from tests.opinfo.own_functions import BY_ITS_NAME, used
from tests.opinfo.samples import TOLERANCE, compiled_fault, fault, load

OPERATORS, SAMPLES = load()
NAMES = sorted(name for name, samples in SAMPLES.items() if any(sample.needs_api for sample in samples))
ALL = os.environ.get("OPINFO_COMPILED") == "all"


@pytest.mark.parametrize("name", NAMES)
def test_operator(name):
    samples, found = SAMPLES[name], []
    with used():
        for number, sample in enumerate(samples):
            problem = fault(sample, OPERATORS[name], TOLERANCE, derivatives=not sample.kink)
            if problem is None and (ALL or number in (0, len(samples) - 1)):
                problem = compiled_fault(sample, OPERATORS[name], derivatives=not sample.kink)
            if problem is not None:
                found.append(f"sample {number} ({sample.dtype}): {problem}")
    assert not found, "\n".join([f"{name}: {len(found)} of {len(samples)} samples", *found])


def test_every_function_of_the_samples_is_tried():
    assert {sample.needs_api for name in NAMES for sample in SAMPLES[name]} - {None} <= set(BY_ITS_NAME)
    assert len(NAMES) > 15
