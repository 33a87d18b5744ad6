"""The engine of a run: where it reads batches, its compiled step, and the loss of other data.

One program takes the numbers of the examples and gives the next state: gathering, the loss, its gradient, clipping, the
update and averages are in it. Sources that are not in memory are read batch by batch, outside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import index as operator_index
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.data import Arrays, Source, as_source, epoch_order, noise_of, pad_batches
from adjoint.data.arrays import gather
from adjoint.data.order import check_size, count_batches, read_generator
from adjoint.jit import jit
from adjoint.jit.lifetimes import kept_with
from adjoint.nn.statistics import frozen_leaves
from adjoint.nn.statistics import trainable as nn_trainable
from adjoint.optimize.stochastic.objectives import Call, read_loss, sum_losses
from adjoint.optimize.stochastic.stepping import EAGER, Report, TrainingState, training_step
from adjoint.optimize.updates import Rule, average, averaged
from adjoint.optimize.updates.rule import is_parameter
from adjoint.random.generator import Generator
from adjoint.tree.state import states

__all__ = ["Engine", "convert_batch", "model_dtype"]

LEAST = 256  # examples at a time where nothing is trained


def model_dtype(model: Any) -> Any:
    """The precision of a model: that of its floating leaves."""
    leaves = [leaf for leaf in tree.leaves(model) if is_parameter(leaf) and hasattr(leaf, "dtype")]
    kinds = {np.dtype(leaf.dtype) for leaf in leaves if leaf.dtype.kind == "f"}
    return max(kinds, key=lambda kind: kind.itemsize) if kinds else np.dtype(np.float64)


def convert_batch(batch: Any, dtype: Any) -> Any:
    """Floating arrays in the precision of the model; all others as they are."""

    def convert(leaf: Any) -> Any:
        array = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
        return array.astype(dtype) if array.dtype.kind == "f" and array.dtype != dtype else array

    return tree.map(convert, batch)


class Programs(NamedTuple):
    """A step on leaves alone, so that no container that changes passes the border of a program, which would be slow."""

    gathered: Callable[..., Any]  # of rows of columns
    given: Callable[..., Any]  # of a batch


def write_programs(structure: Any, call: Call) -> Programs:
    """The step as functions of the numbers of the rule, the leaves of the state, examples, weights and a key.

    The structure is that of (step, state), of a step without its loss: what that reads is looked at in each call.
    """
    loss, spread, generator = call.loss, call.spread, call.generator  # named by the programs themselves

    def given(numbers: Any, leaves: Any, batch: Any, weight: Any, key: Any) -> Any:
        return _advance(structure, Call(loss, spread, generator), numbers, leaves, batch, weight, key)

    def gathered(numbers: Any, leaves: Any, columns: Any, indices: Any, weight: Any, key: Any) -> Any:
        batch = gather(columns, indices)
        return _advance(structure, Call(loss, spread, generator), numbers, leaves, batch, weight, key)

    return Programs(gathered, given)


def _advance(structure: Any, call: Call, numbers: Any, leaves: Any, batch: Any, weight: Any, key: Any) -> Any:
    step, state = structure.unflatten([*numbers, *leaves])
    state, report = replace(step, loss=call)(state, batch, weight, Generator(key, np.uint64(0)))
    return tuple(tree.leaves(state)), report


@kept_with(lambda structure, call: call.loss)
def compile_programs(structure: Any, call: Call) -> Programs:
    """The programs of a structure (rule and model) and a loss, shared by runs: their numbers are arguments."""
    return Programs(*[jit(function) for function in write_programs(structure, call)])


@kept_with(lambda totals: totals.call.loss)
def _compile_totals(totals: _LossTotals) -> Any:
    """The program that adds up a loss of a batch."""
    return jit(lambda model, batch, weight: totals(model, batch, weight))


def _integer(title: str, name: str, number: Any) -> int:
    try:
        return operator_index(number)
    except TypeError:
        raise TypeError(f"{title}: {name}={number!r}; it is an integer.") from None


def _columns(row: Any) -> str:
    return f"columns {', '.join(map(str, row))}" if isinstance(row, dict) else f"of type {type(row).__name__}"


class Engine:
    """A run on a source: order, batches, steps."""

    def __init__(
        self, title: str, model: Any, loss: Callable[..., Any], data: Any, rule: Rule, *, batch: int, epochs: int,
        rng: Any, accumulate: int = 1, weight: Any = None, trainable: Any = None, decay: Any = None,
        compiled: bool | str = "auto", shuffle: bool = True,
    ) -> None:  # fmt: skip
        self.title, self.decay, self.shuffle = title, decay, shuffle
        self.epochs = _integer(title, "epochs", epochs)
        self.source = as_source(data)
        self.size = _integer(title, "batch", batch)
        check_size(self.size, len(self.source))
        self.rng = read_generator(title, rng)
        if rng is None:
            raise TypeError(
                f"{title}: give rng=ad.random.default_rng(0): order and randomness of the run depend on it."
            )
        if self.epochs < 0:
            raise ValueError(f"{title}: epochs={epochs}; it cannot be negative.")
        self.dtype = model_dtype(model)
        first = self.source[np.arange(1)]
        if str(getattr(loss, "__module__", "")).startswith("adjoint.nn.losses"):
            name = loss.__name__
            raise TypeError(f"{title}: {name} is a loss of scores and labels, and here one of a model and a batch is "
                            f'needed. Write lambda model, batch: {name}(model(batch["x"]), batch["y"]).')  # fmt: skip
        self.call = read_loss(title, loss, first)
        self.weight = self._weights(weight)
        if decay is not None:
            rule = averaged(rule, decay)
        if trainable is None and frozen_leaves(model):
            trainable = nn_trainable(model)
        parts = _integer(title, "accumulate", accumulate)
        self.step = training_step(self.call, rule, accumulate=parts, trainable=trainable)
        self.in_memory = isinstance(self.source, Arrays)
        self.columns = convert_batch(self.source.columns, self.dtype) if isinstance(self.source, Arrays) else None
        total = self.epochs * self.batches
        self.compiled = total > EAGER if compiled == "auto" else bool(compiled)
        self.planned: tuple[int, Any, Any] | None = None
        self.offset = 0  # epochs of an earlier run
        self.programs: Any = None
        self.structure: Any = None
        self.numbers: tuple[Any, ...] = ()
        self.by_example = True

    @property
    def batches(self) -> int:
        """Steps in an epoch."""
        return count_batches(len(self.source), self.size)

    def _weights(self, weight: Any) -> Any:
        if weight is None:
            return None
        found = self.source.column(weight) if isinstance(weight, str) else np.asarray(weight)
        if found.shape != (len(self.source),):
            raise ShapeError(
                f"{self.title}: weight has shape {found.shape}, and there are {len(self.source)} examples."
            )
        if not np.all(found >= 0) or not np.any(found > 0):
            raise ValueError(f"{self.title}: weights are not negative, and not all of them zero; give some above zero.")
        return found.astype(np.float64)

    def read_validation(self, data: Any) -> Source:
        """Validation data as a source, with the columns of the others."""
        if isinstance(data, float | int):
            raise TypeError(f"{self.title}: validation={data}; it is other data. Split them off before: "
                            "train, held = data.split((0.8, 0.2), rng).")  # fmt: skip
        source = as_source(data)
        own, other = (each[np.arange(1)] for each in (self.source, source))
        named = isinstance(own, dict) and isinstance(other, dict)
        alike = set(own) <= set(other) if named else type(own) is type(other) or hasattr(own, "shape")
        if not alike:
            raise TypeError(f"{self.title}: the validation data are {_columns(other)}, those to learn from "
                            f"{_columns(own)}; one loss takes both.")  # fmt: skip
        return source

    def start(self, model: Any) -> TrainingState:
        """The state before the first step, with arrays of its own."""
        copies = tree.map(lambda leaf: np.array(leaf)[()] if np.ndim(leaf) == 0 else np.array(leaf), model)
        state = self.step.init(copies)
        self.by_example = self._is_by_example(tree.map(lambda leaf: leaf, copies))
        self.structure = tree.structure(state)
        whole = tree.structure((replace(self.step, loss=write_programs), state))
        self.programs = (compile_programs if self.compiled else write_programs)(whole, self.call)
        self.numbers = tuple(tree.leaves(self.step))
        return state

    def _is_by_example(self, model: Any) -> bool:
        """Whether the loss gives one number for each example; refuses what needs it where it does not."""
        batch = convert_batch(self.source[np.arange(self.size)], self.dtype)
        with np.errstate(all="ignore"):
            found = sum_losses(self.title, self.call(model, batch, noise_of(self.rng, 0)), None, self.size)
        if found.weight is not None:
            self._refuse_tables(model, batch)
            return True
        n, parts = len(self.source), self.step.accumulate
        reasons = {"the examples have weights": self.weight is not None, "batches are taken in parts": parts > 1,
                   f"{n} examples are no multiple of a batch of {self.size}": n % self.size != 0}  # fmt: skip
        for reason, holds in reasons.items():
            if holds:
                raise ShapeError(f"{self.title}: the loss gives one number for a batch, and {reason}. Return one "
                                 "number for each example.")  # fmt: skip
        return False

    def _refuse_tables(self, model: Any, batch: Any) -> None:
        """(n, 1) less (n,) is a table of n × n differences: then a second axis grows with the batch."""
        shape = lambda batch: np.shape(self._each(model, batch))
        known = shape(batch)
        if self.size not in known[1:]:
            return
        more = shape(convert_batch(self.source[np.arange(self.size + 1) % len(self.source)], self.dtype))
        axis = 1 + known[1:].index(self.size)
        if len(more) == len(known) and more[axis] == self.size + 1:
            raise ShapeError(f"{self.title}: the loss has shape {known} for {self.size} examples, and axis {axis} "
                             "grows with the batch, as where predictions (n, 1) meet targets (n,). Take an axis away "
                             "with f[:, 0], or add one with y[:, None].")  # fmt: skip

    def _each(self, model: Any, batch: Any) -> Any:
        """The losses of the examples of a batch, before the first step."""
        with np.errstate(all="ignore"):
            found = self.call(tree.map(lambda leaf: leaf, model), batch, noise_of(self.rng, 0))
        return found[0] if isinstance(found, tuple) else found

    def pack(self, state: TrainingState) -> tuple[Any, ...]:
        """The leaves of a state, which go from step to step."""
        return tuple(tree.leaves_like("state", self.structure, state))

    def unpack(self, leaves: tuple[Any, ...]) -> TrainingState:
        """The state of these leaves."""
        return self.structure.unflatten(list(leaves))

    def plan(self, epoch: int) -> tuple[Any, Any]:
        """Numbers and weights of the batches of an epoch."""
        if self.planned is None or self.planned[0] != epoch:
            order = epoch_order(self.rng if self.shuffle else None, np.int64(epoch + self.offset), len(self.source))
            indices, filled = pad_batches(order, self.size)
            if self.weight is not None:
                filled = filled * self.weight[indices]
            self.planned = (epoch, indices, filled)
        return self.planned[1], self.planned[2]

    def advance(self, leaves: tuple[Any, ...], epoch: int, number: int) -> tuple[tuple[Any, ...], Report]:
        """The leaves of the state after batch `number` of an epoch, and the loss."""
        indices, filled = self.plan(epoch)
        chosen, weight = indices[number], filled[number] if self.by_example else None
        if self.in_memory:
            return self.programs.gathered(self.numbers, leaves, self.columns, chosen, weight, self.rng.key)
        batch = convert_batch(self.source[chosen], self.dtype)
        return self.programs.given(self.numbers, leaves, batch, weight, self.rng.key)

    def model(self, state: TrainingState) -> Any:
        """The model of a state: its average, where one is kept."""
        if self.decay is None:
            return state.params
        return self.step.merge(average(state.rule), state.params)

    def total(self, model: Any, data: Any) -> tuple[float, float]:
        """Total and weight of the loss of other data, without a generator."""
        source = as_source(data)
        found = _compile_totals(_LossTotals(self.call)) if self.compiled else _LossTotals(self.call)
        total, weight = 0.0, 0.0
        if not self.by_example:
            for batch in source.batches(min(self.size, len(source)), last="keep"):
                mean = self.call(model, convert_batch(batch.data, self.dtype), None)
                total, weight = total + float(mean) * len(batch.indices), weight + len(batch.indices)
            return total, weight
        for batch in source.batches(min(max(self.size, LEAST), len(source))):
            part = found(model, convert_batch(batch.data, self.dtype), batch.weight)
            total, weight = total + float(part[0]), weight + float(part[1])
        return total, weight


@dataclass(frozen=True)
class _LossTotals:
    """Total and weight of a loss, equal to another one of the same loss."""

    call: Call

    def __call__(self, model: Any, batch: Any, weight: Any) -> Any:
        size = np.shape(tree.leaves(batch)[0])[0]
        found = sum_losses("validation", self.call(model, batch, None), weight, size)
        if found.weight is None:
            raise ShapeError("validation: the loss gives one number for a batch; return one for each example.")
        return found.total, found.weight


def has_state(model: Any) -> bool:
    """Whether a model holds containers that change when they are used."""
    return bool(states("model", model))
