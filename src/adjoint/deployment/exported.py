"""Functions that leave the process: `export` compiles one for its types, to be saved, loaded, or linked into C.

An exported function is a program, and the machine code of it. From a file the code is taken as it is on the same kind
of machine with the same version of this library, and made again elsewhere.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.jacobians import traced_directions
from adjoint.api.tracing import TracedProgram, trace
from adjoint.base.errors import ProgramError, ShapeError
from adjoint.base.source import user_facing
from adjoint.deployment.counting import Counts
from adjoint.deployment.files import write_file
from adjoint.deployment.header import RESERVED, identifiers, write_header
from adjoint.deployment.library import compile_text, write_fixed, write_template
from adjoint.deployment.linking import link
from adjoint.deployment.templates import Template, example_sizes, other_sizes
from adjoint.ops.control.call import Call
from adjoint.ops.control.guards import Expect
from adjoint.program.types import ArrayType
from adjoint.simplify import simplify

__all__ = ["Exported", "export"]


@user_facing
def export(function: Callable[..., tree.Tree], *types: tree.Tree, name: str | None = None) -> Exported:
    """The function as machine code for arguments of these types, which can leave the process.

    Types are arrays or numbers like those to come, or `ad.ArrayType(shape, dtype)`, in trees; a size may be a name:
    `ad.ArrayType(("n", 3), np.float64)` is for any n. What the function closes over is part of it, as it is now.

    ```python
    exported = ad.export(ad.grad(lambda x: np.sum(x**3)), ad.ArrayType(("n",), np.float64), name="cubes")
    exported(np.array([1.0, 2.0]))  # → [3.0, 12.0]
    "int64_t cubes(int64_t n," in exported.header()  # → True
    ```
    """
    named = name or getattr(function, "__name__", type(function).__name__)
    if named == "<lambda>":
        named = "function"
    if not named.isidentifier() or not named.isascii() or named in RESERVED:
        raise ValueError(f"export: the name {named!r} is none that C allows; give another: export(f, …, name='model').")
    leaves, structure = tree.flatten(types)
    sizes = list(dict.fromkeys(n for leaf in leaves for n in _shape(leaf) if isinstance(n, str)))
    traced = [_trace(function, leaves, structure, choice) for choice in example_sizes(sizes)[: 3 if sizes else 1]]
    for one in traced:
        one.name = named
    shapes = [_shape(leaf) for leaf in leaves] if sizes else []
    exported = Exported(traced, sizes, shapes, _parameters(function, len(types)))
    for choice in other_sizes(sizes) if sizes else ():
        exported.confirm(lambda choice=choice: _trace(function, leaves, structure, choice), choice)
    if sizes:
        exported.confirm_counts(lambda choice: _trace(function, leaves, structure, choice))
    return exported


def _parameters(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the first arguments, where they are known."""
    try:
        names = list(inspect.signature(function).parameters)[:count]
    except (TypeError, ValueError):
        names = []
    return [*names, *[f"x{k}" for k in range(len(names), count)]]


def _shape(leaf: Any) -> tuple[Any, ...]:
    return tuple(leaf.shape) if isinstance(leaf, ArrayType) else ()


def _trace(function: Callable[..., Any], leaves: Sequence[Any], structure: Any, sizes: Mapping[str, int]) -> Any:
    plain = [
        ArrayType(tuple(sizes.get(n, n) for n in leaf.shape), np.dtype(leaf.dtype))
        if isinstance(leaf, ArrayType)
        else leaf
        for leaf in leaves
    ]
    with traced_directions() if sizes else nullcontext():
        return trace(function)(*tree.unflatten(structure, plain))


class Exported:
    """A function compiled for its types: called, saved, loaded, or written as a library for C.

    Inside transformations it is differentiated and batched like any function.
    """

    def __init__(
        self, traced: Sequence[TracedProgram], sizes: Sequence[str], shapes: Sequence[Any], parameters: Sequence[str]
    ) -> None:
        self.traced, self.sizes, self._shapes = list(traced), tuple(sizes), list(shapes)
        self._parameters = list(parameters)
        self.name = self.traced[0].name
        programs = [one.program for one in traced]
        self._counts = Counts(programs)
        self._template = Template([simplify(p) for p in self._counts.write(programs)], sizes) if sizes else None
        self._instances: dict[tuple[int, ...], TracedProgram] = {}

    def confirm(self, trace_again: Callable[[], TracedProgram], sizes: Mapping[str, int]) -> None:
        """Raise where the function is another program for some sizes than the formulas say."""
        assert self._template is not None
        try:
            traced = trace_again()
        except Exception:  # sizes that the function refuses
            return
        self._template.confirm(traced.program, sizes)

    def confirm_counts(self, trace_again: Callable[[Mapping[str, int]], TracedProgram]) -> None:
        """Raise where arrays of the program that follow from their positions are others for large sizes."""
        sizes = self._counts.large_sizes(self.traced[0].program, self.sizes)
        if sizes is None:
            return
        if not self._counts.hold(trace_again(sizes).program, sizes, example_sizes(self.sizes)):
            raise ProgramError(
                f"export: for the sizes {dict(sizes)} an array of the program is not what the law says "
                f"that was found for {example_sizes(self.sizes)}. Take the array as an argument, or export fixed sizes."
            )

    def __call__(self, *args: Any) -> Any:
        return self._call(args)

    @user_facing
    def _call(self, args: tuple[Any, ...]) -> Any:
        program = self.traced[0] if self._template is None else self._instance(args)
        return _run(program, args)

    def _instance(self, args: tuple[Any, ...]) -> TracedProgram:
        """The program for the sizes of some arguments."""
        leaves, structure = tree.flatten(args)
        if len(leaves) != len(self._shapes):
            return self.traced[0]  # another tree, as which it will be refused
        found: dict[str, int] = {}
        for leaf, shape, path in zip(leaves, self._shapes, structure.paths(), strict=True):
            for wanted, n in zip(shape, getattr(leaf, "shape", ()), strict=False):
                if isinstance(wanted, str) and found.setdefault(wanted, n) != n:
                    raise ShapeError(
                        f"{self.name}: the size {wanted} is {found[wanted]} in one argument and {n} in {path}."
                    )
        if set(found) != set(self.sizes):
            raise ShapeError(f"{self.name}: the arguments do not give the sizes {', '.join(self.sizes)}.")
        key = tuple(found[size] for size in self.sizes)
        if key not in self._instances:
            assert self._template is not None
            first = self.traced[0]
            program = self._template.instantiate(found)
            self._instances[key] = TracedProgram(
                program, first.inputs, first.outputs, name=self.name, fixed=first.fixed
            )
        return self._instances[key]

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        """The types of the array arguments, leaf by leaf; sizes that are arguments stand under their names."""
        return self._with_names([one.input_types for one in self.traced[:2]])

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        """The types of the results, leaf by leaf."""
        return self._with_names([one.output_types for one in self.traced[:2]])

    def _with_names(self, examples: Sequence[Sequence[ArrayType]]) -> tuple[ArrayType, ...]:
        """Types, with formulas where two examples differ."""
        if self._template is None:
            return tuple(examples[0])
        return tuple(
            ArrayType(tuple(map(self._template.describe, t.shape, u.shape)), t.dtype)
            for t, u in zip(*examples, strict=True)
        )

    @user_facing
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write program and machine code to one file, without pickle; `ad.load` reads it."""
        shapes = [list(shape) for shape in self._shapes]
        write_file(path, self.traced, {"sizes": self.sizes, "shapes": shapes, "parameters": self._parameters})

    # for C

    def llvm(self) -> str:
        """LLVM's text of the library."""
        return self._text()[0]

    def assembly(self, target: str | None = None) -> str:
        """The instructions of the library, for this processor or another target."""
        return compile_text(self._text()[0], target)[1]

    def header(self) -> str:
        """The C header: declarations, the layout of each argument, and what a status means."""
        taken = {self.name, "workspace", *self.sizes}
        first = self.traced[0]
        paths = [_named(path, self._parameters) for path in first.inputs.paths()]
        fixed = dict(first.fixed)
        inputs = identifiers([p for i, p in enumerate(paths) if i not in fixed], taken)
        outputs = identifiers([f"out{path}" for path in first.outputs.paths()], taken)
        guards = any(isinstance(eq.op, Expect) for eq in first.program.equations)
        labels = zip(inputs, self.input_types, strict=True), zip(outputs, self.output_types, strict=True)
        return write_header(self.name, self.sizes, list(labels[0]), list(labels[1]), self._text()[1], guards)

    @user_facing
    def library(
        self,
        path: str | os.PathLike[str],
        *,
        target: str | None = None,
        shared: bool = True,
        libraries: Sequence[str] | None = None,
    ) -> dict[str, Path]:
        """Write `path`.o and `path`.h, and with `shared` the shared library beside them; their paths by kind.

        The library needs no Python: what has no machine code is refused by name. `target` is this processor, or
        one of x86-64, x86-64-v2 … v4, aarch64, arm64-apple, of which the object file alone is written. Large
        factorizations call LAPACK: `libraries` are names or paths of what to link with; by default the system's
        LAPACK, OpenBLAS, or what SciPy brings along, with a warning, since that is not on every machine.
        """
        stem = Path(path)
        written = {"object": stem.with_name(f"{stem.name}.o"), "header": stem.with_name(f"{stem.name}.h")}
        text, needs = self._text()
        content, _ = compile_text(text, target)
        written["object"].write_bytes(content)
        written["header"].write_text(self.header(), encoding="utf-8")
        if shared and target is None:
            written["shared"] = stem.with_name(f"lib{stem.name}.so")
            link(written["object"], written["shared"], needs, libraries)
        return written

    def _text(self) -> tuple[str, list[str]]:
        if len(self.traced[0].program.outputs) != self.traced[0].outputs.num_leaves:
            raise ProgramError(
                f"export: {self.name} draws from a random generator among its arguments, whose state a C function "
                "cannot hand back. Take the numbers drawn as an argument."
            )
        if self._template is not None:
            return write_template(self._template, self.name)
        return write_fixed(self.traced[0].program, self.name)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, types)) for types in (self.input_types, self.output_types))
        return f"<export of {self.name}: ({inputs}) -> {outputs}>"


def _named(path: str, parameters: Sequence[str]) -> str:
    """[0][1]["w"], of (args, kwargs), with the name of the argument: p["w"]."""
    number, _, rest = path.removeprefix("[0][").partition("]")
    return parameters[int(number)] + rest if number.isdigit() and int(number) < len(parameters) else path


def _run(program: TracedProgram, args: tuple[Any, ...]) -> Any:
    """Call a traced program compiled; inside transformations it is one primitive."""
    values = program.fit_arguments(args, {})
    return program.build_result(args, {}, list(Call(program.program)(*values)), values)
