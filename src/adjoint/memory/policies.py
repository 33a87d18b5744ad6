"""Policies for `ad.checkpoint`: what of a function is kept for the way back."""

from __future__ import annotations

from adjoint.ops.checkpointing.disk import Files
from adjoint.ops.checkpointing.policies import AllBut, Everything, Named, Offloaded, Policy, Products


def names(*given: str) -> Policy:
    """Keep the values that `checkpoint_name` has given one of these names, and nothing else."""
    return Named(given)


def all_but_names(*given: str) -> Policy:
    """Keep everything but the values that `checkpoint_name` has given one of these names."""
    return AllBut(given)


def offload(policy: Policy | str, directory: str | None = None) -> Policy:
    """Keep what another policy ("everything", "products", …) keeps, in temporary files.

    In compiled functions the values stay in memory.
    """
    known = {"everything": AllBut(()), "products": Products()}
    chosen = known.get(policy) if isinstance(policy, str) else AllBut(()) if isinstance(policy, Everything) else policy
    if chosen is None:
        raise ValueError(f'offload: policy={policy!r} is not known. Give "everything", "products", or a policy.')
    return Offloaded(chosen, Files(directory))
