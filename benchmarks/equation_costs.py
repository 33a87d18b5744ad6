"""What gradients of solutions cost beside time: memory over the number of steps, and compiling, also from the cache.

    PYTHONPATH=src:. python benchmarks/equation_costs.py

Every line is a process of its own: the peak of its resident memory above that of a process that takes ten steps, and
the processor time of the first call, with an empty cache and with that of the process before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

NUMBERS = 1000  # of the state: one takes 8 kilobytes
MEMORY = """
import resource, sys
import numpy as np
import adjoint as ad
from adjoint import integrate

adjoint, method, checkpoint, steps = sys.argv[1], sys.argv[2], eval(sys.argv[3]), int(sys.argv[4])
f = lambda t, y, w: w * np.sin(y)

def loss(w):
    path = integrate.solve(f, (0.0, 1.0), np.ones({n}), args=(w,), method=method, first_step=1.0 / steps,
                           adjoint=adjoint, max_steps=2 * steps, checkpoint=checkpoint)
    return np.sum(path.last)

assert np.isfinite(ad.jit(ad.grad(loss))(0.5))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
COMPILING = """
import time
import numpy as np
import adjoint as ad
from adjoint import integrate
from benchmarks.equation_problems import right_side

f, y0 = right_side("prey", np), np.array([10.0, 1.0])
solve = lambda w: integrate.solve(f, (0.0, 10.0), y0, args=(w,), method="dopri5", rtol=1e-8, atol=1e-8).last
begin = time.process_time()
ad.jit(ad.grad(lambda w: np.sum(solve(w))))(np.array([1.5, 1.0, 3.0, 1.0]))
print(time.process_time() - begin)
"""
CASES = [("discretize", "midpoint", "None"), ("discretize", "midpoint", "30"), ("backsolve", "midpoint", "None"),
         ("reversible", "leapfrog-async", "None")]  # fmt: skip


def run(program: str, *words: str, cache: str) -> float:
    environment = {**os.environ, "ADJOINT_CACHE_DIR": cache, "ADJOINT_THREADS": "1", "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(found.stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        first, second = (run(COMPILING, cache=cache) for _ in range(2))
        print(f"gradient of Lotka-Volterra: first call {first:.2f} s, in a second process {second:.2f} s", flush=True)
        program = MEMORY.replace("{n}", str(NUMBERS))
        for case in CASES:
            least = run(program, *case, "10", cache=cache)
            peaks = [
                run(program, *case, str(n), cache=cache) - least for n in (10**3, 10**4, 10**5, 10**6)[: COUNT[case[0]]]
            ]
            shown = ", ".join(f"10^{k + 3}: {peak:.1f} MB" for k, peak in enumerate(peaks))
            print(f"{case[0]}, {case[1]}, checkpoint={case[2]}: {shown}", flush=True)


COUNT = {"discretize": 3, "backsolve": 4, "reversible": 4}  # of the numbers of steps that are tried

if __name__ == "__main__":
    main()
