"""Less memory in the backward pass: plans for loops, their schedules, what functions keep, layers that can be undone.

ad.scan(body, init, xs, checkpoint=6)                 six states at once, and iterations computed again
ad.memory.schedule(ad.memory.Revolve(6), 64).calls    how many: 156
ad.checkpoint(f, policy="products")                   of a function, the results of matrix products alone
ad.memory_report(f)(x)                                how much memory value and gradient will take, by line
"""

from adjoint.memory.policies import all_but_names, names, offload
from adjoint.memory.report import MemoryReport, memory_report
from adjoint.memory.reversible import Chain, coupling, leapfrog, momentum, reversible
from adjoint.memory.schedules import Schedule, fewest_calls, longest, schedule
from adjoint.ops.checkpointing.invertible import Invertible
from adjoint.ops.checkpointing.policies import Intermediate, Policy
from adjoint.ops.checkpointing.schedule import CheckpointsAt, Disk, Halving, Online, Plan, Recompute, Revolve

__all__ = [
    "Chain",
    "CheckpointsAt",
    "Disk",
    "Halving",
    "Intermediate",
    "Invertible",
    "MemoryReport",
    "Online",
    "Plan",
    "Policy",
    "Recompute",
    "Revolve",
    "Schedule",
    "all_but_names",
    "coupling",
    "fewest_calls",
    "leapfrog",
    "longest",
    "memory_report",
    "momentum",
    "names",
    "offload",
    "reversible",
    "schedule",
]
