"""The frozen samples of operators, computed again by the library that they came from, PyTorch.

With the pairing ⟨u, w⟩ = Re Σ conj(u) w, vjp is Jᵀu, jvp is Jv, and hvp the gradient of ⟨Jᵀu, v⟩ in the inputs.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

from tests.opinfo.samples import TOLERANCE, load, mismatch, module

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

SAMPLES = load()[1]
OPERATORS = {f"{op.name}@{op.variant_test_name}" if op.variant_test_name else op.name: op.op for op in op_db}
# What the samples define and PyTorch does not: theirs is the value, not the derivative of it
OTHERWISE = {
    "linalg.pinv@hermitian": "the samples hold a + aᴴ, PyTorch takes one triangle of a",
    **dict.fromkeys(("masked.amin", "masked.cumprod", "masked.mean"), "what is masked out is 0 in the samples"),
}
KINDS = {"float64": torch.float64, "complex128": torch.complex128}


def tensors(node: Any) -> Any:
    """Arguments of a sample as PyTorch takes them."""
    if isinstance(node, np.ndarray):
        return torch.from_numpy(node)
    if isinstance(node, np.dtype):
        return KINDS[node.name]
    if isinstance(node, list | tuple):
        return type(node)(tensors(part) for part in node)
    return node


def differentiable(result: Any) -> list[Any]:
    """The tensors of a result through which derivatives pass."""
    if isinstance(result, list | tuple):
        return [leaf for part in result for leaf in differentiable(part)]
    return [result] if isinstance(result, torch.Tensor) and result.requires_grad else []


def pairing(us: list[Any], ws: list[Any]) -> Any:
    return sum(torch.sum(torch.real(torch.conj(u) * w)) for u, w in zip(us, ws, strict=True))


def gradients(value: Any, of: list[Any], **options: Any) -> list[Any]:
    """Zeros where the value does not depend on a variable."""
    if isinstance(value, torch.Tensor) and not value.requires_grad:
        return [torch.zeros_like(x) for x in of]
    return list(torch.autograd.grad(value, of, materialize_grads=True, **options))


def fault(sample: Any, operator: Any) -> str | None:
    """The first of value, vjp, jvp and hvp that PyTorch computes differently today, or None."""

    def f(*inputs: Any) -> tuple[Any, ...]:
        arrays = dict(zip(sample._tree["diff"], inputs, strict=True))
        get = lambda k: arrays[k] if k in arrays else torch.from_numpy(sample._tensor(k))
        decode = lambda node: tensors(module("load").decode(node, get))
        options = {name: decode(node) for name, node in sample._tree["kwargs"].items()}
        return tuple(differentiable(operator(*map(decode, sample._tree["args"]), **options)))

    inputs = [torch.from_numpy(x).requires_grad_() for x in sample.inputs]
    ys = f(*inputs)
    numbers = lambda ts: [t.numpy(force=True) for t in ts]
    problem = mismatch("value", numbers(ys), sample.outputs, TOLERANCE["value"])
    if problem or sample.kink:
        return problem
    us, vs = ([torch.from_numpy(a) for a in arrays] for arrays in (sample.cotangents, sample.tangents))
    pulled = gradients(ys, inputs, grad_outputs=us, create_graph=sample.hvp is not None)
    if problem := mismatch("vjp", numbers(pulled), sample.vjp, TOLERANCE["vjp"]):
        return problem
    if sample.hvp is not None:
        problem = mismatch("hvp", numbers(gradients(pairing(pulled, vs), inputs)), sample.hvp, TOLERANCE["hvp"])
    return problem or fault_of_tangents(sample, f, inputs, pairing(pulled, vs))


def fault_of_tangents(sample: Any, f: Any, inputs: list[Any], paired: Any) -> str | None:
    """jvp by PyTorch's forward mode; where it has none, ⟨u, Jv⟩ = ⟨Jᵀu, v⟩, which is `paired`."""
    forward = torch.autograd.forward_ad
    try:
        with forward.dual_level():
            duals = [forward.make_dual(x, torch.from_numpy(v)) for x, v in zip(inputs, sample.tangents, strict=True)]
            parts = [forward.unpack_dual(y) for y in f(*duals)]
            dys = [torch.zeros_like(y.primal) if y.tangent is None else y.tangent for y in parts]
    except NotImplementedError:
        stored = sum(np.sum(np.real(np.conj(u) * w)) for u, w in zip(sample.cotangents, sample.jvp, strict=True))
        return mismatch("⟨u, jvp⟩", [np.asarray(stored)], [paired.numpy(force=True)], TOLERANCE["jvp"])
    return mismatch("jvp", [dy.numpy(force=True) for dy in dys], sample.jvp, TOLERANCE["jvp"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(OTHERWISE)))
def test_operator(name: str) -> None:
    problems = {number: fault(sample, OPERATORS[name]) for number, sample in enumerate(SAMPLES[name])}
    assert not {number: problem for number, problem in problems.items() if problem}
