"""adjoint.signal.conv: against SciPy, against loops, and under every transformation."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint import signal
from adjoint.base.errors import ShapeError
from tests.numpy.checking import Case, array, complex_array, every_check, signed

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
CASES = [
    Case("plane", lambda x, w: signal.conv(x, w), (signed(2, 3, 5, 4), array(2, 3, 3, 2))),
    Case(
        "strides",
        lambda x, w: signal.conv(x, w, stride=(2, 1), padding=1, dilation=(1, 2)),
        (signed(1, 2, 5, 5), signed(3, 2, 2, 2)),
    ),
    Case("groups", lambda x, w: signal.conv(x, w, groups=2, padding="same"), (signed(2, 4, 5), array(6, 2, 3))),
    Case("line full", lambda x, w: signal.conv(x, w, channels=None, padding="full", flip=True), (signed(6), array(3))),
    Case(
        "input dilation",
        lambda x, w: signal.conv(x, w, input_dilation=2, padding=((1, 2),), stride=3),
        (complex_array(1, 2, 4), array(1, 2, 3)),
    ),
    Case("last", lambda x, w: signal.conv(x, w, channels="last", stride=2), (signed(2, 5, 2), complex_array(3, 2, 3))),
    Case("space", lambda x, w: signal.conv(x, w, padding=1), (signed(1, 3, 3, 2, 3), array(1, 3, 2, 3, 2))),
    Case("depthwise", lambda x, w: signal.depthwise_conv(x, w, padding="same"), (signed(2, 3, 4, 4), array(6, 3, 3))),
    Case(
        "transposed",
        lambda x, w: signal.conv_transpose(x, w, stride=2, padding=1, output_padding=1, dilation=2, groups=2),
        (signed(1, 2, 3, 3), array(2, 2, 2, 3)),
    ),
    Case(
        "transposed same",
        lambda x, w: signal.conv_transpose(x, w, stride=2, padding="same"),
        (signed(2, 4), array(2, 1, 3)),
    ),
]


@every_check(CASES)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.name)
def test_compiled(case):
    scalar = lambda x, w: np.sum(np.abs(case.function(x, w)) ** 2)
    np.testing.assert_allclose(ad.jit(case.function)(*case.inputs), case.function(*case.inputs), rtol=1e-13)
    gradient = ad.grad(scalar, (0, 1))
    for found, wanted in zip(ad.jit(gradient)(*case.inputs), gradient(*case.inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def by_loop(x, w, stride, padding, dilation, groups):
    """x[n, c, …] and w[o, c / groups, …], with zeros around x: every product, one by one."""
    wide = np.pad(x, [(0, 0), (0, 0), *padding])
    n, size = w.ndim - 2, w.shape[2:]
    lengths = [(wide.shape[2 + j] - dilation[j] * (size[j] - 1) - 1) // stride[j] + 1 for j in range(n)]
    z = np.zeros((x.shape[0], w.shape[0], *lengths))
    depth, per_group = w.shape[1], w.shape[0] // groups
    for o, c in itertools.product(range(w.shape[0]), range(depth)):
        for p in itertools.product(*map(range, lengths)):
            for k in itertools.product(*map(range, size)):
                i = [stride[j] * p[j] + dilation[j] * k[j] for j in range(n)]
                z[(slice(None), o, *p)] += wide[(slice(None), o // per_group * depth + c, *i)] * w[(o, c, *k)]
    return z


@pytest.mark.parametrize("groups", [1, 2])
def test_values_against_a_loop(groups):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 4, 5, 6)), rng.normal(size=(4, 4 // groups, 2, 3))
    for stride, padding, dilation in itertools.product([(1, 1), (2, 3)], [((0, 0), (1, 2))], [(1, 1), (3, 1)]):
        z = signal.conv(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
        np.testing.assert_allclose(z, by_loop(x, w, stride, padding, dilation, groups), atol=1e-12)


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_against_scipy(mode):
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(3, 7, 8)), rng.normal(size=(3, 5))
    z = signal.conv(x, w, channels=None, padding=mode, flip=True)
    np.testing.assert_allclose(z, [scipy.signal.convolve(plane, w, mode) for plane in x], atol=1e-12)
    z = signal.conv(x, w, channels=None, padding=mode)
    np.testing.assert_allclose(z, [scipy.signal.correlate(plane, w, mode) for plane in x], atol=1e-12)


def test_layouts_agree():
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(4, 3, 3, 2))
    first = signal.conv(x, w, stride=2, padding="same")
    last = signal.conv(np.moveaxis(x, 1, -1), np.transpose(w, (2, 3, 1, 0)), stride=2, padding="same", channels="last")
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), first, atol=1e-13)
    np.testing.assert_allclose(signal.conv(x[0], w, stride=2, padding="same"), first[0], atol=1e-13)
    np.testing.assert_allclose(signal.conv(x[:, None], w, stride=2, padding="same")[:, 0], first, atol=1e-13)
    assert first.shape == (2, 4, 3, 3)


@pytest.mark.parametrize(
    "stride, padding, dilation, groups", [(1, 0, 1, 1), (2, 1, 1, 2), (3, (1, 0), (1, 2), 1), (2, "same", 1, 1)]
)
def test_the_transposed_convolution_is_the_transpose(stride, padding, dilation, groups):
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(2, 4, 6, 8)), rng.normal(size=(6, 4 // groups, 3, 2))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    z = signal.conv(x, w, **options)
    y = rng.normal(size=z.shape)
    low = signal.conv_transpose(y, w, **options)
    extra = [n - m for n, m in zip(x.shape[2:], low.shape[2:], strict=True)]
    back = signal.conv_transpose(y, w, output_padding=extra, **options)
    np.testing.assert_allclose(np.vdot(back, x), np.vdot(y, z), rtol=1e-11)
    np.testing.assert_allclose(ad.vjp(lambda x: signal.conv(x, w, **options), x)[1](y)[0], back, atol=1e-12)


def test_vmap_of_kernels_and_of_both():
    rng = np.random.default_rng(4)
    x, w = rng.normal(size=(3, 2, 2, 6)), rng.normal(size=(3, 4, 1, 3))
    f = lambda x, w: signal.conv(x, w, groups=2, padding=1)
    np.testing.assert_allclose(ad.vmap(f)(x, w), [f(a, b) for a, b in zip(x, w, strict=True)], atol=1e-13)
    np.testing.assert_allclose(ad.vmap(f, in_axes=(None, 0))(x[0], w), [f(x[0], b) for b in w], atol=1e-13)
    jacobian = ad.jacobian(lambda w: f(x[0], w))(w[0])
    direction = rng.normal(size=w[0].shape)
    np.testing.assert_allclose(np.tensordot(jacobian, direction, 3), f(x[0], direction), atol=1e-12)


def test_a_saved_program_needs_nothing_loaded_before(tmp_path):
    """Primitives that wait until they are used are known to a program that is read."""
    path = tmp_path / "line.program"
    ad.trace(lambda x: signal.max_pool(signal.conv(x, [1.0, 2.0], channels=None), 2))(np.arange(5.0)).save(path)
    code = f"import numpy as np, adjoint as ad; print(ad.load({str(path)!r})(np.arange(5.0)).tolist())"
    run = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": SOURCE}, capture_output=True, text=True
    )
    assert run.stdout.strip() == "[5.0, 11.0]", run.stderr


def test_single_precision_and_empty_arrays():
    x, w = np.ones((1, 2, 5), np.float32), np.ones((1, 2, 3), np.float32)
    assert signal.conv(x, w).dtype == np.float32
    assert ad.grad(lambda w: np.sum(signal.conv(x, w)))(w).dtype == np.float32
    assert signal.conv(np.ones((0, 2, 5)), w).shape == (0, 1, 3)
    assert signal.conv(np.ones((1, 2, 2)), w).shape == (1, 1, 0)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: signal.conv(x, np.ones((2, 3, 2))), ShapeError, "4 channels"),
        (lambda x: signal.conv(x, np.ones((3, 2, 2)), groups=2), ShapeError, "groups"),
        (lambda x: signal.conv(x, np.ones((1, 4, 2)), stride=0), ValueError, "stride"),
        (lambda x: signal.conv(x, np.ones((1, 4, 2)), stride=1.5), TypeError, "stride"),
        (lambda x: signal.conv(x, np.ones((1, 4, 2)), padding="half"), ValueError, "'half'"),
        (lambda x: signal.conv(x, np.ones((1, 4, 2)), padding=((1, 1), (2, 2))), ShapeError, "pairs"),
        (lambda x: signal.conv(x, np.ones((1, 4, 2)), channels="middle"), ValueError, "channels"),
        (lambda x: signal.conv(x, np.ones(2)), ShapeError, "kernel"),
        (lambda x: signal.conv_transpose(x, np.ones((3, 1, 2))), ShapeError, "transposed"),
        (lambda x: signal.depthwise_conv(x, np.ones((4, 2)), channels="x"), ShapeError, "depthwise"),
    ],
)
def test_errors_name_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call(np.ones((2, 4, 6)))
