"""Derivatives inside, lanes, small programs, loops of Python's."""

# pyright: basic

from __future__ import annotations

import numpy as np
from memory.registry import SMALL, N, R, X, program

import adjoint as ad

# nested derivatives


def energy(x):
    return np.sum(np.sin(x) * x**2)


@program(X)
def grad_norm(x):
    return np.sum(ad.grad(energy)(x) ** 2)


@program(X)
def of_jvp(x):
    return np.sum(ad.jvp(lambda x: np.sin(x) * np.exp(x), (x,), (np.ones(N),))[1] ** 2)


@program(X)
def of_hvp(x):
    return np.sum(ad.hvp(energy, (x,), (np.ones(N),))[0] ** 2)


@program(X[:60] + 0)
def of_hessian(x):
    return np.sum(ad.hessian(lambda x: np.sum(np.sin(x) * x**2) * np.sum(x))(x) ** 2)


@program(X[:60] + 0)
def of_jacobian(x):
    return np.sum(ad.jacobian(lambda x: np.sin(x) * np.sum(x))(x) ** 2)


@program(X[:60] + 0)
def of_jacfwd(x):
    return np.sum(ad.jacfwd(lambda x: np.cumsum(np.sin(x)))(x) ** 2)


@program(X)
def of_vjp(x):
    _, back = ad.vjp(lambda x: np.sin(x) * np.exp(x), x)
    return np.sum(back(np.ones(N))[0] ** 2)


@program(X)
def of_jet(x):
    return np.sum(ad.jet(lambda x: np.sin(np.exp(x)), (x,), ((np.ones(N), np.zeros(N)),))[1][-1] ** 2)


@program(X)
def grad3(x):
    return np.sum(ad.grad(lambda x: np.sum(ad.grad(energy)(x) ** 2))(x) ** 2)


# vmap


@program(X.reshape(200, 300) + 0)
def vmap_plain(x):
    return np.sum(ad.vmap(lambda r: np.sum(np.exp(r) * r) ** 2)(x))


@program(R.normal(size=(50, 20, 20)) + 5 * np.eye(20))
def vmap_solve(x):
    return np.sum(ad.vmap(lambda a: np.linalg.solve(a, np.ones(20)))(x) ** 2)


@program(X.reshape(200, 300) + 0)
def vmap_grad(x):
    return np.sum(ad.vmap(ad.grad(lambda r: np.sum(np.sin(r) ** 2)))(x) ** 2)


@program(X.reshape(200, 300) + 0)
def vmap_if(x):
    return np.sum(ad.vmap(lambda r: np.sin(r) if np.sum(r) > 150 else np.exp(r))(x))


# small


@program(np.float64(0.3))
def tiny(x):
    return np.sin(x) * x


@program(SMALL)
def tiny_array(x):
    return np.sum(np.sin(x) * x)


@program(SMALL)
def small_sum(x):
    s = 0.0
    for k in range(20):
        s = s + x[k] ** 2
    return s


@program([np.ones((4, 4)), np.ones(4)])
def small_net(p):
    return np.sum(np.tanh(np.ones((3, 4)) @ p[0] + p[1]) ** 2)


@program(X[:1000] + 0)
def eight_kb(x):
    return np.sum(np.exp(np.sin(x)) * x)


@program(np.eye(5) * 2)
def small_solve(a):
    return np.sum(np.linalg.solve(a, np.ones(5)))


@program(SMALL)
def small_scan(x):
    return np.sum(ad.scan(lambda c, t: (np.sin(c) * t, None), x, np.linspace(0.9, 1, 50))[0])


# python loops

for turns in (10, 100, 1000, 5000):

    def scalar(x, turns=turns):
        s = x
        for _ in range(turns):
            s = np.sin(s) + 0.1 * x
        return s

    program(np.float64(0.3), f"scalar_{turns}")(scalar)

    def vec3(x, turns=turns):
        s = x
        for _ in range(turns):
            s = s * np.cos(s) + 0.1
        return np.sum(s)

    program(np.linspace(0.1, 1, 3), f"vec3_{turns}")(vec3)

    def mat(w, turns=turns):
        s = np.ones(4)
        for _ in range(turns):
            s = np.tanh(w @ s)
        return np.sum(s)

    program(np.eye(4) * 0.9, f"mat4_{turns}")(mat)

    def ind(x, turns=turns):
        s = 0.0
        for k in range(turns):
            s = s + x[k % 50] * x[(k + 1) % 50]
        return s

    program(np.linspace(0.1, 1, 50), f"index_{turns}")(ind)

    def listy(x, turns=turns):
        out = [x]
        for _ in range(turns):
            out.append(np.sin(out[-1]) * 1.01)
        return np.sum(np.stack(out))

    program(np.linspace(0.1, 1, 8), f"list_{turns}")(listy)


@program(np.linspace(0.1, 1, 1000))
def eight_kb_loop(x):
    for _ in range(300):
        x = np.sin(x) * 1.01
    return np.sum(x)


@program(np.float64(2.0))
def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@program(np.linspace(0, 1, 6))
def ode_python(y):
    for _ in range(400):
        k1 = np.sin(y)
        k2 = np.sin(y + 0.05 * k1)
        y = y + 0.1 * k2
    return np.sum(y**2)
