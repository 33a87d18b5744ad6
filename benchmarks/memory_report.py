"""What `ad.memory_report` predicts beside what is measured, for programs of many kinds (those in benchmarks/memory).

    python benchmarks/memory_report.py [--only solve "fori_*" …] [--write]

Every program runs in a process of its own, twice before it is measured. Three judges, by what they see (Linux only):

* allocated: all that malloc has given out at once, also to LAPACK and to transforms, counted by a few lines of C that
  stand before the C library (they need a C compiler); of a compiled function, beyond what is left when it is gone;
* objects: what tracemalloc sees, for programs of many small objects. There malloc rounds up much of what Python does
  not;
* resident: the largest resident size, for programs that call compiled functions, which keep their workspaces; and what
  they have kept since they were compiled.

`--write` renews docs/benchmarks/memory_report.md.
"""

from __future__ import annotations

import argparse
import ctypes
import fnmatch
import gc
import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "memory_report.md"
COUNTER = r"""
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), __libc_free(void *);
static long now, most;
static void *given(void *p) {
    if (p) {
        long n = __atomic_add_fetch(&now, (long)malloc_usable_size(p), __ATOMIC_RELAXED);
        if (n > most) most = n;
    }
    return p;
}
static void taken(void *p) {
    if (p) __atomic_sub_fetch(&now, (long)malloc_usable_size(p), __ATOMIC_RELAXED);
}
void *malloc(size_t n) { return given(__libc_malloc(n)); }
void *calloc(size_t k, size_t n) { return given(__libc_calloc(k, n)); }
void *memalign(size_t a, size_t n) { return given(__libc_memalign(a, n)); }
void *aligned_alloc(size_t a, size_t n) { return given(__libc_memalign(a, n)); }
int posix_memalign(void **p, size_t a, size_t n) { return (*p = given(__libc_memalign(a, n))) ? 0 : ENOMEM; }
void *realloc(void *p, size_t n) { taken(p); return given(__libc_realloc(p, n)); }
void free(void *p) { taken(p); __libc_free(p); }
long allocated(void) { return now; }
long most_allocated(int again) { long found = most; if (again) most = now; return found; }
"""
OBJECTS = ("scalar_*", "vec3_*", "mat4_*", "index_*", "list_*", "ode_*", "newton", "tiny*", "small_*", "eight_kb*")


def judge_of(name: str) -> str:
    if name.startswith("jit:"):
        return "allocated"
    if "jit" in name:
        return "resident"
    return "objects" if any(fnmatch.fnmatch(name, pattern) for pattern in OBJECTS) else "allocated"


def resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def programs() -> dict[str, Any]:
    from memory import algebra, arrays, derivatives, flow, large  # noqa: F401  (each adds its programs)
    from memory.registry import PROGRAMS

    return PROGRAMS


def measured(name: str) -> dict[str, Any]:
    """Predicted and measured bytes of one program."""
    import adjoint as ad

    f, x = programs()[name]
    library: Any = ctypes.CDLL(None)
    judge, compiled = judge_of(name), name.startswith("jit:")
    tracemalloc.start()
    report = ad.memory_report(f)(x)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]  # above all constants of what is called inside, which is compiled now
    tracemalloc.stop()
    run = ad.jit(ad.value_and_grad(f.function)) if compiled else ad.value_and_grad(f)
    if judge == "resident":
        library.malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = resident("VmRSS")
        for _ in range(3):  # workspaces are kept from the second call on
            run(x)
        found = resident("VmHWM") - before + held
    else:
        run(x)
        run(x)
        gc.collect()
        if judge == "objects":
            tracemalloc.start()
            run(x)
            found = tracemalloc.get_traced_memory()[1]
        else:
            library.allocated.restype = library.most_allocated.restype = ctypes.c_long
            before = library.allocated()
            library.most_allocated(1)
            run(x)
            found = library.most_allocated(0)
            if compiled:  # it keeps workspace and constants until it is gone
                del run
                gc.collect()
                before = library.allocated()
            found -= before
    return {"predicted": report.peak, "measured": found, "judge": judge}


def forked(name: str) -> str:
    """`measured` in a process of its own, as text; it has all modules already."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps({name: measured(name)}).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def in_processes(names: list[str], judge: str, counter: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    environment = dict(os.environ, NUMPY_MADVISE_HUGEPAGE="0", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    environment |= {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    if judge == "allocated":
        environment |= {"LD_PRELOAD": str(counter), "PYTHONMALLOC": "malloc"}
    command = [sys.executable, "-W", "ignore", __file__, "--these", *names]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            yield from json.loads(line).items()


def page(rows: dict[str, dict[str, Any]]) -> str:
    ratios = {name: row["predicted"] / row["measured"] for name, row in rows.items()}
    inside = sum(0.8 <= ratio <= 1.2 for ratio in ratios.values())
    close = sum(0.95 <= ratio <= 1.05 for ratio in ratios.values())
    lines = [
        "# Memory, predicted and measured",
        "",
        "Written by `python benchmarks/memory_report.py --write`; every figure is measured. What",
        "[`ad.memory_report`](../memory.md) predicts for value and gradient, in bytes beyond the arguments, beside",
        "what they take: all that is *allocated* at once (also by LAPACK and by transforms), what tracemalloc sees of",
        "many small *objects*, or the largest *resident* size where compiled functions are called. Names that begin",
        "with `jit:` are compiled as a whole, and what they keep between calls counts.",
        "",
        f"{inside} of {len(rows)} predictions are within a fifth of the measured peak, {close} within 5 %.",
        "",
        "| program | predicted | measured | ratio | judge |",
        "|---|---:|---:|---:|---|",
    ]
    for name, row in rows.items():
        ratio = f"{ratios[name]:.2f}" if 0.8 <= ratios[name] <= 1.2 else f"**{ratios[name]:.2f}**"
        lines.append(f"| `{name}` | {row['predicted']:,} | {row['measured']:,} | {ratio} | {row['judge']} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["*"], help="names, with * for anything")
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks/memory_report.md")
    parser.add_argument("--these", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = [name for name in programs() if any(fnmatch.fnmatch(name, pattern) for pattern in given.only)]
    if given.these:
        for name in given.these:
            print(forked(name), flush=True)
        return
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source, counter = Path(folder) / "counter.c", Path(folder) / "counter.so"
        source.write_text(COUNTER)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(counter), str(source)], check=True)
        for judge in ("allocated", "objects", "resident"):
            chosen = [name for name in names if judge_of(name) == judge]
            for name, row in in_processes(chosen, judge, counter) if chosen else ():
                rows[name], ratio = row, row["predicted"] / row["measured"]
                print(f"{name:24} {row['predicted']:13,} {row['measured']:13,} {ratio:6.2f} {judge}", flush=True)
    if given.write:
        PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
