"""Random programs over nearly all primitives: machine code computes what NumPy does.

A sample. `python tools/random_programs.py` goes on from there, in child processes, for as long as one likes.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile.kernel import compile_program
from adjoint.program.program import interpret
from tests.random_programs.agreement import Outcome, check_seed, differences
from tests.random_programs.functions import random_function
from tests.random_programs.modes import check_nested
from tests.random_programs.noise import noisy
from tests.random_programs.scripted import check_script
from tests.simplify.programs import program_of
from tests.support.sweeps import sampled

SEEDS = 9  # of each part


@pytest.mark.parametrize("part", sampled(range(10), every=5))
def test_machine_code_computes_what_numpy_does(part) -> None:
    outcome = Outcome()
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        outcome.add(check_seed(seed))
    assert not outcome.failures
    assert outcome.programs >= 5 * SEEDS


@pytest.mark.parametrize("seed", sampled(range(36), every=17))
def test_loops_in_loops_agree_in_every_mode(seed) -> None:
    outcome = check_nested(seed)
    assert not outcome.failures
    assert outcome.programs >= 1


def test_choices_of_residuals_that_undo_one_another_end() -> None:
    """Three loops, of which each pair would choose again what another pair has just changed."""
    assert not check_nested(301279).failures


@pytest.mark.sweep
def test_what_is_known_of_a_stack_is_forgotten_with_what_it_was_made_of() -> None:
    """A stack of one value, which nobody else read by the time that another loop scanned the stack."""
    assert not check_nested(300924).failures


@pytest.mark.parametrize("seed", sampled(range(20), every=10))
def test_functions_as_users_write_them_agree_in_some_modes(seed) -> None:
    outcome = check_script(seed)
    assert not outcome.failures
    assert outcome.programs >= 5


def test_the_functions_are_the_same_in_every_run_and_differ_from_seed_to_seed() -> None:
    first, again = str(random_function(5)), str(random_function(5))
    assert first == again
    assert len({str(random_function(seed)) for seed in range(12)}) == 12


def test_the_comparison_sees_a_wrong_element_and_forgives_rounding() -> None:
    x = np.linspace(0.1, 2.0, 7)
    program, args = program_of(lambda x: [np.exp(x) - 1.0, np.argmax(np.sin(x)), x > 0.5], x)
    expected = interpret(program, args)
    assert differences(program, args, compile_program(program).run(args), expected) is None
    for k, wrong in enumerate([expected[0] * (1 + 1e-6), expected[1] + 1, ~expected[2]]):
        actual = [wrong if j == k else z for j, z in enumerate(expected)]
        assert f"output {k}" in str(differences(program, args, actual, expected))
    assert "float32" in str(differences(program, args, [expected[0].astype(np.float32), *expected[1:]], expected))


def test_noise_finds_what_is_ill_conditioned() -> None:
    x = np.array([1.0, 2.0])
    program, args = program_of(lambda x: (x + 1e12) - 1e12, x)
    (plain,) = interpret(program, args)
    (other,) = noisy(program, args, np.random.default_rng(0))
    assert np.max(np.abs(plain - other)) > 1e-5
    assert ad.jit(lambda x: (x + 1e12) - 1e12)(x).shape == (2,)
