"""Random functions as users write them: Python's branches, loops and helpers beside `ad.scan`, `ad.cond` and `ad.grad`.

    def f(x, u, a, b):
        y = x * 1.0
        k = 0
        while k < 5 and a < 1.5:
            a = 0.5 * a + np.tanh(y[k % 3])
            if np.sum(y) > b: continue
            ...
        return a + b + np.sum(y * weights(y))

Names are numbers, vectors and matrices of one size. A statement with which the function does not run is not taken.
"""

from __future__ import annotations

import linecache
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import scipy.linalg

import adjoint as ad
from tests.random_programs.expressions import Expressions, Scope
from tests.random_programs.loops import weights

REFUSED = (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError, ArithmeticError, np.linalg.LinAlgError)
LARGEST = 1e3
LINES = 40  # of a function: beyond it is only slow


@dataclass
class Script:
    """A function as text, and how to draw arguments for it."""

    seed: int
    text: str
    run: Callable[..., Any]
    n: int
    single: bool  # float32

    def arguments(self, draw: int) -> list[Any]:
        rng = np.random.default_rng([self.seed, draw])
        dtype = np.float32 if self.single else np.float64
        x, u = (rng.uniform(-1.2, 1.2, self.n).astype(dtype) for _ in range(2))
        m = rng.uniform(-1, 1, (self.n, self.n)).astype(dtype)
        return [x, u, m, *rng.uniform(0.1, 1.2, 2).astype(dtype)]


class _Writer(Expressions):
    """Statements: lists of lines without their indentation."""

    def __init__(self, r: Random, seed: int) -> None:
        super().__init__(r, r.choice([1, 2, 3, 3, 4, 5]))
        self.seed, self.fresh, self.single = seed, 0, r.random() < 0.25
        self.lines: list[str] = []

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def block(self, s: Scope, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            lines += self.statement(s)
        return lines

    def statement(self, s: Scope) -> list[str]:
        if self.r.random() < (0.45, 0.3, 0.12, 0.0)[min(s.depth, 3)]:
            return self.r.choice([
                self.branch, self.branch, self.counted, self.counted, self.repeated, self.scan, self.loop, self.cond,
                self.helper, self.helper, self.appended, self.elements, self.descent, self.counted_functional,
            ])(s)  # fmt: skip
        draw = self.r.random()
        if draw < 0.4:
            return [f"{self.r.choice(s.numbers)} = {self.settled(self.number(s))}"]
        if draw < 0.5:
            return [f"{self.r.choice(s.numbers)} {self.r.choice(['+=', '-=', '*='])} {self.settled(self.number(s))}"]
        written = [v for v in s.vectors if v in s.own]
        if draw < 0.7 or not written:
            y = self.r.choice(s.vectors)
            return [f"{y} = {self.settled(self.vector(s))}"] if y not in ("x", "u") else []
        y = self.r.choice(written)
        if draw < 0.78:
            return [f"{y}[{self.index(s)}] {self.r.choice(['=', '+=', '*='])} {self.settled(self.number(s))}"]
        if draw < 0.83:
            return [f"{y}[{y} > {self.number(s, 2)}] = {self.number(s, 2)}"]
        if draw < 0.87:
            return [f"{y}[1:] += 0.5 * {y}[:-1]"]
        if draw < 0.91:
            return [f"{y} {self.r.choice(['+=', '*='])} {self.settled(self.vector(s))}"]
        if s.matrices and draw < 0.97:
            return [f"{self.r.choice(s.matrices)} = {self.settled(self.matrix(s))}"]
        one, other = self.r.choice(s.numbers), self.r.choice(s.numbers)
        return [f"{one}, {other} = {other}, np.sin({one})"]

    def settled(self, text: str) -> str:
        return self.r.choice([f"np.tanh({text})", f"0.5 * {text}", text])

    def branch(self, s: Scope) -> list[str]:
        draw = self.r.random()
        if s.in_loop and draw < 0.3:
            return [f"if {self.question(s)}:", f"    {self.r.choice(['break', 'continue'])}"]
        if s.depth == 0 and draw < 0.1 and not self.single:  # else the type of the result would depend on values
            return [f"if {self.question(s)}:", f"    return {self.number(s)} * 1.0"]
        lines = [f"if {self.question(s)}:", *indented(self.block(s.inside(), self.r.randint(1, 2)))]
        if draw > 0.8:
            lines += [f"elif {self.question(s)}:", *indented(self.block(s.inside(), 1))]
        if draw > 0.5:
            lines += ["else:", *indented(self.block(s.inside(), self.r.randint(1, 2)))]
        return lines

    def counted(self, s: Scope) -> list[str]:
        i, e, count = self.name("i"), self.name("e"), self.r.choice([1, 2, 3, 5, 8, 20])
        v, w = self.r.choice(s.vectors), self.r.choice(s.vectors)
        line, numbers, counters = self.r.choice([
            (f"for {i} in range({count}):", [], [i]),
            (f"for {i} in range({count}):", [], [i]),
            (f"for {e} in {v} * 1.0:", [e], []),
            (f"for {i}, {e} in enumerate({v} * 0.5):", [e], [i]),
            (f"for {i}, {e} in zip(range(4), {w} + {v}):", [e], [i]),
        ])  # fmt: skip
        inner = s.inside(in_loop=True)
        inner.numbers += numbers
        inner.counters += counters
        return [line, *indented(self.block(inner, self.r.randint(1, 3)))]

    def repeated(self, s: Scope) -> list[str]:
        k, limit = self.name("k"), self.r.choice([1, 3, 6, 30])
        inner = s.inside(in_loop=True)
        inner.counters.append(k)
        condition = self.r.choice([f"{k} < {limit}", f"{k} < {limit} and ({self.question(s)})", f"{k} < {limit}"])
        body = indented([f"{k} += 1", *self.block(inner, self.r.randint(1, 3))])
        return [f"{k} = 0", f"while {condition}:", *body]

    def state(self, s: Scope) -> tuple[list[str], str, Callable[[str], list[str]]]:
        """Names that a loop carries, what they are packed into, and the lines that unpack it."""
        names = self.r.sample(s.numbers, self.r.randint(1, min(2, len(s.numbers))))
        names += [v for v in s.vectors if v not in ("x", "u")][:1] or s.numbers[:0]
        names += s.matrices[:1] if self.r.random() < 0.3 else []
        form = self.r.choice(["tuple", "dict", "nested"] if len(names) > 1 else ["dict"])
        if form == "tuple":
            return names, f"({', '.join(names)})", lambda t: [f"{', '.join(names)} = {t}"]
        if form == "dict":
            packed = "{" + ", ".join(f'"{n}": {n}' for n in names) + "}"
            return names, packed, lambda t: [f'{n} = {t}["{n}"]' for n in names]
        packed = f'[{names[0]}, {{"rest": ({", ".join(names[1:])},)}}]'
        return names, packed, lambda t: [f"{names[0]} = {t}[0]", f'{", ".join(names[1:])}, = {t}[1]["rest"]']

    def body(self, s: Scope, names: list[str], more: list[str], counters: list[str]) -> list[str]:
        """Statements of a function that a loop calls: they write what it carries alone."""
        inner = s.inside(
            numbers=[n for n in s.numbers if n in names] + more,
            vectors=[v for v in s.vectors if v in names or v in ("x", "u")],
            matrices=[m for m in s.matrices if m in names],
            counters=[*s.counters, *counters], own=frozenset(), in_loop=False,
        )  # fmt: skip
        return self.block(inner, self.r.randint(1, 3))

    def scan(self, s: Scope) -> list[str]:
        names, packed, unpacked = self.state(s)
        step, e, last = self.name("step"), self.name("e"), self.r.choice(s.numbers)
        y, reverse = self.r.choice(s.vectors), self.r.choice(["", "", ", reverse=True", ", checkpoint=2"])
        body = [*unpacked("state"), *self.body(s, names, [e], []), *floats(names)]
        out, z = f"{names[0]} * {e}", self.name("z")
        return [
            f"def {step}(state, {e}):", *indented([*body, f"return {packed}, {out}"]),
            *floats(names), f"state, {z} = ad.scan({step}, {packed}, {y} * 1.0{reverse})", *unpacked("state"),
            f"{last} = {last} + np.sum({z})",
        ]  # fmt: skip

    def loop(self, s: Scope) -> list[str]:
        names, packed, unpacked = self.state(s)
        step, going, k, limit = self.name("step"), self.name("going"), self.name("k"), self.r.choice([1, 3, 9])
        bound = self.r.choice(["0.5", "2.0", "1e9"])
        body = [f"{k}, state = loop", *unpacked("state"), *self.body(s, names, [], [k]), *floats(names)]
        return [
            f"def {going}(loop):",
            *indented([f"{k}, state = loop", *unpacked("state"),
                       f"return ({k} < {limit}) & (np.sum(np.abs({names[0]})) < {bound})"]),
            f"def {step}(loop):", *indented([*body, f"return {k} + 1, {packed}"]),
            *floats(names), f"_, state = ad.while_loop({going}, {step}, (0, {packed}))", *unpacked("state"),
        ]  # fmt: skip

    def counted_functional(self, s: Scope) -> list[str]:
        names, packed, unpacked = self.state(s)
        step, i = self.name("step"), self.name("i")
        count = self.r.choice(["0", "2", "5", f"np.count_nonzero({self.r.choice(s.vectors)} > 0)"])
        body = [*unpacked("state"), *self.body(s, names, [], [i]), *floats(names)]
        return [
            f"def {step}({i}, state):", *indented([*body, f"return {packed}"]),
            *floats(names), f"state = ad.fori_loop(0, {count}, {step}, {packed})", *unpacked("state"),
        ]  # fmt: skip

    def cond(self, s: Scope) -> list[str]:
        names, packed, unpacked = self.state(s)
        branches = [self.name("branch") for _ in range(self.r.choice([2, 2, 3]))]
        lines: list[str] = []
        for branch in branches:
            body = [*unpacked("state"), *self.body(s, names, [], []), *floats(names)]
            lines += [f"def {branch}(state):", *indented([*body, f"return {packed}"])]
        chosen = f"ad.cond({self.question(s)}, {', '.join(branches)}, {packed})"
        if len(branches) == 3:
            index = f"np.count_nonzero({self.r.choice(s.vectors)} > 0) % 3"
            chosen = f"ad.switch({index}, [{', '.join(branches)}], {packed})"
        return [*lines, *floats(names), f"state = {chosen}", *unpacked("state")]

    def helper(self, s: Scope) -> list[str]:
        """A function of a number, with branches and loops, mapped and differentiated."""
        h, t = self.name("h"), self.name("t")
        inner = s.inside(numbers=[t], vectors=["x", "u"], matrices=[], own=frozenset(), in_loop=False, counters=[])
        lines = [f"def {h}({t}):", *indented([*self.block(inner, self.r.randint(1, 3)), f"return {t} * np.cos({t})"])]
        a, v = self.r.choice(s.numbers), self.r.choice(s.vectors)
        free = [y for y in s.vectors if y not in ("x", "u")]
        y = self.r.choice(free) if free else None
        calls = [
            f"{a} = {h}({a})", f"{a} = ad.grad({h})({a})", f"{a} = ad.grad(ad.grad({h}))({a})",
            f"{a} = ad.jit({h})({a})", f"{a} = ad.checkpoint({h})({a})", f"{a} = sum({h}(e) for e in {v})",
            f"{a} = ad.jvp({h}, ({a},), ({a},))[1]",
        ]  # fmt: skip
        if y is not None:
            calls += [
                f"{y} = ad.vmap({h})({v})", f"{y} = ad.map({h}, {v})", f"{y} = np.array([{h}(e) for e in {v}])",
                f"{y} = ad.vmap(ad.grad({h}))({v})", f"{y} = ad.grad(lambda v: np.sum(ad.vmap({h})(v)))({v})",
                f"{y} = ad.hessian(lambda v: {h}(v @ {v}))({v}) @ {v}", f"{y} = ad.vmap(lambda e: {h}(e * {a}))({v})",
                f"{y} = np.diag(ad.jacfwd(ad.vmap({h}))({v}))", f"{y} = ad.hvp(lambda v: {h}(np.sum(v)), {v}, {v})",
                f"{y} = np.sum(ad.jacfwd(ad.jacrev(lambda v: {h}(np.sum(v * v))))({v}), axis=0)",
            ]  # fmt: skip
        return [*lines, self.r.choice(calls)]

    def appended(self, s: Scope) -> list[str]:
        rows, i = self.name("rows"), self.name("i")
        inner = s.inside(in_loop=True)
        inner.counters.append(i)
        a, body = self.r.choice(s.numbers), self.block(inner, self.r.randint(1, 2))
        ends = [f"np.sum(np.array({rows}))", f"np.sum(np.stack({rows}) ** 2)", f"sum({rows})", f"{rows}[-1]"]
        end, count = self.r.choice(ends), self.r.choice([2, 4, 9])
        loop = [f"for {i} in range({count}):", *indented([*body, f"{rows}.append({self.number(s)})"])]
        return [f"{rows} = [0.5 * {a}]", *loop, f"{a} = np.tanh({end})"]

    def elements(self, s: Scope) -> list[str]:
        """Two loops over the elements of a matrix."""
        i, j, m = self.name("i"), self.name("j"), self.name("m")
        if not s.matrices:
            return []
        inner = s.inside()
        inner.counters += [i, j]
        value = self.settled(self.number(inner))
        rest = self.r.choice(["", f"{m}[{i}, {j}] = {value}", f"if {self.question(inner)}: {m}[{j}, {i}] += {value}"])
        lines = [f"{m}[{i}, {j}] = 0.5 * {m}[{j}, {i}] + {self.number(inner)}"] + ([rest] if rest else [])
        old = self.r.choice(s.matrices)
        return [
            f"{m} = {old}.copy()", f"for {i} in range({self.n}):", f"    for {j} in range({self.n}):",
            *indented(indented(lines)), f"{old} = np.tanh({m})",
        ]  # fmt: skip

    def descent(self, s: Scope) -> list[str]:
        """Steps along a gradient, until it is small."""
        g, v, y = self.name("g"), self.name("v"), [y for y in s.vectors if y not in ("x", "u")]
        if not y:
            return []
        y0, inner = y[0], Scope(list(s.numbers), [v, "x", "u"], s.matrices, depth=s.depth + 2)
        repeated = f"for _ in range({self.r.choice([1, 3, 12])}):"
        loop = self.r.choice([repeated, f"while 0.5 < np.sum({y0} ** 2) < 99.0:"])
        lines = [f"def {g}({v}):", f"    return {self.number(inner)} + {v} @ {v}", loop]
        if loop.startswith("while"):
            return [*lines, f"    {y0} = 0.7 * {y0} - 0.01 * np.tanh(ad.grad({g})({y0}))"]
        return [*lines, f"    {y0} = {y0} - 0.05 * ad.grad({g})({y0})"]

    def finish(self) -> Script:
        lines = ["def f(x, u, A, a, b):", "    y = x * 1.0", "    z = np.sin(u)", "    c = a * b", *self.lines]
        results = "a + b * 0.5 + c + np.sum(y * weights(y)) + np.sum(z * weights(z)) + np.sum(A * weights(A))"
        text = "\n".join([*lines, f"    return {results}"]) + "\n"
        filename = f"<script {self.seed}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        scope: dict[str, Any] = {"np": np, "ad": ad, "scipy": scipy, "math": math, "weights": weights}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, filename, "exec"), scope)
        return Script(self.seed, text, scope["f"], self.n, self.single)


def floats(names: list[str]) -> list[str]:
    """What a loop carries are arrays of its own."""
    return [f"{n} = {n} * 1.0" for n in names]


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines] or ["    pass"]


def runs(script: Script) -> bool:
    """Whether the function has numbers of moderate size for some arguments, which hardly move with them."""
    dtype = np.dtype(np.float32 if script.single else np.float64)
    eps = np.finfo(dtype).eps
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for draw in range(3):
                xs = script.arguments(draw)
                moved = [[(x * (1 + h)).astype(dtype) for x in xs] for h in (0.0, 4 * eps)]
                value, near = (script.run(*arguments) for arguments in moved)
                if np.ndim(value) or not (abs(value) < LARGEST and abs(near - value) < 1e6 * eps):
                    return False
        except REFUSED:
            return False
    return True


def random_script(seed: int) -> Script:
    """The function of a seed: always the same one."""
    r = Random(seed)
    w = _Writer(r, seed)
    scope = Scope(["a", "b", "c"], ["x", "u", "y", "z"], ["A"], [], frozenset({"y", "z"}))
    for _ in range(r.randint(2, 6)):
        for _ in range(20):
            taken, fresh = list(w.lines), w.fresh
            drawn = w.statement(scope)
            w.lines += indented(drawn) if drawn else []
            if drawn and len(w.lines) <= LINES and runs(w.finish()):
                break
            w.lines, w.fresh = taken, fresh
    return w.finish()
