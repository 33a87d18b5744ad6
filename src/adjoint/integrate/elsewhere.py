"""Names of SciPy, diffrax and torchdiffeq, and what is written here instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from adjoint.base.suggestions import did_you_mean

__all__ = ["INTEGRAL", "MODULE", "TRAJECTORY", "explain_name"]

# what others call it → what is written here
MODULE: dict[str, str] = {
    **dict.fromkeys(
        ("solve_ivp", "odeint", "solve_bvp", "dblquad", "tplquad", "quad_vec", "fixed_quad", "tanhsinh", "simpson"),
        "in adjoint.scipy.integrate, with SciPy's arguments; integrate.solve, solve_boundary, quad and nquad are ours",
    ),
    **dict.fromkeys(
        ("diffeqsolve", "odeint_adjoint", "ODETerm", "ode", "RK45", "DOP853", "LSODA"),
        'solve(f, (t0, t1), y0, args=(…,), method="tsit5")',
    ),
    "SaveAt": "save=times, or dense=True and path.at(t), of integrate.solve",
    **dict.fromkeys(("PIDController", "StepTo", "ConstantStepSize"), "rtol=, atol= and first_step= of integrate.solve"),
    **dict.fromkeys(
        ("RecursiveCheckpointAdjoint", "DirectAdjoint", "BacksolveAdjoint", "ForwardMode", "ImplicitAdjoint"),
        'adjoint="discretize" (the default), "backsolve", "forward", … of integrate.solve',
    ),
    **dict.fromkeys(
        ("Tsit5", "Dopri5", "Dopri8", "Kvaerno5", "Euler", "Heun", "Midpoint", "Bosh3", "KenCarp4"),
        'method="tsit5", "dopri5", … of integrate.solve; integrate.methods() lists them',
    ),
    **dict.fromkeys(("VirtualBrownianTree", "BrownianInterval"), "Brownian(rng, span)"),
    **dict.fromkeys(("sdeint", "ControlTerm", "MultiTerm"), "solve_sde(drift, diffusion, span, y0, rng)"),
    **dict.fromkeys(("CubicInterpolation", "LinearInterpolation"), "Path(times, values, kind=…)"),
}
TRAJECTORY: dict[str, str] = {
    **dict.fromkeys(("t", "ts"), "times"),
    **dict.fromkeys(("y", "ys"), "values, with time along the first axis, or last, the state at the end"),
    **dict.fromkeys(("sol", "evaluate"), "at(t), with dense=True"),
    **dict.fromkeys(("success", "result"), "converged, and status"),
    "message": "status and advice",
    **dict.fromkeys(("nfev", "stats"), "evaluations; steps, rejections, jacobians, factorizations"),
    "njev": "jacobians", "nlu": "factorizations", "t_events": "events[i].times", "y_events": "events[i].values",
}  # fmt: skip
INTEGRAL: dict[str, str] = {"integral": "value", "success": "converged", "message": "advice", "neval": "evaluations"}


def explain_name(owner: str, name: str, names: Mapping[str, str], known: Iterable[str]) -> str:
    """What an AttributeError says: that there is no such name, and what it is called here."""
    text = f"{owner} has no attribute {name!r}"
    if name in names:
        return f"{text}. Here it is {names[name]}."
    near = did_you_mean(name, known)
    return f"{text}. {near}" if near else text
