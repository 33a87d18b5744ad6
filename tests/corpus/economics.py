"""Economics: households over life, firms against each other, auctions, taxes."""

import functools
import math

import numpy as np

from tests.corpus.programs import Program


def life_cycle_consumption(interest, patience, risk_aversion=2.0, periods=12, wage=1.0):
    """First year's consumption of a household that earns, retires and saves, by backward endogenous grids."""
    savings = np.linspace(0.01, 8.0, 30)
    income = [wage * (1 + 0.04 * t) if t < 8 else 0.3 * wage for t in range(periods)]
    cash, consumption = np.array([0.0, 20.0]), np.array([0.0, 20.0])
    policies = {periods - 1: (cash, consumption)}
    for t in reversed(range(periods - 1)):
        expected = 0.0
        for shock, probability in ((0.8, 0.5), (1.2, 0.5)):
            tomorrow = (1 + interest) * savings + shock * income[t + 1]
            c_next = np.interp(tomorrow, *policies[t + 1])
            expected = expected + probability * c_next**-risk_aversion
        c = (patience * (1 + interest) * expected) ** (-1 / risk_aversion)
        policies[t] = (np.append(0.0, savings + c), np.append(0.0, c))
    return float(np.interp(2.07, *policies[0]))


def optimal_growth_value(productivity, discount, share=0.33, size=25, tol=1e-7):
    """Value of a unit of capital in the model of growth, by iteration over values on a grid."""
    grid = np.linspace(0.2, 3.0, size)
    output = productivity * grid**share + 0.6 * grid
    consumption = output[:, np.newaxis] - grid
    reward = np.full((size, size), -1e6)
    feasible = consumption > 1e-3
    reward[feasible] = np.log(consumption[feasible])
    value = np.zeros(size)
    error = 1.0
    while error > tol:
        new = (reward + discount * value).max(axis=1)
        error = np.abs(new - value).max()
        value = new
    return np.interp(1.0, grid, value)


def cournot_profits(costs, elasticity):
    """Profits where each firm's output is the best answer to the others', found by damped rounds."""
    n = len(costs)
    outputs = [0.3] * n

    def price(total):
        return 2.0 * total ** (-1 / elasticity)

    def best_reply(i):
        others = sum(outputs) - outputs[i]
        q = outputs[i]
        for _ in range(4):
            total = others + q
            p = price(total)
            dp = -p / (elasticity * total)
            d2p = p * (1 + elasticity) / (elasticity * total) ** 2
            q -= (p + q * dp - costs[i]) / (2 * dp + q * d2p)
        return q

    for _round in range(200):
        before = list(outputs)
        for i in range(n):
            outputs[i] = 0.5 * outputs[i] + 0.5 * best_reply(i)
        if max(abs(a - b) for a, b in zip(before, outputs)) < 1e-12:
            break
    p = price(sum(outputs))
    return np.array([(p - c) * q for c, q in zip(costs, outputs)])


def first_price_bids(values, shape, bidders=4, nodes=48):
    """Equilibrium bids in a sealed first-price auction with values spread by a power law on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(nodes)

    @functools.cache
    def nodes_on_unit():
        return (x + 1) / 2, w / 2

    def cdf(v):
        return 0.5 * v**shape + 0.5 * v * v

    def bid(v):
        if v <= 0:
            return 0.0
        u, du = nodes_on_unit()
        return v - v * np.dot(du, cdf(u * v) ** (bidders - 1)) / cdf(v) ** (bidders - 1)

    return np.array([bid(v) for v in values])


def quantal_response(payoffs, rationality, tol=1e-13):
    """Probabilities of a row and a column player who choose by logit, by damped iteration."""
    rows, columns = payoffs.shape
    p, q = np.ones(rows) / rows, np.ones(columns) / columns
    opposite = 1.0 - payoffs**2

    def logit(scores):
        e = np.exp(rationality * (scores - max(scores)))
        return e / e.sum()

    change = math.inf
    while change > tol:
        p_new = 0.5 * p + 0.5 * logit(payoffs @ q)
        q_new = 0.5 * q + 0.5 * logit(p_new @ opposite)
        change = abs(p_new - p).sum() + abs(q_new - q).sum()
        p, q = p_new, q_new
    return np.concatenate([p, q])


class TaxSchedule:
    """Marginal rates by brackets."""

    allowance = 0.9

    def __init__(self, *brackets):
        self.brackets = sorted(brackets, reverse=True)

    def __call__(self, income):
        due, top = 0.0, max(income - self.allowance, 0.0)
        for floor, rate in self.brackets:
            if top <= floor:
                continue
            due += rate * (top - floor)
            top = floor
        return due


class FamilySchedule(TaxSchedule):
    """The same, with income split between two."""

    def __call__(self, income):
        return 2 * super().__call__(income / 2)


def inequality_after_tax(incomes, top_rate):
    """Gini coefficient of what singles and couples keep of their incomes."""
    brackets = [(0.0, 0.1), (2.0, 0.25), (5.0, top_rate)]
    schedules = [TaxSchedule(*brackets), FamilySchedule(*brackets)]
    kept = sorted(y - schedules[i % 2](y) for i, y in enumerate(incomes))
    n = len(kept)
    weighted = sum((2 * rank - n - 1) * y for rank, y in enumerate(kept, start=1))
    return weighted / (n * sum(kept))


PAYOFFS = np.array([[0.9, 0.2, 0.4], [0.3, 0.8, 0.1]])

PROGRAMS = [
    Program(life_cycle_consumption, (0.031, 0.957)),
    Program(optimal_growth_value, (0.97, 0.83)),
    Program(cournot_profits, (np.array([0.8, 0.9, 1.05]), 1.7)),
    Program(first_price_bids, (np.array([0.2, 0.5, 0.93]), 1.6)),
    Program(quantal_response, (PAYOFFS, 1.8)),
    Program(inequality_after_tax, (np.array([1.3, 7.7, 3.4, 12.6, 2.2, 0.7]), 0.42)),
]
