"""How convolutions are computed: by one product of matrices, by shifts, by scattering, or by Fourier transforms.

The letters are those of `adjoint.ops.signal.convolution`. All ways compute

    z[n,g,o,p] = Σ x[n,g,c,i] w[g,o,c,k]   over  a·i = b·p + d·k + e   with a, b, d > 0

| way | when | work beside the products |
|---|---|---|
| columns | a = 1 (else zeros are put between the elements of x) | each window of x is copied once |
| scatter | b = 1, and a > 1 (the transpose of a stride) or few channels out | each product is added once |
| shifts | one channel in, one out | none |
| rows | the same along one axis, few rows: `np.correlate` | none |
| Fourier | long kernels | three transforms |
"""

# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

Ints = Sequence[int]
BUDGET = 1 << 19  # elements of windows that are copied at once: about what the caches hold
NEAR = 1 << 15  # elements of one array that several passes go over


def convolved(x: Any, w: Any, stride: Ints, dilation: Ints, spread: Ints, start: Ints, lengths: Ints) -> Any:
    """The convolution of `adjoint.ops.signal.convolution.Convolution`."""
    dtype = np.result_type(x, w)
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    x, w = np.asarray(x).astype(wide, copy=False), np.asarray(w).astype(wide, copy=False)
    if x.size == 0 or w.size == 0 or math.prod(lengths) == 0:
        return np.zeros((x.shape[0], x.shape[1], w.shape[1], *lengths), dtype)
    a, b, d, e = list(spread), list(stride), list(dilation), list(start)
    backwards: list[int] = []
    for j in range(len(a)):
        if a[j] < 0:
            a[j], b[j], d[j], e[j] = -a[j], -b[j], -d[j], -e[j]
        if d[j] < 0:  # walk the kernel from its other end
            w = np.flip(w, 3 + j)
            e[j] += d[j] * (w.shape[3 + j] - 1)
            d[j] = -d[j]
        if b[j] < 0:
            backwards.append(3 + j)
            e[j] += b[j] * (lengths[j] - 1)
            b[j] = -b[j]
    z = _forwards(x, w, a, b, d, e, tuple(lengths))
    return (np.flip(z, tuple(backwards)) if backwards else z).astype(dtype, copy=False)


def _forwards(x: Any, w: Any, a: list[int], b: list[int], d: list[int], e: list[int], lengths: tuple[int, ...]) -> Any:
    size, single = w.shape[3:], w.shape[1] == 1 and w.shape[2] == 1
    for j in range(len(a)):
        if size[j] == 1:  # one tap has no distance to the next, one element of x or z none either
            d[j] = 1
        if lengths[j] == 1:
            b[j] = 1
        if x.shape[3 + j] == 1:
            a[j] = 1
    # less is added than would be copied
    few = 2 * w.shape[1] < w.shape[2] and 1 < math.prod(size) <= math.prod(lengths)
    if all(n == 1 for n in b) and (any(n > 1 for n in a) or few):
        return _scattered(x, w, a, d, e, lengths)
    extent = [s * (p - 1) + t * (k - 1) + 1 for s, p, t, k in zip(b, lengths, d, size)]
    if fourier_pays(x, w, extent, lengths) and np.isfinite(np.sum(x)) and np.isfinite(np.sum(w)):
        return _by_fourier(_framed(x, a, e, extent), w, b, d, lengths)
    if single:
        frame = _framed(x, a, e, extent)
        if len(size) == 1 and b == [1] and d == [1] and min(size[0], lengths[0]) > 8 and frame[:, :, 0, 0].size <= 64:
            return _by_rows(frame, w, lengths)
        return _shifted(frame, w, b, d, lengths)
    return _by_columns(x, w, a, b, d, e, extent, lengths)


def _framed(x: Any, a: Ints, e: Ints, extent: Ints) -> Any:
    """x as the windows see it: element i at place a·i - e of an array with zeros elsewhere."""
    inside = tuple(
        slice(max(0, -(-f // s)), min(n, (f + m - 1) // s + 1)) for s, f, m, n in zip(a, e, extent, x.shape[3:])
    )
    if all(s == 1 and i.stop - i.start == m for s, i, m in zip(a, inside, extent)):
        return x[(..., *inside)]
    frame = np.zeros((*x.shape[:3], *extent), x.dtype)
    if all(i.stop > i.start for i in inside):
        target = tuple(slice(s * i.start - f, s * (i.stop - 1) - f + 1, s) for s, f, i in zip(a, e, inside))
        frame[(..., *target)] = x[(..., *inside)]
    return frame


def _windows(frame: Any, b: Ints, d: Ints, lengths: Ints, size: Ints) -> Any:
    """A view of the frame as [n, g, c, p…, k…]."""
    steps = frame.strides[3:]
    return as_strided(
        frame,
        (*frame.shape[:3], *lengths, *size),
        (*frame.strides[:3], *[s * t for s, t in zip(steps, b)], *[s * t for s, t in zip(steps, d)]),
        writeable=False,
    )


def _parts(count: int, each: int, budget: int | None = None) -> Iterator[slice]:
    """Slices of a range, such that what belongs to one fits into the room."""
    step = max(1, min(count, (BUDGET if budget is None else budget) // max(each, 1)))
    for first in range(0, count, step):
        yield slice(first, min(first + step, count))


def _by_columns(x: Any, w: Any, a: Ints, b: Ints, d: Ints, e: Ints, extent: Ints, lengths: tuple[int, ...]) -> Any:
    """Windows beside each other as a matrix, times the kernels as a matrix."""
    count, groups, channels = x.shape[:3]
    out, size, n = w.shape[1], w.shape[3:], len(lengths)
    positions, taps = math.prod(lengths), math.prod(size)
    if taps > positions:
        return _by_long_columns(x, w, a, b, d, e, extent, lengths)
    z = np.empty((count, groups, out, positions), x.dtype)
    kernels = np.reshape(w, (groups, out, channels * taps))
    order = (0, 1, 2, *range(3 + n, 3 + 2 * n), *range(3, 3 + n))  # [n, g, c, k…, p…]
    each = groups * channels * taps * positions
    for part in _parts(count, each):
        frame = _framed(x[part], a, e, extent)
        columns = _windows(frame, b, d, lengths, size).transpose(order)
        if each <= BUDGET or lengths[0] == 1:
            columns = np.reshape(columns, (*columns.shape[:2], channels * taps, positions))
            np.matmul(kernels, columns, out=z[part])
            continue
        row = positions // lengths[0]  # one image is too large: some rows of places at a time
        for rows in _parts(lengths[0], each // lengths[0]):
            block = columns[(*[slice(None)] * (3 + n), rows)]
            block = np.reshape(block, (*block.shape[:2], channels * taps, -1))
            z[part, :, :, rows.start * row : rows.stop * row] = np.matmul(kernels, block)
    return np.reshape(z, (count, groups, out, *lengths))


def _by_long_columns(x: Any, w: Any, a: Ints, b: Ints, d: Ints, e: Ints, extent: Ints, lengths: tuple[int, ...]) -> Any:
    """The same when the kernel is larger than the result, as in the adjoint for the kernel."""
    count, groups, channels = x.shape[:3]
    out, size, n = w.shape[1], w.shape[3:], len(lengths)
    positions, taps = math.prod(lengths), math.prod(size)
    z = np.zeros((groups, count * positions, out), x.dtype)
    order = (1, 0, *range(3, 3 + n), 2, *range(3 + n, 3 + 2 * n))  # [g, n, p…, c, k…]
    each = groups * positions * taps
    for part in _parts(channels, each * count):
        kernels = np.reshape(w[:, :, part], (groups, out, -1))
        for lines in _parts(count, each * (part.stop - part.start)):
            frame = _framed(x[lines, :, part], a, e, extent)
            columns = _windows(frame, b, d, lengths, size).transpose(order)
            columns = np.reshape(columns, (groups, -1, kernels.shape[2]))
            z[:, lines.start * positions : lines.stop * positions] += np.matmul(columns, np.swapaxes(kernels, 1, 2))
    z = np.reshape(z, (groups, count, positions, out))
    return np.reshape(np.transpose(z, (1, 0, 3, 2)), (count, groups, out, *lengths))


def _scattered(x: Any, w: Any, a: Ints, d: Ints, e: Ints, lengths: tuple[int, ...]) -> Any:
    """All products of x and w, each added at its place p = a·i - d·k - e."""
    count, groups, channels = x.shape[:3]
    out, size, space = w.shape[1], w.shape[3:], x.shape[3:]
    taps = math.prod(size)
    z = np.zeros((count, groups, out, *lengths), x.dtype)
    kernels = np.reshape(np.moveaxis(w, 2, -1), (groups, out * taps, channels))
    for part in _parts(count, groups * out * taps * math.prod(space)):
        y = np.matmul(kernels, np.reshape(x[part], (-1, groups, channels, math.prod(space))))
        y = np.reshape(y, (-1, groups, out, *size, *space))
        for k in itertools.product(*map(range, size)):
            shift = [t * j + f for t, j, f in zip(d, k, e)]
            inside = [
                (max(0, -(-f // s)), min(n, (f + m - 1) // s + 1)) for s, f, m, n in zip(a, shift, lengths, space)
            ]
            if all(last > first for first, last in inside):
                to = tuple(slice(s * i - f, s * (j - 1) - f + 1, s) for s, f, (i, j) in zip(a, shift, inside))
                z[(part, slice(None), slice(None), *to)] += y[
                    (slice(None), slice(None), slice(None), *k, *[slice(*i) for i in inside])
                ]
    return z


def _shifted(frame: Any, w: Any, b: Ints, d: Ints, lengths: tuple[int, ...]) -> Any:
    """One channel in, one out: the frame times each tap, added up; or for a long kernel, each place by itself."""
    size = w.shape[3:]
    z = np.zeros((*frame.shape[:3], *lengths), frame.dtype)
    if math.prod(size) <= math.prod(lengths):
        for block in _near_blocks(frame.shape[0], frame.shape[1], lengths):
            count, groups, *positions = block
            part = z[(count, groups, 0, *positions)]
            term = np.empty_like(part)
            for k in itertools.product(*map(range, size)):
                seen = [
                    slice(t * j + s * q.start, t * j + s * (q.stop - 1) + 1, s)
                    for t, j, s, q in zip(d, k, b, positions)
                ]
                tap = np.reshape(w[(groups, 0, 0, *k)], (-1, *[1] * len(size)))
                np.multiply(frame[(count, groups, 0, *seen)], tap, out=term)
                part += term
        return z
    letters = "".join(chr(ord("i") + j) for j in range(len(size)))
    for p in itertools.product(*map(range, lengths)):
        seen = tuple(slice(s * q, s * q + t * (m - 1) + 1, t) for s, q, t, m in zip(b, p, d, size))
        z[(..., *p)] = np.einsum(f"abc{letters},b{letters}->abc", frame[(..., *seen)], w[:, 0, 0])
    return z


def _near_blocks(count: int, groups: int, lengths: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Blocks of [n, g, p…] so small that passes over one find it in the nearest cache."""
    row = math.prod(lengths[1:])
    rest = [slice(0, m) for m in lengths[1:]]
    for positions in _parts(lengths[0] if lengths else 1, row, NEAR):
        each = row * (positions.stop - positions.start)
        for chosen in _parts(groups, each, NEAR):
            for some in _parts(count, each * (chosen.stop - chosen.start), NEAR):
                yield (some, chosen, *([positions] if lengths else []), *rest)


def _by_rows(frame: Any, w: Any, lengths: tuple[int, ...]) -> Any:
    """Along one axis, row by row."""
    z = np.empty((*frame.shape[:3], *lengths), frame.dtype)
    for n, g in itertools.product(range(frame.shape[0]), range(frame.shape[1])):
        z[n, g, 0] = np.correlate(frame[n, g, 0], np.conj(w[g, 0, 0]), "valid")
    return z


def fourier_pays(x: Any, w: Any, extent: Ints, lengths: Ints) -> bool:
    """Whether three transforms and the products of spectra take less than all products of elements."""
    taps, positions, points = math.prod(w.shape[3:]), math.prod(lengths), math.prod(extent)
    if x.dtype.kind not in "fc" or min(taps, positions) < 64:
        return False
    (count, groups, channels), out = x.shape[:3], w.shape[1]
    products = count * groups * channels * out
    arrays = count * groups * channels + groups * channels * out + count * groups * out
    if channels * out == 1:
        speed = 7.0 if len(lengths) == 1 and count * groups <= 64 else 1.0  # products in a nanosecond
    else:
        speed = 11.0
    direct = products * taps * positions / speed
    return direct > 1.3 * (7e4 + 0.6 * arrays * points * math.log2(points) + products * points)


def _by_fourier(frame: Any, w: Any, b: Ints, d: Ints, lengths: tuple[int, ...]) -> Any:
    """The spectrum of a correlation is the product of one spectrum and the conjugate of the other."""
    import scipy.fft as transforms

    library: Any = transforms

    axes = tuple(range(3, frame.ndim))
    real = frame.dtype.kind == "f"
    shape = [library.next_fast_len(m, real) for m in frame.shape[3:]]
    if any(t > 1 for t in d):
        spaced = np.zeros((*w.shape[:3], *[t * (k - 1) + 1 for t, k in zip(d, w.shape[3:])]), w.dtype)
        spaced[(..., *[slice(None, None, t) for t in d])] = w
        w = spaced
    to, back = (library.rfftn, library.irfftn) if real else (library.fftn, library.ifftn)
    w_spectrum = np.conj(to(np.conj(w), shape, axes))
    z = np.empty((*frame.shape[:2], w.shape[1], *lengths), frame.dtype)
    kept = tuple(slice(0, s * (m - 1) + 1, s) for s, m in zip(b, lengths))
    for part in _parts(frame.shape[0], frame.shape[1] * (w.shape[1] + w.shape[2]) * math.prod(shape), 8 * BUDGET):
        x_spectrum = to(frame[part], shape, axes)
        if w.shape[2] == 1:
            product = x_spectrum * np.moveaxis(w_spectrum, 2, 0)
        else:
            rows = np.moveaxis(x_spectrum, (0, 2), (-2, -1))  # [g, f…, n, c]
            columns = np.moveaxis(w_spectrum, (2, 1), (-2, -1))  # [g, f…, c, o]
            product = np.moveaxis(np.matmul(rows, columns), (-2, -1), (0, 2))
        z[part] = back(product, shape, axes)[(..., *kept)]
    return z


def convolution_workspace(x: Any, w: Any, stride: Ints, dilation: Ints, spread: Ints, lengths: Ints) -> int:
    """Bytes that `convolved` needs beside its result, by the algorithm that it chooses; x and w are types."""
    (count, groups, channels), space = x.shape[:3], x.shape[3:]
    out, size = w.shape[1], w.shape[3:]
    spread = [1 if n == 1 else abs(a) for a, n in zip(spread, space, strict=True)]
    stride = [1 if n == 1 else abs(b) for b, n in zip(stride, lengths, strict=True)]
    taps, positions = math.prod(size), math.prod(lengths)
    each = x.dtype.itemsize
    if not taps * positions * count * math.prod(space):
        return 0

    def some(total: int, one: int, budget: int = BUDGET) -> int:
        """How many of `total` are taken at once, if each needs `one` of `room` elements."""
        return max(1, min(total, budget // max(one, 1)))

    few = 2 * out < channels and 1 < taps <= positions
    if all(n == 1 for n in stride) and (any(n > 1 for n in spread) or few):
        one = groups * out * taps * math.prod(space)
        return each * (one * some(count, one) + math.prod(w.shape))
    reach = [s * (p - 1) + abs(t) * (k - 1) + 1 for s, p, t, k in zip(stride, lengths, dilation, size, strict=True)]
    points = math.prod(reach)
    framed = 0 if tuple(reach) == tuple(space) else each * groups * channels * points
    if fourier_pays(x, w, reach, lengths):
        part = some(count, groups * (out + channels) * points, 8 * BUDGET)
        spectra = part * groups * (channels + 2 * out) + groups * channels * out
        return spectra * points * each + framed * count
    if out == channels == 1:
        long_rows = len(size) == 1 and min(taps, positions) > 8 and count * groups <= 64
        term = positions if long_rows else min(NEAR, count * groups * positions)
        return framed * count + each * term
    if taps > positions:
        one = groups * positions * taps * count
        step = some(channels, one)
        lines = some(count, groups * positions * taps * step)
        block = lines * groups * positions * (taps * step + out)
        sums = groups * out * (count * positions + taps * step)
        return each * (sums + block) + framed * lines // channels * step
    one = groups * channels * taps * positions
    part = some(count, one)
    block = min(one * part, max(BUDGET, one // lengths[0])) if one > BUDGET else one * part
    return each * block + framed * part + (each * BUDGET // (channels * taps) * out if one > BUDGET else 0)
