"""Policies for `ad.checkpoint`: what of a function is kept for the backward pass."""

from __future__ import annotations

from adjoint.ops.checkpointing.disk import Files
from adjoint.ops.checkpointing.policies import AllBut, Everything, Named, Offloaded, Policy, Products


def names(*titles: str) -> Policy:
    """Keep the values that `checkpoint_name` has given one of these names, and nothing else.

    ```python
    layer = lambda x: np.sum(np.sin(ad.checkpoint_name(np.tanh(x), "hidden")))
    ad.grad(ad.checkpoint(layer, policy=ad.memory.names("hidden")))(0.0)  # → 1.0
    ```
    """
    return Named(titles)


def all_but_names(*titles: str) -> Policy:
    """Keep everything but the values that `checkpoint_name` has given one of these names.

    ```python
    layer = lambda x: np.sum(np.sin(ad.checkpoint_name(np.tanh(x), "hidden")))
    ad.grad(ad.checkpoint(layer, policy=ad.memory.all_but_names("hidden")))(0.0)  # → 1.0
    ```
    """
    return AllBut(titles)


def offload(policy: Policy | str, directory: str | None = None) -> Policy:
    """Keep what another policy ("everything", "products", …) keeps, in temporary files.

    In compiled functions the values stay in memory.

    ```python
    f = ad.checkpoint(lambda x: np.sum(np.sin(x)), policy=ad.memory.offload("everything"))
    ad.grad(f)(np.zeros(2))  # → [1.0, 1.0]
    ```
    """
    known = {"everything": AllBut(()), "products": Products()}
    chosen = known.get(policy) if isinstance(policy, str) else AllBut(()) if isinstance(policy, Everything) else policy
    if chosen is None:
        raise ValueError(f'offload: policy={policy!r} is not known. Give "everything", "products", or a policy.')
    return Offloaded(chosen, Files(directory))
