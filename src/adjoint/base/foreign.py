"""Which function of SciPy, or method of pandas, is asking for a plain array, and what to write instead.

SciPy's Python functions convert their arguments, so a traced value cannot pass. The table of coverage knows which of
them this package has itself.
"""

import sys

from adjoint.base.refusal import advice
from adjoint.base.source import user_frame
from adjoint.coverage import find


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
    instead = advice(find(package, name))
    return (
        f"{package}.{name}",
        instead or "It converts its arguments: give it a rule with @ad.custom_rule(jvp=…, vjp=…).",
    )
