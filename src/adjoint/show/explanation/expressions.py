"""What formulas are made of: symbols, numbers, and operations on formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint.program.op import Op
from adjoint.program.types import Value

__all__ = ["Apply", "Formula", "Number", "Symbol"]


@dataclass(frozen=True)
class Symbol:
    """A variable: its value (""), its adjoint ("bar"), its tangent ("dot"), the tangent of its adjoint ("bar dot")."""

    variable: Any  # a Variable, or a name
    accent: str = ""


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: Value


@dataclass(frozen=True)
class Apply:
    """An operation on formulas."""

    op: Op
    parts: tuple[Any, ...]
    whole: bool = False  # a reduction over all axes: they need not be named


Formula = Symbol | Number | Apply
