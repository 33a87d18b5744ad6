"""The comparison of adjoints on ten steps of Euler's method, where the book has numbers."""

import numpy as np
import pytest

from adjoint import integrate


@pytest.mark.row("12.6.4-b")
def test_ten_steps_of_euler():
    found = integrate.compare_adjoints(
        lambda t, s, w: w * s, (0.0, 1.0), 1.0, args=(1.0,), method="euler", first_step=0.1,
        adjoints=("discretize", "backsolve"),
    )  # fmt: skip
    np.testing.assert_allclose(found["discretize"].flat, (1.1**10, 1.1**9), rtol=1e-12)
    np.testing.assert_allclose(found["backsolve"].flat, (2.5937424601, 2.4800827200), atol=1e-9)
    np.testing.assert_allclose(found.reference, (np.e, np.e), rtol=1e-9)
    assert found["discretize"].from_discrete == 0
    assert abs(found["backsolve"].drift - 0.0956) < 1e-4
    assert np.isnan(found["discretize"].drift)
    assert found["backsolve"].memory < found["discretize"].memory
    lines = repr(found).splitlines()
    assert len(lines) == 3
    assert "from continuous" in lines[0]
    assert found._repr_html_().count("<tr>") == 3
    assert found.plot().get_xlabel() == "seconds"
