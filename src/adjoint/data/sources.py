"""What a source of examples is: `len(source)` of them, and `source[indices]`, a tree of arrays stacked along axis 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from operator import index as operator_index
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.source import user_facing
from adjoint.data.order import check_size, count_batches, epoch_order, read_generator
from adjoint.data.splitting import split_numbers

__all__ = ["Batch", "Part", "Source"]

LAST = ("pad", "drop", "keep")


class Batch(NamedTuple):
    """Some examples: their arrays, the weight of each (0 where a batch is filled up), and their numbers.

    ```python
    first = next(ad.data.arrays(x=np.arange(3.0)).batches(2))
    first.data["x"], first.weight, first.indices  # → ([0.0, 1.0], [1.0, 1.0], [0, 1])
    ```
    """

    data: Any
    weight: Any
    indices: Any


class Source(ABC):
    """Examples by number: a subclass has `__len__` and `rows(indices)`, which gives a tree of arrays.

    ```python
    class Squares(ad.data.Source):
        def __len__(self):
            return 5
        def rows(self, indices):
            return indices**2
    [batch.data.tolist() for batch in Squares().batches(3, last="keep")]  # → [[0, 1, 4], [9, 16]]
    ```
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def rows(self, indices: Any) -> Any:
        """The examples of these numbers, an array of integers, stacked."""

    def __getitem__(self, indices: Any) -> Any:
        """The examples of these numbers; a slice, one number, and numbers from the end are understood."""
        n = len(self)
        if isinstance(indices, slice):
            return self.rows(np.arange(n)[indices])
        numbers = np.asarray(indices)
        if numbers.dtype == bool:
            if numbers.shape != (n,):
                raise IndexError(f"a mask of shape {numbers.shape} does not choose among {n} examples.")
            numbers = np.flatnonzero(numbers)
        if numbers.dtype.kind not in "iu":
            raise IndexError(f"examples are chosen by integers, not by {numbers.dtype}.")
        outside = numbers[(numbers < -n) | (numbers >= n)]
        if outside.size:
            raise IndexError(f"there is no example {outside.ravel()[0]}: the source has {n}.")
        return self.rows(np.where(numbers < 0, numbers + n, numbers))

    def take(self, indices: Any) -> Source:
        """A source of these examples: numbers, a mask, a slice, or how many of the first ones.

        ```python
        len(ad.data.arrays(x=np.arange(5.0)).take(2))  # → 2
        ```
        """
        numbers = np.arange(len(self))
        if isinstance(indices, int | np.integer):
            if not 0 <= indices <= len(self):
                raise IndexError(f"take: {indices} examples were asked for, and there are {len(self)}.")
            return self.part(numbers[:indices])
        return self.part(numbers[indices])

    def part(self, numbers: Any) -> Source:
        """A source of the examples of these numbers."""
        return Part(self, numbers)

    @user_facing
    def batches(self, size: int, rng: Any = None, epoch: int = 0, start: int = 0, last: str = "pad") -> Iterator[Batch]:
        """The examples in batches, from batch number `start` of an epoch on, in the order of (rng, epoch).

        Without rng they come in their own order. The last batch is filled up with weights 0 ("pad"), left out
        ("drop"), or shorter ("keep").

        ```python
        source = ad.data.arrays(x=np.arange(5.0))
        [batch.weight.tolist() for batch in source.batches(2)]  # → [[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]]
        ```
        """
        size, n = operator_index(size), len(self)
        check_size(size, n)
        if last not in LAST:
            raise ValueError(f"batches: last={last!r}; it is one of {', '.join(map(repr, LAST))}.")
        order = epoch_order(read_generator("batches", rng), epoch, n)
        for number in range(start, count_batches(n, size, last)):
            indices = order[number * size : (number + 1) * size]
            weight = np.ones(len(indices))
            missing = size - len(indices)
            if missing and last == "pad":
                indices = np.concatenate([indices, np.full(missing, indices[0])])
                weight = np.concatenate([weight, np.zeros(missing)])
            yield Batch(self.rows(indices), weight, indices)

    def split(self, parts: Sequence[float | int], rng: Any = None, stratify: Any = None) -> list[Source]:
        """Sources of parts of the examples: fractions that add up to at most 1, or numbers of examples.

        In random order with a generator; with `stratify`, a column or an array of labels, every part has each label in
        the same proportion, to one example.

        ```python
        train, test = ad.data.arrays(x=np.arange(10.0)).split((0.8, 0.2), ad.random.default_rng(0))
        len(train), len(test)  # → (8, 2)
        ```
        """
        labels = self.column(stratify) if isinstance(stratify, str) else stratify
        return [self.part(numbers) for numbers in split_numbers(len(self), parts, rng, labels)]

    def column(self, name: str) -> Any:
        """All values of a column."""
        whole = self[np.arange(len(self))]
        if not isinstance(whole, dict) or name not in whole:
            known = ", ".join(map(str, whole)) if isinstance(whole, dict) else "no names"
            raise KeyError(f"there is no column {name!r}; the source has {known}.")
        return whole[name]


class Part(Source):
    """Some examples of another source."""

    def __init__(self, whole: Source, numbers: Any) -> None:
        self.whole, self.numbers = whole, np.asarray(numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self, indices: Any) -> Any:
        """The examples of these numbers."""
        return self.whole.rows(self.numbers[indices])

    def part(self, numbers: Any) -> Source:
        """A part of the part."""
        return Part(self.whole, self.numbers[numbers])
