"""Every entry of a tape has one of the four layouts, whichever path recorded it."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.op import Op
from adjoint.transform.drivers import Linearized
from adjoint.transform.entries import HEAD, INPUT, INPUT_ENTRY, PART, op_of

A = np.array([[2.0, 1.0], [1.0, 3.0]])


def written(x):
    y = x * 1.0
    y[0] = x[1] ** 2
    return y


FUNCTIONS = {
    "pointwise, fast and general": lambda x: np.sin(x) * 2.0 + x.astype(np.float32) / (1.0 - x) - x[:, None],
    "constants on both sides": lambda x: (2.0 - x) * np.arange(2.0) ** x,
    "linear and products": lambda x: (A @ x) * x.reshape(2)[::-1] + np.sum(x) + np.einsum("i,j->ij", x, x)[0],
    "several results": lambda x: np.linalg.eigh(A * x[0])[1] @ x + np.linalg.slogdet(A * x[1])[1],
    "written in place": written,
    "three arguments": lambda x: np.clip(x, 0.1, x[1]) + np.where(x > 0, x, -x),
    "a loop": lambda x: ad.fori_loop(0, 3, lambda i, y: np.sin(y) + x, x),
    "complex": lambda x: np.abs(np.exp(1j * x)) * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_layouts(name):
    recorded = Linearized(lambda active: FUNCTIONS[name](*active), [np.array([0.3, 0.7])])
    entries = list(recorded.entries)
    assert entries[0] is INPUT_ENTRY
    for k, entry in enumerate(entries):
        op, ix, iy, x, y, z, types = entry
        if type(op) is HEAD:
            first, second, guarded, primitive = op
            assert op_of(entry) is primitive is op[3]
            assert primitive.pointwise
            assert isinstance(guarded, bool)
            assert -1 <= min(ix, iy) <= max(ix, iy) < k
            assert max(ix, iy) >= 0
            assert all(factor is None or callable(factor) for factor in (first, second))
            assert types is None or len(types) == 3
        elif op is PART:
            assert (y, z, types) == (None, None, None)
            assert ix < k
            assert op_of(entries[ix]).several
            assert 0 <= iy < x
        elif op is INPUT:
            assert entry is INPUT_ENTRY
        else:
            assert isinstance(op, Op)
            assert op_of(entry) is op
            assert (iy, y, types) == (None, None, None)
            assert isinstance(ix, tuple)
            assert isinstance(x, tuple)
            assert all(-1 <= i < k for i in ix)


def test_all_layouts_are_met():
    kinds = set()
    for f in FUNCTIONS.values():
        entries = Linearized(lambda active, f=f: f(*active), [np.array([0.3, 0.7])]).entries
        kinds |= {"pointwise" if type(e[0]) is HEAD else e[0] if e[0] in (INPUT, PART) else "general" for e in entries}
    assert kinds == {"pointwise", "general", INPUT, PART}
