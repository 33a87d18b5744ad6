"""Regions of a kernel that several threads work on: an axis cut into chunks, which do not depend on the threads.

What a region does is written apart from the kernel. If it is worth it, it becomes a function of a span of items that
the pool calls (`pool_code`); if not, because there is little to do or something in it needs Python, it is put back
where it stands. A region has its own status, workspace and watch for signals; regions are not nested. Reductions over
the axis that is cut go into one partial result for each chunk, and are combined in the order of the chunks: so the
result is the same to the bit on any number of threads.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from adjoint.base.records import record
from adjoint.compile import pool, pool_state
from adjoint.compile.attention import ATTENTION, declare_attention
from adjoint.compile.growing import free_all
from adjoint.compile.ir import Value
from adjoint.compile.machine import vector_bits
from adjoint.compile.memory import ALIGNMENT, Arena
from adjoint.compile.statuses import BOUNDS
from adjoint.compile.symbolic_sizes import Sym, is_found_later

PAYS = 50_000.0  # nanoseconds of work: less is not worth waking anybody
PIECE = 15_000.0  # nanoseconds of work in a chunk, at least
MOST = 64  # chunks
LONGEST = 10e6  # nanoseconds: a chunk that takes longer lets Ctrl-C wait
LARGE = 2**15  # elements: code for many sizes has regions where there are more
ADDITION = 0.4  # nanoseconds, as work is counted elsewhere
RECORD = 8  # words: what a chunk says of its failure, whether it may be stopped, whether the caller runs it


class NeedsPython(Exception):
    """What is being written calls Python, which workers cannot."""


@record(frozen=False)
class Region:
    """A region being written: its first and last item, and the number of the chunk."""

    first: Value
    last: Value
    number: Value
    scratch: Value
    record: Value
    native: bool = False  # it must not call Python


@record(frozen=False)
class Cut:
    """How items are cut: `size` items in a chunk, of which there are `chunks`, or at most `most`."""

    size: Any
    chunks: Any
    most: int


def may_cut(emitter: Any) -> bool:
    """Whether something may become a region here."""
    return emitter.shared.region is None and not emitter.shared.standalone and pool.is_available()


def pays(items: Any, nanoseconds: float, elements: Any = None) -> bool:
    """Whether so much work is worth several threads; sizes known at run time are compared in elements."""
    amount = items if elements is None else elements
    if is_found_later(items) or is_found_later(amount):
        return False
    if type(amount) is Sym or type(items) is Sym:
        return bool(amount > LARGE) and bool(items > 1)
    return items > 1 and nanoseconds > PAYS


def cut_items(emitter: Any, items: Any, nanoseconds: float, step: int = 1, most: int = MOST) -> Cut:
    """Chunks of whole steps, from the sizes alone."""
    f = emitter.f
    if type(items) is int:
        count = max(1, min(most, int(nanoseconds / PIECE)))
        if most == MOST:
            count = max(count, int(nanoseconds / LONGEST))
        size = -(-items // count)
        size = -(-size // step) * step
        return Cut(size, -(-items // size), -(-items // size))
    n = emitter.number(items)
    per = max(1, int(PIECE / max(nanoseconds / max(int(items), 1), 1e-3)))  # items of a chunk, at least
    count = f.intrinsic("smin", f.binary("sdiv", n, f.index(per)), f.index(most))
    count = f.intrinsic("smax", count, f.index(1))
    steps = f.binary("sdiv", f.add(n, f.sub(f.mul(count, f.index(step)), f.index(1))), f.mul(count, f.index(step)))
    size = f.intrinsic("smax", f.mul(steps, f.index(step)), f.index(step))
    chunks = f.binary("sdiv", f.add(n, f.sub(size, f.index(1))), size)
    return Cut(size, chunks, most + 1)


@contextmanager
def region(emitter: Any, items: Any, cut: Cut | None, title: str, *, native: bool = False) -> Generator[Region]:
    """What is written here does the items from `first` to `last`.

    Without `cut` it depends on the work that is written whether it is worth several threads, and how it is cut. What is
    `native` must not call Python; if it does, `NeedsPython` is raised, and nothing was written.
    """
    shared, f = emitter.shared, emitter.f
    kept = (
        shared.status, shared.leave, shared.releases, shared.arena, shared.workspace, shared.offsets, shared.budget,
        shared.looked, shared.may_raise, shared.region, len(shared.callbacks), shared.work,
    )  # fmt: skip
    lists = (shared.callbacks, shared.looped, shared.errors, shared.steps, shared.threads)
    lengths = [len(x) for x in lists]
    try:
        with f.apart(["ptr", "i64", "i64", "i64", "ptr", "ptr"]) as part:
            _, first, last, number, scratch, record = part.params
            shared.status = f.allocate("i64", align=8)
            shared.leave = f.new_block("leave")
            shared.releases, shared.offsets, shared.arena, shared.may_raise = [], {}, Arena(), False
            shared.budget = shared.looked = None
            shared.workspace = f.intrinsic(
                "ptrmask", f.element(scratch, f.index(ALIGNMENT - 1), "i8"), f.index(-ALIGNMENT), over=["ptr", "i64"]
            )
            one = shared.region = Region(first, last, number, scratch, record, native)
            f.store(f.index(0), shared.status)
            yield one
            f.jump(shared.leave)
            f.begin(shared.leave)
            free_all(f, shared.releases)
            status, arena, raises = shared.status, shared.arena, shared.may_raise
            work = (shared.work - kept[-1]) * ADDITION / emitter.times
            called = len(shared.callbacks) > kept[-2]
    except NeedsPython:
        shared.work = kept[-1]
        for x, length in zip(lists, lengths, strict=True):
            del x[length:]
        raise
    finally:
        (
            shared.status, shared.leave, shared.releases, shared.arena, shared.workspace, shared.offsets, shared.budget,
            shared.looked, shared.may_raise, shared.region,
        ) = kept[:10]  # fmt: skip
    shared.may_raise = shared.may_raise or raises
    need = arena.size + ALIGNMENT
    buffer = emitter.allocate(need)
    own_record = f.allocate("i64", RECORD, align=64)
    reason = "it calls Python" if called else "functions in C may raise" if raises else ""
    if cut is None:
        if not reason and work < PAYS:
            reason = "too little work"
        cut = Cut(1, 1, 1) if reason else cut_items(emitter, items, work)
    if reason:
        _put_back(emitter, part, items, status, (buffer, own_record))
        if not reason.startswith("too little"):
            shared.threads.append(f"{title}: one thread, {reason}")
    else:
        _run(emitter, part, items, cut, status, (buffer, own_record, need))
        shared.threads.append(title)
    emitter.free(buffer)


def _put_back(emitter: Any, part: Any, items: Any, status: Value, memory: tuple[Value, Value]) -> None:
    """The region where it stands, all items at once."""
    f = emitter.f
    buffer, record = memory
    never = f.allocate("i64", align=8)
    f.initialize(f.index(0), never)
    f.store(never, f.element(record, f.index(4), "ptr"), 8)
    f.store(f.index(1), f.element(record, f.index(5), "i64"), 8)
    nothing = Value("null", "ptr")
    f.include(part, [nothing, f.index(0), emitter.number(items), f.index(0), buffer, record])
    _leave_with(emitter, f.load("i64", status, 8), record)


def _run(emitter: Any, part: Any, items: Any, cut: Cut, status: Value, memory: tuple[Value, Value, Any]) -> None:
    """The region as a function that the pool calls."""
    f, shared = emitter.f, emitter.shared
    buffer, record, need = memory
    part.lines.append(f"  %status = load i64, ptr {status.text}, align 8")
    part.lines.append("  ret i64 %status")
    name = f"adjoint_region_{len(shared.threads)}"
    read = f.separate(part, name, f'nounwind "prefer-vector-width"="{vector_bits()}"')
    environment = f.allocate("i8", 8 + sum(f.offsets([*read, f.index(0)])[-1:]), align=64)
    for value, at in zip(read, f.offsets(read), strict=True):
        f.store(value, f.element(environment, f.index(at), "i8"), 8)
    declare_attention(emitter)
    shared.symbols[pool_state.RUN] = pool.address(pool_state.RUN)
    size = f.index(cut.size) if type(cut.size) is int else cut.size
    result = f.call(
        pool_state.RUN, "i64", Value(f"@{name}", "ptr"), environment, emitter.number(items), size, emitter.number(need),
        buffer, record, Value(f"@{ATTENTION}", "ptr"), emitter.python(), declared=True,
    )  # fmt: skip
    _leave_with(emitter, result, record)


def _leave_with(emitter: Any, result: Value, record: Value) -> None:
    """Leave the kernel if a chunk failed, and hand over what it says of it."""
    f = emitter.f
    bad, fine = f.new_block("bad"), f.new_block("fine")
    f.branch(f.icmp("ne", result, f.index(0)), bad, fine)
    f.begin(bad)
    with f.when(f.icmp("eq", result, f.index(BOUNDS))):
        f.call_address(emitter.python(), "i64", f.index(BOUNDS), record)
    emitter.leave(result)
    f.begin(fine)
