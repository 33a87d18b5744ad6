"""Rules as programs: run by a reader that knows nothing of derivatives, they give what `vjp` and `jvp` give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.ops.arrays import reduce
from adjoint.ops.elementwise.pointwise import BY_NAME, UFUNCS, FlatUfunc
from adjoint.program.op import PRIMITIVES
from adjoint.show.explanation.data import explanation_data
from adjoint.show.page.rules import encode, named

OPS = {str(op): op for op in UFUNCS.values()}


def operation(written):
    """The primitive that is written down, made again from name and parameters."""
    if "parameters" not in written:
        return OPS[written["name"]]
    again = lambda p: tuple(map(again, p)) if isinstance(p, list) else ... if p == "..." else p
    fields = {k: np.dtype(p) if k == "dtype" else again(p) for k, p in written["parameters"].items()}
    return PRIMITIVES[written["name"]](**fields)


def array(cell):
    words = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
    flat = np.array([words.get(v, v) for v in np.ravel(np.array(cell["value"], object))], cell["dtype"])
    return flat.reshape(cell["shape"])[()]


def run(data, number, xs):
    program = data["rules"][number]
    slots = [*xs, *map(array, program["constants"])]
    for op, operands, _ in program["steps"]:
        slots.append(operation(data["ops"][op]).evaluate(*[slots[i] for i in operands]))
    return [slots[i] for i in program["outputs"]]


CASES = [
    (lambda x, y: x * y, (1.5, -0.3)), (lambda x, y: x / y, (1.5, -0.3)), (lambda x: x**3, (1.7,)),
    (lambda x, y: x**y, (1.7, 2.2)), (lambda x: np.tanh(x), (np.array([0.2, -1.0]),)),
    (lambda x, y: np.maximum(x, y), (np.array([0.2, -1.0]), np.array([0.1, 3.0]))),
    (lambda a, b: a @ b, (np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4))),
    (lambda x: np.sum(x, axis=0), (np.arange(6.0).reshape(2, 3),)),
    (lambda x: x[1:, 0], (np.arange(6.0).reshape(3, 2),)),
    (lambda x: np.prod(x), (np.array([1.0, 0.0, 3.0]),)),
    (lambda x: np.cumprod(x, axis=0), (np.array([1.0, 2.0, 3.0]),)),
]  # fmt: skip


@pytest.mark.parametrize("function, args", CASES)
def test_rules_give_vjp_jvp_and_the_derivative_of_vjp(function, args):
    rng = np.random.default_rng(0)
    args = tuple(np.asarray(a)[()] for a in args)
    z = function(*args)
    ct, dct = rng.normal(size=(2, *np.shape(z)))
    dots = tuple(np.asarray(rng.normal(size=np.shape(a)))[()] for a in args)
    explained = ad.explain(function, seed=np.ones(np.shape(z)))(*args)
    data = explanation_data(explained)
    (pull,), (push,), (second,) = (data["events"][kind] for kind in ("pull", "push", "second"))
    literals = [array(cell) for cell in data["literals"]]
    xs = [args[a] if a >= 0 else literals[-1 - a] for a in data["events"]["operands"][0]]
    _, back = ad.vjp(function, *args)
    for got, expected in zip(run(data, pull, [ct, *xs, z]), back(ct), strict=True):
        assert_allclose(got, expected, rtol=1e-13)
    _, dz = ad.jvp(function, args, dots)
    assert_allclose(run(data, push, [*xs, z, *dots])[0], dz, rtol=1e-13)
    _, slopes = ad.jvp(lambda ct, *xs: ad.vjp(function, *xs)[1](ct), (ct, *args), (dct, *dots))
    for got, expected in zip(run(data, second, [ct, *xs, z, dct, *dots, dz]), slopes, strict=True):
        assert_allclose(got, expected, rtol=1e-12)


def test_each_rule_is_kept_once():
    def f(x):
        for _ in range(50):
            x = np.sin(x) * 2.0
        return x

    data = explanation_data(ad.explain(f)(0.3))
    assert len(data["events"]["op"]) == 100
    assert len(data["rules"]) == 6  # pull, push and second of two operations
    assert len(data["ops"]) < 12


def test_names_and_values():
    assert named(OPS["sin"]) == {"title": "sin", "name": "sin"}
    assert encode(np.array([[1.0, np.nan], [-np.inf, 2.0]])) == {"value": [1.0, "nan", "-inf", 2.0]}
    assert encode(np.complex128(1 + 2j)) == {"value": 1.0, "imaginary": 2.0}
    scan = ad.explain(lambda x: ad.scan(lambda c, a: (c * a, c), x, np.ones(3))[0], most=1)(2.0)
    assert explanation_data(scan)["ops"][0].get("name") is None or explanation_data(scan)["events"]["pull"][0] == -1


class Sum(reduce.Sum):
    """A user's primitive that has the name of another."""


def test_the_page_takes_no_primitive_for_a_namesake(monkeypatch):
    assert named(reduce.Sum((0,)))["name"] == "Sum"
    assert named(Sum((0,))) == {"title": "sum"}
    monkeypatch.setitem(BY_NAME, "exp", BY_NAME["exp"])  # undone behind the next line
    own = FlatUfunc(np.frompyfunc(lambda x: 2 * x, 1, 1), name="exp")
    assert named(own) == {"title": "exp"}
    assert named(UFUNCS[np.exp]) == {"title": "exp", "name": "exp"}
