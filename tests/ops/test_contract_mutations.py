"""The contract test can fail: rules broken on purpose are caught by the check that is meant to catch them."""

import numpy as np
import pytest

from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.cumulative import CumProd, CumSum, LinearRecurrence
from adjoint.ops.arrays.index import Gather, ScatterSet, ScatterSum, Slice
from adjoint.ops.arrays.rearrange import Broadcast, Concatenate, Convert, Imag, Pad, Reshape, Transpose
from adjoint.ops.arrays.reduce import Extremum, Product, Sum
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.ops.elementwise.arithmetic import AbsoluteUfunc, DivideUfunc, PowerUfunc
from adjoint.ops.elementwise.pointwise import BY_NAME, LinearUfunc, MaskedProduct, Pointwise, Ufunc
from adjoint.ops.elementwise.select import Select
from tests.ops.contract_list import CHECKS
from tests.ops.examples import examples
from tests.support.sweeps import sampled

EXAMPLES = examples()


def caught_by(kinds) -> set[str]:
    """Which checks fail on the examples of these primitives."""
    chosen = [e for e in EXAMPLES if (e.op in kinds if isinstance(kinds, list) else isinstance(e.op, kinds))]
    assert chosen
    found = set()
    for check in CHECKS:
        for example in chosen:
            try:
                check(example)
            except Exception:  # broken rules fail in their own ways
                found.add(check.__name__.removeprefix("check_"))
                break
    return found


def scaled(rule, by=1.001):
    """A rule whose results are a little too large."""

    def wrong(self, *args, **kwargs):
        z = rule(self, *args, **kwargs)
        return (
            tuple(None if p is None else p * by for p in z)
            if isinstance(z, tuple | list)
            else None
            if z is None
            else z * by
        )

    return wrong


def forgetful(rule):
    """A rule that says nothing need be kept."""
    return lambda self, wanted: ([False] * len(wanted), False)


RULES = [
    (MatMul, "adjoint", scaled, "pull"),
    (MatMul, "batch", scaled, "batch"),
    (MatMul, "keep", forgetful, "keep"),
    (Einsum, "adjoint", scaled, "pull"),
    (Einsum, "batch", scaled, "batch"),
    (CumProd, "push", scaled, "push"),
    (CumProd, "pull", scaled, "pull"),
    (CumProd, "keep", forgetful, "keep"),
    (CumProd, "coefficient", scaled, "taylor"),
    (CumSum, "transpose", scaled, "pull"),
    (LinearRecurrence, "push", scaled, "push"),
    (LinearRecurrence, "pull", scaled, "pull"),
    (Gather, "transpose", scaled, "pull"),
    (Gather, "batch", scaled, "batch"),
    (Gather, "keep", forgetful, "keep"),
    (Slice, "transpose", scaled, "pull"),
    (ScatterSum, "transpose", scaled, "pull"),
    (ScatterSum, "batch", scaled, "batch"),
    (ScatterAdd, "transpose", scaled, "pull"),
    (ScatterAdd, "batch", scaled, "batch"),
    (ScatterSet, "transpose", scaled, "pull"),
    (ScatterSet, "batch", scaled, "batch"),
    (Transpose, "transpose", scaled, "pull"),
    (Reshape, "transpose", scaled, "pull"),
    (Broadcast, "transpose", scaled, "pull"),
    (Concatenate, "transpose", scaled, "pull"),
    (Concatenate, "batch", scaled, "batch"),
    (Pad, "transpose", scaled, "pull"),
    (Convert, "transpose", scaled, "pull"),
    (Imag, "transpose", scaled, "pull"),
    (Sum, "transpose", scaled, "pull"),
    (Product, "push", scaled, "push"),
    (Product, "pull", scaled, "pull"),
    (Product, "batch", scaled, "batch"),
    (Extremum, "push", scaled, "push"),
    (Extremum, "pull", scaled, "pull"),
    (Extremum, "keep", forgetful, "keep"),
    (Select, "transpose", scaled, "pull"),
    (Select, "coefficient", scaled, "taylor"),
    (MaskedProduct, "adjoint", scaled, "pull"),
    (AbsoluteUfunc, "push", scaled, "push"),
    (AbsoluteUfunc, "pull", scaled, "pull"),
    (LinearUfunc, "coefficient", scaled, "taylor"),
    (DivideUfunc, "coefficient", scaled, "taylor"),
    (PowerUfunc, "series_push", scaled, "taylor"),
]


@pytest.mark.parametrize(
    "kind, rule, broken, check", sampled(RULES, every=3), ids=lambda v: getattr(v, "__name__", str(v))
)
def test_a_broken_rule_is_caught(monkeypatch, kind, rule, broken, check) -> None:
    monkeypatch.setattr(kind, rule, broken(getattr(kind, rule)))
    assert check in caught_by(kind)


@pytest.mark.parametrize(
    "name", ["exp", "tanh", "sqrt", "divide", "power", "arctan2", "logaddexp", "hypot", "log1p", "square"]
)
def test_a_wrong_factor_is_caught(monkeypatch, name) -> None:
    op = BY_NAME[name]
    for i, factor in enumerate(op.factors):
        wrong = [f if j != i else (lambda x, y, z, f=factor: f(x, y, z) * 1.001) for j, f in enumerate(op.factors)]
        monkeypatch.setattr(op, "factors", tuple(wrong))
        own_series = isinstance(op, DivideUfunc | PowerUfunc)
        assert caught_by([op]) >= {"push", "second_order"} | (set() if own_series else {"taylor"})
        monkeypatch.undo()


def test_a_factor_that_keeps_too_little_is_caught(monkeypatch) -> None:
    op = BY_NAME["multiply"]
    monkeypatch.setattr(op, "keep_first", (False, False, False))
    assert "keep" in caught_by([op])


def test_conjugation_is_seen(monkeypatch) -> None:
    """Without the conjugate in the pull, complex arguments fail and real ones pass."""
    monkeypatch.setattr("adjoint.ops.elementwise.pointwise.conjugated", lambda d: d)
    assert "pull" in caught_by([BY_NAME["exp"]])
    assert "pull" not in caught_by([BY_NAME["arctan2"]])


def test_a_wrong_type_is_caught(monkeypatch) -> None:
    monkeypatch.setattr(Sum, "_dtype", lambda self, x: x.dtype)
    assert "result_type" in caught_by(Sum)  # a sum of truth values is an integer
    monkeypatch.setattr(Pointwise, "_dtype", lambda self, types: np.result_type(*[t.dtype for t in types]))
    assert "result_type" in caught_by([BY_NAME["sin"]])  # the sine of an integer is a float


def test_broadcasting_in_batches_is_seen(monkeypatch) -> None:
    monkeypatch.setattr(Ufunc, "batch", lambda self, xs, mapped, size: self(*xs))
    assert "batch" in caught_by([BY_NAME["add"]])


def test_sparse_accumulation_is_seen(monkeypatch) -> None:
    """Adding with plain indexing loses the repeated ones."""

    def pull_into(self, buffer, ct, xs) -> None:
        buffer[tuple(xs[1:])] += ct

    monkeypatch.setattr(Gather, "pull_into", pull_into)
    assert {"sparse_pull", "tape"} <= caught_by(Gather)


def test_nothing_is_caught_in_the_rules_as_they_are() -> None:
    assert caught_by((MatMul, Select)) == set()
