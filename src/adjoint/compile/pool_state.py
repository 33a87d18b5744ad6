"""The words that the pool of threads shares in memory, names of its functions, and how long its threads wait."""

# Words of 8 bytes of the state that all of it shares; what is written by different threads is in lines of its own.
WORDS = 160
LOCK, STARTED, WANTED, KEY = 0, 1, 2, 3
TICKET, DONE = 8, 16
REGION, ENVIRONMENT, ITEMS, CHUNK, CHUNKS, SCRATCH, LIMIT = range(24, 31)
SLEEPERS, WAITING = 32, 40
STOP, ERROR_LOCK, ERROR_CHUNK, ERROR_STATUS, ERROR_RECORD = 48, 49, 50, 51, 52
BLAS_LOCK, BLAS_COUNT, BLAS_KEPT, BLAS_GET, BLAS_SET = 56, 57, 58, 59, 60
PENALTY, ALONE = 62, 63  # how many regions run alone after one that had to wait, and how many are left
NEVER = 61  # zero: what a chunk that nobody stops looks at
MUTEX, WORK, FINISHED = 64, 96, 128  # a mutex and two conditions of pthreads

STATE = "adjoint_pool_state"
RUN, BEGIN_BLAS, END_BLAS = "adjoint_pool_run", "adjoint_pool_begin_blas", "adjoint_pool_end_blas"
SYSTEM = (
    "sched_yield", "pthread_create", "pthread_detach", "pthread_mutex_lock", "pthread_mutex_unlock",
    "pthread_cond_wait",
    "pthread_cond_timedwait", "pthread_cond_signal", "pthread_cond_broadcast", "pthread_getspecific",
    "pthread_sigmask", "sigfillset", "clock_gettime", "realloc", "free",
)  # fmt: skip

STOPPED = -99  # the status of a chunk that ended because another one failed
NO_MEMORY = -4
SPINS = 2000  # looks at the ticket before a worker sleeps: some 50 microseconds
YIELD_EVERY = 31  # looks between two of which others may run on this core, a power of two less one
LOOK_EVERY = 20_000_000  # nanoseconds between two questions to the interpreter
NAP = 5_000_000  # nanoseconds that the caller sleeps before it looks for signals again
SHORT, LATE = 1_000_000, 20_000  # nanoseconds: a region that waits so much longer than it works was held up
MOST_ALONE = 255  # regions
LARGE_SCRATCH = 2**20  # bytes that a sleeping worker does not keep
