"""Loops with all plans, checkpoints, chains that are undone, rules of one's own, compiled functions inside."""

# pyright: basic

from __future__ import annotations

import numpy as np
from memory.derivatives import energy
from memory.registry import XL, R, X, program

import adjoint as ad

# loops


def step(i, x):
    return x + 0.01 * np.sin(x * i)


for cname, plan in {
    "none": None,
    "slots6": 6,
    "halving": "halving",
    "full": "full",
    "kept": ad.memory.CheckpointsAt((4, 9, 14)),
    "disk": ad.memory.Disk(slots=4),
    "diskall": ad.memory.Disk(),
    "online": ad.memory.Online(4),
}.items():
    program(X, "fori_" + cname)(lambda x, plan=plan: np.sum(ad.fori_loop(0, 24, step, x, checkpoint=plan) ** 2))
for cname, plan in {
    "none": None,
    "slots4": 4,
    "halving": "halving",
    "full": "full",
    "invertible": ad.memory.Invertible(),
}.items():
    program(X, "scan_" + cname)(
        lambda x, plan=plan: np.sum(
            ad.scan(lambda c, t: (c * 1.01 + np.sin(t), c[0] * t), x, np.linspace(0, 1, 20), checkpoint=plan)[0] ** 2
        )
    )
for cname, plan in {
    "none": None,
    "slots4": 4,
    "online": "online",
    "full": "full",
    "disk": ad.memory.Disk(slots=3),
}.items():
    program(X, "while_" + cname)(
        lambda x, plan=plan: np.sum(
            ad.while_loop(lambda x: x[-1] < 10, lambda x: x * 1.1 + 0.01 * np.sin(x), x, checkpoint=plan) ** 2
        )
    )
XS = R.normal(size=(100, 32, 64))
W = R.normal(size=(64, 64)) / 8


@program(W)
def rnn(w):
    _, ys = ad.scan(lambda h, x: ((n := np.tanh(h @ w + x)), n), np.zeros((32, 64)), XS)
    return np.sum(ys**2)


@program(W)
def rnn_slots(w):
    _, ys = ad.scan(lambda h, x: ((n := np.tanh(h @ w + x)), np.sum(n)), np.zeros((32, 64)), XS, checkpoint=6)
    return np.sum(ys**2)


@program(XS)
def scan_xs(xs):
    _, ys = ad.scan(lambda h, x: ((n := np.tanh(h @ W + x)), np.sum(n)), np.zeros((32, 64)), xs)
    return np.sum(ys**2)


@program(X)
def ad_map(x):
    return np.sum(ad.map(lambda r: np.sum(np.sin(r)), x.reshape(100, 600)))


@program(X)
def assoc(x):
    return np.sum(ad.associative_scan(lambda a, b: a * b + b, x) ** 2)


@program(X)
def cond_fn(x):
    return np.sum(ad.cond(np.sum(x) > 0, lambda x: np.sin(np.exp(x)), lambda x: np.cos(x), x))


@program(X)
def switch_fn(x):
    return np.sum(ad.switch(1, [np.sin, lambda x: np.exp(np.sin(x)) * x, np.cos], x))


@program(X)
def scan_of_cond(x):
    return np.sum(ad.scan(lambda c, t: (ad.cond(t > 0.5, np.sin, np.cos, c), None), x, np.linspace(0, 1, 10))[0])


# checkpoint


def deep(x):
    for _ in range(5):
        x = np.sin(np.cos(x)) * 1.1
    return x


for pname, pol in {
    "nothing": None,
    "everything": "everything",
    "fn": lambda f: f.operation == "cos",
    "offload": ad.memory.offload("everything"),
}.items():
    program(X, "checkpoint_" + pname)(lambda x, pol=pol: np.sum((g := ad.checkpoint(deep, policy=pol))(g(g(x)))))
WS = [R.normal(size=(150, 150)) / 12 for _ in range(6)]
BATCH = R.normal(size=(200, 150))


def block(h, w):
    return np.tanh(h @ w) + h


@program(WS)
def net(ws):
    h = BATCH
    for w in ws:
        h = block(h, w)
    return np.sum(h**2)


@program(WS)
def net_products(ws):
    h = BATCH
    b = ad.checkpoint(block, policy="products")
    for w in ws:
        h = b(h, w)
    return np.sum(h**2)


@program(WS)
def net_names(ws):
    h = BATCH
    b = ad.checkpoint(lambda h, w: ad.checkpoint_name(np.tanh(h @ w), "t") + h, policy=ad.memory.names("t"))
    for w in ws:
        h = b(h, w)
    return np.sum(h**2)


# reversible


@program(X)
def rev_coupling(x):
    return np.sum(ad.reversible(*[ad.memory.coupling(np.sin, np.cos)] * 8)((x, x * 2))[0])


@program(X)
def rev_momentum(x):
    return np.sum(ad.reversible(*[ad.memory.momentum(np.tanh)] * 5)((x, x * 2))[0])


@program(X)
def rev_leapfrog(x):
    return np.sum(ad.reversible(*[ad.memory.leapfrog(lambda q: -np.sin(q), 0.05)] * 20)((x, 0 * x))[0])


# custom


@ad.custom_rule(jvp=lambda p, t: (np.floor(p[0]), t[0]))
def straight(x):
    return np.floor(x)


@program(X)
def custom_jvp(x):
    return np.sum(straight(x * 10) ** 2)


@ad.custom_rule(vjp=lambda x: (np.sin(x), lambda ct: (ct * np.cos(x),)))
def own_sin(x):
    return np.sin(x)


@program(X)
def custom_vjp(x):
    return np.sum(own_sin(own_sin(x)) ** 2)


# jit inside

jitted = ad.jit(lambda x: np.tanh(np.sin(x) * x))


@program(XL)
def jit_inside(x):
    return np.sum(jitted(x) ** 2)


@program(XL)
def jit_chain(x):
    for _ in range(4):
        x = jitted(x)
    return np.sum(x)


jloop = ad.jit(lambda x: ad.fori_loop(0, 30, lambda i, x: x + 0.01 * np.sin(x), x, checkpoint=5))


@program(XL)
def jit_loop(x):
    return np.sum(jloop(x) ** 2)


jnet = ad.jit(block)
BATCHL = R.normal(size=(2000, 600))


@program([R.normal(size=(600, 600)) / 30 for _ in range(6)])
def jit_net(ws):
    h = BATCHL
    for w in ws:
        h = jnet(h, w)
    return np.sum(h**2)


jsolve = ad.jit(lambda a: np.linalg.solve(a, np.ones(1500)))
BA = R.normal(size=(1500, 1500)) / 40 + 3 * np.eye(1500)


@program(BA)
def jit_solve(a):
    return np.sum(jsolve(a) ** 2)


slope = ad.jit(ad.grad(energy))


@program(XL)
def jit_of_grad_inside(x):
    return np.sum(slope(x) ** 2)


jmask = ad.jit(lambda x: np.sum(np.where(x > 0.5, np.sin(x), x)))


@program(XL)
def jit_in_loop(x):
    s = 0.0
    for k in range(5):
        s = s + jmask(x * k)
    return s
