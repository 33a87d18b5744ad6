"""Run the Python blocks of a page of documentation, and check the values that it promises.

The ```python blocks of a page run in order, in one namespace. A statement whose last line ends in `# → value` is
checked: its value (of an assignment: what was assigned; of a print: what was printed) must be the value shown.
Numbers agree to nine digits, or as far as they are written when `…` follows: `5.983…` is any number within 0.001.
`# → TypeError: text` says that the statement raises, with a message that contains the text. Other values are
compared as text, where `…` stands for anything.
"""

import ast
import contextlib
import io
import linecache
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ARROW = re.compile(r"#\s*→\s*(.*)$")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\s*$")
UNSEEN = re.compile(r"^\s*```py(?!thon\s*$)")
CLIPPED = re.compile(r"(\d+(?:\.\d*)?|\.\d+)…(e[+-]?\d+)?")
RAISES = re.compile(r"^(\w*(?:Error|Exception|Warning)|NotLinear|NotDifferentiable)(?::\s*(.*))?$")
DIGITS = 1e-9


class PageError(AssertionError):
    """A block of a page does not do what the page says; the message begins with page:line."""


@dataclass(frozen=True)
class Block:
    line: int  # of the first line of code, counted from 1
    code: str


def blocks(text: str) -> Iterator[Block]:
    """The ```python blocks of a page, also those indented in a tab; an opened block that nothing closes is an error."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        if UNSEEN.match(lines[number]):
            raise PageError(f"line {number + 1}: this block would not run; open it with ```python")
        if fence := FENCE.match(lines[number]):
            closing = fence["indent"] + "```"
            end = next((k for k in range(number + 1, len(lines)) if lines[k].rstrip() == closing), None)
            if end is None:
                raise PageError(f"line {number + 1}: this block is never closed")
            if fence["language"] == "python":
                inside = [line.removeprefix(fence["indent"]) for line in lines[number + 1 : end]]
                yield Block(number + 2, "\n".join(inside) + "\n")
            number = end
        number += 1


def run_page(text: str, name: str) -> dict[str, Any]:
    """Run all blocks of a page; returns the namespace that they leave."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks(text):
        run_block(block, name, namespace)
    return namespace


_shown: set[str] = set()  # pages whose code stands in the cache of lines


def run_block(block: Block, name: str, namespace: dict[str, Any]) -> None:
    # Line numbers of the page, also in tracebacks of the code itself.
    padded = "\n" * (block.line - 1) + block.code
    # The source of functions is found in the cache of lines: the code of all blocks so far, at the lines of the page.
    _, _, known, _ = linecache.cache.get(name, (0, None, [], name)) if name in _shown else (0, None, [], name)
    fresh = padded.splitlines(keepends=True)
    lines = [*known[: block.line - 1], *["\n"] * (block.line - 1 - len(known)), *fresh[block.line - 1 :]]
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    _shown.add(name)
    try:
        tree = ast.parse(padded, filename=name)
    except SyntaxError as error:
        raise PageError(f"{name}:{error.lineno}: {error.msg}") from error
    promises = promised(padded)
    for statement in tree.body:
        indented = hasattr(statement, "body")
        promise = None if indented else promises.pop(statement.end_lineno or 0, None)
        run_statement(statement, promise, name, namespace)
    for line in promises:
        raise PageError(f"{name}:{line}: a promised value stands at the end of a statement that is not indented")


def promised(code: str) -> dict[int, str]:
    """Line → the value promised at its end."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    return {token.start[0]: match[1].strip() for token in comments if (match := ARROW.search(token.string))}


def run_statement(statement: ast.stmt, promise: str | None, name: str, namespace: dict[str, Any]) -> None:
    place = f"{name}:{statement.end_lineno}"
    raises = RAISES.match(promise) if promise else None
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            value = value_of(statement, name, namespace)
    except Exception as error:
        if raises is None:
            raise PageError(f"{place}: {type(error).__name__}: {error}") from error
        if raises[1] not in {cls.__name__ for cls in type(error).__mro__} or not contains(str(error), raises[2] or ""):
            raise PageError(f"{place}: promised {promise}\n  but got {type(error).__name__}: {error}") from error
        return
    if raises is not None:
        raise PageError(f"{place}: promised {promise}, but nothing was raised")
    if promise is None:
        return
    if printed.getvalue() and value is None:
        value = printed.getvalue().rstrip("\n")
        agreed = value == promise or like(value, promise) or numbers_agree(value, promise)
    else:
        agreed = agrees(value, promise)
    if not agreed:
        raise PageError(f"{place}: promised {promise}\n  but got {plain(value)!r}")


def value_of(statement: ast.stmt, name: str, namespace: dict[str, Any]) -> Any:
    """Run a statement: the value of an expression, or what an assignment assigned."""
    if isinstance(statement, ast.Expr):
        return eval(compile(ast.Expression(statement.value), name, "eval"), namespace)
    exec(compile(ast.Module([statement], []), name, "exec"), namespace)
    if isinstance(statement, ast.Assign):
        return eval(compile(ast.parse(ast.unparse(statement.targets[0]), mode="eval"), name, "eval"), namespace)
    return None


def plain(value: Any) -> Any:
    """The value with arrays as lists and NumPy scalars as Python numbers, as a page shows it."""
    match value:
        case np.ndarray() | np.generic():
            return value.tolist()
        case dict():
            return {plain(key): plain(item) for key, item in value.items()}
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*map(plain, value))
        case list() | tuple():
            return type(value)(map(plain, value))
        case _:
            return value


def agrees(value: Any, promise: str) -> bool:
    """Is this the value promised: as text, or number by number?"""
    return any(like(text, promise) for text in (repr(value), str(value), repr(plain(value)))) or numbers_agree(
        value, promise
    )


def like(text: str, promise: str) -> bool:
    """Equal as text but for spaces, `…` standing for anything."""
    pattern = ".*".join(re.escape("".join(piece.split())) for piece in promise.split("…"))
    return re.fullmatch(pattern, "".join(text.split()), re.DOTALL) is not None


def contains(text: str, promise: str) -> bool:
    pattern = ".*".join(re.escape(" ".join(piece.split())) for piece in promise.split("…"))
    return re.search(pattern, " ".join(text.split()), re.DOTALL) is not None


def numbers_agree(value: Any, promise: str) -> bool:
    """Compare number by number, through lists, tuples, dicts and `array(...)`; False for other promises."""
    slack: dict[float, float] = {}

    def keep(match: re.Match[str]) -> str:
        digits, exponent = match[1], match[2] or ""
        decimals = len(digits.partition(".")[2])
        slack[float(digits + exponent)] = float(f"1{exponent}") * 10.0**-decimals
        return digits + exponent

    try:
        node = ast.parse(CLIPPED.sub(keep, promise), mode="eval").body
    except SyntaxError:
        return False
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            return False
    return node_agrees(plain(value), node, slack)


def node_agrees(value: Any, node: ast.expr, slack: dict[float, float]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="array") | ast.Attribute(attr="array"), args=[inner, *_]):
            return node_agrees(value, inner, slack)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return (
                isinstance(value, list | tuple)
                and len(value) == len(items)
                and all(node_agrees(one, item, slack) for one, item in zip(value, items, strict=True))
            )
        case ast.Dict(keys=keys, values=items):
            names = [ast.literal_eval(key) for key in keys if key is not None]
            return (
                isinstance(value, dict)
                and set(value) == set(names)
                and all(node_agrees(value[key], item, slack) for key, item in zip(names, items, strict=True))
            )
    try:
        expected = ast.literal_eval(node)
    except ValueError:
        return False
    if isinstance(expected, bool) or not isinstance(expected, int | float | complex):
        return bool(value == expected)
    if isinstance(value, bool) or not isinstance(value, int | float | complex):
        return False
    room = slack.get(abs(expected), DIGITS * max(1e-3, abs(expected)))
    return abs(value - expected) <= room * (1 + 1e-9) or value == expected


def page_names(root: Path) -> list[str]:
    """Every page that is run: README.md and all of docs/."""
    return ["README.md", *sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md"))]
