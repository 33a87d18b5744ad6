"""Which function of SciPy, or method of pandas, is asking for a plain array, and what to write instead.

SciPy's Python functions convert their arguments, so a traced value cannot pass. The names that this package has itself
are listed here; a test compares the list with the packages.
"""

import sys

from adjoint.base.source import user_frame

OURS: dict[str, frozenset[str]] = {
    "scipy.special": frozenset(
        {
            *("comb", "factorial", "log_softmax", "logsumexp", "multigammaln", "perm", "polygamma", "softmax"),
            *("spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"),
        }
    ),
    "scipy.linalg": frozenset(
        {
            *("block_diag", "cho_factor", "cho_solve", "cholesky", "det", "expm", "inv", "lu", "lu_factor", "lu_solve"),
            *("solve", "solve_triangular"),
        }
    ),
}


def asking_function() -> tuple[str, str] | None:
    """(the function of SciPy or pandas that the user's code called, the remedy), when one of those is running now."""
    user, frame, found = user_frame(1), sys._getframe(1), None  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame is not user:
        package = ".".join(str(frame.f_globals.get("__name__")).split(".")[:2])
        if package.startswith("pandas."):
            found = "pandas", frame.f_code.co_qualname
        if package.startswith("scipy."):
            wrapped = frame.f_locals.get("fun")  # what a decorator of SciPy wraps
            for name in (frame.f_code.co_name, getattr(wrapped, "__name__", "?")):
                if hasattr(sys.modules.get(package), name):
                    found = package, name
        frame = frame.f_back
    if found is None:
        return None
    package, name = found
    if package == "pandas":
        return f"pandas ({name})", "Take the numbers out of pandas first: frame.to_numpy() @ x, series.to_numpy() * x."
    if name in OURS.get(package, ()):
        return f"{package}.{name}", f"Use adjoint.{package}.{name}, which takes traced values."
    return f"{package}.{name}", "It converts its arguments: give it a rule with @ad.custom_rule(jvp=…, vjp=…)."
