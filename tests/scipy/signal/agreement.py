"""A function of ours on traced values against SciPy's on plain ones, and its derivatives against differences."""

import itertools
import warnings

import numpy as np

import adjoint as ad
from adjoint.program.record import record_program
from adjoint.program.trace import Tracer
from adjoint.program.types import type_of
from tests.numpy.checking import Case, check_first_order, check_lanes, check_second_order, check_taylor, close, floats

TOLERANCE = 1e-10


def check_value(case: Case) -> None:
    """Traced values are SciPy's values, in shape and dtype."""
    wanted = floats(case.function(*[np.array(x) for x in case.inputs]))
    found = ad.vjp(lambda *xs: floats(case.function(*xs)), *case.inputs)[0]
    for part, expected in zip(found, wanted, strict=True):
        assert part.dtype == expected.dtype
        close(part, expected, TOLERANCE, "value against SciPy's")


def check_recorded(case: Case) -> None:
    """A program recorded from types alone, run on the values."""
    if not case.symbolic:
        return
    f = lambda *xs: floats(case.function(*xs))
    values = [np.asarray(x)[()] for x in case.inputs]
    program, _ = record_program(f, [type_of(v) for v in values])
    with np.errstate(all="ignore"):
        results = program(*values)
    for found, wanted in zip(results, f(*values), strict=True):
        assert found.dtype == wanted.dtype
        close(found, wanted, TOLERANCE, "recorded program")


CHECKS = [check_value, check_first_order, check_second_order, check_lanes, check_taylor, check_recorded]


def same_in_every_form(ours, theirs, *arrays, **options) -> None:
    """The values of SciPy for every combination of options, each given as a list."""
    for chosen in itertools.product(*options.values()):
        keywords = dict(zip(options, chosen, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = theirs(*arrays, **keywords)
            kept = []
            f = lambda *xs, keywords=keywords, kept=kept: split(ours(*xs, **keywords), kept)
            found = ad.vjp(f, *arrays)[0]
        parts = wanted if isinstance(wanted, tuple) else (wanted,)
        assert len(parts) == len(found) + len(kept)
        for part in parts:
            part = np.asarray(part)
            match = kept if any(k.shape == part.shape and np.allclose(k, part) for k in kept) else found
            assert any(k.shape == part.shape and np.allclose(k, part, rtol=1e-9, atol=1e-10) for k in match), (
                f"{theirs.__name__} {keywords}: no result of ours agrees with {part}"
            )


def split(result, kept):
    """The traced parts of a result; the plain ones (frequencies, times) are kept."""
    parts = list(result) if isinstance(result, tuple) else [result]
    kept += [np.asarray(p) for p in parts if not isinstance(p, Tracer)]
    return [p for p in parts if isinstance(p, Tracer)]
