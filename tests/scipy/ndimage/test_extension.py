"""Images beyond their edges: as np.pad has them, and as often as it takes."""

import numpy as np
import pytest

from adjoint.scipy.ndimage.extension import extended

PADS = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "nearest": "edge",
}


@pytest.mark.parametrize("mode", PADS)
def test_it_is_np_pad(mode):
    x = np.arange(12.0).reshape(3, 4)
    for axis in (0, 1):
        widths = [(0, 0), (0, 0)]
        widths[axis] = (9, 11)
        np.testing.assert_array_equal(extended(x, axis, 9, 11, mode, 0.0), np.pad(x, widths, mode=PADS[mode]))


@pytest.mark.parametrize("mode", ["constant", "grid-constant"])
def test_constants(mode):
    x = np.arange(3.0)
    np.testing.assert_array_equal(extended(x, 0, 2, 1, mode, 7.0), [7, 7, 0, 1, 2, 7])


def test_other_modes_are_refused():
    with pytest.raises(RuntimeError, match="not supported"):
        extended(np.arange(3.0), 0, 1, 1, "odd", 0.0)
