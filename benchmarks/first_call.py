"""The first call of a compiled function in a fresh process: with an empty cache, from the disk cache, and by JAX.

    python benchmarks/first_call.py [--runs 7] [--write]

Every run is a process of its own, with everything that it must load; contenders are interleaved. Processor time counts,
its least value of all runs. `--write` writes docs/benchmarks/first_call.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "first_call.md"
HEAD = """# The first call of a process

Written by `python benchmarks/first_call.py --write`. Milliseconds of processor time of a fresh process, least of {runs}
interleaved runs: what the import adds to NumPy's, and the first call of value and gradient with all that it loads,
with an empty cache, from the disk cache, and by JAX (double precision, no cache). The import of adjoint loads its parts
when they are first used, so they are in the first call.

"""
PROGRAMS = {
    "tiny: sum of tanh(x)²": """
def f(x):
    return np.sum(np.tanh(x) ** 2)
arguments = (data.arange(3.0),)
""",
    "network 64-128-128-10": """
def f(p, x, y):
    for W, b in p[:-1]:
        x = np.tanh(x @ W + b)
    z = x @ p[-1][0] + p[-1][1]
    m = np.max(z, 1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z - m), 1)) + m[:, 0] - np.sum(z * y, 1))
r = data.random.default_rng(0)
s = [64, 128, 128, 10]
weights = [(r.normal(size=(i, o)), data.zeros(o)) for i, o in zip(s, s[1:])]
arguments = (weights, r.normal(size=(32, 64)), data.eye(10)[r.integers(0, 10, 32)])
""",
    "200 equations, no two alike": """
def f(x):
    kinds = [np.sin, np.cos, np.tanh, np.exp, np.sqrt, np.abs]
    for k in range(66):
        g = kinds[(k * k + k // 3) % 6]
        x = g(x * (0.5 + k % 7 / 10) + 1.0) if k % 2 else x + g(np.abs(x) * 0.1 + k % 5)
    return np.sum(x)
arguments = (data.linspace(0.0, 1.0, 10),)
""",
}
RUN = """
import time
import numpy as data
{program}
begin = time.process_time()
{load}
loaded = time.process_time()
{call}
end = time.process_time()
print(loaded - begin, end - loaded)
"""
OURS = ("import numpy as np\nimport adjoint as ad", "ad.jit(ad.value_and_grad(f))(*arguments)")
JAX = (
    'import jax\njax.config.update("jax_enable_x64", True)\nimport jax.numpy as np',
    "jax.block_until_ready(jax.jit(jax.value_and_grad(f))(*arguments))",
)


def measure(how: tuple[str, str], program: str, folder: str) -> tuple[float, float]:
    """Milliseconds of the import and of the first call."""
    load, call = how
    code = RUN.format(load=load, program=program, call=call)
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    settings |= {"ADJOINT_CACHE_DIR": folder, "ADJOINT_CACHE": "1", "OMP_NUM_THREADS": "1"}
    settings["PYTHONPYCACHEPREFIX"] = os.path.join(tempfile.gettempdir(), "adjoint-first-call")
    run = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True)
    first, second = (1e3 * float(number) for number in run.stdout.split())
    return first, second


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = ["| program | import | empty cache | from the disk | JAX: import | first call | JAX / ours, both parts |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, program in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as kept:
            measure(OURS, program, kept)  # byte code, and the cache
            cold, warm, theirs = [], [], []
            for _ in range(options.runs):
                with tempfile.TemporaryDirectory() as empty:
                    cold.append(measure(OURS, program, empty))
                warm.append(measure(OURS, program, kept))
                theirs.append(measure(JAX, program, kept))
        (load, first), (_, again), (jax_load, jax_first) = (
            tuple(map(min, zip(*rows, strict=True))) for rows in (cold, warm, theirs)
        )
        figures = [load, first, again, jax_load, jax_first]
        ratio = (jax_load + jax_first) / (load + first)
        lines.append(f"| {name} | {' | '.join(f'{figure:.0f}' for figure in figures)} | {ratio:.1f} |")
        print(lines[-1], flush=True)
    if options.write:
        PAGE.write_text(HEAD.format(runs=options.runs) + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
