"""Expressions of random functions: numbers, vectors, matrices and questions, as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

FUNCTIONS = [
    "np.sin({})", "np.cos({})", "np.tanh({})", "np.exp(-np.abs({}))", "np.sqrt(1 + {0} * {0})", "np.log1p({0} ** 2)",
    "np.arctan({})", "(-{})", "(0.5 * {})", "np.abs({})", "np.maximum({}, 0.1)", "np.clip({}, -0.7, 0.9)",
    "(({}) ** 2)",
]  # fmt: skip
SCALARS = ["math.sin({})", "math.exp(-abs({}))", "min({}, 0.8)", "max({}, -0.3)", "abs({})", "float({})"]


@dataclass
class Scope:
    """The names at some place of the function, by kind."""

    numbers: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    matrices: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)  # integers, not written
    own: frozenset[str] = frozenset()  # arrays that may be written to
    in_loop: bool = False
    depth: int = 0

    def inside(self, **changes: Any) -> Scope:
        copied = {k: list(v) for k, v in vars(self).items() if isinstance(v, list)}
        return Scope(**{**vars(self), **copied, "depth": self.depth + 1, **changes})


class Expressions:
    """What stands on the right of an assignment, drawn for the names at hand; vectors have n elements."""

    def __init__(self, r: Random, n: int) -> None:
        self.r, self.n = r, n

    def index(self, s: Scope) -> str:
        choices = ["0", "-1", str(self.r.randrange(self.n))] + [f"{c} % {self.n}" for c in s.counters] * 2
        return self.r.choice(choices)

    def number(self, s: Scope, depth: int = 0) -> str:
        draw = self.r.random()
        if depth > 2 or draw < 0.3:
            return self.r.choice([*s.numbers, *s.numbers, *s.counters, "0.3", "1.5"])
        if draw < 0.5:
            sign = self.r.choice([" + ", " - ", " * ", " * 0.5 - "])
            return f"({self.number(s, depth + 1)}{sign}{self.number(s, depth + 1)})"
        if draw < 0.68:
            f = self.r.choice(FUNCTIONS + (SCALARS if self.r.random() < 0.5 else []))
            return f.format(self.number(s, depth + 1))
        if draw < 0.8:
            return f"{self.r.choice(s.vectors)}[{self.index(s)}]"
        v, w = self.vector(s, depth + 1), self.vector(s, depth + 1)
        forms = [
            f"np.sum({v})", f"np.max({v})", f"np.mean({v})", f"({v}) @ ({w})", f"np.linalg.norm({v} + 0.01)",
            f"np.sum(({v})[{w} > 0.1])", f"{self.r.choice(s.vectors)}[np.argmax({v})]", f"np.sort({v})[0]",
            f"(np.sum({v} ** 2) + 0.1) ** 0.5", f"np.median({v})", f"sum({v})", f"np.sum(np.unique({v}))",
            f"np.count_nonzero({v} > 0) * 0.1", f"np.prod({v} * 0.5 + 1)", f"np.sum(np.nonzero({v} > 0)[0])",
        ]  # fmt: skip
        if s.matrices and self.r.random() < 0.3:
            m = self.r.choice(s.matrices)
            forms = [
                f"np.trace({m})", f"np.linalg.det({m} + 3 * np.eye({self.n}))",
                f"{m}[{self.index(s)}, {self.index(s)}]",
                f"np.linalg.slogdet({m} @ {m}.T + np.eye({self.n}))[1]", f"np.sum({m} * {m})",
                f"np.linalg.eigvalsh({m} + {m}.T + np.diag(7.0 * np.arange({self.n})))[0]",
            ]  # fmt: skip
        return self.r.choice(forms)

    def vector(self, s: Scope, depth: int = 0) -> str:
        draw = self.r.random()
        if depth > 2 or draw < 0.35:
            return self.r.choice(s.vectors)
        if draw < 0.5:
            sign = self.r.choice([" + ", " - ", " * "])
            return f"({self.vector(s, depth + 1)}{sign}{self.vector(s, depth + 1)})"
        if draw < 0.62:
            return f"({self.number(s, depth + 1)} * {self.vector(s, depth + 1)})"
        if draw < 0.75:
            return self.r.choice(FUNCTIONS).format(self.vector(s, depth + 1))
        v, w, a = self.vector(s, depth + 1), self.vector(s, depth + 1), self.number(s, depth + 1)
        forms = [
            f"np.where({v} > {a}, {v}, {w})", f"np.sort({v})", f"{self.r.choice(s.vectors)}[::-1]",
            f"np.cumsum({v})", f"np.roll({v}, 1)", f"{self.r.choice(s.vectors)}[np.argsort({v})]",
            f"np.minimum({v}, {w})", f"np.full({self.n}, {a})", f"np.array([{a}] * {self.n})",
            f"np.concatenate([{v}[1:], {v}[:1]])", f"np.array([0.5 * e for e in {v}])",
        ]  # fmt: skip
        if s.matrices and self.r.random() < 0.5:
            m = self.r.choice(s.matrices)
            definite = f"({m} @ {m}.T + np.eye({self.n}))"
            forms = [
                f"({m} @ {v})", f"np.linalg.solve({m} + 4 * np.eye({self.n}), {v})", f"{m}[{self.index(s)}]",
                f"np.diag({m})", f"{m}[:, {self.index(s)}]", f"(np.linalg.cholesky({definite}) @ {v})",
                f"scipy.linalg.cho_solve(scipy.linalg.cho_factor({definite}), {v})", f"np.max({m}, axis=0)",
                f"np.linalg.eigvalsh({m} + {m}.T + np.diag(7.0 * np.arange({self.n})))",
                f"np.linalg.svd({m} + 3 * np.eye({self.n}))[1]", f"np.linalg.lstsq({m} + 4 * np.eye({self.n}), {v})[0]",
            ]  # fmt: skip
        return self.r.choice(forms)

    def matrix(self, s: Scope) -> str:
        m, v, w = self.r.choice(s.matrices), self.vector(s, 2), self.vector(s, 2)
        q = f"np.linalg.qr({m} + 3 * np.eye({self.n}))"
        return self.r.choice([
            f"np.outer({v}, {w})", f"{m}.T", f"{m} @ {m} / {self.n}", f"np.linalg.inv({m} + 4 * np.eye({self.n}))",
            f"np.tanh({m}) + 0.1", f"{m} * {v}[:, None]", f"{q}[0] @ np.abs({q}[1])", f"scipy.linalg.expm(0.2 * {m})",
            f"np.tril({m})", f"np.stack([{v}] * {self.n})", f"np.where({m} > 0, {m}, {v})",
        ])  # fmt: skip

    def question(self, s: Scope, depth: int = 0) -> str:
        a, v = self.number(s, 1), self.vector(s, 1)
        forms = [f"{a} > {self.number(s, 2)}", f"{a} < 0.4", f"np.sum({v}) > 0.2", f"np.any({v} > 0.8)", f"{a} > 0"]
        forms += [f"{c} % 2 == 0" for c in s.counters] + [f"{c} > 1" for c in s.counters]
        if depth < 1 and self.r.random() < 0.2:
            return f"{self.question(s, 1)} {self.r.choice(['and', 'or'])} not {self.question(s, 1)}"
        if self.r.random() < 0.1:
            return f"np.all({v} < 0.9)"
        return self.r.choice(forms)
