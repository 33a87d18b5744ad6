"""The Array API standard: derivatives of every function, against differences, and compiled against not compiled."""

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as xp
from adjoint.testing.differences import finite_difference
from tests.numpy.array_api_calls import CALLS
from tests.numpy.array_api_names import ELEMENTWISE_OF_ONE, ELEMENTWISE_OF_TWO, KINDS
from tests.numpy.checking import close, directions, floats, inner

DIFFERENTIABLE = [
    call for call in CALLS if {"float64", "complex128"} & set(KINDS[call.kind]) and call.arrays("float64")
]


def inputs_of(call) -> tuple[np.ndarray, ...]:
    """Where nothing kinks: no two numbers are equal, and none is whole or a half."""
    dtype = "float64" if "float64" in KINDS[call.kind] else "complex128"
    return tuple(a + 0.0137 * (k + 1) for k, a in enumerate(call.arrays(dtype)))


def directions_of(call, seed: int) -> tuple[np.ndarray, ...]:
    """A matrix that is read as Hermitian stays so."""
    names = [name for name in call.parameters if name not in ("f", "xp")]
    found = directions(inputs_of(call), seed)
    return tuple(v + np.conj(v.T) if name == "m" else v for name, v in zip(names, found, strict=True))


@pytest.mark.parametrize("part", range(8))
def test_derivatives(part: int) -> None:
    """jvp against differences, vjp against jvp."""
    for call in DIFFERENTIABLE[part::8]:
        xs, vs = inputs_of(call), directions_of(call, 2)

        f = lambda *xs, call=call: floats(call.function(xp, *xs))
        y, slopes = ad.jvp(f, xs, vs)
        wanted = finite_difference(lambda xs, f=f: f(*xs), xs, vs, accuracy=4)
        cts = [np.asarray(u).astype(p.dtype)[()] for u, p in zip(directions(tuple(y), 3), y, strict=True)]
        for value, slope, expected in zip(y, slopes, wanted, strict=True):
            digits = 1e-7 if value.dtype in (np.float64, np.complex128) else 1e-1
            close(slope, expected, digits, f"{call.name}: jvp against differences")
        pulled = ad.vjp(f, *xs)[1](cts)
        digits = 1e-9 if all(p.dtype in (np.float64, np.complex128) for p in y) else 1e-5
        np.testing.assert_allclose(
            inner(pulled, vs), inner(cts, slopes), rtol=digits, atol=digits, err_msg=f"{call.name}: vjp against jvp"
        )


def test_compiled_derivatives() -> None:
    """One call of each function that is not elementwise (those are compiled elsewhere), together."""
    calls = list({call.name: call for call in reversed(DIFFERENTIABLE)}.values())
    calls = [call for call in calls if call.name not in ELEMENTWISE_OF_ONE | ELEMENTWISE_OF_TWO]

    def together(pools):
        total = 0.0
        for call, xs in zip(calls, pools, strict=True):
            for k, part in enumerate(floats(call.function(xp, *xs))):
                total = total + (k + 1) * xp.sum(xp.real(part) * xp.sin(xp.real(part)))
        return total

    pools = [inputs_of(call) for call in calls]
    gradient = ad.grad(together)
    for call, found, wanted in zip(calls, ad.jit(gradient)(pools), gradient(pools), strict=True):
        for a, b in zip(found, wanted, strict=True):
            close(a, b, 1e-6 if call.name == "astype" else 1e-12, f"{call.name}: compiled gradient")  # through float32
