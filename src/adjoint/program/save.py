"""Programs on disk, without pickle: a zip file of one JSON text and the constants as .npy files.

A program inside another stands once in a table. Variables are numbers, in the order in which they are bound. A
primitive is its name and its fields; fields are numbers, strings, tuples, dtypes, types and programs. What holds a
Python function cannot be saved.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, cast

import numpy as np

from adjoint.base.errors import ProgramError
from adjoint.base.source import describe
from adjoint.program.check import check
from adjoint.program.op import PRIMITIVES, Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.types import ArrayType, Size, Value
from adjoint.tree.kinds import Static
from adjoint.tree.structure import Structure

FORMAT, VERSION = "adjoint program", 1
TEXT = "program.json"
RECORDS: dict[str, type] = {}  # dataclasses that stand in the fields of primitives, by name
CLASSES: dict[str, type] = {
    c.__name__: c
    for c in (tuple, list, dict, OrderedDict, defaultdict, type(None), Static, int, float, complex, bool, str)
}


class Writer:
    """Gathers programs and arrays into tables."""

    def __init__(self) -> None:
        self.programs: list[Any] = []
        self.arrays: list[Any] = []
        self._known: dict[int, int] = {}
        self._held: list[Program] = []  # so that ids stay their own

    def program(self, program: Program) -> int:
        """The number of a program in the table."""
        if id(program) not in self._known:
            encoded = self._program(program)
            self._known[id(program)] = len(self.programs)
            self._held.append(program)
            self.programs.append(encoded)
        return self._known[id(program)]

    def _program(self, program: Program) -> dict[str, Any]:
        number: dict[Var, int] = {v: i for i, v in enumerate((*program.inputs, *program.constants))}
        equations: list[dict[str, Any]] = []
        for eq in program.equations:
            encoded: dict[str, Any] = {"op": self.op(eq.op), "inputs": [self._atom(a, number) for a in eq.inputs]}
            for v in eq.outputs:
                number[v] = len(number)
            encoded["outputs"] = [self.value(v.type) for v in eq.outputs]
            encoded |= {"where": describe(eq.location), "scope": list(eq.scope), "quiet": eq.quiet, "pulled": eq.pulled}
            equations.append(encoded)
        return {
            "inputs": [self.value(v.type) for v in program.inputs],
            "constants": [[self.value(v.type), self._array(value)] for v, value in program.constants.items()],
            "equations": equations,
            "outputs": [self._atom(a, number) for a in program.outputs],
        }

    def _atom(self, atom: Atom, number: dict[Var, int]) -> Any:
        return number[atom] if isinstance(atom, Var) else {"literal": self.value(atom.value)}

    def _array(self, value: Value) -> int:
        self.arrays.append(np.asarray(value))
        return len(self.arrays) - 1

    def op(self, op: Op) -> Any:
        """A primitive: its name, and its fields if it has some."""
        name = type(op).__name__
        if PRIMITIVES.get(name) is not type(op):
            return {"ufunc": op.title}
        fields: list[Any] = [f for f in dataclasses.fields(op) if f.init]  # type: ignore[arg-type]
        try:
            return {"name": name, "fields": {f.name: self.value(getattr(op, f.name)) for f in fields}}
        except _NotPlain as problem:
            raise ProgramError(
                f"{op.title} cannot be saved: it holds {problem}, which is Python code. "
                "Save a program without it, or replace it by NumPy functions."
            ) from None

    def value(self, value: Any) -> Any:
        """A value of a field as JSON."""
        kind = cast(Any, type(value))
        if value is None or kind in (bool, int, str):
            return value
        if kind in (tuple, list):
            return {kind.__name__: [self.value(v) for v in value]}
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return simple(self, value)
        if isinstance(value, np.dtype):
            return {"dtype": value.str}  # type: ignore[reportUnknownMemberType]
        if isinstance(value, np.generic):
            return self._scalar(value)
        if isinstance(value, np.ndarray):
            return {"array": self._array(value)}
        if isinstance(value, Op):
            return {"op": self.op(value)}
        if RECORDS.get(kind.__name__) is kind:
            return {
                "record": [
                    kind.__name__,
                    {f.name: self.value(getattr(value, f.name)) for f in dataclasses.fields(value)},
                ]
            }
        raise _NotPlain(f"the {kind.__name__} {getattr(value, '__name__', '') or value!r}")

    def constant(self, value: Any, what: str) -> Any:
        """A value that is part of the program; `what` names it if it cannot be saved."""
        try:
            return self.value(value)
        except _NotPlain as problem:
            raise ProgramError(f"{what} cannot be saved: it is {problem}, which is Python code.") from None

    def _scalar(self, value: Any) -> Any:
        return {"scalar": [value.dtype.str, value.tobytes().hex()]}

    def structure(self, structure: Structure) -> Any:
        """The nodes of a tree; classes of the user's by name."""
        return [None if n is None else [self._class(n[0]), n[1], self._static(n[2])] for n in structure.nodes]

    def _class(self, cls: type) -> str:
        return cls.__name__ if CLASSES.get(cls.__name__) is cls else f"{cls.__module__}.{cls.__qualname__}"

    def _static(self, data: Any) -> Any:
        if isinstance(data, type):
            return {"class": self._class(data)}
        if isinstance(data, tuple):
            return {"tuple": [self._static(d) for d in data]}  # type: ignore[reportUnknownVariableType]
        try:
            return self.value(data)
        except _NotPlain as problem:
            raise ProgramError(f"A tree with {problem} inside cannot be saved: it is Python code. Close over the tree, "
                               "as in lambda x: model(x), or give its arrays as arguments.") from None  # fmt: skip


class _NotPlain(Exception):  # noqa: N818 (caught and told where it is known what was to be saved)
    """Something that is not plain data."""


_SIMPLE: dict[type, Callable[[Writer, Any], Any]] = {
    float: lambda w, v: {"float": v.hex()},
    complex: lambda w, v: {"complex": [v.real.hex(), v.imag.hex()]},
    slice: lambda w, v: {"slice": [w.value(v.start), w.value(v.stop), w.value(v.step)]},
    type(Ellipsis): lambda w, v: {"ellipsis": None},
    Size: lambda w, v: {"size": v.name},
    ArrayType: lambda w, v: {"type": [[w.value(n) for n in v.shape], v.dtype.str, v.weak]},
    Program: lambda w, v: {"program": w.program(v)},
    Structure: lambda w, v: {"structure": w.structure(v)},
    Static: lambda w, v: {"static": w.value(v.value)},
}


class Reader:
    """Builds what a Writer wrote. `ufunc` finds primitives by name; `classes` are the user's containers."""

    def __init__(
        self, text: dict[str, Any], arrays: Sequence[Any], ufunc: Callable[[str], Op | None], classes: Sequence[type]
    ) -> None:
        self.arrays, self._ufunc = arrays, ufunc
        self.classes = CLASSES | {f"{c.__module__}.{c.__qualname__}": c for c in classes}
        self.programs: list[Program] = []
        for encoded in text["programs"]:  # inner ones stand first
            self.programs.append(self._program(encoded))

    def _program(self, encoded: dict[str, Any]) -> Program:
        inputs = [Var(self.value(t)) for t in encoded["inputs"]]
        constants = {Var(self.value(t)): self.arrays[k] for t, k in encoded["constants"]}
        variables = [*inputs, *constants]
        equations: list[Equation] = []
        for eq in encoded["equations"]:
            atoms = tuple(self._atom(a, variables) for a in eq["inputs"])
            outputs = tuple(Var(self.value(t)) for t in eq["outputs"])
            variables += outputs
            equations.append(
                Equation(self.op(eq["op"]), atoms, outputs, eq["where"], tuple(eq["scope"]), eq["quiet"], eq["pulled"])
            )
        return Program(
            tuple(inputs), tuple(equations), tuple(self._atom(a, variables) for a in encoded["outputs"]), constants
        )

    def _atom(self, encoded: Any, variables: Sequence[Var]) -> Atom:
        return variables[encoded] if isinstance(encoded, int) else Literal(self.value(encoded["literal"]))

    def op(self, encoded: dict[str, Any]) -> Op:
        if "ufunc" in encoded:
            op = self._ufunc(encoded["ufunc"])
            if op is None:
                raise ProgramError(
                    f"the primitive {encoded['ufunc']!r} is not known here. It may come from a newer version, "
                    "or from another library."
                )
            return op
        if encoded["name"] not in PRIMITIVES:
            self._ufunc(encoded["name"])  # it may be declared beside ufuncs whose rules are not loaded yet
        cls: Any = PRIMITIVES.get(encoded["name"])
        if cls is None:
            raise ProgramError(
                f"the primitive {encoded['name']!r} is not known here. It may come from a newer version."
            )
        return cls(**{name: self.value(v) for name, v in encoded["fields"].items()})

    def value(self, encoded: Any) -> Any:
        if not isinstance(encoded, dict):
            return encoded
        ((tag, content),) = encoded.items()  # type: ignore[reportUnknownVariableType]
        reader: Any = _READERS[tag]
        return reader(self, content)

    def structure(self, encoded: Any) -> Structure:
        nodes = tuple(None if n is None else (self.named_class(n[0]), n[1], self.value(n[2])) for n in encoded)
        return Structure(nodes, sum(n is None for n in nodes))

    def named_class(self, name: str) -> type:
        if name not in self.classes:
            raise ProgramError(
                f"its arguments or results are objects of the class {name}. "
                f"Give it: load(path, classes=[{name.rpartition('.')[2]}])."
            )
        return self.classes[name]


_READERS: dict[str, Callable[[Reader, Any], Any]] = {
    "float": lambda r, c: float.fromhex(c),
    "complex": lambda r, c: complex(float.fromhex(c[0]), float.fromhex(c[1])),
    "tuple": lambda r, c: tuple(r.value(v) for v in c),
    "list": lambda r, c: [r.value(v) for v in c],
    "slice": lambda r, c: slice(*[r.value(v) for v in c]),
    "ellipsis": lambda r, c: Ellipsis,
    "size": lambda r, c: Size(c),
    "type": lambda r, c: ArrayType(tuple(r.value(n) for n in c[0]), np.dtype(c[1]), c[2]),
    "dtype": lambda r, c: np.dtype(c),
    "scalar": lambda r, c: cast(Any, np).frombuffer(bytes.fromhex(c[1]), np.dtype(c[0]))[0],
    "array": lambda r, c: r.arrays[c],
    "op": lambda r, c: r.op(c),
    "program": lambda r, c: cast(Program, r.programs[c]),
    "structure": lambda r, c: r.structure(c),
    "static": lambda r, c: Static(r.value(c)),
    "class": lambda r, c: r.named_class(c),
    "record": lambda r, c: RECORDS[c[0]](**{name: r.value(v) for name, v in c[1].items()}),
}


def write(
    path: str | os.PathLike[str],
    program: Program,
    more: Callable[[Writer], dict[str, Any]],
    files: Mapping[str, bytes] | None = None,
) -> None:
    """Save a program; `more` says what stands beside it. Nothing is written when something cannot be saved."""
    import zipfile

    writer = Writer()
    main = writer.program(program)
    text = {"format": FORMAT, "version": VERSION, "main": main, **more(writer), "programs": writer.programs}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(TEXT, json.dumps(text, ensure_ascii=False, allow_nan=False))
        for number, array in enumerate(writer.arrays):
            data = io.BytesIO()
            np.lib.format.write_array(data, array, allow_pickle=False)
            file.writestr(f"array_{number}.npy", data.getvalue())
        for name, content in (files or {}).items():
            file.writestr(name, content)


def read(
    path: str | os.PathLike[str], ufunc: Callable[[str], Op | None], classes: Sequence[type] = ()
) -> tuple[Program, dict[str, Any], Reader]:
    """(program, what stands beside it, reader). Whatever is wrong with the file is a ProgramError that says what."""
    with opened(path) as source:
        return _read(path, source, ufunc, classes)


def opened(path: Any) -> Any:
    """A file of bytes, opened before anything in it is judged: what goes wrong from then on is damage."""
    return nullcontext(path) if hasattr(path, "read") else open(path, "rb")


def _read(
    path: Any, source: Any, ufunc: Callable[[str], Op | None], classes: Sequence[type]
) -> tuple[Program, dict[str, Any], Reader]:
    import zipfile

    try:
        with zipfile.ZipFile(source) as file:
            text: dict[str, Any] = json.loads(file.read(TEXT))
            if text.get("format") != FORMAT:
                raise ProgramError(f"{path}: this is not a saved program.")
            if text.get("version") != VERSION:
                raise ProgramError(
                    f"{path}: it was saved in version {text.get('version')} of the format, and this library reads "
                    f"version {VERSION}. Trace and save the function again."
                )
            count = sum(name.startswith("array_") for name in file.namelist())
            arrays = [
                np.lib.format.read_array(io.BytesIO(file.read(f"array_{i}.npy")), allow_pickle=False)
                for i in range(count)
            ]
        reader = Reader(text, arrays, ufunc, classes)
        main: int = text["main"]
        return check(reader.programs[main]), text, reader
    except ProgramError as problem:
        said = str(problem)
        raise ProgramError(said if said.startswith(str(path)) else f"{path}: {said}") from None
    except MemoryError:
        raise
    except zipfile.BadZipFile as problem:
        raise ProgramError(f"{path}: this is not a saved program, or it is damaged or cut off: {problem}.") from None
    except Exception as problem:  # whatever can be wrong with a string that was changed
        raise ProgramError(f"{path}: the saved program is damaged: {type(problem).__name__}: {problem}.") from problem
