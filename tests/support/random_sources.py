"""Random functions in plain Python, as text: nested if, while and for, early exits, arrays that are filled, objects.

Each is a function f(x, y) of two floats; loops end by construction, and values stay in a range by tanh.
"""

from __future__ import annotations

import linecache
import math
import random
from typing import Any

import numpy as np

HEADER = """
class Counter:
    def __init__(self):
        self.total = 0.0
        self.steps = 0

    def add(self, value):
        self.total = self.total * 0.5 + value
        self.steps += 1
"""


class Writer:
    """Writes one function."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0
        self.fresh = 0

    def number(self) -> str:
        return repr(round(self.rng.uniform(-1.5, 1.5), 2))

    def atom(self) -> str:
        return self.rng.choice(["x", "y", "a", "b", "z[0]", "z[1]", "z[2]", "c.total", self.number()])

    def expression(self) -> str:
        kind = self.rng.randrange(8)
        one, two = self.atom(), self.atom()
        if kind == 0:
            return f"math.tanh({one} + {two})"
        if kind == 1:
            return f"np.sin({one}) * {self.number()}"
        if kind == 2:
            return f"({one} if {self.test()} else {two})"
        if kind == 3:
            return f"math.tanh({one} * {two}) + {self.number()}"
        if kind == 4:
            return f"float(np.array([{one}, {two}]).sum() * 0.5)"
        if kind == 5:
            return f"helper({one})"
        if kind == 6:
            return f"max({one}, {two}) * 0.7"
        return f"({one} - {two}) * 0.6"

    def test(self) -> str:
        kind = self.rng.randrange(5)
        one, two, three = self.atom(), self.atom(), self.number()
        if kind == 0:
            return f"{one} > {three} and {two} < {self.number()}"
        if kind == 1:
            return f"not {one} < {three}"
        if kind == 2:
            return f"{three} < {one} < {self.number()}"
        if kind == 3:
            return f"{one} > {two} or {two} > {three}"
        return f"{one} > {three}"

    def block(self, depth: int, indent: str, in_loop: bool) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth, indent, in_loop)

    def statement(self, depth: int, indent: str, in_loop: bool) -> None:
        kind = self.rng.randrange(14 if depth < 3 else 7)
        add = lambda text: self.lines.append(indent + text)
        if kind <= 1:
            add(f"{self.rng.choice('ab')} = {self.expression()}")
        elif kind == 2:
            add(f"z[{self.rng.randrange(3)}] = {self.expression()}")
        elif kind == 3:
            add(f"{self.rng.choice(['a', 'b', 'z[1]'])} += 0.3 * {self.expression()}")
        elif kind == 4:
            add(f"c.add({self.expression()})")
        elif kind == 5:
            add(f"a, b = b * 0.9, {self.expression()}")
        elif kind == 6:
            jumps = ["break", "continue"] if in_loop else []
            jump = self.rng.choice([*jumps, "return a + np.sum(z)", "return b - c.total"])
            add(f"if {self.test()} and {self.atom()} > {round(self.rng.uniform(0.5, 1.2), 2)}:")
            add(f"    {jump}")
        elif kind in (7, 8, 9):
            add(f"if {self.test()}:")
            self.block(depth + 1, indent + "    ", in_loop)
            if self.rng.random() < 0.6:
                add("else:")
                self.block(depth + 1, indent + "    ", in_loop)
        elif kind in (10, 11):
            self.loops += 1
            count = self.rng.choice([2, 3, 12])
            name = f"i{self.loops}"
            add(f"for {name} in range({count}):")
            add(f"    a = a * 0.8 + 0.01 * {name}")
            self.block(depth + 1, indent + "    ", in_loop=True)
        else:
            self.loops += 1
            name = f"n{self.loops}"
            add(f"{name} = 0")
            add(f"while {self.atom()} > {self.number()} and {name} < {self.rng.choice([3, 7, 11])}:")
            add(f"    {name} += 1")
            add("    b = b * 0.7 - 0.05")
            self.block(depth + 1, indent + "    ", in_loop=True)

    def source(self) -> str:
        """The text of the file."""
        self.lines = ["def f(x, y):", "    a, b = 0.5 * x, y - 0.3", "    z = np.zeros(3)", "    c = Counter()"]
        self.lines += ["    def helper(t):", "        return t * 0.5 + 0.1 * a"]
        for _ in range(self.rng.randint(2, 5)):
            self.statement(0, "    ", in_loop=False)
        self.lines.append("    return a + 2.0 * b + np.sum(z * z) + 0.1 * c.total + 0.01 * c.steps")
        return HEADER + "\n\n" + "\n".join(self.lines) + "\n"


def random_function(seed: int) -> tuple[Any, str]:
    """A function, whose source Python finds, and its text."""
    text = Writer(seed).source()
    name = f"<random source {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np, "math": math, "__name__": "random_sources"}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"], text
