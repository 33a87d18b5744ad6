"""A function of ours on traced values against SciPy's on plain ones, over many options."""

import itertools
import warnings

import numpy as np
import scipy.ndimage

import adjoint as ad
from adjoint.scipy import ndimage
from tests.numpy.checking import signed

MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-wrap", "grid-constant")
IMAGE, LINE, VOLUME = signed(5, 6), signed(7), signed(3, 4, 5)


def same(name: str, x, *rest, **options) -> None:
    """SciPy's values, in shape and dtype, for every combination of options, each given as a list."""
    ours, theirs = getattr(ndimage, name), getattr(scipy.ndimage, name)
    for chosen in itertools.product(*options.values()):
        keywords = dict(zip(options, chosen, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = theirs(x, *rest, **keywords)
            found = ad.vjp(lambda x, keywords=keywords: ours(x, *rest, **keywords), x)[0]
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), f"{name} {keywords}"
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11, err_msg=f"{name} {keywords}")
