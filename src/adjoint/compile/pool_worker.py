"""What a worker of the pool does, as LLVM's text: take chunks, run them, wait, sleep; see `pool_code`."""

TEMPLATE = """
@{state} = external global [{words} x i64]

{declared}
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @sched_yield()
declare i32 @pthread_detach(i64)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare ptr @pthread_getspecific(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @clock_gettime(i32, ptr)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)

define internal ptr @word(i64 %k) alwaysinline nounwind {{
  %p = getelementptr i64, ptr @{state}, i64 %k
  ret ptr %p
}}

define internal i64 @read(i64 %k) alwaysinline nounwind {{
  %p = getelementptr i64, ptr @{state}, i64 %k
  %v = load atomic i64, ptr %p acquire, align 8
  ret i64 %v
}}

define internal void @write(i64 %k, i64 %v) alwaysinline nounwind {{
  %p = getelementptr i64, ptr @{state}, i64 %k
  store atomic i64 %v, ptr %p release, align 8
  ret void
}}

define internal void @hold(i64 %k) nounwind noinline {{
entry:
  %p = call ptr @word(i64 %k)
  br label %try
try:
  %old = atomicrmw xchg ptr %p, i64 1 seq_cst
  %free = icmp eq i64 %old, 0
  br i1 %free, label %held, label %wait
wait:
  {pause}
  %now = load atomic i64, ptr %p monotonic, align 8
  %is = icmp eq i64 %now, 0
  br i1 %is, label %try, label %wait
held:
  ret void
}}

; Whoever waits lets others run who wait for this core.
define internal void @pass(i64 %count) alwaysinline nounwind {{
entry:
  %low = and i64 %count, {yield_every}
  %now = icmp eq i64 %low, 0
  br i1 %now, label %yield, label %done
yield:
  %r = call i32 @sched_yield()
  br label %done
done:
  ret void
}}

define internal i64 @clock(i32 %which) nounwind noinline {{
  %t = alloca [2 x i64], align 8
  %r = call i32 @clock_gettime(i32 %which, ptr %t)
  %s = load i64, ptr %t
  %q = getelementptr i64, ptr %t, i64 1
  %n = load i64, ptr %q
  %m = mul i64 %s, 1000000000
  %a = add i64 %m, %n
  ret i64 %a
}}

; What a chunk left is noted if no earlier chunk left something; the others are told to stop.
define internal void @note(i64 %number, i64 %status, ptr %record) nounwind noinline {{
entry:
  %own = icmp eq i64 %status, {stopped}
  br i1 %own, label %done, label %look
look:
  call void @hold(i64 {error_lock})
  %first = call i64 @read(i64 {error_chunk})
  %earlier = icmp slt i64 %number, %first
  br i1 %earlier, label %keep, label %release
keep:
  call void @write(i64 {error_chunk}, i64 %number)
  call void @write(i64 {error_status}, i64 %status)
  %to = call ptr @word(i64 {error_record})
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %record, i64 32, i1 false)
  br label %release
release:
  call void @write(i64 {stop}, i64 1)
  call void @write(i64 {error_lock}, i64 0)
  br label %done
done:
  ret void
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Run one chunk of the region that is being worked on.
define internal i64 @chunk(ptr %region, ptr %environment, i64 %items, i64 %size, i64 %number,
    ptr %scratch, ptr %record) nounwind {{
  %first = mul i64 %number, %size
  %end = add i64 %first, %size
  %short = icmp slt i64 %items, %end
  %last = select i1 %short, i64 %items, i64 %end
  %status = call i64 %region(ptr %environment, i64 %first, i64 %last, i64 %number, ptr %scratch, ptr %record)
  ret i64 %status
}}

define internal ptr @work(ptr %argument) nounwind noinline {{
entry:
  %record = alloca [8 x i64], align 64
  %scratch.slot = alloca ptr, align 8
  %scratch.size = alloca i64, align 8
  store ptr null, ptr %scratch.slot
  store i64 0, ptr %scratch.size
  %stop.word = call ptr @word(i64 {stop})
  %record.stop = getelementptr i64, ptr %record, i64 4
  store ptr %stop.word, ptr %record.stop
  %record.caller = getelementptr i64, ptr %record, i64 5
  store i64 0, ptr %record.caller
  %own = ptrtoint ptr %argument to i64
  %ticket.word = call ptr @word(i64 {ticket})
  br label %begin
begin:
  br label %spin
spin:
  %count = phi i64 [ 0, %begin ], [ %more, %again ]
  %ticket = load atomic i64, ptr %ticket.word acquire, align 8
  %next = and i64 %ticket, 4294967295
  %chunks = call i64 @read(i64 {chunks})
  %limit = call i64 @read(i64 {limit})
  %has = icmp slt i64 %next, %chunks
  %may = icmp slt i64 %own, %limit
  %both = and i1 %has, %may
  br i1 %both, label %take, label %again
again:
  {pause}
  %more = add i64 %count, 1
  call void @pass(i64 %more)
  %long = icmp sge i64 %more, {spins}
  br i1 %long, label %rest, label %spin
take:
  %region.word = call i64 @read(i64 {region})
  %region = inttoptr i64 %region.word to ptr
  %environment.word = call i64 @read(i64 {environment})
  %environment = inttoptr i64 %environment.word to ptr
  %items = call i64 @read(i64 {items})
  %size = call i64 @read(i64 {chunk})
  %need = call i64 @read(i64 {scratch})
  %following = add i64 %ticket, 1
  %pair = cmpxchg ptr %ticket.word, i64 %ticket, i64 %following seq_cst seq_cst
  %taken = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %taken, label %memory, label %begin
memory:
  %stopped = call i64 @read(i64 {stop})
  %is.stopped = icmp ne i64 %stopped, 0
  br i1 %is.stopped, label %finished, label %enough
enough:
  %have = load i64, ptr %scratch.size
  %little = icmp slt i64 %have, %need
  br i1 %little, label %grow, label %run
grow:
  %old = load ptr, ptr %scratch.slot
  call void @free(ptr %old)
  %new = call ptr @realloc(ptr null, i64 %need)
  store ptr %new, ptr %scratch.slot
  %none = icmp eq ptr %new, null
  br i1 %none, label %without, label %grown
grown:
  store i64 %need, ptr %scratch.size
  br label %run
without:
  store i64 0, ptr %scratch.size
  call void @note(i64 %next, i64 {no_memory}, ptr %record)
  br label %finished
run:
  %scratch = load ptr, ptr %scratch.slot
  %status = call i64 @chunk(ptr %region, ptr %environment, i64 %items, i64 %size, i64 %next,
    ptr %scratch, ptr %record)
  %bad = icmp ne i64 %status, 0
  br i1 %bad, label %failed, label %finished
failed:
  call void @note(i64 %next, i64 %status, ptr %record)
  br label %finished
finished:
  %done.word = call ptr @word(i64 {done})
  %before = atomicrmw add ptr %done.word, i64 1 seq_cst
  %count.done = add i64 %before, 1
  %all = icmp eq i64 %count.done, %chunks
  br i1 %all, label %tell, label %begin
tell:
  %waiting.word = call ptr @word(i64 {waiting})
  %waiting = load atomic i64, ptr %waiting.word seq_cst, align 8
  %is.waiting = icmp ne i64 %waiting, 0
  br i1 %is.waiting, label %signal, label %begin
signal:
  %mutex = call ptr @word(i64 {mutex})
  %condition = call ptr @word(i64 {finished})
  %s1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %s2 = call i32 @pthread_cond_signal(ptr %condition)
  %s3 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %begin
rest:
  %held = load i64, ptr %scratch.size
  %large = icmp sgt i64 %held, {large_scratch}
  br i1 %large, label %give, label %sleep
give:
  %unused = load ptr, ptr %scratch.slot
  call void @free(ptr %unused)
  store ptr null, ptr %scratch.slot
  store i64 0, ptr %scratch.size
  br label %sleep
sleep:
  %m = call ptr @word(i64 {mutex})
  %c = call ptr @word(i64 {work})
  %r1 = call i32 @pthread_mutex_lock(ptr %m)
  %sleepers = call ptr @word(i64 {sleepers})
  %r2 = atomicrmw add ptr %sleepers, i64 1 seq_cst
  br label %check
check:
  %t = load atomic i64, ptr %ticket.word seq_cst, align 8
  %n = and i64 %t, 4294967295
  %c.chunks = call i64 @read(i64 {chunks})
  %c.limit = call i64 @read(i64 {limit})
  %c.has = icmp slt i64 %n, %c.chunks
  %c.may = icmp slt i64 %own, %c.limit
  %c.both = and i1 %c.has, %c.may
  br i1 %c.both, label %wake, label %wait
wait:
  %r3 = call i32 @pthread_cond_wait(ptr %c, ptr %m)
  br label %check
wake:
  %r4 = atomicrmw sub ptr %sleepers, i64 1 seq_cst
  %r5 = call i32 @pthread_mutex_unlock(ptr %m)
  br label %begin
}}
"""
