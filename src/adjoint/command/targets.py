"""What a command works on: a function and its arguments, from `module:function` or an expression, and from `x=1.0`
pairs or a file of arrays.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import sys
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from adjoint.base.suggestions import did_you_mean
from adjoint.command.expressions import Expression, NotFinite, variables_of
from adjoint.command.failures import CommandError, said_of

_NAMED = re.compile(r"(?P<module>[^\W\d][\w.]*|.*\.py):(?P<function>[^\W\d][\w.]*)")
_PAIR = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*=(?!=)(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class Target:
    """A function, its arguments, and what it is called in messages."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    title: str
    expression: Expression | None = None
    notes: tuple[str, ...] = ()

    def value(self) -> tuple[Any, NotFinite | None]:
        """The value at the arguments, and where a number that is not finite came from, for expressions."""
        if self.expression is not None:
            return self.expression.at(**dict(zip(self.expression.variables, self.args, strict=True)))
        try:
            with np.errstate(all="ignore"):
                return self.function(*self.args, **self.kwargs), None
        except (Exception, SystemExit) as error:
            raise CommandError(said_of(error, f"{self.title} raised ")) from error


def target(text: str, pairs: Sequence[str], file: str | None) -> Target:
    """The target that a command line names."""
    texts = split_pairs(pairs)
    if named := _NAMED.fullmatch(text.strip()):
        return _function_target(text.strip(), named["module"], named["function"], texts, file)
    return _expression_target(text, texts, file)


def split_pairs(pairs: Sequence[str]) -> dict[str, str]:
    """`x=1.0` as a name and a text."""
    texts: dict[str, str] = {}
    for pair in pairs:
        match = _PAIR.fullmatch(pair)
        if match is None:
            raise CommandError(f"{pair!r} gives no value to a variable; write x=1.0 or x=[1, 2, 3].")
        name = unicodedata.normalize("NFKC", match["name"])  # as Python reads names in code
        if name in texts:
            raise CommandError(f"{name} has two values, {texts[name]} and {match['value']}; give it one.")
        if not match["value"].strip():
            raise CommandError(f"{name}= gives no value; write {name}=1.0.")
        texts[name] = match["value"]
    return texts


# Expressions


def _expression_target(text: str, pairs: dict[str, str], file: str | None) -> Target:
    values = variables_of(pairs)
    if file is not None:
        for name, value in arrays_in(file).items():
            if name in values:
                raise CommandError(f"{name} has two values: {name}={pairs[name]}, and one in {file}.")
            floats = np.asarray(value).dtype.kind in "fc"
            values[name] = value if floats else np.asarray(value).astype(float)[()]
    expression = Expression.parse(text, list(values))
    if not values:
        raise CommandError(f"`{expression.text}` has no variables to differentiate in; write for example x**2 x=1.0.")
    notes = [f"{name} does not occur in the expression." for name in expression.unused]
    return Target(expression.function, tuple(values.values()), {}, expression.text, expression, tuple(notes))


# User functions


def _function_target(title: str, module: str, name: str, pairs: dict[str, str], file: str | None) -> Target:
    function = find_function(module, name)
    values = variables_of(pairs, floats=False)
    if file is not None:
        for key, value in arrays_in(file).items():
            if key in values:
                raise CommandError(f"{key} has two values: {key}={pairs[key]}, and one in {file}.")
            values[key] = value
    args, kwargs = bind_values(function, title, values)
    return Target(function, args, kwargs, title)


def find_function(module: str, name: str) -> Callable[..., Any]:
    """The function of this name in a module, or in a file `….py`."""
    target: Any = _import_target(module)
    for part in name.split("."):
        if not hasattr(target, part):
            functions = [key for key, value in vars(target).items() if callable(value) and not key.startswith("_")]
            near = did_you_mean(part, functions)
            near = near or f"It has {', '.join(functions[:8]) or 'no functions'}."
            raise CommandError(f"{module} has no function {name}. {near}")
        target = getattr(target, part)
    if not callable(target):
        raise CommandError(f"{module}:{name} is no function but {type(target).__name__}.")
    return target


def _import_target(module: str) -> Any:
    if sys.path[:1] != [os.getcwd()]:
        sys.path.insert(0, os.getcwd())  # as `python -m` does
    path = Path(module)
    try:
        if path.suffix == ".py":
            if not path.is_file():
                raise CommandError(f"There is no file {module}.")
            spec = importlib.util.spec_from_file_location(path.stem, path)
            if spec is None or spec.loader is None:
                raise CommandError(f"{module} cannot be imported.")
            loaded = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = loaded
            spec.loader.exec_module(loaded)
            return loaded
        return importlib.import_module(module)
    except CommandError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            files = [path.stem for path in Path().glob("*.py")]
            near = did_you_mean(module, files)
            near = near or "Run the command in the folder of the module, or name the file: path/to/file.py:function."
            raise CommandError(f"There is no module {error.name}. {near}") from error
        raise CommandError(said_of(error, f"{module} cannot be imported: ")) from error
    except (Exception, SystemExit) as error:
        raise CommandError(said_of(error, f"{module} cannot be imported: ")) from error


def bind_values(
    function: Callable[..., Any], title: str, values: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Values by name as the arguments of a function; `arr_0`, `arr_1` … (as np.savez names them) go by position."""
    by_position = [values.pop(name) for name in [f"arr_{k}" for k in range(len(values))] if name in values]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C do not tell
        return (*by_position, *values.values()), {}
    parameters = signature.parameters
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    for name in values:
        if name not in parameters and not takes_any:
            near = did_you_mean(name, parameters) or f"Its arguments are {', '.join(parameters) or 'none'}."
            raise CommandError(f"{title} has no argument {name}. {near}")
    first = list(parameters.values())
    positional = [p.name for p in first if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    args = list(by_position)
    for name in positional[len(args) :]:
        if name not in values:
            break
        args.append(values.pop(name))
    try:
        signature.bind(*args, **values)
    except TypeError as error:
        shown = f"{title}{signature}"
        raise CommandError(f"{error} of {shown}; give arguments as x=1.0 or with --args file.npz.") from error
    return tuple(args), values


# Files of arrays

_UNREADABLE = (ValueError, EOFError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def arrays_in(file: str) -> dict[str, Any]:
    """The arrays of an .npz file by name; the one of an .npy file as the first argument."""
    try:
        with open(file, "rb") as handle:
            return _load(file, handle)
    except FileNotFoundError as error:
        near = did_you_mean(Path(file).name, [p.name for p in Path(file).parent.glob("*.np[yz]")])
        raise CommandError(f"There is no file {file}. {near}".rstrip()) from error
    except IsADirectoryError as error:
        raise CommandError(f"{file} is a folder; --args takes a file that np.savez wrote.") from error
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror or error}.") from error


def _load(file: str, handle: BinaryIO) -> dict[str, Any]:
    name = ""
    try:
        loaded = np.load(handle, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"arr_0": loaded[()]}
        arrays: dict[str, Any] = {}
        for name in loaded.files:
            arrays[name] = loaded[name][()]
    except _UNREADABLE as error:
        raise _explain_malformed(f"{file}, {name}" if name else file, error) from error
    if not arrays:
        raise CommandError(f"{file} holds no arrays.")
    return arrays


def _explain_malformed(file: str, error: Exception) -> CommandError:
    if "allow_pickle" in str(error) or "pickle" in str(error).lower():
        return CommandError(
            f"{file} holds Python objects, or is no file of arrays at all; objects are not read, since that would run "
            "code of the file. Write plain arrays: np.savez('args.npz', x=x)."
        )
    return CommandError(f"{file} is no file of arrays: {error}. Write one with np.savez('args.npz', x=x).")
