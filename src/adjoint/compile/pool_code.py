"""The pool of threads as LLVM's text: how a region is cut into chunks, handed out, waited for and stopped.

A region is a function of a span of items, `status = region(environment, first, last, number, scratch, record)`. Its
items are cut into chunks that do not depend on the number of threads. The caller and the workers take chunks in order
from one *ticket*, a word that holds the number of the region and the next chunk: exchanging it takes a chunk, and shows
at once that what was read of the region before is still true. So a worker that wakes up late does no harm, and nobody
is counted in or out. Workers wait for a while by looking at the ticket, and then sleep.

A status other than zero stops the region: chunks are handed out in order, so the one with the lowest number that
failed is the one that fails on one thread, too. Only the caller asks the interpreter whether there was a signal.
"""

from __future__ import annotations

import platform
import time

from adjoint.compile import pool_state
from adjoint.compile.pool_worker import TEMPLATE as WORKER


def write_pool() -> str:
    """The text for this system."""
    x86, arm = "call void @llvm.x86.sse2.pause()", "call void @llvm.aarch64.hint(i32 1)"
    pauses = {"x86_64": x86, "AMD64": x86, "aarch64": arm, "arm64": arm}
    pause = pauses.get(platform.machine(), "fence seq_cst")
    declared = {x86: "declare void @llvm.x86.sse2.pause()", arm: "declare void @llvm.aarch64.hint(i32)"}.get(pause, "")
    block = 0 if platform.system() == "Linux" else 1  # SIG_BLOCK
    setmask = 2 if platform.system() == "Linux" else 3  # SIG_SETMASK
    return (WORKER + _RUN + _BLAS).format(
        pause=pause, declared=declared, block=block, setmask=setmask,
        monotonic=time.CLOCK_MONOTONIC, realtime=time.CLOCK_REALTIME,
        **{name.lower(): value for name, value in vars(pool_state).items() if name.isupper()},
    )  # fmt: skip


_RUN = """
; As many workers as there are to be, none of which gets signals.
define internal i64 @start(i64 %limit) nounwind noinline {{
entry:
  %all = alloca [16 x i64], align 16
  %mask = alloca [16 x i64], align 16
  %thread = alloca i64, align 8
  %f = call i32 @sigfillset(ptr %all)
  %b = call i32 @pthread_sigmask(i32 {block}, ptr %all, ptr %mask)
  br label %next
next:
  %started = call i64 @read(i64 {started})
  %own = add i64 %started, 1
  %missing = icmp slt i64 %own, %limit
  br i1 %missing, label %one, label %done
one:
  %argument = inttoptr i64 %own to ptr
  %status = call i32 @pthread_create(ptr %thread, ptr null, ptr @work, ptr %argument)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %count, label %done
count:
  %name = load i64, ptr %thread
  %d = call i32 @pthread_detach(i64 %name)
  call void @write(i64 {started}, i64 %own)
  br label %next
done:
  %a = call i32 @pthread_sigmask(i32 {setmask}, ptr %mask, ptr null)
  %there = call i64 @read(i64 {started})
  ret i64 %there
}}

; Whether the handler of a signal has raised; asked from time to time.
define internal i64 @look(ptr %looked, ptr %poll, ptr %python) nounwind noinline {{
entry:
  %now = call i64 @clock(i32 {monotonic})
  %before = load i64, ptr %looked
  %passed = sub i64 %now, %before
  %late = icmp sgt i64 %passed, {look_every}
  br i1 %late, label %ask, label %fine
ask:
  store i64 %now, ptr %looked
  %status = call i64 %poll(ptr %python)
  ret i64 %status
fine:
  ret i64 0
}}

define i64 @{run}(ptr %region, ptr %environment, i64 %items, i64 %size, i64 %need,
    ptr %scratch, ptr %record, ptr %poll, ptr %python) nounwind {{
entry:
  %looked = alloca i64, align 8
  %until = alloca [2 x i64], align 8
  %begun = call i64 @clock(i32 {monotonic})
  store i64 %begun, ptr %looked
  %record.caller = getelementptr i64, ptr %record, i64 5
  store i64 1, ptr %record.caller
  %record.stop = getelementptr i64, ptr %record, i64 4
  %never = call ptr @word(i64 {never})
  store ptr %never, ptr %record.stop
  %up = add i64 %items, %size
  %up.less = sub i64 %up, 1
  %chunks = sdiv i64 %up.less, %size
  %key = call i64 @read(i64 {key})
  %own.limit = call ptr @pthread_getspecific(i64 %key)
  %own.number = ptrtoint ptr %own.limit to i64
  %has.own = icmp ne i64 %own.number, 0
  %wanted = call i64 @read(i64 {wanted})
  %limit = select i1 %has.own, i64 %own.number, i64 %wanted
  %several = icmp sgt i64 %limit, 1
  %many = icmp sgt i64 %chunks, 1
  %pays = and i1 %several, %many
  br i1 %pays, label %recall, label %alone
recall:
  %left.alone = call i64 @read(i64 {alone})
  %is.alone = icmp sgt i64 %left.alone, 0
  br i1 %is.alone, label %one.less, label %try
one.less:
  %fewer = sub i64 %left.alone, 1
  call void @write(i64 {alone}, i64 %fewer)
  br label %alone
try:
  %lock.word = call ptr @word(i64 {lock})
  %pair = cmpxchg ptr %lock.word, i64 0, i64 1 seq_cst seq_cst
  %got = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %got, label %workers, label %alone
workers:
  %started = call i64 @read(i64 {started})
  %with = add i64 %started, 1
  %enough = icmp sge i64 %with, %limit
  br i1 %enough, label %publish, label %begin.more
begin.more:
  %there = call i64 @start(i64 %limit)
  %some = icmp sgt i64 %there, 0
  br i1 %some, label %publish, label %give.up
give.up:
  store atomic i64 0, ptr %lock.word release, align 8
  br label %alone

publish:
  %ticket.word = call ptr @word(i64 {ticket})
  %old = load atomic i64, ptr %ticket.word monotonic, align 8
  %number.old = lshr i64 %old, 32
  %number = add i64 %number.old, 1
  %high = shl i64 %number, 32
  %closed = or i64 %high, 4294967295
  store atomic i64 %closed, ptr %ticket.word seq_cst, align 8
  fence seq_cst
  %stop.word = call ptr @word(i64 {stop})
  store ptr %stop.word, ptr %record.stop
  %region.word = ptrtoint ptr %region to i64
  %environment.word = ptrtoint ptr %environment to i64
  call void @write(i64 {region}, i64 %region.word)
  call void @write(i64 {environment}, i64 %environment.word)
  call void @write(i64 {items}, i64 %items)
  call void @write(i64 {chunk}, i64 %size)
  call void @write(i64 {chunks}, i64 %chunks)
  call void @write(i64 {scratch}, i64 %need)
  call void @write(i64 {limit}, i64 %limit)
  call void @write(i64 {done}, i64 0)
  call void @write(i64 {stop}, i64 0)
  call void @write(i64 {waiting}, i64 0)
  call void @write(i64 {error_chunk}, i64 9223372036854775807)
  call void @write(i64 {error_status}, i64 0)
  store atomic i64 %high, ptr %ticket.word seq_cst, align 8
  fence seq_cst
  %sleepers.word = call ptr @word(i64 {sleepers})
  %sleepers = load atomic i64, ptr %sleepers.word seq_cst, align 8
  %asleep = icmp sgt i64 %sleepers, 0
  %mutex = call ptr @word(i64 {mutex})
  %condition = call ptr @word(i64 {work})
  br i1 %asleep, label %wake, label %own
wake:
  %w1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %w2 = call i32 @pthread_cond_broadcast(ptr %condition)
  %w3 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %own

own:
  %ticket = load atomic i64, ptr %ticket.word acquire, align 8
  %next = and i64 %ticket, 4294967295
  %left = icmp slt i64 %next, %chunks
  br i1 %left, label %take, label %finish
take:
  %following = add i64 %ticket, 1
  %exchange = cmpxchg ptr %ticket.word, i64 %ticket, i64 %following seq_cst seq_cst
  %taken = extractvalue {{ i64, i1 }} %exchange, 1
  br i1 %taken, label %mine, label %own
mine:
  %stopped = call i64 @read(i64 {stop})
  %is.stopped = icmp ne i64 %stopped, 0
  br i1 %is.stopped, label %counted, label %do
do:
  %status = call i64 @chunk(ptr %region, ptr %environment, i64 %items, i64 %size, i64 %next, ptr %scratch, ptr %record)
  %bad = icmp ne i64 %status, 0
  br i1 %bad, label %failed, label %ask
failed:
  call void @note(i64 %next, i64 %status, ptr %record)
  br label %counted
ask:
  %signal = call i64 @look(ptr %looked, ptr %poll, ptr %python)
  %raised = icmp ne i64 %signal, 0
  br i1 %raised, label %interrupted, label %counted
interrupted:
  call void @note(i64 -1, i64 -1, ptr %record)
  br label %counted
counted:
  %done.word = call ptr @word(i64 {done})
  %c = atomicrmw add ptr %done.word, i64 1 seq_cst
  br label %own

finish:
  %worked.until = call i64 @clock(i32 {monotonic})
  br label %spin
spin:
  %count = phi i64 [ 0, %finish ], [ %more, %again ]
  %done = call i64 @read(i64 {done})
  %all = icmp eq i64 %done, %chunks
  br i1 %all, label %over, label %again
again:
  {pause}
  %more = add i64 %count, 1
  call void @pass(i64 %more)
  %long = icmp sge i64 %more, {spins}
  br i1 %long, label %sleep, label %spin
sleep:
  %waiting.word = call ptr @word(i64 {waiting})
  store atomic i64 1, ptr %waiting.word seq_cst, align 8
  fence seq_cst
  %finished = call ptr @word(i64 {finished})
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  br label %check
check:
  %now.done = call i64 @read(i64 {done})
  %now.all = icmp eq i64 %now.done, %chunks
  br i1 %now.all, label %woken, label %nap
nap:
  %now = call i64 @clock(i32 {realtime})
  %then = add i64 %now, {nap}
  %seconds = sdiv i64 %then, 1000000000
  %rest = srem i64 %then, 1000000000
  store i64 %seconds, ptr %until
  %until.rest = getelementptr i64, ptr %until, i64 1
  store i64 %rest, ptr %until.rest
  %n = call i32 @pthread_cond_timedwait(ptr %finished, ptr %mutex, ptr %until)
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  %signal.late = call i64 @look(ptr %looked, ptr %poll, ptr %python)
  %raised.late = icmp ne i64 %signal.late, 0
  br i1 %raised.late, label %interrupted.late, label %relock
interrupted.late:
  call void @note(i64 -1, i64 -1, ptr %record)
  br label %relock
relock:
  %l2 = call i32 @pthread_mutex_lock(ptr %mutex)
  br label %check
woken:
  %u2 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %over
over:
  ; A worker that others keep from its core holds up the region: then the next ones, if short, are better off alone.
  %now.over = call i64 @clock(i32 {monotonic})
  %worked = sub i64 %worked.until, %begun
  %waited = sub i64 %now.over, %worked.until
  %patience = add i64 %worked, {late}
  %is.late = icmp sgt i64 %waited, %patience
  %is.short = icmp slt i64 %worked, {short}
  %held.up = and i1 %is.late, %is.short
  %penalty = call i64 @read(i64 {penalty})
  %doubled = shl i64 %penalty, 1
  %longer = or i64 %doubled, 1
  %too.long = icmp sgt i64 %longer, {most_alone}
  %longest = select i1 %too.long, i64 {most_alone}, i64 %longer
  %halved = lshr i64 %penalty, 1
  %next.penalty = select i1 %held.up, i64 %longest, i64 %halved
  %next.alone = select i1 %held.up, i64 %longest, i64 0
  call void @write(i64 {penalty}, i64 %next.penalty)
  call void @write(i64 {alone}, i64 %next.alone)
  %result = call i64 @read(i64 {error_status})
  %error = call ptr @word(i64 {error_record})
  call void @llvm.memcpy.p0.p0.i64(ptr %record, ptr %error, i64 32, i1 false)
  store atomic i64 0, ptr %lock.word release, align 8
  ret i64 %result

alone:
  br label %one
one:
  %k = phi i64 [ 0, %alone ], [ %k.next, %go.on ]
  %is.left = icmp slt i64 %k, %chunks
  br i1 %is.left, label %run, label %end
run:
  %s = call i64 @chunk(ptr %region, ptr %environment, i64 %items, i64 %size, i64 %k, ptr %scratch, ptr %record)
  %s.bad = icmp ne i64 %s, 0
  br i1 %s.bad, label %leave, label %s.ask
s.ask:
  %k.next = add i64 %k, 1
  %k.low = and i64 %k.next, 3  ; a look at the clock after every fourth is soon enough
  %s.skip = icmp ne i64 %k.low, 0
  br i1 %s.skip, label %go.on, label %s.look
s.look:
  %s.signal = call i64 @look(ptr %looked, ptr %poll, ptr %python)
  %s.raised = icmp ne i64 %s.signal, 0
  br i1 %s.raised, label %s.interrupted, label %go.on
go.on:
  br label %one
s.interrupted:
  ret i64 -1
leave:
  ret i64 %s
end:
  ret i64 0
}}
"""

_BLAS = """
; OpenBLAS has one thread for all as long as somebody is between these two.
define void @{begin_blas}() nounwind {{
entry:
  %set.word = call i64 @read(i64 {blas_set})
  %known = icmp ne i64 %set.word, 0
  br i1 %known, label %enter, label %done
enter:
  call void @hold(i64 {blas_lock})
  %count = call i64 @read(i64 {blas_count})
  %more = add i64 %count, 1
  call void @write(i64 {blas_count}, i64 %more)
  %first = icmp eq i64 %count, 0
  br i1 %first, label %change, label %release
change:
  %get.word = call i64 @read(i64 {blas_get})
  %get = inttoptr i64 %get.word to ptr
  %kept = call i32 %get()
  %kept.long = sext i32 %kept to i64
  call void @write(i64 {blas_kept}, i64 %kept.long)
  %several = icmp sgt i32 %kept, 1
  br i1 %several, label %set, label %release
set:
  %setter = inttoptr i64 %set.word to ptr
  call void %setter(i32 1)
  br label %release
release:
  call void @write(i64 {blas_lock}, i64 0)
  br label %done
done:
  ret void
}}

define void @{end_blas}() nounwind {{
entry:
  %set.word = call i64 @read(i64 {blas_set})
  %known = icmp ne i64 %set.word, 0
  br i1 %known, label %enter, label %done
enter:
  call void @hold(i64 {blas_lock})
  %count = call i64 @read(i64 {blas_count})
  %less = sub i64 %count, 1
  call void @write(i64 {blas_count}, i64 %less)
  %last = icmp eq i64 %count, 1
  br i1 %last, label %change, label %release
change:
  %kept.long = call i64 @read(i64 {blas_kept})
  %kept = trunc i64 %kept.long to i32
  %several = icmp sgt i32 %kept, 1
  br i1 %several, label %set, label %release
set:
  %setter = inttoptr i64 %set.word to ptr
  call void %setter(i32 %kept)
  br label %release
release:
  call void @write(i64 {blas_lock}, i64 0)
  br label %done
done:
  ret void
}}
"""
