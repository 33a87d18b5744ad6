"""Branches over batches that are empty."""

import numpy as np

import adjoint as ad


def test_a_branch_over_an_empty_batch():
    choose = lambda x: ad.cond(x[0] > 0, lambda x: {"s": np.sin(x), "n": 1}, lambda x: {"s": np.cos(x), "n": 2}, x)
    for mapped in (ad.vmap(choose), ad.jit(ad.vmap(choose))):
        found = mapped(np.zeros((0, 3)))
        assert found["s"].shape == (0, 3)
        assert found["n"].shape == (0,)
        assert found["n"].dtype == np.int64
    assert ad.vmap(ad.jacrev(lambda x: choose(x)["s"]))(np.zeros((0, 3))).shape == (0, 3, 3)
