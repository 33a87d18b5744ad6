"""The cost of a call itself: arrays of three numbers, next to no arithmetic, no derivative.

Five arrays in and two out; a dict of twenty in and one array out; the same dict in and a dict of twenty new arrays out,
as the gradient of a model's parameters would be.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload


def of_arrays(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    return a + b * c, d - e


def of_dict(p: dict[str, Any]) -> Any:
    return sum(p.values())


def back_to_dict(p: dict[str, Any]) -> Any:
    return {name: 2.0 * array for name, array in p.items()}


def five_arrays(size: str) -> Problem:
    generator = np.random.default_rng(0)
    return Problem(tuple(generator.standard_normal(int(size)) for _ in range(5)), 0)


def dict_of_20(size: str) -> Problem:
    generator = np.random.default_rng(0)
    return Problem(({f"parameter{k}": generator.standard_normal(int(size)) for k in range(20)},), 0)


def flat(result: Any) -> list[Any]:
    """The arrays of a dict or tuple, or the one that stands alone."""
    if isinstance(result, dict):
        return [result[name] for name in sorted(result)]
    return list(result) if isinstance(result, tuple) else [result]


def by_python(function: Callable[..., Any], problem: Problem) -> Contender:
    return Contender(lambda: partial(function, *problem.arguments), flat)


def by_adjoint(function: Callable[..., Any], problem: Problem) -> Contender:
    return engines.adjoint_call(lambda ad: function, problem, flat)


def by_jax(function: Callable[..., Any], problem: Problem) -> Contender:
    return engines.jax_call(function, problem, flat)


def call_of(name: str, title: str, function: Callable[..., Any], problem: Callable[[str], Problem]) -> Workload:
    return Workload(
        name=name,
        title=title,
        problem=problem,
        sizes=("3",),
        tiny="3",
        value=function,
        by_hand=lambda *arguments: flat(function(*arguments)),
        contenders={
            "adjoint": partial(by_adjoint, function),
            "jax": partial(by_jax, function),
            "numpy by hand": partial(by_python, function),
        },
        check=lambda problem: 0.0,  # NumPy itself is the reference: there is no derivative to be checked
    )


def with_numba(workload: Workload) -> Workload:
    numba = partial(engines.numba_call, lambda jit: jit(workload.value))
    return Workload(**{**vars(workload), "contenders": {**workload.contenders, "numba by hand": numba}})


ARRAYS = with_numba(call_of("call arrays", "A call: 5 arrays in, 2 out", of_arrays, five_arrays))
DICT = call_of("call dict", "A call: dict of 20 in, 1 array out", of_dict, dict_of_20)
DICT_BACK = call_of("call dict back", "A call: dict of 20 in, dict of 20 out", back_to_dict, dict_of_20)
