"""How each library is set up, and how it is asked for a value and a gradient.

Each is set up the way a careful user of it would: float64 switched on, one thread, arguments converted once, results
waited for. Compilers are warmed before anything is timed, all on the same small function, whose matrix product also
loads the library for it: so their start is nobody's compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.contender import Contender, Problem

__all__ = [
    "adjoint_call",
    "adjoint_gradient",
    "autograd_gradient",
    "by_hand",
    "casadi_call",
    "casadi_gradient",
    "jax_call",
    "jax_gradient",
    "numba_call",
    "start_autograd",
    "start_casadi",
    "start_jax",
    "start_torch",
    "torch_call",
    "torch_gradient",
]


WARM = 128


def warm_up(x: Any) -> Any:
    return x @ x + 1.0


def paired(result: Any) -> list[Any]:
    """[value, *gradients] of (value, gradient) or (value, (gradient, ...))."""
    value, gradients = result
    return [value, *gradients] if isinstance(gradients, tuple | list) else [value, gradients]


def every(problem: Problem) -> int | tuple[int, ...]:
    """Positions of the differentiated arguments, as argnums takes them."""
    return tuple(range(problem.active)) if problem.active > 1 else 0


# By hand: no automatic differentiation.


def by_hand(function: Callable[..., Any], problem: Problem) -> Contender:
    """Python as it is."""
    return Contender(lambda: partial(function, *problem.arguments), list)


def numba_call(write: Callable[[Any], Callable[..., Any]], problem: Problem) -> Contender:
    """`write(jit)` defines the kernels with the decorator that it is given, and returns the function to be called."""
    import numba

    jit = numba.njit(fastmath=True)
    jit(lambda x: x + 1.0)(1.0)
    return Contender(lambda: partial(write(numba.njit(fastmath=True)), *problem.arguments), list)


# adjoint


def adjoint_call(write: Callable[[Any], Callable[..., Any]], problem: Problem, answers: Any = paired) -> Contender:
    """`write(ad)` is the function to be compiled."""
    import adjoint as ad

    ad.jit(warm_up)(np.ones((WARM, WARM)))
    kept: list[Any] = []

    def build() -> Callable[[], Any]:
        kept.append(ad.jit(write(ad)))
        return partial(kept[-1], *problem.arguments)

    def trace() -> object:
        return ad.trace(write(ad))(*problem.arguments)

    return Contender(build, answers, trace, lambda: str(kept[-1].report()))


def adjoint_gradient(loss: Callable[..., Any], problem: Problem) -> Contender:
    """`ad.jit(ad.value_and_grad(loss))` on NumPy arrays."""
    return adjoint_call(lambda ad: ad.value_and_grad(loss, argnums=every(problem)), problem)


# JAX


def start_jax() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    jax.block_until_ready(jax.jit(warm_up)(jax.numpy.ones((WARM, WARM))))
    return jax


def jax_call(function: Callable[..., Any], problem: Problem, answers: Any = paired) -> Contender:
    """Arguments are device arrays already: nothing is converted in a call."""
    jax = start_jax()
    arguments = [jax.tree.map(jax.numpy.asarray, a) for a in problem.arguments]

    def build() -> Callable[[], Any]:
        compiled, wait = jax.jit(function), jax.block_until_ready
        return lambda: wait(compiled(*arguments))

    return Contender(build, answers)


def jax_gradient(loss: Callable[..., Any], problem: Problem) -> Contender:
    return jax_call(start_jax().value_and_grad(loss, argnums=every(problem)), problem)


# PyTorch


def start_torch(compiled: bool = False) -> Any:
    import torch

    torch.set_num_threads(1)
    if compiled:
        torch.compile(warm_up)(torch.ones((WARM, WARM)))
    return torch


def torch_call(function: Callable[..., Any], problem: Problem, answers: Any, compiled: bool = False) -> Contender:
    """A function of tensors, without derivatives of PyTorch's own making outside of it."""
    torch = start_torch(compiled)
    arguments = [torch.from_numpy(np.array(a)) for a in problem.arguments]

    def build() -> Callable[[], Any]:
        return partial(torch.compile(function) if compiled else function, *arguments)

    return Contender(build, answers)


def torch_gradient(loss: Callable[..., Any], problem: Problem, compiled: bool = False) -> Contender:
    """Forward, then torch.autograd.grad. `compiled`: through torch.compile, which compiles both ways."""
    torch = start_torch(compiled)
    arguments = [torch.from_numpy(np.array(a)) for a in problem.arguments]
    leaves = tuple(a.requires_grad_(True) for a in arguments[: problem.active])

    def build() -> Callable[[], Any]:
        function = torch.compile(loss) if compiled else loss

        def call() -> Any:
            value = function(*arguments)
            return value, torch.autograd.grad(value, leaves)

        return call

    return Contender(build, lambda result: [a.detach().numpy() for a in paired(result)])


# autograd


def start_autograd() -> Any:
    import autograd
    import autograd.numpy
    import autograd.scipy.special

    return autograd


def autograd_gradient(loss: Callable[..., Any], problem: Problem) -> Contender:
    autograd = start_autograd()
    return Contender(lambda: partial(autograd.value_and_grad(loss, argnum=every(problem)), *problem.arguments), paired)


# CasADi

C_OPTIONS = {
    "jit": True,
    "compiler": "shell",
    "jit_options": {"flags": ["-O3", "-march=native"], "verbose": False},
}


def start_casadi() -> Any:
    import casadi

    return casadi


def buffered(function: Any, arguments: Sequence[Any]) -> Callable[[], list[Any]]:
    """A call of a CasADi function through its buffers, which copies nothing; `arguments` are flat, column by column."""
    buffer, run = function.buffer()
    inputs = [np.array(a, np.float64) for a in arguments]
    outputs = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
    for k, array in enumerate(inputs):
        if array.size != function.nnz_in(k):
            raise ValueError(f"argument {k} has {array.size} numbers; CasADi expects {function.nnz_in(k)}")
        buffer.set_arg(k, memoryview(array))
    for k, array in enumerate(outputs):
        buffer.set_res(k, memoryview(array))

    def call(_kept: Any = (buffer, inputs, function)) -> list[Any]:
        run()
        return outputs

    return call


def casadi_call(
    write: Callable[[], tuple[Sequence[Any], Sequence[Any]]],
    arguments: Sequence[Any],
    answers: Callable[[list[Any]], Sequence[Any]],
    generated_c: bool = False,
) -> Contender:
    """`write()` gives symbols and results. Run by CasADi's virtual machine, or by the C code it writes."""
    casadi = start_casadi()

    def build() -> Callable[[], list[Any]]:
        symbols, results = write()
        options = C_OPTIONS if generated_c else {}
        dense = [casadi.densify(result) for result in results]
        return buffered(casadi.Function("call", list(symbols), dense, options), arguments)

    return Contender(build, answers)


def casadi_gradient(
    write: Callable[[], tuple[Sequence[Any], Any]],
    problem: Problem,
    generated_c: bool = False,
    transposed: Sequence[int] = (),
) -> Contender:
    """`write()` gives the symbols, one for each argument, and the loss.

    CasADi's matrices are stored by columns. An argument in `transposed` has a symbol of the transposed shape, so that
    the rows of the NumPy array are the columns of the symbol.
    """
    casadi = start_casadi()
    order = ["C" if k in transposed else "F" for k in range(len(problem.arguments))]

    def with_gradient() -> tuple[Sequence[Any], Sequence[Any]]:
        symbols, loss = write()
        if problem.active == 1:
            return symbols, [loss, casadi.gradient(loss, symbols[0])]
        # one reverse sweep for all arguments; what is not asked for is not computed
        sweep = casadi.Function("loss", list(symbols), [loss], {"always_inline": True}).reverse(1)
        return symbols, [loss, *sweep.call([*symbols, loss, type(loss)(1)])[: problem.active]]

    def answers(results: list[Any]) -> list[Any]:
        value, *gradients = results
        shaped = [g.reshape(np.shape(p), order=o) for g, p, o in zip(gradients, problem.parameters, order)]
        return [value[0], *shaped]

    flat = [np.ravel(a, order=o) for a, o in zip(problem.arguments, order)]
    return casadi_call(with_gradient, flat, answers, generated_c)
