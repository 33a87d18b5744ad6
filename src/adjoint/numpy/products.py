"""Products of vectors, matrices and tensors: einsum and everything that is one."""

from __future__ import annotations

import functools
import itertools
import math
import string
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, into, normal_axis
from adjoint.numpy.indexing import updated
from adjoint.numpy.inplace import viewed
from adjoint.numpy.shaping import convert, reshaped
from adjoint.ops.arrays.contract import Einsum
from adjoint.program.layout import Strides
from adjoint.program.trace import bind
from adjoint.program.types import ArrayType, Value, result_dtype, type_of


def _labels(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """einsum(a, [0, 1], b, [1, 2], [0, 2]) as a string and operands."""
    names = string.ascii_letters
    groups = list(operands[1::2])
    output = operands[-1] if len(operands) % 2 else None
    arrays = list(operands[: 2 * len(groups) : 2])

    def text(group: Any) -> str:
        return "".join("..." if n is Ellipsis else names[n] for n in group)

    spec = ",".join(text(g) for g in groups)
    return spec if output is None else f"{spec}->{text(output)}", arrays


@functools.lru_cache(maxsize=512)
def parse(spec: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[str], str]:
    """The indices of each operand and of the output, with ellipses written out and the implicit output named."""
    spec = spec.replace(" ", "")
    left, arrow, right = spec.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(shapes):
        raise ValueError(f"einsum: {spec!r} names {len(inputs)} operands, but {len(shapes)} were given")
    for term in [*inputs, right]:
        bare = term.replace("...", "", 1)
        if not all(c in string.ascii_letters for c in bare):
            raise ValueError(f"einsum: {term!r} in {spec!r} is not a list of letters with at most one ellipsis")
    spare = [c for c in string.ascii_uppercase[::-1] + string.ascii_lowercase[::-1] if c not in spec]
    widths = []
    for term, shape in zip(inputs, shapes, strict=True):
        width = len(shape) - len(term.replace("...", ""))
        if width < 0 or (width and "..." not in term):
            raise ValueError(f"einsum: {term!r} in {spec!r} names {len(term)} axes, but the operand has shape {shape}")
        widths.append(width if "..." in term else 0)
    dots = "".join(spare[: max(widths, default=0)])
    full = [term.replace("...", dots[len(dots) - width :]) for term, width in zip(inputs, widths, strict=True)]
    if arrow:
        output = right.replace("...", dots)
        if "..." not in right and dots:
            raise ValueError(f"einsum: the output of {spec!r} has no ellipsis, but an operand has axes under one")
    else:
        letters = "".join(inputs).replace("...", "")
        output = dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if len(set(output)) != len(output):
        raise ValueError(f"einsum: the output of {spec!r} repeats an index")
    if missing := set(output) - set("".join(full)):
        raise ValueError(f"einsum: the output of {spec!r} has indices {sorted(missing)} that no operand has")
    return full, output


def _diagonals(letters: str, x: Value) -> tuple[str, Value]:
    """An operand without repeated indices: `iij` is the diagonal over the first two axes."""
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            i = letters.index(letter)
            j = letters.index(letter, i + 1)
            if x.shape[i] != x.shape[j]:
                raise ValueError(f"einsum: index {letter} has sizes {x.shape[i]} and {x.shape[j]} in one operand")
            x = np.diagonal(x, axis1=i, axis2=j)
            letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + letter
    return letters, x


def _pair(a: tuple[str, Value], b: tuple[str, Value], wanted: set[str]) -> tuple[str, Value]:
    """Two operands as one, with the indices that are still wanted."""
    letters = "".join(c for c in dict.fromkeys(a[0] + b[0]) if c in wanted)
    return letters, _contract([a, b], letters)


def _contract(terms: list[tuple[str, Value]], output: str) -> Value:
    """One einsum; axes of size one that broadcast are dropped before."""
    sizes: dict[str, int] = {}
    for letters, x in terms:
        for letter, n in zip(letters, x.shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                if 1 not in (sizes[letter], n):
                    raise ValueError(
                        f"einsum: index {letter} has sizes {sizes[letter]} and {n}. A letter has one size: exchange "
                        "two letters, or transpose an operand"
                    )
                sizes[letter] = n if sizes[letter] == 1 else sizes[letter]
    fitted = []
    for letters, x in terms:
        narrow = [i for i, c in enumerate(letters) if x.shape[i] != sizes[c]]
        fitted.append(
            (
                "".join(c for i, c in enumerate(letters) if i not in narrow),
                np.squeeze(x, tuple(narrow)) if narrow else x,
            )
        )
    spec = ",".join(letters for letters, _ in fitted) + "->" + output
    return bind(Einsum(spec), *[x for _, x in fitted])


@implements(np.einsum)
def einsum(
    *operands: Any, out: Any = None, dtype: Any = None, order: str = "K", casting: str = "safe", optimize: Any = False
) -> Value:
    if isinstance(operands[0], str):
        spec, arrays = operands[0], [as_array(a) for a in operands[1:]]
    else:
        spec, arrays = _labels(operands)
        arrays = [as_array(a) for a in arrays]
    if dtype is not None:
        arrays = [convert(a, dtype) for a in arrays]
    elif len({a.dtype for a in arrays}) > 1 and len(arrays) > 2:  # some meet before the others give them their dtype
        together = result_dtype(*map(type_of, arrays))
        arrays = [convert(a, together) for a in arrays]
    inputs, output = parse(spec, tuple(a.shape for a in arrays))
    if len(arrays) == 1 and out is None and set(inputs[0]) == set(output):
        return _relabeled(inputs[0], output, arrays[0])
    terms = [_diagonals(letters, x) for letters, x in zip(inputs, arrays, strict=True)]
    path = _path(optimize, terms, output)
    if path is not None:
        terms = _by_path(terms, output, path)
    return into(out, _contract(_in_pairs(terms, output), output))


def _path(optimize: Any, terms: list[tuple[str, Value]], output: str) -> Any:
    """The order of contraction that the caller asks for; None for ours, which takes the smallest product first."""
    if isinstance(optimize, list | tuple) and len(optimize) and optimize[0] == "einsum_path":
        return optimize[1:]
    kind = optimize[0] if isinstance(optimize, list | tuple) and len(optimize) else optimize
    if kind not in (True, False, None, "greedy", "optimal"):
        raise TypeError(f"np.einsum: did not understand the path {optimize!r}")
    if kind != "optimal" or len(terms) < 3:
        return None
    plain = [np.broadcast_to(0.0, x.shape) for _, x in terms]
    inputs = ",".join(letters for letters, _ in terms)
    return np.einsum_path(f"{inputs}->{output}", *plain, optimize=optimize)[0][1:]


def _by_path(terms: list[tuple[str, Value]], output: str, path: Any) -> list[tuple[str, Value]]:
    """Contract the operands that each step names, and put the result behind the others."""
    for step in path:
        chosen = [terms[k] for k in step]
        rest = [t for k, t in enumerate(terms) if k not in step]
        if not rest:
            return chosen
        wanted = set(output).union(*[letters for letters, _ in rest])
        letters = "".join(c for c in dict.fromkeys("".join(t[0] for t in chosen)) if c in wanted)
        terms = [*rest, (letters, _contract(_in_pairs(chosen, letters), letters))]
    return terms


def _relabeled(letters: str, output: str, x: Value) -> Value:
    """An operand with nothing to sum: a view of it, which may be written to (`ii->i` too)."""
    order = tuple(letters.index(c) for c in output)
    if len(order) == len(letters):
        return np.transpose(x, order)

    def read(base: Value) -> Value:
        return _contract([_diagonals(letters, base)], output)

    def put(base: Value, view: Value) -> Value:
        ndim = len(output)
        at = [np.reshape(np.arange(n), (1,) * k + (n,) + (1,) * (ndim - k - 1)) for k, n in enumerate(view.shape)]
        return updated(base, tuple(at[output.index(c)] for c in letters), view)

    def along(kind: ArrayType, strides: Strides) -> Strides:
        return tuple(sum(s for c, s in zip(letters, strides, strict=True) if c == wanted) for wanted in output)

    return viewed(read(x), x, read, put, layout=along)


def _in_pairs(terms: list[tuple[str, Value]], output: str) -> list[tuple[str, Value]]:
    """Contract the pair with the smallest product first, until two operands are left."""
    terms = list(terms)
    while len(terms) > 2:
        best: tuple[float, int, int] | None = None
        for i, j in itertools.combinations(range(len(terms)), 2):
            wanted = set(output).union(*[terms[k][0] for k in range(len(terms)) if k not in (i, j)])
            sizes = dict(zip(terms[i][0] + terms[j][0], (*terms[i][1].shape, *terms[j][1].shape), strict=True))
            cost = math.prod(n for c, n in sizes.items() if c in wanted) - sum(
                math.prod(terms[k][1].shape) for k in (i, j)
            )
            if best is None or cost < best[0]:
                best = (cost, i, j)
        assert best is not None
        _, i, j = best
        wanted = set(output).union(*[terms[k][0] for k in range(len(terms)) if k not in (i, j)])
        terms = [t for k, t in enumerate(terms) if k not in (i, j)] + [_pair(terms[i], terms[j], wanted)]
    return terms


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Value:
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return into(out, a * b)
    if b.ndim <= 2 and a.ndim >= 1:
        return into(out, np.matmul(a, b))
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"shapes {a.shape} and {b.shape} not aligned: {a.shape[-1]} (dim {a.ndim - 1}) != {b.shape[-2]} (dim "
            f"{b.ndim - 2})"
        )
    return into(out, tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,))))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Value:
    a, b = np.ravel(as_array(a)), np.ravel(as_array(b))
    return np.matmul(np.conjugate(a) if a.dtype.kind == "c" else a, b)


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Value:
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Value:
    a, b = as_array(a), as_array(b)
    return into(out, reshaped(a, (math.prod(a.shape), 1)) * reshaped(b, (1, math.prod(b.shape))))


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Value:
    a, b = as_array(a), as_array(b)
    if isinstance(axes, int | np.integer):
        left, right = tuple(range(a.ndim - int(axes), a.ndim)), tuple(range(int(axes)))
    else:
        left, right = (tuple(g) if isinstance(g, tuple | list | np.ndarray) else (g,) for g in axes)
    left, right = tuple(normal_axis(i, a.ndim) for i in left), tuple(normal_axis(i, b.ndim) for i in right)
    if len(left) != len(right) or any(a.shape[i] != b.shape[j] for i, j in zip(left, right, strict=True)):
        raise ValueError(f"shape-mismatch for sum: axes {left} of {a.shape} and {right} of {b.shape}")
    rows = [i for i in range(a.ndim) if i not in left]
    columns = [j for j in range(b.ndim) if j not in right]
    count = math.prod(a.shape[i] for i in left)
    first = np.reshape(np.transpose(a, (*rows, *left)), (math.prod(a.shape[i] for i in rows), count))
    second = np.reshape(np.transpose(b, (*right, *columns)), (count, math.prod(b.shape[j] for j in columns)))
    return np.reshape(np.matmul(first, second), (*[a.shape[i] for i in rows], *[b.shape[j] for j in columns]))


@implements(np.kron)
def kron(a: Any, b: Any) -> Value:
    a, b = as_array(a), as_array(b)
    ndim = max(a.ndim, b.ndim)
    tall, wide = (1,) * (ndim - a.ndim) + a.shape, (1,) * (ndim - b.ndim) + b.shape
    spread = np.reshape(a, tuple(itertools.chain(*[(n, 1) for n in tall]))) * np.reshape(
        b, tuple(itertools.chain(*[(1, n) for n in wide]))
    )
    return np.reshape(spread, tuple(n * m for n, m in zip(tall, wide, strict=True)))


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Value:
    return into(out, np.sum(np.diagonal(as_array(a), offset, axis1, axis2), axis=-1, dtype=dtype))


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Value:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(as_array(a), axisa, -1), np.moveaxis(as_array(b), axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{a.shape[-1]} and {b.shape[-1]} dimensional instead."
        )
    a1, a2, b1, b2 = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    last = a1 * b2 - a2 * b1
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return last
    zero = np.zeros((), result_dtype(type_of(a), type_of(b)))
    a3 = a[..., 2] if a.shape[-1] == 3 else zero
    b3 = b[..., 2] if b.shape[-1] == 3 else zero
    return np.moveaxis(np.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, last], axis=-1), -1, axisc)
