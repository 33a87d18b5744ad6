"""Random loops of Python's that read and write parts of arrays, as a user writes them: the text of a function.

    def k(x, u, a, b):
        y = x * 1.0
        for i in range(9):
            y[1:] += 0.5 * u[0:][:2]
            b = np.cos(b) - a
        return np.sum(y * weights(y)) + b

Slices are whole, empty, strided, negative, overlapping, and move with i; statements that do not fit are not taken.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import interpret
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.reroll.driver import reroll

SIZES = [1, 2, 3, 3, 4, 5, 6, 8]
COUNTS = [2, 3, 4, 5, 7, 8, 9, 10, 12, 17]
SLICES = [
    ":", "0:", "::1", "...", "1:", ":-1", "2:", ":-2", "1:-1", "::2", "1::2", "::-1", ":2", ":3", "-2:", "::-2", "0:0",
    "-1::-1", "1:2", "0", "-1", "1", "None", ":, 0", ":, 1:", "..., :-1", "1:, ::-1", "::2, 1:", "0, :", "-1, ::2",
]  # fmt: skip
MOVING = [
    "{i}", "-{i} - 1", "{i}:", ":{i}", "{i}:{i} + 2", "{i} % 2:", "{i} % 3", "{i}:, 0", ":, {i}", "{i} // 2",
    ":-{i} or None", "0 if {i} % 2 else None:",
]  # fmt: skip
FUNCTIONS = ["np.sin({})", "np.cos({})", "np.tanh({})", "0.5 * {}", "-{}", "{} * 1.0", "np.exp(-np.abs({}))", "{}"]
REFUSED = (ValueError, TypeError, IndexError, OverflowError)
LARGEST = 1e3  # of values: derivatives of larger ones are mostly noise


@dataclass
class LoopFunction:
    """A function as text, and arguments for it."""

    seed: int
    text: str
    run: Callable[..., Any]
    arguments: list[Any]


def weights(x: Any) -> Any:
    """Numbers that tell the elements of an array apart."""
    return np.cos(np.arange(np.size(x), dtype=float)).reshape(np.shape(x)) + 0.2


class _Writer:
    """A function while it is drawn: its lines, and the values of its names for the arguments at hand."""

    def __init__(self, r: Random, values: dict[str, Any]) -> None:
        self.r, self.values = r, values
        self.lines: list[str] = []
        self.written: list[str] = []  # arrays of its own
        self.numbers = [name for name, x in values.items() if np.ndim(x) == 0]

    def arrays(self) -> list[str]:
        return [name for name, x in self.values.items() if np.ndim(x)]

    def part(self, name: str, counters: list[str]) -> str:
        """Some elements of an array; a slice of a slice at times."""
        text = name
        for _ in range(self.r.choice([0, 1, 1, 1, 2])):
            moving = counters and self.r.random() < 0.35
            item = self.r.choice(MOVING).format(i=self.r.choice(counters)) if moving else self.r.choice(SLICES)
            text += f"[{item}]"
        return text

    def expression(self, counters: list[str], depth: int = 0) -> str:
        draw = self.r.random()
        if depth < 2 and draw < 0.3:
            sign = self.r.choice(["+", "-", "*"])
            return f"({self.expression(counters, depth + 1)} {sign} {self.expression(counters, depth + 1)})"
        if draw < 0.5:
            inner = self.r.choice([*self.numbers, f"np.sum({self.part(self.r.choice(self.arrays()), counters)})"])
        else:
            inner = self.part(self.r.choice(self.arrays()), counters)
        return self.r.choice(FUNCTIONS).format(inner)

    def statement(self, counters: list[str]) -> str:
        draw = self.r.random()
        value = self.expression(counters)
        if draw < 0.12:
            return f"{self.r.choice(self.numbers)} = np.sin(np.sum({value}))"
        name = self.r.choice(self.written)
        if draw < 0.2:
            return f"{name} = 0.5 * {name} + 0.5 * {value}"
        if draw < 0.25:
            return f"{name}, {self.r.choice(self.written)} = {self.r.choice(self.written)}, {name}"
        target = self.part(name, counters)
        target = target if "[" in target else f"{target}[:]"
        if draw < 0.55:
            return f"{target} = {self.r.choice(['np.tanh({})', '{}']).format(value)}"
        return f"{target} {self.r.choice(['+=', '-=', '*=', '+='])} {value}"

    def block(self, depth: int, counters: list[str]) -> None:
        """A loop with statements, and a loop inside at times."""
        indent = "    " * (depth + 1)
        counter = "ij"[depth]
        count = self.r.choice(COUNTS if depth == 0 else [2, 3, 4])
        ranges = [f"range({count})", f"range({count})", f"range({count} - 1, -1, -1)", f"range(0, {2 * count}, 2)"]
        self.lines.append(f"{indent}for {counter} in {self.r.choice(ranges)}:")
        counters = [*counters, counter]
        self.attempt(lambda: f"{indent}    {self.statement(counters)}")
        for _ in range(self.r.randint(0, 4)):
            if depth == 0 and self.r.random() < 0.15:
                self.block(1, counters)
            else:
                self.attempt(lambda: f"{indent}    {self.statement(counters)}")

    def attempt(self, draw: Callable[[], str]) -> None:
        """One more line, with which the function still runs."""
        while True:
            self.lines.append(draw())
            try:
                self.finish()
                return
            except REFUSED:
                self.lines.pop()

    def finish(self, seed: int = 0) -> LoopFunction:
        """The function so far."""
        names = list(self.values)
        own = [n for n in names if n in self.written]
        results = " + ".join([f"np.sum({n} * weights({n}))" for n in own] + [f"{n}" for n in self.numbers])
        inputs = [n for n in names if n not in self.written]
        text = "\n".join([f"def k({', '.join(inputs)}):", *self.lines, f"    return {results}"]) + "\n"
        filename = f"<loop {seed}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        scope: dict[str, Any] = {"np": np, "weights": weights, "zeros": ad.numpy.zeros}
        exec(compile(text, filename, "exec"), scope)
        arguments = [self.values[n] for n in inputs]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, near = (scope["k"](*[x * (1 + h) for x in arguments]) for h in (0.0, 1e-9))
        if np.ndim(value) or not (abs(value) < LARGEST and abs(near - value) < 1e-9 * LARGEST):
            raise ValueError("not a number, or too large a one, or chaos")
        return LoopFunction(seed, text, scope["k"], arguments)


def random_loops(seed: int) -> LoopFunction:
    """The function of a seed: always the same one."""
    r = Random(seed)
    rng = np.random.default_rng(seed)
    n, m = r.choice(SIZES), r.choice(SIZES)
    shapes = [(n,), (n,), (m,), (n, m), (n, n), (n, 1), (2, n, m)]
    values: dict[str, Any] = {}
    for name in ("x", "u")[: r.choice([1, 2])]:
        values[name] = rng.uniform(-1, 1, r.choice(shapes))
    for name in ("a", "b"):
        values[name] = float(rng.uniform(0.2, 1))
    w = _Writer(r, values)
    for name in ("y", "z")[: r.choice([1, 2, 2])]:
        source = r.choice(["x", *w.arrays()])
        start = r.choice([f"{source} * 1.0", f"{source}.copy()", f"np.zeros_like({source})", f"np.sin({source})"])
        w.lines.append(f"    {name} = {start}")
        w.written.append(name)
        values[name] = np.copy(values[source])
    for _ in range(r.choice([1, 1, 2])):
        w.block(0, [])
    return w.finish(seed)


def check_loops(seed: int) -> list[str]:
    """What is wrong with a function of loops and its derivatives, compiled and not, in words.

    NumPy's value is the compiled one, a difference along a line the eager gradient, and that the compiled one.
    """
    k = random_loops(seed)
    rng = np.random.default_rng([seed, 1])
    positions = tuple(range(len(k.arguments)))
    direction = [rng.normal(size=np.shape(x)) for x in k.arguments]
    moved = lambda t: float(k.run(*[x + t * v for x, v in zip(k.arguments, direction, strict=True)]))
    gradient = ad.grad(k.run, argnums=positions)
    modes: dict[str, Callable[..., Any]] = {"value": k.run, "grad": gradient}
    draw = rng.random()
    if draw < 0.2:
        modes["jvp"] = lambda *xs: ad.jvp(k.run, xs, tuple(direction))
    elif draw < 0.4:
        modes["vmap of grad"] = lambda *xs: ad.vmap(gradient)(*[np.stack([x, 0.9 * x]) for x in xs])
    elif draw < 0.5:
        modes["jvp of grad"] = lambda *xs: ad.jvp(gradient, xs, tuple(direction))[1]
    wrong: list[str] = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode, f in modes.items():
            try:
                expected = [np.asarray(z) for z in ad.tree.leaves(f(*k.arguments))]
                actual = [np.asarray(z) for z in ad.tree.leaves(ad.jit(f)(*k.arguments))]
            except Exception as problem:
                wrong.append(f"{mode}: {type(problem).__name__}: {problem}")
                continue
            largest = max([np.max(np.abs(z), initial=1.0) for z in expected])
            for number, (a, b) in enumerate(zip(actual, expected, strict=True)):
                if a.shape != b.shape or not np.all(np.abs(a - b) <= 1e-9 * largest):
                    wrong.append(f"{mode}, result {number}: {a}, expected {b}")
            wrong += [f"{mode}, {line}" for line in _unlike_rolled(f, k.arguments)]
            if mode == "grad":
                derivative = sum(float(np.sum(g * v)) for g, v in zip(expected, direction, strict=True))
                wrong += _unlike_differences(moved, derivative, largest)
    return [f"loops {seed}, {line}\n{k.text}" for line in wrong[:1]]


def _unlike_rolled(f: Callable[..., Any], arguments: list[Any]) -> list[str]:
    """Whether short runs, too, may be written as loops, though it is not worth the while: the same numbers."""
    program = ad.trace(f)(*arguments).program
    flat = [np.asarray(x)[()] for x in arguments]
    try:
        rolled = reroll(drop_dead_code(program), least=8)
        check(rolled)
        actual, expected = interpret(rolled, flat), interpret(program, flat)
    except Exception as problem:
        return [f"rolled: {type(problem).__name__}: {problem}"]
    same = [np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(actual, expected, strict=True)]
    return [] if all(same) else [f"rolled: {actual}, expected {expected}"]


def _unlike_differences(f: Callable[[float], float], derivative: float, largest: float) -> list[str]:
    """Whether no central difference of f at 0 is like a derivative, though two of them are like each other."""
    quotients = [(f(h) - f(-h)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
    close = lambda a, b: abs(a - b) <= 1e-4 * max(largest, abs(b))
    if any(close(d, derivative) for d in quotients) or not close(quotients[0], quotients[1]):
        return []
    return [f"gradient along a line: {derivative}, differences {quotients}"]
