"""Random functions of users in every mode: as they are, compiled, batched, and against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import adjoint as ad
from tests.random_programs.agreement import Outcome
from tests.random_programs.modes import batch_spread, compare, run
from tests.random_programs.scripts import Script, random_script

DRAWS = 3
STEPS = (1e-4, 1e-5, 1e-6)
TYPES_DIFFER = "Make them agree"  # of branches, of which plain Python runs one


def check_script(seed: int, *, all_modes: bool = False) -> Outcome:
    """Value and gradient compiled, with several arguments; a batch; a second derivative; differences."""
    outcome = Outcome()
    script = random_script(seed)
    rng = np.random.default_rng([seed, 5])
    numbers = tuple(range(5))
    f = lambda *xs: [np.asarray(script.run(*xs))]
    gradient = lambda *xs: list(ad.grad(script.run, argnums=numbers)(*xs))
    forward = lambda *xs: [ad.jvp(script.run, xs, tuple(np.cos(x) for x in xs))[1]]
    second = lambda *xs: list(ad.jvp(lambda *ys: gradient(*ys), xs, tuple(np.cos(x) for x in xs))[1])
    hessian = lambda *xs: [ad.jacfwd(ad.jacrev(script.run))(*xs)]
    modes: dict[str, Callable[..., Any]] = {
        "value": f, "grad": gradient, "jvp": forward, "jvp of grad": second, "jacfwd of jacrev": hessian,
    }  # fmt: skip
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draws = [script.arguments(k) for k in range(DRAWS)]
        chosen = list(modes) if all_modes else ["value", str(rng.choice(list(modes)[1:]))]
        for mode in chosen:
            once(f"script {seed}, {mode}", modes[mode], draws, outcome, "native" if rng.random() < 0.2 else "auto")
        for mode in list(modes) if all_modes else [str(rng.choice(list(modes), p=[0.3, 0.3, 0.15, 0.15, 0.1]))]:
            batch(f"script {seed}, vmap of {mode}", modes[mode], draws, outcome)
        if not script.single:
            differences(f"script {seed}", script, gradient, draws, outcome)
    outcome.failures = [line for line in outcome.failures if TYPES_DIFFER not in line]
    if outcome.failures:
        outcome.failures[0] += "\n" + script.text
    return outcome


def once(what: str, f: Callable[..., Any], draws: list[Any], outcome: Outcome, branches: Any) -> None:
    jitted = ad.jit(f, branches=branches)
    for k, xs in enumerate(draws):
        expected = run(f, xs)
        if isinstance(expected, Exception):
            outcome.notes[f"eager refuses: {type(expected).__name__}: {expected}"[:200]] += 1
            return
        compare(f"{what}, jit {branches}, draw {k}", f, xs, expected, jitted, outcome)


def batch(what: str, f: Callable[..., Any], draws: list[Any], outcome: Outcome) -> None:
    single = [run(f, xs) for xs in draws]
    if any(isinstance(one, Exception) for one in single):
        return
    args = [np.stack(column) for column in zip(*draws, strict=True)]
    expected = [np.stack(column) for column in zip(*single, strict=True)]
    batched: Callable[..., list[Any]] = lambda *ys: list(ad.vmap(lambda *zs: f(*zs))(*ys))
    spread = lambda: batch_spread(f, draws)
    compare(what, batched, args, expected, batched, outcome, spread)
    compare(what + ", jit", batched, args, expected, ad.jit(batched), outcome, spread)


def differences(
    what: str, script: Script, gradient: Callable[..., Any], draws: Sequence[Any], outcome: Outcome
) -> None:
    """Whether no central difference along a line is like the gradient, though two of them are like each other."""
    close = lambda a, b: abs(a - b) <= 1e-4 * max(1.0, abs(b))
    for xs in draws[:2]:
        slopes = run(gradient, xs)
        if isinstance(slopes, Exception):
            return
        along = [np.cos(1 + 2 * np.asarray(x)) for x in xs]
        derivative = sum(float(np.sum(a * b)) for a, b in zip(slopes, along, strict=True))
        quotients = [(_moved(script, xs, along, h) - _moved(script, xs, along, -h)) / (2 * h) for h in STEPS]
        outcome.programs += 1
        if not any(close(d, derivative) for d in quotients) and close(quotients[0], quotients[1]):
            outcome.failures.append(f"{what}, gradient along a line: {derivative}, differences {quotients}")


def _moved(script: Script, xs: Sequence[Any], along: Sequence[Any], t: float) -> float:
    return float(script.run(*[x + t * v for x, v in zip(xs, along, strict=True)]))
