"""How much time `import adjoint`, and its first use, add to `import numpy`.

Each import runs in a fresh interpreter. The two are timed in turn, many times, so that a busy machine disturbs both
alike, and the minimum of each is compared: noise only ever adds time.

    python benchmarks/import_time.py [runs]
"""

import os
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

STATEMENTS = {  # the package loads its parts when they are first used
    "import numpy": "import numpy",
    "import numpy, adjoint": "import numpy, adjoint",
    "… and adjoint.grad": "import numpy, adjoint; adjoint.grad",
}
LIMIT = 0.15  # seconds that adjoint may add, with its first use
TIMED = """
import time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def seconds(statement: str) -> float:
    """Time of one import statement in a fresh interpreter, without the start of the interpreter itself."""
    code = TIMED.format(statement=statement)
    # as installed: byte code is cached (the first, unmeasured run writes it)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = os.path.join(tempfile.gettempdir(), "adjoint-import-time")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return float(run.stdout)


def interleaved(runs: int) -> dict[str, list[float]]:
    """All times, statement by statement, measured in turn."""
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(runs):
        for name, statement in STATEMENTS.items():
            times[name].append(seconds(statement))
    return {name: sorted(measured) for name, measured in times.items()}


def main(runs: int = 15) -> int:
    for statement in STATEMENTS.values():
        seconds(statement)  # once before, so that byte code and files are in the cache
    times = interleaved(runs)

    table = Table("statement", title=f"Import time, {runs} runs each, in turn")
    for column in ("minimum", "median"):
        table.add_column(column, justify="right")
    for name, measured in times.items():
        table.add_row(name, f"{1e3 * measured[0]:.1f} ms", f"{1e3 * measured[runs // 2]:.1f} ms")
    (numpy_alone, *_), (both, *_), (used, *_) = times.values()
    added = used - numpy_alone
    table.add_section()
    table.add_row("what the import adds", f"{1e3 * (both - numpy_alone):.1f} ms", "")
    table.add_row("with the first use", f"{1e3 * added:.1f} ms", f"at most {1e3 * LIMIT:.0f} ms")
    Console().print(table)
    return 0 if added <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
