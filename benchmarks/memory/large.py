"""Hundreds of megabytes, and programs that are compiled as a whole."""

# pyright: basic

from __future__ import annotations

import functools

import numpy as np
from memory.arrays import K
from memory.derivatives import energy
from memory.flow import BATCHL, block, jitted, step
from memory.registry import BIG, PROGRAMS, XL, R, program

import adjoint as ad

# large


@program(BIG)
def big_chain(x):
    return np.sum(np.exp(np.sin(x)) * x)


@program(BIG)
def big_variables(x):
    a = np.exp(x)
    b = a * x
    c = np.tanh(b) + a
    return np.sum(c / b)


BA = R.normal(size=(1500, 1500)) / 40 + 3 * np.eye(1500)


@program(BA)
def big_solve(a):
    return np.sum(np.linalg.solve(a, np.ones(1500)) ** 2)


@program(BA)
def big_matmul(a):
    return np.sum(np.tanh(a @ a) @ a)


@program(R.normal(size=(700, 700)))
def big_eigh(a):
    w, v = np.linalg.eigh(a + a.T)
    return np.sum(w**3) + np.sum(v**4)


@program(R.normal(size=(700, 500)))
def big_svd(a):
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return np.sum(s**3) + np.sum(u**3)


@program(BIG)
def big_fft(x):
    return np.sum(np.abs(np.fft.rfft(x)) ** 2)


@program(BIG)
def big_slots(x):
    return np.sum(ad.fori_loop(0, 20, step, x, checkpoint=3) ** 2)


@program(BIG)
def big_jit(x):
    return np.sum(jitted(x) ** 2)


@program(BIG)
def big_sort(x):
    return np.sum(np.sort(x)[:10])


# compiled as a whole
SEQUENCE = R.normal(size=(100, 200, 300))
IMAGES = R.normal(size=(12, 3, 160, 160))


def compiled(x, name, f):
    PROGRAMS[f"jit:{name}"] = (ad.jit(f), x)


for name in [name for name in PROGRAMS if name.startswith("big_") and name != "big_jit"]:
    compiled(PROGRAMS[name][1], name, PROGRAMS[name][0])
SAME = """fori_none fori_halving fori_full fori_kept scan_none scan_slots4 scan_invertible rev_coupling rev_leapfrog
    grad_norm slices stacked where while_slots4 checkpoint_nothing checkpoint_everything in_place_ops
    special_gammaln custom_vjp cumulative rolled special_erf cond_fn"""
for name in SAME.split():
    compiled(XL, name, PROGRAMS[name][0])
compiled(XL + 1j * XL, "complex128", PROGRAMS["complex128"][0])
compiled(XL.astype(np.float32), "float32", PROGRAMS["float32"][0])
compiled(XL, "of_hvp", lambda x: np.sum(ad.hvp(energy, (x,), (np.ones(2_000_000),))[0] ** 2))
WEIGHTS = [R.normal(size=(600, 600)) / 30 for _ in range(6)]
compiled(WEIGHTS, "net", lambda ws: np.sum(functools.reduce(block, ws, BATCHL) ** 2))
compiled(R.normal(size=(800, 800)) / 30, "expm", lambda a: np.sum(ad.scipy.linalg.expm(a) ** 2))
compiled(R.normal(size=(16, 8, 256, 64)), "attention", PROGRAMS["attention"][0])
compiled(R.normal(size=(2000, 1000)), "layernorm", PROGRAMS["layernorm"][0])
compiled(np.linspace(0.1, 1, 600), "of_hessian", PROGRAMS["of_hessian"][0])
compiled(K, "conv", lambda k: np.sum(ad.signal.max_pool(np.maximum(ad.signal.conv(IMAGES, k), 0), 2) ** 2))


def recurrent(w):
    _, ys = ad.scan(lambda h, x: ((n := np.tanh(h @ w + x)), n), np.zeros((200, 300)), SEQUENCE)
    return np.sum(ys**2)


compiled(R.normal(size=(300, 300)) / 17, "rnn", recurrent)
