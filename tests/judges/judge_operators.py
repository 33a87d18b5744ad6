"""The frozen samples of operators, computed again by the library that they came from, PyTorch.

With the pairing ⟨u, w⟩ = Re Σ conj(u) w: the stored vjp g(u) is Jᵀu; jvp, Jv, is the gradient of ⟨g(u), v⟩ in u, and
hvp its gradient in the inputs.
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
    inputs = [torch.from_numpy(x).requires_grad_() for x in sample.inputs]
    arrays = dict(zip(sample._tree["diff"], inputs, strict=True))
    get = lambda k: arrays[k] if k in arrays else torch.from_numpy(sample._tensor(k))
    decode = lambda node: tensors(module("load").decode(node, get))
    arguments = [decode(node) for node in sample._tree["args"]]
    ys = differentiable(operator(*arguments, **{name: decode(node) for name, node in sample._tree["kwargs"].items()}))
    numbers = lambda ts: [t.detach().resolve_conj().resolve_neg().numpy() for t in ts]
    problem = mismatch("value", numbers(ys), sample.outputs, TOLERANCE["value"])
    if problem or sample.kink:
        return problem
    us = [torch.from_numpy(u).requires_grad_() for u in sample.cotangents]
    vs = [torch.from_numpy(v) for v in sample.tangents]
    pulled = gradients(ys, inputs, grad_outputs=us, create_graph=True)
    paired = pairing(pulled, vs)
    return (
        mismatch("vjp", numbers(pulled), sample.vjp, TOLERANCE["vjp"])
        or mismatch("jvp", numbers(gradients(paired, us, retain_graph=True)), sample.jvp, TOLERANCE["jvp"])
        or (sample.hvp and mismatch("hvp", numbers(gradients(paired, inputs)), sample.hvp, TOLERANCE["hvp"]))
        or None
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_operator(name: str) -> None:
    problems = {number: fault(sample, OPERATORS[name]) for number, sample in enumerate(SAMPLES[name])}
    assert not {number: problem for number, problem in problems.items() if problem}
