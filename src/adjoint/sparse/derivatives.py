"""Sparse Jacobians and Hessians: a few products for many columns, put back where they belong.

| | products | from |
|---|---|---|
| Jacobian, column coloring | J s | forward mode |
| Jacobian, row coloring | sᵀ J | reverse mode |
| Hessian, star or acyclic coloring | H s | forward over reverse |

The function is recorded once; all products of a chunk run together, as a batch.
"""

# pyright: basic

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.jacobians import PULL_COST
from adjoint.base.errors import ShapeError, TraceError
from adjoint.base.source import user_facing
from adjoint.jit import jit as compiled
from adjoint.ops.effects import has_effects
from adjoint.program.trace import Tracer
from adjoint.program.types import Value, type_of
from adjoint.sparse.coloring import Coloring, color
from adjoint.sparse.greedy import least_colors
from adjoint.sparse.local import LocalColoring, choose_coloring, local_coloring
from adjoint.sparse.pattern import pattern_of
from adjoint.sparse.products import checking_products, compare, from_left, from_right, has_complex, refuse_real_results
from adjoint.sparse.recording import Recorded, choose_arguments, record_with_fallback, sizes_of, value_and_gradient
from adjoint.sparse.watching import Snapshot, Watch, is_same, keep
from adjoint.transform.arguments import Argnums, Selection, select
from adjoint.transform.drivers import Linearized, check_floating

MODES = {
    "jacobian": {"auto": "auto", "forward": "column", "reverse": "row", "both": "bidirectional", "local": "auto"},
    "hessian": {"auto": "star", "star": "star", "acyclic": "acyclic", "column": "column", "local": "star"},
}
MEMORY = 1 << 25  # numbers in the products that run at the same time
MOST_KNOWN = 16  # programs whose coloring is remembered
PATIENCE = 0.2  # seconds: about what compiling takes


@dataclass(frozen=True)
class _SparseOptions(Options):
    """The options of `jacobian` and `hessian`; `what` says which."""

    what: str
    pattern: Any
    coloring: Coloring | None
    mode: str
    argnums: Argnums
    has_aux: bool
    holomorphic: bool
    with_value: bool
    check: bool
    jit: bool | None
    order: str
    chunk_size: int | None


class SparseDerivative:
    """A function that returns a sparse Jacobian or Hessian; created by `sparse.jacobian` and `sparse.hessian`.

    Called, it returns a `scipy.sparse.csr_array`. `values` returns the nonzeros alone, as an array, and can be
    compiled, mapped and differentiated; `assemble` makes the matrix of them.

    ```python
    J = ad.sparse.jacobian(lambda x: x[1:] * x[:-1])
    J.values(np.array([1.0, 2.0, 3.0]))  # → [2.0, 1.0, 3.0, 2.0]
    ```
    """

    def __init__(self, function: Callable[..., Any], options: _SparseOptions) -> None:
        if not callable(function):
            raise TypeError(f"sparse.{options.what} needs a function, not {type(function).__name__}.")
        functools.update_wrapper(self, function, updated=())
        self._function, self._options = function, options
        self._known: dict[Any, Coloring] = {}
        self._watch = Watch(function)
        self._seen: tuple[Snapshot | None, Any] = (None, None)  # what the last program depended on, and its coloring
        self._compiled: Any = None
        self._spent = 0.0  # seconds, in calls that were not compiled

    def __reduce__(self) -> Any:
        return SparseDerivative, (self._function, self._options)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        name = getattr(self._function, "__qualname__", self._function)
        return f"<sparse {self._options.what} of {name}>"

    @property
    def function(self) -> Any:
        """The function that it differentiates."""
        return self._function

    @property
    def _order(self) -> int:
        return 2 if self._options.what == "hessian" else 1

    @property
    def _name(self) -> str:
        return f"sparse.{self._options.what}"

    def _record(self, args: Any, kwargs: Any) -> Recorded:
        return record_with_fallback(
            self._function, self._options.argnums, args, kwargs, name=self._name, order=self._order,
            has_aux=self._options.has_aux, holomorphic=self._options.holomorphic,
        )  # fmt: skip

    @user_facing
    def coloring(self, *args: Any, **kwargs: Any) -> Coloring:
        """The coloring that is used for these arguments: the given one, or that of the function's program."""
        coloring = self._options.coloring
        if coloring is not None:
            return coloring
        if "given" in self._known:
            return self._known["given"]
        kind = MODES[self._options.what][self._options.mode]
        if self._options.pattern is not None:
            coloring = self._known["given"] = color(self._options.pattern, kind, self._options.order)
            return coloring
        now = self._watch.look(args, kwargs) if self._known else None
        if is_same(self._seen[0], now):
            return self._seen[1]
        program = self._record(args, kwargs)
        key = (program.program, program.selected)
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[key] = self._color(program, kind)
        if now is not None:  # where Python looked at values, or something was drawn, it is recorded again
            is_for_all = program.values is None and not has_effects(program.program)
            self._seen = (keep(now) if is_for_all else None, self._known[key])
        return self._known[key]

    def _color(self, program: Recorded, kind: str) -> Coloring:
        cost = _pull_cost(program) if self._order == 1 else PULL_COST

        def make(pattern: Any) -> Coloring:
            pattern = pattern_of(program, order=self._order) if pattern is None else pattern
            return color(pattern, kind, self._options.order, pull_cost=cost)

        def bound(pattern: Any) -> float:
            if self._order == 2:  # a star coloring may have half the colors of one of the columns
                return 0.5 * least_colors(pattern)
            return min(least_colors(pattern), cost * least_colors(pattern.T.tocsr()))

        if self._options.mode == "local":
            return local_coloring(program, cost) or make(None)
        if self._options.mode != "auto" or self._options.has_aux or self._options.check:
            return make(None)
        return choose_coloring(program, make, bound, cost)

    @user_facing
    def values(self, *args: Any, **kwargs: Any) -> Any:
        """The nonzeros, in the order of the pattern (row by row): `coloring(*args).pattern` says where they stand."""
        return self._compute(args, kwargs)[0]

    def assemble(self, values: Any, *args: Any, **kwargs: Any) -> Any:
        """The matrix with these nonzeros; a list of matrices for a stack of them (from `vmap`)."""
        return self.coloring(*args, **kwargs).assemble(values)

    @user_facing
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(leaf, Tracer) for leaf in tree.leaves((args, kwargs))):
            raise TraceError(
                f"sparse.{self._options.what} returns a SciPy matrix, which cannot hold traced values. Inside jit, "
                "vmap and other transformations use its method values(*args), which returns the nonzeros as an array."
            )
        coloring = self.coloring(*args, **kwargs)
        numbers, value, gradient, aux, checks = self._run(args, kwargs, coloring)
        matrix = coloring.assemble(numbers)
        if checks:
            compare(matrix, checks, self._options.what)
        result: Any = matrix
        if self._options.with_value:
            result = (value, matrix) if self._order == 1 else (value, gradient, matrix)
        return (result, aux) if self._options.has_aux else result

    def _run(self, args: Any, kwargs: Any, coloring: Coloring) -> Any:
        jit = self._options.jit
        if jit or (jit is None and self._spent > PATIENCE):
            return self._run_compiled(args, kwargs, coloring)
        begin = time.perf_counter()
        result = self._compute(args, kwargs, coloring)
        self._spent += time.perf_counter() - begin
        return result

    def _run_compiled(self, args: Any, kwargs: Any, coloring: Coloring) -> Any:
        if self._compiled is None or self._compiled[0] is not coloring:
            self._compiled = (coloring, compiled(self._apart(coloring)))
        return self._compiled[1](self._function if self._is_given else None, args, kwargs)

    def _apart(self, coloring: Coloring) -> Callable[..., Any]:
        """What is compiled. Where each call finds the program anew, what the function reads is part of it: other
        contents have another coloring. Where the coloring was given, the function is an argument, and what it reads
        are inputs."""
        options = self._options

        def run(function: Any, args: Any, kwargs: Any) -> Any:
            this = self if function is None else SparseDerivative(function, options)
            return this._compute(args, kwargs, coloring)

        return run

    @property
    def _is_given(self) -> bool:
        return self._options.coloring is not None or self._options.pattern is not None

    def _linearized(self, args: Any, kwargs: Any) -> tuple[Selection, Linearized, dict[str, Any]]:
        """The record of the function, or of its gradient, and what it returned beside."""
        name, has_aux, holomorphic = self._name, self._options.has_aux, self._options.holomorphic
        chosen, _, _ = choose_arguments(self._function, self._options.argnums, args, kwargs, name, holomorphic)

        def call(active: Sequence[Value]) -> Any:
            return chosen.call(chosen.completed(active))

        if self._order == 1:
            linearized = Linearized(call, chosen.values, has_aux=has_aux)
            check_floating(linearized.output_types, name)
            value = tree.unflatten(linearized.structure, linearized.values)
            return chosen, linearized, {"value": value, "aux": linearized.aux}

        def gradients(active: Sequence[Value]) -> Any:
            value, aux, gradient = value_and_gradient(call, active, name=name, has_aux=has_aux, holomorphic=holomorphic)
            return list(gradient), (value, aux)

        linearized = Linearized(gradients, chosen.values, has_aux=True)
        value, aux = linearized.aux
        return chosen, linearized, {"value": value, "aux": aux, "gradient": _whole_gradient(chosen, linearized.values)}

    def _compute_local(self, args: Any, kwargs: Any, coloring: LocalColoring) -> tuple[Any, ...] | None:
        """The same by the parts of the program; None where it is not the one to which the coloring belongs."""
        if self._options.has_aux or self._options.check:
            return None
        try:
            recorded = self._record(args, kwargs)
        except TraceError:
            return None
        parts = coloring.parts(recorded)
        if parts is None:
            return None
        numbers, outputs = coloring.compute(parts, recorded.arguments, with_value=self._options.with_value)
        if outputs is None:
            return numbers, None, None, None, []
        if self._order == 1:
            return numbers, tree.unflatten(recorded.structure, outputs), None, None, []
        chosen = select(self._function, self._options.argnums, args, kwargs, self._name)
        value = chosen.call(chosen.leaves)
        return numbers, value, _whole_gradient(chosen, outputs), None, []

    def _compute(self, args: Any, kwargs: Any, coloring: Coloring | None = None) -> tuple[Value, Any, Any, Any, Any]:
        """(nonzeros, value, gradient, aux, the products with a random direction if it is to be checked)."""
        coloring = self.coloring(*args, **kwargs) if coloring is None else coloring
        if isinstance(coloring, LocalColoring):
            local = self._compute_local(args, kwargs, coloring)
            if local is not None:
                return local
            coloring = coloring.whole()
        _, linearized, beside = self._linearized(args, kwargs)
        rows, columns = sum(sizes_of(linearized.output_types)), sum(sizes_of(linearized.input_types))
        if coloring.shape != (rows, columns):
            raise ShapeError(
                f"sparse.{self._options.what}: the function maps {columns} numbers to {rows}, but the pattern is "
                f"for {coloring.shape[1]} to {coloring.shape[0]}."
            )
        if has_complex(linearized.input_types):
            refuse_real_results(linearized, coloring, self._options.what)
        chunk = self._options.chunk_size or max(1, MEMORY // max(1, 4 * (rows + columns)))
        right = from_right(linearized, coloring.seeds("right"), chunk)
        left = from_left(linearized, coloring.seeds("left"), chunk)
        checks = checking_products(linearized) if self._options.check else []
        numbers = coloring.values(right, left)
        if not len(coloring):  # no product says what kind of numbers they would be
            numbers = np.zeros(
                0, np.result_type(*[t.dtype for t in (*linearized.input_types, *linearized.output_types)])
            )
        return numbers, beside["value"], beside.get("gradient"), beside["aux"], checks


def _whole_gradient(chosen: Selection, parts: Sequence[Value]) -> Any:
    """The gradient as a tree like the arguments, with zeros for leaves that are no floats."""
    full: list[Any] = [np.zeros(np.shape(leaf), type_of(leaf).dtype) for leaf in chosen.leaves]
    for i, part in zip(chosen.active, parts, strict=True):
        full[i] = part
    return chosen.result(full)


def _pull_cost(program: Recorded) -> float:
    """A complex result of real arguments is pulled twice."""
    chosen = [t for t, s in zip(program.program.input_types, program.selected, strict=True) if s]
    twice = has_complex(program.program.output_types) and any(t.dtype.kind != "c" for t in chosen)
    return 2 * PULL_COST if twice else PULL_COST


def jacobian(
    function: Callable[..., Any], pattern: Any = None, coloring: Coloring | None = None, mode: str = "auto", *,
    argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False, with_value: bool = False,
    check: bool = False, jit: bool | None = None, order: str = "natural", chunk_size: int | None = None,
) -> SparseDerivative:  # fmt: skip
    """The Jacobian as a `scipy.sparse.csr_array`: one row for each number in the result, one column for each in x.

    Without a pattern it is found from the function's program at each call (a coloring is made once for each
    program); a given `pattern` (a sparse or dense matrix, its entries are where J may be nonzero) or `coloring` is
    trusted, unless `check` compares the result with one random product J v and raises when an entry is missing.

    mode: "forward" (columns of one color in one product J s), "reverse" (rows, sᵀ J), "both", "local" (products of
    what is computed between the gathers at the beginning and the sums at the end), or "auto": the cheapest.
    `with_value` returns (f(x), J); `has_aux` ((…), aux). `jit` compiles the products, by default when calls have taken
    as long as that would; `order` is that of the greedy coloring; `chunk_size` says how many products run at once.

    Complex results of real arguments have a complex Jacobian. Complex arguments need `holomorphic`: J is that of
    dw = J dz, and `check` also finds out whether there is one.

    ```python
    J = ad.sparse.jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0]))
    J.toarray()  # → [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    ```
    """
    options = _SparseOptions(
        "jacobian", pattern, coloring, mode, argnums, has_aux, holomorphic, with_value, check, jit, order,
        chunk_size,
    )  # fmt: skip
    return _check(function, options)


def hessian(
    function: Callable[..., Any], pattern: Any = None, coloring: Coloring | None = None, mode: str = "auto", *,
    argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False, with_value: bool = False,
    check: bool = False, jit: bool | None = None, order: str = "natural", chunk_size: int | None = None,
) -> SparseDerivative:  # fmt: skip
    """The Hessian of a scalar function as a `scipy.sparse.csr_array`, from products H s, forward over reverse.

    mode: "star" (entries are read directly), "acyclic" (fewer products, entries by substitution), "column" (symmetry
    is not used), "local" (as for `sparse.jacobian`), or "auto": star or local. `with_value` returns (f(x), ∇f(x), H).
    The rest as for `sparse.jacobian`: of a holomorphic function, or a complex one of real arguments, the gradient holds
    the ∂f/∂xⱼ, and H is symmetric (not Hermitian).

    ```python
    H = ad.sparse.hessian(lambda x: np.sum(x[1:] * x[:-1]))(np.array([1.0, 2.0, 3.0]))
    H.toarray()  # → [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    ```
    """
    options = _SparseOptions(
        "hessian", pattern, coloring, mode, argnums, has_aux, holomorphic, with_value, check, jit, order,
        chunk_size,
    )  # fmt: skip
    return _check(function, options)


def _check(function: Callable[..., Any], options: _SparseOptions) -> SparseDerivative:
    what, mode, coloring, chunk = options.what, options.mode, options.coloring, options.chunk_size
    if chunk is not None and not (isinstance(chunk, int | np.integer) and chunk > 0):
        raise ValueError(f"sparse.{what}: chunk_size is an integer above zero, or None; got {chunk!r}.")
    if mode not in MODES[what]:
        raise ValueError(f"sparse.{what}: mode={mode!r} is none of {', '.join(MODES[what])}.")
    if coloring is not None and not isinstance(coloring, Coloring):
        raise TypeError(
            f"sparse.{what}: coloring is a sparse.Coloring, not {type(coloring).__name__}. Make one with "
            "ad.sparse.color(pattern), or give pattern=."
        )
    if coloring is not None and what == "jacobian" and coloring.symmetric:
        raise TypeError(f"sparse.jacobian: a {coloring.kind} coloring is for Hessians; color the pattern by columns.")
    if coloring is not None and what == "hessian" and coloring.pulls:
        raise TypeError("sparse.hessian: a Hessian is found by products from the right; color it by 'star'.")
    return SparseDerivative(function, options)
