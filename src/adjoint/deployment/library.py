"""A program as a C library: one module of LLVM's with a function of plain numbers and pointers, for any target."""

# pyright: basic

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

import numpy as np

from adjoint.base.errors import ProgramError
from adjoint.compile.expand import expand_program
from adjoint.compile.ir import Module
from adjoint.compile.lower import LoweredCode
from adjoint.compile.machine import compile_library
from adjoint.compile.runtime_sizes import name_sizes
from adjoint.compile.size_generic import Rewriting
from adjoint.compile.standalone import Computed, Part, write_function
from adjoint.compile.symbolic_sizes import Fact, SizeError, Unsupported, collect, hold, is_of_found_sizes, stop
from adjoint.deployment.templates import Template
from adjoint.program.program import Program
from adjoint.simplify import simplify

MOST_PARTS = 8  # kernels behind one function, for sizes that answer comparisons differently
SAMPLES = (1000, 1, 2, 3, 4, 5, 6, 8, 12, 16, 17, 32, 33, 64, 100, 256, 5000, 100_000)
# Names of targets: LLVM's triple, the least processor, and its features.
TARGETS = {
    "x86-64": ("x86_64-pc-linux-gnu", "x86-64", ""),
    "x86-64-v2": ("x86_64-pc-linux-gnu", "x86-64-v2", ""),
    "x86-64-v3": ("x86_64-pc-linux-gnu", "x86-64-v3", ""),
    "x86-64-v4": ("x86_64-pc-linux-gnu", "x86-64-v4", ""),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic", ""),
    "arm64-apple": ("arm64-apple-macosx12.0.0", "apple-m1", ""),
}


def write_fixed(program: Program, name: str) -> tuple[str, list[str]]:
    """LLVM's text of a library for known sizes, and the functions of BLAS and LAPACK that it calls."""
    plain = _plain(program)
    module = Module()
    code = _lower(plain, [], (module, f"{name}_kernel_0"))
    part = Part(code, list(code.constants.values()), ())
    write_function(module, name, plain.input_types, len(plain.outputs), [], [part])
    return _finish(module, code.symbols)


def write_template(traced: Template, name: str) -> tuple[str, list[str]]:
    """The same for sizes that are arguments of the function."""
    template = Template([_plain(program) for program in traced.programs], traced.names)
    module, parts = Module(), list[Part]()
    order = template.names
    symbols: dict[str, int] = {}
    for values in itertools.product(SAMPLES, repeat=len(template.names)):
        sizes = dict(zip(template.names, values, strict=True))
        if any(hold(list(part.facts), sizes) for part in parts):
            continue
        if len(parts) == MOST_PARTS:
            break
        part = _part(template, sizes, (module, f"{name}_kernel_{len(parts)}"), order)
        parts.append(part)
        symbols |= part.code.symbols
    inputs = template.programs[0].input_types
    write_function(module, name, inputs, len(template.programs[0].outputs), order, parts)
    return _finish(module, symbols)


def _plain(program: Program) -> Program:
    return name_sizes(expand_program(simplify(program)))


def _part(template: Template, sizes: Mapping[str, int], inside: tuple[Module, str], order: Sequence[str]) -> Part:
    """A kernel written for one choice of sizes, and for all that answer its comparisons alike."""
    rewriting = Rewriting(template.instantiate(sizes), template.formulas)
    facts: list[Fact] = []
    token = collect(facts)
    try:
        code = _lower(rewriting.program, list(order), inside)
    finally:
        stop(token)
    formulas = iter([formula for formula in template.literals if formula is not None])
    numbers = {v: next(formulas) for v in rewriting.constants}
    constants = [
        value
        if (formula := numbers.get(v)) is None
        else Computed(np.asarray(value).dtype, formula.factor, formula.polynomial, formula.divides)
        for v, value in code.constants.items()
    ]
    return Part(code, constants, [fact for fact in dict.fromkeys(facts) if not is_of_found_sizes(fact.difference)])


def _lower(program: Program, names: Sequence[str], inside: tuple[Module, str]) -> LoweredCode:
    try:
        return LoweredCode(program, names, inside)
    except Unsupported as problem:
        raise ProgramError(
            f"export: no library can be made, since {problem}, and a C library has no Python. Leave it out of the "
            "function, or write it with NumPy functions that have machine code; `save` keeps Python's functions. "
            "Derivatives of solutions call Python to warn where they are doubtful: give the solver check='ignore'."
        ) from None
    except SizeError as problem:
        raise ProgramError(
            f"export: no library for sizes that are arguments can be made: {problem}. Export fixed sizes."
        ) from None


def _finish(module: Module, symbols: dict[str, int]) -> tuple[str, list[str]]:
    """The text, with the names that BLAS and LAPACK have for C and Fortran."""
    text, needs = str(module), sorted(name for name in symbols if name.startswith("adjoint_"))
    pattern = re.compile(r"@adjoint_(?:blas|lapack)_(\w+)")
    return pattern.sub(r"@\1_", text), [name.split("_", 2)[2] + "_" for name in needs]


def compile_text(text: str, target: str | None) -> tuple[bytes, str]:
    """(object file, assembly) for this processor or for a target of `TARGETS`."""
    if target is None:
        return compile_library(text)
    if target not in TARGETS:
        raise ValueError(f"export: target must be None (this machine) or one of {', '.join(TARGETS)}, not {target!r}.")
    return compile_library(text, *TARGETS[target])
