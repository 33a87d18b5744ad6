"""Recurrent functions that are differentiated in practice: a network, an equation of motion, a chain of labels."""

import numpy as np

import adjoint as ad

rng = np.random.default_rng(4)


def network(w, u, b, v, xs, ys):
    """Mean squared error of hₜ = tanh(W hₜ₋₁ + U xₜ + b), read out by v."""

    def step(h, a):
        h = np.tanh(w @ h + a)
        return h, h

    _, hs = ad.scan(step, np.zeros(len(b)), xs @ u.T + b)
    return 0.5 * np.mean((hs @ v - ys) ** 2)


def network_arguments(iterations=5, size=3, inputs=2):
    return (
        0.4 * rng.standard_normal((size, size)),
        rng.standard_normal((size, inputs)),
        rng.standard_normal(size),
        rng.standard_normal(size),
        rng.standard_normal((iterations, inputs)),
        rng.standard_normal(iterations),
    )


def prey_and_predators(theta, start, target, iterations=6, dt=0.05):
    """Distance from the target after some steps of Runge and Kutta for x' = ax - bxy, y' = cxy - dy."""
    a, b, c, d = theta[0], theta[1], theta[2], theta[3]

    def rates(x, y):
        return a * x - b * x * y, c * x * y - d * y

    def step(s, _):
        x, y = s
        k1, l1 = rates(x, y)
        k2, l2 = rates(x + dt / 2 * k1, y + dt / 2 * l1)
        k3, l3 = rates(x + dt / 2 * k2, y + dt / 2 * l2)
        k4, l4 = rates(x + dt * k3, y + dt * l3)
        return (x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y + dt / 6 * (l1 + 2 * l2 + 2 * l3 + l4)), None

    (x, y), _ = ad.scan(step, (start[0], start[1]), None, length=iterations)
    return 0.5 * ((x - target[0]) ** 2 + (y - target[1]) ** 2)


def motion_arguments():
    return np.array([1.1, 0.4, 0.1, 0.4]), np.array([10.0, 5.0]), np.array([8.0, 3.0])


def log_sum_exp(m):
    """log Σ exp over the first axis."""
    top = m.max(0)
    return np.log(np.exp(m - top).sum(0)) + top


def chain(scores, moves):
    """The logarithm of the sum over all paths through a chain of labels."""
    last, _ = ad.scan(lambda a, e: (e + log_sum_exp(a[:, None] + moves), None), scores[0], scores[1:])
    return log_sum_exp(last)


def chain_arguments(iterations=6, labels=4):
    return rng.standard_normal((iterations, labels)), rng.standard_normal((labels, labels))
