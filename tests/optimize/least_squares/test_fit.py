"""Fits as data."""

import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize


def test_fits_are_pickled_without_the_function():
    fit = optimize.curve_fit(lambda t, p: p * t, np.arange(4.0), np.arange(4.0) + 0.1, 1.0)
    again = pickle.loads(pickle.dumps(fit))
    assert again.value == fit.value
    assert again.standard_errors == fit.standard_errors
    with pytest.raises(ad.SolveError, match="pickles do not keep"):
        again.influence()
