"""Writes docs/rules.md: for each primitive and each rule, which class answers.

Run it from anywhere: `python tools/rules_page.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import adjoint.ops
import adjoint.random
from adjoint.ops.control.base import Control
from adjoint.ops.elementwise.pointwise import BY_NAME, Ufunc
from adjoint.program.op import PRIMITIVES, Op

PAGE = Path(__file__).resolve().parent.parent / "docs" / "rules.md"
RULES = ("evaluate", "result_type", "push", "pull", "keep", "batch", "coefficient")
CONTROL_RULES = ("evaluate", "result_type", "save", "pull", "push", "jvp", "vmap", "jet")

HEADER = """\
# Who answers which rule

Written by `tools/rules_page.py`; a test says when it is out of date.

A primitive answers seven questions: its value, its type, its derivative (`push`) and the adjoint of that (`pull`), what
these two read again (`keep`), how it acts on a stack (`batch`) and its Taylor coefficients (`coefficient`). One
differential fact is declared for each primitive; most rules follow from it, and are answered by a family. **own** marks
what the primitive writes out itself.
"""


def page() -> str:
    """The text of docs/rules.md."""
    load(adjoint.ops)
    load(adjoint.random)
    families: dict[str, list[type[Op]]] = defaultdict(list)
    for cls in ours():
        families["control" if issubclass(cls, Control) else subject(cls)].append(cls)
    control = families.pop("control")
    lines = [HEADER]
    for name in sorted(families):
        lines += [f"## {name}", "", *table(sorted(families[name], key=lambda c: c.__name__), RULES), ""]
    lines += ["## Control flow", ""]
    lines += [
        "Primitives with programs inside map each transformation over these, instead of answering by element.",
        "",
    ]
    lines += [*table(sorted(control, key=lambda c: c.__name__), CONTROL_RULES), ""]
    lines += ["## Ufuncs", "", *ufuncs()]
    return "\n".join(lines) + "\n"


def ours() -> list[type[Op]]:
    """The primitives of the library; a program that uses it may have declared others."""
    return [cls for cls in PRIMITIVES.values() if cls.__module__.startswith("adjoint.")]


def load(package: object) -> None:
    """Import every file below a package, so that its primitives are declared."""
    name, path = package.__name__, package.__path__  # type: ignore[attr-defined]
    for module in pkgutil.walk_packages(path, f"{name}."):
        importlib.import_module(module.name)


def subject(cls: type) -> str:
    """The file that a primitive stands in, as a heading."""
    return cls.__module__.removeprefix("adjoint.").removeprefix("ops.").replace(".", ", ").replace("_", " ")


def answers(cls: type, rule: str) -> str:
    """The class that answers a rule."""
    for parent in cls.__mro__:
        if rule in vars(parent):
            return "**own**" if parent is cls else parent.__name__
    return "–"


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(classes: Sequence[type], rules: Sequence[str]) -> Iterator[str]:
    yield row(["primitive", *rules])
    yield row(["---"] * (1 + len(rules)))
    for cls in classes:
        yield row([f"`{cls.__name__}`", *[answers(cls, rule) for rule in rules]])


def ufuncs() -> Iterator[str]:
    """The classes of ufuncs, then what each ufunc keeps for the backward pass."""
    kinds: dict[type, list[Ufunc]] = defaultdict(list)
    for op in BY_NAME.values():
        kinds[type(op)].append(op)
    yield from table(sorted(kinds, key=lambda c: c.__name__), RULES)
    yield ""
    yield "What is kept when all arguments are differentiated (x, y: the arguments, z: the result):"
    yield ""
    yield row(["class", "keeps", "ufuncs"])
    yield row(["---"] * 3)
    for cls in sorted(kinds, key=lambda c: c.__name__):
        by_kept: dict[str, list[str]] = defaultdict(list)
        for op in kinds[cls]:
            xs, z = op.keep([True] * op.arity)
            letters = [letter for letter, kept in zip("xyzuvw", xs, strict=False) if kept]
            by_kept[", ".join([*letters, *(["result"] if z else [])]) or "nothing"].append(op.name)
        for kept in sorted(by_kept):
            yield row([f"`{cls.__name__}`", kept, ", ".join(f"`{name}`" for name in sorted(by_kept[kept]))])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
