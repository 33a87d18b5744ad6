"""Value and gradient of seven programs, by adjoint and by its peers, side by side.

    python -m benchmarks.peers --write      all of it; renews docs/benchmarks.md and its plots
    python -m benchmarks.peers --quick      one size of each, few contenders, under two minutes; writes nothing
    python -m benchmarks.peers --only rnn,ode --contenders adjoint,jax

workloads/     one file for each program: its inputs, its value in NumPy, the derivative by hand, the peers' versions
contender.py   what a workload and a contender are
engines.py     how each library is set up and asked for a gradient
worker.py      one contender in a process of its own, which runs when it is told to
rounds.py      contenders of a workload in turn, minima
growth.py      time and compile time against the amount of work; second_process.py: compiling out of the disk cache
targets.py     what is to be reached, and whether it was; page.py, plots.py: docs/benchmarks.md
"""
