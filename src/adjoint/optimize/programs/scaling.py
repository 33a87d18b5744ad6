"""Units of a program, x = τ x′ and a value in units of ρ τ: tolerances mean the same for picofarads and terawatts.

    P′ = P τ / ρ,   q′ = q / ρ,   b′ = b / τ,   h′ = h / τ,   and prices y = ρ y′

τ is the size of x that the constraints tell, |hᵢ| / ‖Gᵢ‖, or |q| / |P|, if all of them are small or all are large; ρ is
the largest number of the gradient there. Both are powers of two, so that no digit changes, and 1
where that is within three digits of them.
"""

from __future__ import annotations

import numpy as np

from adjoint.optimize.programs.interior_point import Program
from adjoint.program.trace import primal
from adjoint.program.types import Value

__all__ = ["apply_units", "choose_units", "find_units"]


def find_units(data: Program) -> tuple[Value, Value]:
    """(τ, ρ) of a program, without derivative."""
    P, q, A, b, G, h = (primal(v).astype(np.float64) for v in data)
    rows, right = np.sqrt(np.sum(np.concatenate([A, G]) ** 2, axis=1)), np.abs(np.concatenate([b, h]))
    tau, rho = choose_units(np.max(np.abs(P)), np.max(np.abs(q)), rows, right)
    return tau.astype(data.q.dtype), rho.astype(data.q.dtype)


def choose_units(curved: Value, pull: Value, rows: Value, right: Value) -> tuple[Value, Value]:
    """(τ, ρ) from the largest numbers of P and q, the lengths of the rows of the constraints, and the right sides."""
    free = np.where(np.logical_and(curved > 0, pull > 0), pull / np.where(curved > 0, curved, 1.0), np.inf)
    counts = np.logical_and(np.logical_and(rows > 0, right > 0), np.isfinite(right))
    size = right / np.where(counts, rows, 1.0)
    most = np.max(np.where(counts, size, 0.0), initial=0.0)
    least = np.minimum(np.min(np.where(counts, size, np.inf), initial=np.inf), free)
    # where nothing but P and q tells, they do
    most = np.where(most > 0, most, np.where(np.isfinite(free), free, 1.0))
    tau = _round(np.where(most < 1.0, most, np.where(np.isfinite(least), np.maximum(least, 1.0), 1.0)))
    rho = np.maximum(pull, curved * tau)
    return tau, _round(np.where(rho > 0, rho, 1.0))


def _round(v: Value) -> Value:
    """The nearest power of two; 1 for what is not far from it, or not finite."""
    exponent = np.log2(np.where(np.logical_and(v > 0, np.isfinite(v)), v, 1.0))
    return np.where(np.abs(exponent) < 10.0, 1.0, np.exp2(np.round(np.clip(exponent, -60.0, 60.0))))


def apply_units(data: Program, units: tuple[Value, Value]) -> Program:
    """The program in these units."""
    tau, rho = units
    P, q, A, b, G, h = data
    return Program(P * (tau / rho), q / rho, A, b / tau, G, h / tau)
