"""Fourier transforms along one axis after the other: by code of our own, or NumPy's loops in C, of any length."""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile import spectra, vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.code import NUMPYS_LOOP
from adjoint.compile.emit import Emitter, lowers
from adjoint.compile.expand import RULES
from adjoint.compile.ir import Value
from adjoint.compile.ufunc_loops import find_loop
from adjoint.compile.ufuncs import call_loop, collapse
from adjoint.compile.views import strides_of
from adjoint.ops.arrays.rearrange import Complex, Convert
from adjoint.ops.signal.fourier import Fourier, FromHalfSpectrum, HalfSpectrum, spectral_dtype
from adjoint.program.program import Equation
from adjoint.program.types import real_dtype

SHORT = 64  # a single line of so many numbers may leave lanes unused


@RULES.rule(Fourier)
def _fourier_rule(eq: Equation) -> Callable[..., Any] | None:
    """One axis at a time, the last one first, of complex numbers."""
    op: Any = eq.op
    if len(op.axes) == 1 and eq.inputs[0].type.dtype == eq.outputs[0].type.dtype:
        return None
    return _axis_by_axis


def _axis_by_axis(op: Fourier, x: Any) -> Any:
    dtype = spectral_dtype(x.dtype)
    z = x if x.dtype == dtype else Convert(dtype)(x)
    for axis in reversed(op.axes):
        z = Fourier((axis,), op.sign)(z)
    return z


@RULES.rule(HalfSpectrum, FromHalfSpectrum)
def _half_rule(eq: Equation) -> Callable[..., Any] | None:
    op: Any = eq.op
    dtype = spectral_dtype(eq.inputs[0].type.dtype)
    wanted = real_dtype(dtype) if isinstance(op, HalfSpectrum) else dtype
    convert = (lambda x: x) if eq.inputs[0].type.dtype == wanted else Convert(wanted)
    real = (eq.inputs[0] if isinstance(op, HalfSpectrum) else eq.outputs[0]).type.shape
    if _goes_by_pairs(real, op.axis):
        by_pairs = _spectrum_by_pairs if isinstance(op, HalfSpectrum) else _signal_by_pairs
        return lambda op, x: by_pairs(op.axis, real[op.axis], convert(x))
    return None if eq.inputs[0].type.dtype == wanted else lambda op, x: op(convert(x))


def _goes_by_pairs(shape: Sequence[Any], axis: int) -> bool:
    """Whether a real signal is worth a complex one of half the length."""
    n, size = shape[axis], math.prod(shape)
    if type(size) is not int or n % 2 or size == 0:
        return False
    return _pays(n // 2, size // n, np.float64, axis == len(shape) - 1)


def _pays(n: int, lines: int, dtype: Any, along: bool) -> bool:
    """Whether code of our own is quicker: for many lines, and for one which can be cut into lines or is short."""
    if spectra.radices_of(n) is None:
        return False
    return lines >= spectra.lanes_of(dtype) // 2 or n <= SHORT or (along and spectra.halves_of(n) is not None)


def _parts(x: Any, axis: int, *spans: slice) -> list[Any]:
    """Parts of an array along an axis."""
    return [x[(slice(None),) * axis + (span,)] for span in spans]


def _powers_of_root(n: int, count: int, x: Any, axis: int) -> Any:
    """exp(-2πi k / n) along an axis, for k < count."""
    powers = spectra.powers_of_root(np.arange(count), n, np.float64) @ np.array([1, 1j])
    return powers.astype(x.dtype).reshape(-1, *[1] * (x.ndim - axis - 1))


def _spectrum_by_pairs(axis: int, n: int, x: Any) -> Any:
    """Half the spectrum X of n real numbers, from that of the complex ones z_j = x_2j + i x_(2j+1):

    X_k = (Z_k + conj(Z_(m-k))) / 2 - i exp(-2πi k / n) (Z_k - conj(Z_(m-k))) / 2,   m = n / 2, Z_m = Z_0.
    """
    z = Fourier((axis,), -1)(Complex()(*_parts(x, axis, slice(0, None, 2), slice(1, None, 2))))
    z = np.concatenate([z, *_parts(z, axis, slice(0, 1))], axis=axis)
    mirrored = np.conj(np.flip(z, axis))
    return 0.5 * (z + mirrored) - 0.5j * _powers_of_root(n, n // 2 + 1, z, axis) * (z - mirrored)


def _signal_by_pairs(axis: int, n: int, x: Any) -> Any:
    """n real numbers from half their spectrum X: with x_m-k for the other half, the same backwards,

    Z_k = (X_k + conj(X_(m-k))) + i exp(2πi k / n) (X_k - conj(X_(m-k))),   z_j = x_2j + i x_(2j+1);

    the imaginary parts of X_0 and X_m, which are none in such a spectrum, do not count.
    """
    m, real = n // 2, lambda part: Complex()(np.real(part), np.zeros_like(np.real(part)))
    first, middle, last = _parts(x, axis, slice(0, 1), slice(1, m), slice(m, m + 1))
    x = np.concatenate([real(first), middle, real(last)], axis=axis)
    ahead, behind = _parts(x, axis, slice(0, m), slice(1, m + 1))
    mirrored = np.conj(np.flip(behind, axis))
    z = (ahead + mirrored) + 1j * np.conj(_powers_of_root(n, m, x, axis)) * (ahead - mirrored)
    z = Fourier((axis,), 1)(z)
    pairs = np.stack([np.real(z), np.imag(z)], axis=axis + 1)
    return np.reshape(pairs, (*x.shape[:axis], n, *x.shape[axis + 1 :]))


@lowers(Fourier, strided=True)
def write_fourier(emitter: Emitter, op: Fourier, eq: Equation) -> None:
    """Z_k = Σ_j x_j exp(∓2πi jk/n) along one axis."""
    if not _write_side_by_side(emitter, op, eq):
        _write(emitter, eq, op.axes[0] if len(op.axes) == 1 else None, "fft" if op.sign < 0 else "ifft")


def _write_side_by_side(emitter: Emitter, op: Fourier, eq: Equation) -> bool:
    """By code of our own, several lines side by side; False where NumPy's loop is better or can do what this cannot."""
    x, out = emitter.view(eq.inputs[0]), eq.outputs[0].type
    if len(op.axes) != 1 or x.dtype != out.dtype or 0 in out.shape:
        return False
    (axis,), real, own = op.axes, real_dtype(out.dtype), strides_of(out.shape)
    n, others = out.shape[axis], [a for a in range(out.ndim) if a != axis]
    shape, (ins, outs) = collapse([out.shape[a] for a in others], [[s[a] for a in others] for s in (x.strides, own)])
    along, lines = (x.strides[axis], own[axis]), shape[-1] if shape else 1
    apart = (ins[-1], outs[-1]) if shape else (n, n)
    if not _pays(n, lines, real, along == (1, 1)) and not (emitter.shared.standalone and spectra.radices_of(n)):
        return False
    is_few = lines < spectra.lanes_of(real) // 2
    stages = spectra.halves_of(n) if is_few and along == (1, 1) else None
    if stages is None and not all(1 in pair for pair in zip(along, apart, strict=True)):
        return False
    f, flip = emitter.f, int(op.sign > 0)

    def table_of(name: str) -> Value:
        if emitter.shared.standalone:
            return spectra.write_table(name, f.module)
        emitter.shared.symbols[name] = spectra.address(name)
        return f.module.name_data(name)

    def transform(
        length: int, lines: int, here: Value, there: Value, buffers: Value, table: Value, *distances: int
    ) -> None:
        names = spectra.names_of(real, length)
        plan, roots = table_of(names.plan), table_of(names.roots)
        sizes = [f.index(number) for number in (lines, length, *distances, flip)]
        if not emitter.shared.standalone:
            emitter.shared.symbols[names.function] = spectra.address(names.function)
        elif names.function not in f.module.parts:
            spectra.write_spectra(names.function, f.module)
        f.call(names.function, "void", here, there, buffers, roots, plan, table, *sizes, declared=True)

    buffers = emitter.allocate(spectra.workspace(real, max(stages or (n,))))
    between = emitter.allocate(n * out.dtype.itemsize if stages else 0)
    nothing = Value("null", "ptr")

    def walk(k: int, here: Value, there: Value) -> None:
        if k < len(shape) - (stages is None and len(shape) > 0):
            with f.loop(f.index(0), f.index(shape[k])) as i:
                moved = [
                    f.element(p, f.mul(i, f.index(s[k] * out.dtype.itemsize)), "i8")
                    for p, s in ((here, ins), (there, outs))
                ]
                walk(k + 1, *moved)
        elif stages is None:
            transform(n, lines, here, there, buffers, nothing, along[0], apart[0], along[1], apart[1])
        else:
            rows, columns = stages
            name = spectra.stages_name(real, rows, columns)
            table = table_of(name)
            transform(rows, columns, here, between, buffers, table, columns, 1, columns, 1)
            transform(columns, rows, between, there, buffers, nothing, 1, columns, rows, 1)

    walk(0, x.pointer, emitter.pointer(eq.outputs[0]))
    for buffer in (buffers, between):
        emitter.free(buffer)
    emitter.shared.work += emitter.times * (1.5 * out.size * math.log2(n + 1) + 100)
    emitter.shared.steps.append(f"Fourier transform of length {n}, {math.prod(shape)} times")
    return True


@lowers(HalfSpectrum, strided=True)
def write_half_spectrum(emitter: Emitter, op: HalfSpectrum, eq: Equation) -> None:
    """Half the spectrum of real numbers."""
    _write(emitter, eq, op.axis, "rfft_n_odd" if eq.inputs[0].type.shape[op.axis] % 2 else "rfft_n_even")


@lowers(FromHalfSpectrum, strided=True)
def write_from_half_spectrum(emitter: Emitter, op: FromHalfSpectrum, eq: Equation) -> None:
    """Real numbers from half their spectrum."""
    _write(emitter, eq, op.axis, "irfft")


def _write(emitter: Emitter, eq: Equation, axis: int | None, name: str) -> None:
    x, out = emitter.view(eq.inputs[0]), eq.outputs[0].type
    real = real_dtype(out.dtype)
    loop = find_loop("fft", name, f"{x.dtype.char}{real.char}->{out.dtype.char}")
    if loop is None or axis is None or min(*x.shape, *out.shape) == 0:
        return write_callback(emitter, eq)
    f = emitter.f
    target, own = emitter.pointer(eq.outputs[0]), strides_of(out.shape)
    others = [a for a in range(out.ndim) if a != axis]
    items = x.dtype.itemsize, out.dtype.itemsize
    shape, strides = collapse([out.shape[a] for a in others], [[s[a] for a in others] for s in (x.strides, own)])
    scale = f.allocate("i8", real.itemsize)
    vectors.store(f, real, vectors.number(f, real, 1, 1), scale, f.index(0), 1, 1)

    def walk(k: int, here: Value, there: Value) -> None:
        if k < len(shape) - 1:
            with f.loop(f.index(0), f.index(shape[k])) as i:
                moved = [
                    f.element(p, f.mul(i, f.index(s[k] * n)), "i8")
                    for p, s, n in zip((here, there), strides, items, strict=True)
                ]
                walk(k + 1, *moved)
            return
        count = shape[-1] if shape else 1
        steps = [s[-1] * n if shape else 0 for s, n in zip(strides, items, strict=True)]
        along = [x.strides[axis] * items[0], own[axis] * items[1]]
        sizes = [count, x.shape[axis], out.shape[axis]]
        strides_in_bytes = [steps[0], 0, steps[1], *along]
        call_loop(
            emitter, loop, [here, scale, there], [f.index(n) for n in sizes], [f.index(n) for n in strides_in_bytes]
        )

    walk(0, x.pointer, target)
    n = max(x.shape[axis], out.shape[axis])
    emitter.shared.work += emitter.times * (3.0 * max(x.type.size, out.size) * math.log2(n + 1) + 300)
    emitter.shared.steps.append(f"Fourier transform of length {n}, {math.prod(shape)} times: {NUMPYS_LOOP}")
    return None


__all__ = ["write_fourier", "write_from_half_spectrum", "write_half_spectrum"]
