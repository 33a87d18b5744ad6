"""A call or more of every function of the Array API standard."""

from tests.numpy import array_api_extensions
from tests.numpy.array_api_call import Call, calls, device, one_like
from tests.numpy.array_api_names import ELEMENTWISE_OF_ONE, ELEMENTWISE_OF_TWO

CALLS: list[Call] = []


def _add(name: str, kind: str, *made) -> None:
    CALLS.extend(calls(name, kind, *made))


for _name, _kind in ELEMENTWISE_OF_ONE.items():
    _add(_name, _kind, lambda f, x: f(x))
for _name, _kind in ELEMENTWISE_OF_TWO.items():
    if _name in ("bitwise_left_shift", "bitwise_right_shift", "pow"):  # of small numbers
        _add(_name, _kind, lambda f, xp, x: f(x, xp.asarray([[2, 1, 0]], dtype=x.dtype)))
    else:
        _add(_name, _kind, lambda f, x, y: f(x, y))
        _add(_name, _kind, lambda f, x, v: f(x, v))
    _add(_name, _kind, lambda f, x: f(x, one_like(x)))
    _add(_name, _kind, lambda f, x: f(one_like(x), x))

_add(
    "clip",
    "real",
    lambda xp, x: xp.clip(x),
    lambda xp, x: xp.clip(x, min=1),
    lambda xp, x: xp.clip(x, 0, max=3),
    lambda xp, x, y: xp.clip(x, max=y),
    lambda xp, x, y: xp.clip(x, xp.minimum(x, y), y),
)

# creation
_add(
    "arange",
    "real",
    lambda xp, v: xp.arange(3, dtype=v.dtype) + v,
    lambda xp, v: xp.arange(0, 6, step=2, dtype=v.dtype, device=device(xp)) + v,
    lambda xp, v: xp.arange(1, stop=4, dtype=v.dtype) + v,
)
_add(
    "asarray",
    "all",
    lambda xp, x: xp.asarray(x),
    lambda xp, x: xp.asarray(x, copy=True),
    lambda xp, x: xp.asarray(x, copy=False),
    lambda xp, x: xp.asarray(x, dtype=x.dtype, device=device(xp)),
)
for _name in ("zeros", "ones"):
    _add(
        _name,
        "all",
        lambda f, xp, x: xp.equal(f((2, 3), dtype=x.dtype, device=device(xp)), x),
        lambda f, x: f(3, dtype=x.dtype),
        lambda f: f((0, 2)),
    )
    _add(
        f"{_name}_like",
        "all",
        lambda f, x: f(x),
        lambda f, xp, x: f(x, dtype=xp.float32, device=device(xp)),
    )
_add("empty", "all", lambda xp, x: xp.zeros_like(xp.empty((2, 3), dtype=x.dtype, device=device(xp))))
_add("empty_like", "all", lambda xp, x: xp.zeros_like(xp.empty_like(x, dtype=xp.float32, device=device(xp))))
_add(
    "full",
    "numeric",
    lambda xp, x: xp.full((2, 3), 2, dtype=x.dtype, device=device(xp)) * x,
    lambda xp: xp.full(3, 2.0),
)
_add(
    "full_like",
    "numeric",
    lambda xp, x: xp.full_like(x, 2),
    lambda xp, x: xp.full_like(x, fill_value=3, device=device(xp)),
)
_add(
    "eye",
    "numeric",
    lambda xp, x: xp.eye(2, 3, k=1, dtype=x.dtype, device=device(xp)) * x,
    lambda xp, m: xp.eye(3, dtype=m.dtype) * m,
)
_add(
    "linspace",
    "floating",
    lambda xp, v: xp.linspace(0, 1, 3, endpoint=False, dtype=v.dtype, device=device(xp)) * v,
    lambda xp, v: xp.linspace(1, 2, num=3, dtype=v.dtype) * v,
)
_add(
    "meshgrid",
    "numeric",
    lambda xp, v, w: tuple(xp.meshgrid(v, w[:2])),
    lambda xp, v, w: tuple(xp.meshgrid(v, w, v[:1], indexing="ij")),
)
_add("tril", "all", lambda xp, x: xp.tril(x), lambda xp, x: xp.tril(x, k=-1))
_add("triu", "all", lambda xp, x: xp.triu(x), lambda xp, x: xp.triu(x, k=1))

# dtypes
_add(
    "astype",
    "real",
    lambda xp, x: xp.astype(x, xp.float32),
    lambda xp, x: xp.astype(x, xp.int64),
    lambda xp, x: xp.astype(x, x.dtype, copy=False, device=device(xp)),
)
_add("astype", "real", lambda xp, x: xp.astype(x, xp.bool))
_add("astype", "bool", lambda xp, x: xp.astype(x, xp.bool), lambda xp, x: xp.astype(x, xp.float64))
_add("astype", "all", lambda xp, x: xp.astype(x, xp.complex128))
_add("can_cast", "all", lambda xp, x: xp.asarray(xp.can_cast(x, x.dtype)))
_add("finfo", "floating", lambda xp, x: xp.asarray(xp.finfo(x).bits), lambda xp, x: float(xp.finfo(x.dtype).eps) * x)
_add("iinfo", "integer", lambda xp, x: xp.asarray(xp.iinfo(x).bits), lambda xp, x: xp.minimum(x, xp.iinfo(x.dtype).max))
_add("isdtype", "all", lambda xp, x: xp.asarray(xp.isdtype(x.dtype, ("real floating", "bool", xp.int8))))
_add("result_type", "numeric", lambda xp, x: xp.astype(x, xp.result_type(x, x.dtype, 1)))

# manipulation
_add("broadcast_arrays", "all", lambda xp, x, v: tuple(xp.broadcast_arrays(x, v)))
_add("broadcast_to", "all", lambda xp, x: xp.broadcast_to(x, (4, 2, 3)), lambda xp, v: xp.broadcast_to(v, shape=(2, 3)))
_add(
    "concat",
    "all",
    lambda xp, x, y: xp.concat([x, y]),
    lambda xp, x, y: xp.concat((x, y), axis=-1),
    lambda xp, x, v: xp.concat([x, v], axis=None),
)
_add("expand_dims", "all", lambda xp, x: xp.expand_dims(x, axis=-1), lambda xp, x: xp.expand_dims(x, axis=0))
_add("flip", "all", lambda xp, x: xp.flip(x), lambda xp, x: xp.flip(x, axis=1), lambda xp, x: xp.flip(x, axis=(0, 1)))
_add("moveaxis", "all", lambda xp, x: xp.moveaxis(x, 0, -1), lambda xp, x: xp.moveaxis(x, (0, 1), (1, 0)))
_add("permute_dims", "all", lambda xp, x: xp.permute_dims(x, (1, 0)), lambda xp, x: xp.permute_dims(x, axes=(0, 1)))
_add(
    "repeat",
    "all",
    lambda xp, x: xp.repeat(x, 2),
    lambda xp, x: xp.repeat(x, 2, axis=1),
    lambda xp, x: xp.repeat(x, xp.asarray([1, 2]), axis=0),
)
_add(
    "reshape",
    "all",
    lambda xp, x: xp.reshape(x, (3, -1), copy=True),
    lambda xp, x: xp.reshape(x, shape=(6,), copy=False),
)
_add(
    "roll",
    "all",
    lambda xp, x: xp.roll(x, 1),
    lambda xp, x: xp.roll(x, 1, axis=0),
    lambda xp, x: xp.roll(x, shift=(1, 2), axis=(0, 1)),
)
_add(
    "squeeze",
    "all",
    lambda xp, x: xp.squeeze(x[None, ...], 0),
    lambda xp, x: xp.squeeze(x[None, ..., None], axis=(0, -1)),
)
_add("stack", "all", lambda xp, x, y: xp.stack([x, y]), lambda xp, x, y: xp.stack((x, y), axis=-1))
_add("tile", "all", lambda xp, x: xp.tile(x, (2, 1)), lambda xp, v: xp.tile(v, (2, 1, 2)))
_add("unstack", "all", lambda xp, x: xp.unstack(x), lambda xp, x: xp.unstack(x, axis=-1))

# searching, sets, sorting
for _name in ("argmax", "argmin"):
    _add(
        _name,
        "real",
        lambda f, x: f(x),
        lambda f, x: f(x, axis=1, keepdims=True),
    )
_add(
    "count_nonzero",
    "all",
    lambda xp, x: xp.count_nonzero(x),
    lambda xp, x: xp.count_nonzero(x, axis=1, keepdims=True),
    lambda xp, x: xp.count_nonzero(x, axis=(0, 1)),
)
_add("nonzero", "all", lambda xp, x, y: xp.nonzero(xp.equal(x, y)), lambda xp, x: xp.nonzero(x))
_add(
    "searchsorted",
    "real",
    lambda xp, v, x: xp.searchsorted(xp.sort(v), x),
    lambda xp, v, x: xp.searchsorted(v, x, side="right", sorter=xp.argsort(v)),
)
_add("where", "all", lambda xp, x, y: xp.where(xp.equal(x, y), x, y), lambda xp, x, v: xp.where(xp.equal(x, v), v, x))
_add("where", "numeric", lambda xp, x, y: xp.where(xp.equal(x, y), x, 0))
_add("unique_all", "real", lambda xp, x: tuple(xp.unique_all(x)))
_add("unique_counts", "real", lambda xp, x: tuple(xp.unique_counts(x)))
_add("unique_inverse", "real", lambda xp, x: xp.unique_inverse(x).inverse_indices)
_add("unique_values", "real", lambda xp, x: xp.sort(xp.unique_values(x)))
for _down in (False, True):
    for _stable in (False, True):
        _options = {"descending": _down, "stable": _stable}
        _add("sort", "real", lambda xp, x, options=_options: xp.sort(x, axis=0, **options))
        _add("argsort", "real", lambda xp, m, options=_options: xp.argsort(m, **options))
_add("sort", "real", lambda xp, x: xp.sort(x))
_add("argsort", "real", lambda xp, x: xp.argsort(x))

# sums, truth
for _name, _kind in {"max": "real", "min": "real", "mean": "floating", "prod": "numeric", "sum": "numeric"}.items() | {
    ("std", "real floating"),
    ("var", "real floating"),
    ("all", "all"),
    ("any", "all"),
}:
    _add(
        _name,
        _kind,
        lambda f, x: f(x),
        lambda f, x: f(x, axis=-1),
        lambda f, x: f(x, axis=(0, 1), keepdims=True),
        lambda f, x: f(x, axis=()),
    )
for _name in ("std", "var"):
    _add(_name, "real floating", lambda f, x: f(x, axis=1, correction=1.0))
for _name in ("sum", "prod"):
    _add(_name, "numeric", lambda f, x: f(x, axis=1, dtype=x.dtype))
for _name in ("cumulative_sum", "cumulative_prod"):
    _add(
        _name,
        "numeric",
        lambda f, v: f(v),
        lambda f, x: f(x, axis=1, include_initial=True),
        lambda f, x: f(x, axis=0, dtype=x.dtype),
    )
_add(
    "diff",
    "numeric",
    lambda xp, x: xp.diff(x),
    lambda xp, x, y: xp.diff(x, axis=0, n=2, prepend=y, append=y),
)
_add(
    "take",
    "all",
    lambda xp, x: xp.take(x, xp.asarray([2, 0]), axis=1),
    lambda xp, v: xp.take(v, xp.asarray([2, 0, 0])),
)
_add(
    "take_along_axis",
    "all",
    lambda xp, x: xp.take_along_axis(x, xp.asarray([[0, 2], [1, 1]])),
    lambda xp, x: xp.take_along_axis(x, xp.asarray([[0, 1, 1]]), axis=0),
)


CALLS.extend(array_api_extensions.CALLS)


def calls_for(dtype: str, kinds: dict[str, tuple[str, ...]]) -> list[Call]:
    """The calls that are defined for a dtype."""
    return [call for call in CALLS if dtype in kinds[call.kind]]
