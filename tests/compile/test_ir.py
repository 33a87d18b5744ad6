"""Functions written as text: loops, branches, vectors, functions that are written once."""

import ctypes

import numpy as np

from adjoint.compile.ir import COPIES, LONG, Function, Module, Value, shared_function
from adjoint.compile.machine import Loaded, compile_object, parse_verified


def test_a_function_with_all_kinds_of_instructions() -> None:
    """Σ over i < n of (i even: x[i]², else -x[i]), lane sums of a vector, a table, a phi."""
    module = Module()
    f = Function(module, "total", ["ptr", "i64"], "double", linkage="")
    x, n = f.params
    buffer = f.allocate("double")
    f.store(f.constant("double", 0), buffer)
    f.initialize(f.constant("double", 7), spare := f.allocate("double"))
    with f.loop(f.index(0), n) as i:
        v = f.load("double", f.element(x, i, "double"), 8)
        square = shared_function(f, "squared", lambda g, a: g.fmul(a, a), v)
        even = f.icmp("eq", f.binary("and", i, f.index(1)), f.index(0))
        f.store(f.fadd(f.load("double", buffer), f.select(even, square, f.fneg(v))), buffer)
    with f.when(f.icmp("sgt", n, f.index(4))):
        wide = f.load("<4 x double>", x, 8)
        turned = f.shuffle(f.fma(wide, f.same(wide, 2.0), f.spread(f.constant("double", 1), 4)), None, [3, 2, 1, 0])
        counted = f.cast("sitofp", f.lane_numbers(4), "double")
        both = f.with_lane(f.fadd(turned, counted), f.constant("double", 100), 2)
        f.store(f.fadd(f.load("double", buffer), f.lane(both, 0)), buffer)
        f.store(f.fadd(f.load("double", buffer), f.lane(both, f.index(2))), buffer)
    table = module.constant_array("table", "double", [0.5, 0.25])
    yes, no, done = (f.new_block(h) for h in ("yes", "no", "done"))
    f.branch(f.any_lane(f.fcmp("ogt", f.load("<2 x double>", table, 8), f.constant("<2 x double>", 0.3))), yes, no)
    f.begin(yes)
    f.jump(done)
    f.begin(no)
    f.jump(done)
    f.begin(done)
    chosen = f.phi("double", [(f.constant("double", 1000), yes), (f.constant("double", 0), no)])
    f.ret(f.fadd(f.fadd(f.load("double", buffer), chosen), f.load("double", spare)))
    f.finish()
    parse_verified(str(module))
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)
    code = Loaded(compile_object(str(module)))
    total = call(code.address("total"))
    for size in (0, 3, 6):
        values = np.arange(1.0, size + 1)
        expected = sum(v * v if i % 2 == 0 else -v for i, v in enumerate(values)) + 1007
        if size > 4:
            expected += 2 * values[3] + 1 + 100
        assert total(values.ctypes.data, size) == expected


def test_shared_functions_are_written_once_for_each_type() -> None:
    module = Module()
    f = Function(module, "main", ["double", "<4 x double>"], "void")
    for value in (*f.params, *f.params):
        shared_function(f, "cubed", lambda g, a: g.fmul(a, g.fmul(a, a)), value)
    f.ret()
    f.finish()
    assert sorted(module.parts) == ["cubed.f64", "cubed.v4f64", "main"]
    parse_verified(str(module))


def test_long_functions_are_not_inlined_many_times() -> None:
    def powers(g: Function, a: Value) -> Value:
        result = a
        for _ in range(LONG):
            result = g.fmul(result, a)
        return result

    for calls in (COPIES, COPIES + 1):
        module = Module()
        f = Function(module, "main", ["double"], "double", linkage="")
        value = f.params[0]
        for _ in range(calls):
            value = shared_function(f, "powers", powers, value)
            value = shared_function(f, "twice", lambda g, a: g.fadd(a, a), value)
        f.ret(value)
        f.finish()
        text = str(module)
        assert ("noinline" in text) == (calls > COPIES)
        assert "alwaysinline nounwind {\nentry:\n  br label %start\nstart:\n  %v1 = fadd" in text
        code = Loaded(compile_object(text))
        main = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("main"))
        assert main(0.0) == 0.0
        assert main(1.0) > 1.0


def test_nothing_is_written_for_nothing() -> None:
    f = Function(Module(), "f", ["i64", "ptr"], "void")
    n, p = f.params
    zero, one = f.index(0), f.index(1)
    assert f.add(n, zero) is n
    assert f.add(zero, n) is n
    assert f.sub(n, zero) is n
    assert f.mul(one, n) is n
    assert f.element(p, zero, "double") is p
    assert f.spread(n, 1) is n
    assert f.spread(one, 4) == Value("splat (i64 1)", "<4 x i64>")
    assert f.cast("sext", n, "i64") is n
