"""The words of docs/glossary.md: names in src, messages to users and headings of the docs say what stands on the right.

Every term of a left column is in `CHECKED`, with the patterns by which it can be found, or in `UNCHECKED`, with the
reason why no pattern finds it. Names are looked at in parts, split at underscores and capitals.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"


class Check(NamedTuple):
    """Patterns of one word: of a part of a name (or "a_b": of neighboring parts), and of the words of a text."""

    name: str = ""
    text: str = ""


CHECKED = {
    "the way forth": Check(text=r"\bway forth\b"),
    "the way back": Check(name=r"way_back", text=r"\bway back\b"),
    "slope": Check(name=r"slopes?", text=r"\bslopes?\b"),
    "moves": Check(name=r"moves"),
    "the short way onto the tape": Check(text=r"\bshort way\b"),
    "Linearised": Check(name=r"linearised", text=r"\blinearised\b"),
    "strays": Check(name=r"strays?|astray", text=r"\b(strays|astray)\b"),
    "whole numbers": Check(name=r"whole_numbers?", text=r"\bwhole numbers?\b"),
    "which do not move": Check(text=r"\bdo(es)? not move\b"),
    "Traced": Check(text=r"\bTraced\b(?=[.(`])"),
    "lane": Check(name=r"lanes?", text=r"\blanes?\b"),
    "place": Check(name=r"places?", text=r"(?<!in )(?<!one )\bplaces?\b(?! of)"),
    "texts": Check(text=r"\btexts\b"),
    "flags": Check(text=r"\bflags\b"),
    "a function of the user's": Check(text=r"\bof the user's\b"),
    "an int of Python's": Check(text=r"\bof Python's\b"),
    "turn": Check(name=r"turns?", text=r"\bturns?\b(?! (in)?to\b| out\b| off\b| on\b)"),
    "functions that forget": Check(text=r"\bfunctions that forget\b"),
    "kept state": Check(name=r"kept_states?", text=r"\bkept states?\b"),
    "rewind": Check(name=r"rewind", text=r"\brewinds?\b"),
    "undoing": Check(name=r"undoing", text=r"\bundoing\b"),
    "room": Check(name=r"rooms?", text=r"\brooms?\b"),
    "kind of arguments": Check(text=r"\bkinds? of arguments\b"),
    "way": Check(name=r"way", text=r"\bthe way taken\b"),
    "ways": Check(name=r"ways", text=r"\bways\b"),
    "specialisation": Check(name=r"speciali[s]\w*", text=r"\bspeciali[s]\w*\b(?<!specialist)"),
    "surroundings": Check(name=r"surroundings", text=r"\bsurroundings\b"),
    "shortcut": Check(name=r"shortcuts?", text=r"\bshortcuts?\b"),
    "families of sizes": Check(text=r"\bfamil(y|ies) of sizes\b"),
    "rolling up": Check(name=r"rolling_up", text=r"\brolling up\b"),
    "turns found again": Check(text=r"\bturns found\b"),
    "had from the write": Check(text=r"\bhad from the write\b"),
    "computed twice": Check(name=r"computed_twice"),
    "story": Check(name=r"story|stories", text=r"\b(story|stories)\b"),
    "telling": Check(name=r"telling|told", text=r"\btelling\b"),
    "colour": Check(name=r"colou[r]\w*", text=r"\bcolou[r]"),
    "colouring": Check(name=r"colou[r]ing", text=r"\bcolou[r]ing"),
}
UNCHECKED = {
    "direction of a push": "a direction is also that of a line or of an iteration",
    "weight of a pull": "weights are those of a model",
    "api.LinearMap": "`linear.LinearMap` is the operator",
    "levels": "levels of nested transformations and of a hierarchy are called so",
    "frames": "frames of Python's stack and of a drawing are called so",
    "tree": "`adjoint.tree` is the name that users import",
    "handed back": "ordinary English",
    "held": "ordinary English",
    "slots": "numbered slots of a program that a page runs",
    "slot": "the same",
    "sweep": "ordinary English",
    "question": "ordinary English",
    "answer": "ordinary English",
    "entry": "an entry of a matrix, of a table or of the tape",
    "around": "ordinary English",
    "written": "ordinary English",
    "run once": "ordinary English",
    "before the loop": "ordinary English",
}

# What a word stands for rightly: (word, pattern of "path: the name or the text", reason).
EXCEPTIONS = [
    ("lane", r"^src/adjoint/compile/", "an element of a SIMD vector"),
    ("place", r"in_?place", "in place: without a new array"),
    ("place", r"^src/adjoint/(numpy|coverage)/\S+: place$", "np.place"),
    ("place", r"\btakes? (the )?place\b|in the first place|in two places", "ordinary English"),
    ("flags", r"acceptable \w+ flags are", "SciPy's messages"),
    ("moves", r"^src/adjoint/(compile|simplify)/", "movement of data, and of indices"),
    ("turn", r"^src/adjoint/(ops/(special|linalg)|scipy/signal/waves|scipy/linalg/factors)", "of a circle: rotations"),
    ("slope", r"^src/adjoint/scipy/(interpolate|stats)/", "of a curve at its nodes, of a line of regression"),
    ("slope", r"^src/adjoint/nn/activations\.py", "of the straight part of a rectifier, of a sigmoid: their parameter"),
    ("ways", r"in so many ways", "ordinary English"),
]  # fmt: skip


class Use(NamedTuple):
    where: str  # file:line
    path: str
    kind: str  # "name" or "text"
    words: str


def terms() -> list[str]:
    """The terms of the left columns, without backticks and remarks in parentheses."""
    left: list[str] = []
    for line in GLOSSARY.read_text(encoding="utf-8").split("## Words that we keep")[0].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 3 or cells[0] in ("once", "---"):
            continue
        left += [term.strip() for term in re.sub(r"\(.*?\)|`", "", cells[0]).split(",")]
    return left


def test_every_term_is_checked_or_has_a_reason():
    assert sorted({*terms()} - {*CHECKED} - {*UNCHECKED}) == []
    assert sorted(({*CHECKED} | {*UNCHECKED}) - {*terms()}) == []


@functools.cache
def uses() -> list[Use]:
    """Names that src binds, texts that reach users, headings of the docs."""
    out: list[Use] = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        short = path.relative_to(ROOT).as_posix()
        out.append(Use(f"{short}:1", short, "name", parts_of(path.stem)))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            out += [Use(f"{short}:{line}", short, kind, words) for line, kind, words in of_node(node)]
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if path != GLOSSARY:
            short = path.relative_to(ROOT).as_posix()
            out += [Use(f"{short}:{line}", short, "text", words) for line, words in headings(path)]
    return out


def of_node(node: ast.AST) -> Iterator[tuple[int, str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.lineno, "name", parts_of(node.name)
    elif isinstance(node, ast.arg):
        yield node.lineno, "name", parts_of(node.arg)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.lineno, "name", parts_of(node.id)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.lineno, "name", parts_of(node.attr)
    elif isinstance(node, ast.Raise) and node.exc is not None:
        yield from texts(node.exc)
    elif isinstance(node, ast.Call) and called(node.func) in SPEAKING:
        yield from texts(node)


SPEAKING = {"print", "warn", "refuse", "add_argument", "note", "echo"}  # functions whose texts users read


def called(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def texts(node: ast.AST) -> Iterator[tuple[int, str, str]]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.lineno, "text", part.value


def headings(path: Path) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            yield number, line.lstrip("# ")


def parts_of(name: str) -> str:
    """`FullName`, `_full_name` -> "full_name"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).strip("_").lower()


@pytest.mark.parametrize("word", CHECKED)
def test_word(word):
    check = CHECKED[word]
    name = re.compile(rf"(?:^|_)(?:{check.name})(?:_|$)") if check.name else None
    text = re.compile(check.text, re.IGNORECASE if word != "Traced" else 0) if check.text else None
    allowed = [re.compile(pattern) for other, pattern, _ in EXCEPTIONS if other == word]
    offenders = [
        f"{use.where}: {use.words.strip()[:80]!r}"
        for use in uses()
        if (pattern := name if use.kind == "name" else text) is not None
        and pattern.search(use.words)
        and not any(one.search(f"{use.path}: {use.words}") for one in allowed)
    ]
    if offenders:
        listed = "\n".join(offenders)
        pytest.fail(f"{word!r} is a word of before; docs/glossary.md has the one to use:\n{listed}", pytrace=False)
