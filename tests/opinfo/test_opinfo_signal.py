"""The samples of convolution, pooling and resampling again, through `adjoint.signal`; compiled ones as elsewhere."""

import pytest

from tests.opinfo.own_functions import BY_ITS_NAME, used
from tests.opinfo.samples import TOLERANCE, compiled_fault, fault, load

OPERATORS, SAMPLES = load()
NAMES = sorted(name for name, samples in SAMPLES.items() if any(sample.needs_api for sample in samples))


def check(name, compiled):
    samples, problems = SAMPLES[name], []
    with used():
        for number, sample in enumerate(samples):
            problem = fault(sample, OPERATORS[name], TOLERANCE, derivatives=not sample.kink)
            if problem is None and number in compiled:
                problem = compiled_fault(sample, OPERATORS[name], derivatives=not sample.kink)
            if problem is not None:
                problems.append(f"sample {number} ({sample.dtype}): {problem}")
    assert not problems, "\n".join([f"{name}: {len(problems)} of {len(samples)} samples", *problems])


@pytest.mark.parametrize("name", NAMES)
def test_operator(name):
    check(name, [len(SAMPLES[name]) - 1])


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
def test_all_samples(name):
    check(name, range(len(SAMPLES[name])))


def test_every_function_of_the_samples_is_tried():
    assert {sample.needs_api for name in NAMES for sample in SAMPLES[name]} - {None} <= set(BY_ITS_NAME)
    assert len(NAMES) > 15
