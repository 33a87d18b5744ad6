"""Layers that can be undone: reverse mode keeps the last state of a chain, however long it is.

    step = ad.reversible(f, inverse=g)          g(f(x, *parameters), *parameters) = x
    chain = ad.reversible(step, step, step)     one state is kept, not three

Without `inverse` it is found from what the layer does, if that is a composition of operations that can be undone (sums
with a function of what is known, products, exponentials, permutations, square matrices …). What comes back is right up
to the rounding of the inverse.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

from adjoint import tree
from adjoint.base.errors import RuleError, ShapeError
from adjoint.base.source import by_name, user_facing
from adjoint.ops.checkpointing.chain import Reversible
from adjoint.ops.checkpointing.invert_program import invert_program
from adjoint.program.program import Program, Var
from adjoint.program.record import Record, RecordTracer
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import plain_value
from adjoint.transform.generators import GeneratorArguments
from adjoint.transform.record_function import RecordedFunction, record_function

Function = Callable[..., tree.Tree]


@overload
def reversible(
    layer: Function, /, *layers: Function, inverse: Function | None = None, orthonormal: bool = False
) -> Chain: ...
@overload
def reversible(*, inverse: Function | None = None, orthonormal: bool = False) -> Callable[[Function], Chain]: ...
@user_facing
def reversible(
    *layers: Function, inverse: Function | None = None, orthonormal: bool = False
) -> Chain | Callable[[Function], Chain]:
    """A function of a state (a tree) that reverse mode undoes instead of keeping what it computed on the way.

    Of one function f(x, *parameters) with `inverse(y, *parameters)`; or of several, one after the other, called as
    chain(x) or as chain(x, p₁ … p_K) where layer k is given pₖ. What layers close over is differentiated too.
    `orthonormal` says that the derivatives of all layers with respect to x are orthonormal matrices, ∂fᵀ = ∂f⁻¹: then
    cotangents of x go back as tangents of the inverse.

    ```python
    double = ad.reversible(lambda x: 2 * x, inverse=lambda y: y / 2)
    ad.grad(lambda x: double(double(x)))(1.0)  # → 4.0
    ```
    """
    if not layers:
        return lambda layer: Chain([layer], inverse, orthonormal)
    if len(layers) > 1 and inverse is not None:
        raise RuleError(
            "reversible: an inverse belongs to one function. Write ad.reversible(f, inverse=g) for each layer, and "
            "ad.reversible(*layers) for the chain."
        )
    return Chain(layers, inverse, orthonormal)


class Chain:
    """Layers that can be undone, one after the other. Made by `reversible`.

    ```python
    chain = ad.reversible(lambda x: x + 1.0, lambda x: x * 3.0)
    chain(1.0), ad.grad(chain)(1.0)  # → (6.0, 3.0)
    ```
    """

    def __init__(self, layers: Sequence[Function], inverse: Function | None, orthonormal: bool) -> None:
        for layer in layers:
            if not callable(layer):
                raise TypeError(f"reversible needs functions, not {type(layer).__name__}.")
        self.layers, self.inverse, self.orthonormal = tuple(layers), inverse, orthonormal
        if len(layers) == 1:
            functools.update_wrapper(self, layers[0], updated=())

    @property
    def steps(self) -> list[tuple[Function, Function | None, bool]]:
        """All functions of the chain, with their inverses, and whether their derivatives are orthonormal."""
        if len(self.layers) == 1 and not isinstance(self.layers[0], Chain):
            return [(self.layers[0], self.inverse, self.orthonormal)]
        steps_of_layers: list[tuple[Function, Function | None, bool]] = []
        for layer in self.layers:
            steps = layer.steps if isinstance(layer, Chain) else [(layer, None, False)]
            steps_of_layers += [(f, g, o or self.orthonormal) for f, g, o in steps]
        return steps_of_layers

    @user_facing
    def __call__(self, x: tree.Tree, *parameters: tree.Tree) -> tree.Tree:
        steps = self.steps
        per_layer = self._parameters_of_layers(parameters, len(steps))
        if live_trace() is None:
            for (function, _, _), own in zip(steps, per_layer, strict=True):
                x = function(x, *own)
            return x
        if GeneratorArguments("reversible", (x, parameters)):
            raise RuleError("reversible: a layer takes no random generator. Draw outside, and pass the numbers.")
        leaves, structure = tree.flatten(x)
        state = [plain_value(leaf, "reversible: the state") for leaf in leaves]
        types = [type_of(v) for v in state]
        values: list[Value] = []
        layers: list[_Layer] = []
        for (function, inverse, _), own in zip(steps, per_layer, strict=True):
            layer = _Layer(function, inverse, structure, [ArrayType(t.shape, t.dtype) for t in types], own)
            structure, types = layer.result, list(layer.program.output_types)
            values += layer.parameters
            layers.append(layer)
        op = Reversible(
            tuple(layer.program for layer in layers),
            tuple(layer.inverse for layer in layers),
            tuple(len(layer.parameters) for layer in layers),
            all(orthonormal for _, _, orthonormal in steps),
        )
        return tree.unflatten(structure, op(*values, *state))

    def _parameters_of_layers(self, parameters: tuple[Any, ...], count: int) -> list[tuple[Any, ...]]:
        """The parameters of each layer."""
        if count == 1:
            return [parameters]
        if parameters and len(parameters) != count:
            raise ShapeError(
                f"reversible: {len(parameters)} parameters were given to a chain of {count} layers. Give one (a tree) "
                "for each layer, or none."
            )
        return [(p,) for p in parameters] if parameters else [()] * count

    def __reduce__(self) -> Any:
        return by_name(self) or (Chain, (self.layers, self.inverse, self.orthonormal))

    def __repr__(self) -> str:
        names = [getattr(f, "__qualname__", repr(f)) for f, _, _ in self.steps]
        return f"<reversible of {', '.join(names[:3])}{f' … ({len(names)} layers)' if len(names) > 3 else ''}>"


class _Layer:
    """A layer and its inverse as programs (parameters, state) → state. Parameters are also what they close over."""

    def __init__(
        self, function: Function, inverse: Function | None, structure: Any, types: list[ArrayType], own: tuple[Any, ...]
    ) -> None:
        leaves, own_structure = tree.flatten(own)
        # Python's numbers stay what they are, and give way to the precision of the state
        values = [
            v if isinstance(v, Tracer | float | complex) else plain_value(v, "reversible: a parameter") for v in leaves
        ]
        kinds = [v.type if isinstance(v, RecordTracer) else type_of(v) for v in values]
        n = len(values)

        def record_layer(f: Function, structure: Any, types: list[ArrayType]) -> RecordedFunction:
            def bind(flat: Sequence[Value]) -> tuple[Function, Sequence[Any], dict[str, Any]]:
                return f, (tree.unflatten(structure, flat[n:]), *tree.unflatten(own_structure, flat[:n])), {}

            record = Record(purpose="a reversible layer")
            return record_function(f, bind, record, [record.input(t) for t in (*kinds, *types)], may_draw=True)

        recorded = record_layer(function, structure, types)
        program, captured, self.result = recorded.program, recorded.captured, recorded.structure
        state = len(types)
        if inverse is None:
            self.program = _arrange(program, n, state, len(captured), 0, True)
            count = n + len(captured)
            self.inverse = invert_program(self.program, range(count, count + state))
            self.parameters: list[Value] = [*values, *captured]
            return
        outputs = [ArrayType(t.shape, t.dtype) for t in program.output_types]
        inverse_record = record_layer(inverse, self.result, outputs)
        undone, closed = inverse_record.program, inverse_record.captured
        if inverse_record.structure != structure or [(t.shape, t.dtype) for t in undone.output_types] != [
            (t.shape, t.dtype) for t in types
        ]:
            raise ShapeError(
                f"reversible: the inverse of {getattr(function, '__name__', 'a layer')} gives "
                f"{', '.join(map(str, undone.output_types))}, but the layer takes {', '.join(map(str, types))}. "
                "Convert what it returns, or give the parameters in the precision of the state."
            )
        self.program = _arrange(program, n, state, len(captured), len(closed), True, closed)
        self.inverse = _arrange(undone, n, len(outputs), len(captured), len(closed), False, captured)
        self.parameters = [*values, *captured, *closed]


def _arrange(
    program: Program, own: int, state: int, first: int, second: int, is_first: bool, others: Sequence[Tracer] = ()
) -> Program:
    """A program (parameters, state, what it closes over) with what both functions close over before the state."""
    closed = program.inputs[own + state :]
    unread = tuple(Var(c.type) for c in others)
    between = (*closed, *unread) if is_first else (*unread, *closed)
    assert len(between) == first + second
    inputs = (*program.inputs[:own], *between, *program.inputs[own : own + state])
    return Program(inputs, program.equations, program.outputs, program.constants)


def coupling(f: Function, g: Function) -> Chain:
    """(x₁, x₂) ↦ (y₁, y₂): y₁ = x₁ + f(x₂), y₂ = x₂ + g(y₁). Parameters (p, q), if given, go to f and g.

    ```python
    layer = ad.memory.coupling(np.sin, np.cos)
    layer((0.0, 0.0))  # → (0.0, 1.0)
    ```
    """

    def forwards(x: Any, *parameters: Any) -> Any:
        (x1, x2), (p, q) = _two("coupling: the state", x), _pair(parameters)
        first = x1 + f(x2, *p)
        return first, x2 + g(first, *q)

    def backwards(y: Any, *parameters: Any) -> Any:
        (y1, y2), (p, q) = y, _pair(parameters)
        second = y2 - g(y1, *q)
        return y1 - f(second, *p), second

    return Chain([forwards], backwards, False)


def _pair(parameters: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    if not parameters:
        return (), ()
    if len(parameters) != 1:
        raise ShapeError(f"coupling: {len(parameters)} parameters were given. Give one pair, (p, q), for f and g.")
    p, q = _two("coupling: the parameters", parameters[0])
    return (p,), (q,)


def _two(what: str, value: Any) -> tuple[Any, Any]:
    """Both of a pair."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        shape: Any = getattr(value, "shape", None)  # pyright: ignore[reportUnknownArgumentType]
        description = f"a {type(value).__name__}" if shape is None else f"an array of shape {shape}"  # pyright: ignore
        raise ShapeError(f"{what} must be a pair; got {description}.")
    return value[0], value[1]


def momentum(f: Function, gamma: float = 0.9) -> Chain:
    """A residual layer with momentum: (x, v) ↦ (x + v′, v′), v′ = γ v + (1 - γ) f(x, *parameters).

    ```python
    layer = ad.memory.momentum(np.sin, gamma=0.5)
    layer((0.0, 2.0))  # → (1.0, 1.0)
    ```
    """
    if gamma == 0:
        raise ValueError("momentum: with gamma = 0 nothing is left of v, so that the layer cannot be undone.")

    def forwards(state: Any, *parameters: Any) -> Any:
        x, v = _two("momentum: the state", state)
        v = gamma * v + (1 - gamma) * f(x, *parameters)
        return x + v, v

    def backwards(state: Any, *parameters: Any) -> Any:
        x, v = state
        x = x - v
        return x, (v - (1 - gamma) * f(x, *parameters)) / gamma

    return Chain([forwards], backwards, False)


def leapfrog(force: Function, step: float) -> Chain:
    """A step of an equation of motion, (q, p) ↦ (q′, p′): half a kick by the force, a drift, half a kick.

    ```python
    step = ad.memory.leapfrog(lambda q: -q, 0.1)
    step((1.0, 0.0))  # → (0.995, -0.09975)
    ```
    """

    def forwards(state: Any, *parameters: Any) -> Any:
        q, p = _two("leapfrog: the state", state)
        p = p + (step / 2) * force(q, *parameters)
        q = q + step * p
        return q, p + (step / 2) * force(q, *parameters)

    def backwards(state: Any, *parameters: Any) -> Any:
        q, p = state
        p = p - (step / 2) * force(q, *parameters)
        q = q - step * p
        return q, p - (step / 2) * force(q, *parameters)

    return Chain([forwards], backwards, False)
