"""Text to machine code in memory: bound symbols, memory freed, threads."""

import ctypes
import gc
import math
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile import machine

Answer = ctypes.CFUNCTYPE(ctypes.c_int64)


def text(number: int) -> str:
    return f"define i64 @answer() {{ ret i64 {number} }}"


def answer(code: machine.Loaded) -> int:
    return Answer(code.address("answer"))()


def resident() -> int:
    """Bytes of memory in use by the process; nothing where the system does not tell."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0


def test_code_runs_and_survives_the_bytes_it_came_from() -> None:
    codes = [machine.Loaded(machine.compile_object(text(i))) for i in range(5)]
    gc.collect()
    assert [answer(code) for code in codes] == [0, 1, 2, 3, 4]


def test_compiling_again_gives_the_same_bytes() -> None:
    other = "define double @f(double %x) { %y = fmul double %x, %x\n ret double %y }"
    first = machine.compile_object(text(1))
    machine.compile_object(other)
    assert machine.compile_object(text(1)) == first


def test_a_name_that_is_not_there() -> None:
    code = machine.Loaded(machine.compile_object(text(1)))
    with pytest.raises(KeyError, match="no function other"):
        code.address("other")


def test_text_that_is_not_well_formed_raises() -> None:
    with pytest.raises(RuntimeError):
        machine.compile_object("define i64 @answer() { ret double 1.0 }")
    assert answer(machine.Loaded(machine.compile_object(text(2)))) == 2


def test_symbols_are_bound_when_the_code_is_loaded() -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    functions = [kind(f) for f in (math.sqrt, math.exp)]
    content = machine.compile_object(
        "declare double @adjoint_test_outside(double)\n"
        "define double @f(double %x) { %y = call double @adjoint_test_outside(double %x)\n ret double %y }"
    )
    addresses = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in functions]
    codes = [machine.Loaded(content, {"adjoint_test_outside": address}) for address in addresses]
    again = machine.Loaded(content, {"adjoint_test_outside": addresses[0]})
    assert [kind(code.address("f"))(4.0) for code in (*codes, again)] == [2.0, math.exp(4.0), 2.0]


def test_memory_is_freed() -> None:
    content = machine.compile_object(text(3))
    for _ in range(100):
        machine.Loaded(content).address("answer")
    gc.collect()
    before = resident()
    for _ in range(1000):
        machine.Loaded(content).address("answer")
    gc.collect()
    assert resident() - before < 1_500_000


def test_compiling_keeps_no_memory() -> None:
    for i in range(100):
        machine.compile_object(text(i))
    gc.collect()
    before = resident()
    for i in range(300):
        machine.compile_object(text(i))
    gc.collect()
    assert resident() - before < 1_000_000


def test_threads_compile_load_and_drop() -> None:
    wrong: list[Any] = []

    def work(me: int) -> None:
        for k in range(20):
            number = 100 * me + k
            if answer(machine.Loaded(machine.compile_object(text(number)))) != number:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_code_may_be_called_while_the_interpreter_ends() -> None:
    script = """
import builtins, ctypes
from adjoint.compile import machine
code = machine.Loaded(machine.compile_object("define i64 @answer() { ret i64 6 }"))
class Last:
    def __del__(self, function=ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("answer"))):
        print("last", function())
builtins.last = Last()  # goes after all modules have gone
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(machine.__file__).parents[2])}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["last", "6"]


def test_code_reaches_its_constants_in_scattered_memory() -> None:
    """Small gaps high up, none that holds the code for gigabytes: relative addresses have 32 bits."""
    script = """
import ctypes, mmap
from adjoint.compile import machine
steps = "\\n".join(f"  %v{k + 1} = fadd double %v{k}, {1.0 + k % 8 / 8}" for k in range(12000))
text = f"define double @sum(double %v0) {{\\n{steps}\\n  ret double %v12000\\n}}"
content = machine.compile_object(text)
small = [mmap.mmap(-1, 1 << 14) for _ in range(300)]
sizes = (1 << 22, 800), (1 << 18, 2000), (1 << 16, 6000), (1 << 15, 4000)
large = [mmap.mmap(-1, n) for n, count in sizes for _ in range(count)]
for gap in small[::2]:
    gap.close()
code = machine.Loaded(content)
print(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("sum"))(0.5))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(machine.__file__).parents[2])}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) == pytest.approx(0.5 + sum(1.0 + k % 8 / 8 for k in range(12000)))


@pytest.mark.sweep
def test_functions_of_many_loops_compile() -> None:
    """LLVM has passes that would stop the process here (its new value numbering), and which are not used."""
    f = lambda x: np.stack([np.sum((np.histogram(x, k, (0, 2))[0] / 40) ** 2) for k in range(1, 101)])
    x = np.random.default_rng(0).random(40)
    np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-12)
