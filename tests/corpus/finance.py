"""Finance: options, bonds, curves, portfolios and loans."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtr

from tests.corpus.programs import Program


def normal_cdf(x):
    if isinstance(x, np.ndarray):
        return ndtr(x)
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def black_scholes(spot, strike, volatility, rate=0.03, maturity=1.0, kind="call"):
    """Price of a European option."""
    if maturity <= 0:
        return max(spot - strike, 0.0)
    d1 = (math.log(spot / strike) + (rate + volatility**2 / 2) * maturity) / (volatility * math.sqrt(maturity))
    d2 = d1 - volatility * math.sqrt(maturity)
    call = spot * normal_cdf(d1) - strike * math.exp(-rate * maturity) * normal_cdf(d2)
    if kind == "put":
        return call - spot + strike * math.exp(-rate * maturity)
    return call


def implied_volatility(price, spot, strike=100.0, rate=0.02, maturity=0.5):
    """Volatility at which Black and Scholes' formula gives a price, by Newton's method."""
    sigma = 0.3
    discount = math.exp(-rate * maturity)
    for _ in range(30):
        srt = sigma * math.sqrt(maturity)
        d1 = (math.log(spot / strike) + rate * maturity) / srt + srt / 2
        value = spot * normal_cdf(d1) - strike * discount * normal_cdf(d1 - srt)
        vega = spot * math.sqrt(maturity) * math.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)
        step = (value - price) / vega
        sigma = sigma - step
        if abs(step) < 1e-12:
            return sigma
    raise ArithmeticError(f"no volatility gives {price}")


def american_put(spot, volatility, strike=100.0, rate=0.05, maturity=1.0, steps=40):
    """Price of an American put on a binomial tree."""
    dt = maturity / steps
    u = math.exp(volatility * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(rate * dt) - d) / (u - d)
    disc = math.exp(-rate * dt)
    values = [max(strike - spot * u**j * d ** (steps - j), 0.0) for j in range(steps + 1)]
    for i in range(steps - 1, -1, -1):
        for j in range(i + 1):
            hold = disc * (p * values[j + 1] + (1 - p) * values[j])
            exercise = strike - spot * u**j * d ** (i - j)
            values[j] = max(hold, exercise)
    return values[0]


def barrier_by_differences(volatility, barrier, spot=100.0, strike=95.0, rate=0.03, maturity=0.5):
    """Up-and-out call by the explicit scheme, on a grid that ends at the barrier."""
    n, steps = 20, 100
    S = np.linspace(0.0, barrier, n + 1)
    dS = barrier / n
    dt = maturity / steps
    V = np.maximum(S - strike, 0.0)
    V[-1] = 0.0
    i = slice(1, -1)
    for _ in range(steps):
        delta = (V[2:] - V[:-2]) / (2 * dS)
        gamma = (V[2:] - 2 * V[1:-1] + V[:-2]) / dS**2
        V[i] += dt * (0.5 * volatility**2 * S[i] ** 2 * gamma + rate * S[i] * delta - rate * V[i])
    return np.interp(spot, S, V)


def asian_option_on_paths(spot, volatility, shocks, strike=98.0, rate=0.02):
    """Mean payoff of an Asian call over given normal shocks, one row for each path."""
    n_paths, n_steps = shocks.shape
    dt = 1.0 / n_steps
    drift = (rate - 0.5 * volatility**2) * dt
    payoffs = np.zeros(n_paths)
    for k in range(n_paths):
        price = spot
        total = 0.0
        for z in shocks[k]:
            price *= np.exp(drift + volatility * np.sqrt(dt) * z)
            total += price
        average = total / n_steps
        if average > strike:
            payoffs[k] = average - strike
    return np.exp(-rate) * payoffs.mean()


@dataclass
class Bond:
    face: float
    coupon: float
    years: int
    frequency: int = 2

    def cash_flows(self):
        for k in range(1, self.years * self.frequency + 1):
            t = k / self.frequency
            last = k == self.years * self.frequency
            yield t, self.face * self.coupon / self.frequency + (self.face if last else 0.0)

    def price(self, y):
        return sum(c / (1 + y / self.frequency) ** (t * self.frequency) for t, c in self.cash_flows())

    def duration(self, y):
        weighted = [t * c / (1 + y / self.frequency) ** (t * self.frequency) for t, c in self.cash_flows()]
        return sum(weighted) / self.price(y)


def bond_duration(coupon, yield_to_maturity):
    """Macaulay's duration of a bond."""
    return Bond(100.0, coupon, 7).duration(yield_to_maturity)


def internal_rate(cash_flows, guess=0.1):
    """Rate at which the present value of a series of payments vanishes, by the secant method."""

    def npv(rate):
        total = 0.0
        for c in reversed(cash_flows):
            total = total / (1 + rate) + c
        return total

    r0, r1 = guess, guess + 0.01
    f0, f1 = npv(r0), npv(r1)
    while abs(f1) > 1e-11:
        r0, r1 = r1, r1 - f1 * (r1 - r0) / (f1 - f0)
        f0, f1 = f1, npv(r1)
    return r1


def bootstrapped_curve(swap_rates, times=(0.5, 1.7, 2.5, 3.4)):
    """Zero rates at some times, from par swap rates of one, two, … years."""
    discounts = []
    for rate in swap_rates:
        annuity = sum(discounts)
        discounts.append((1 - rate * annuity) / (1 + rate))
    years = np.arange(len(discounts) + 1)
    logs = np.log(np.array([1.0, *discounts]))
    return np.array([-np.interp(t, years, logs) / t for t in times])


def smooth_forward(discount_factors, time=2.3):
    """Instantaneous forward rate from a monotone cubic through the logarithms of discount factors."""
    knots = np.arange(len(discount_factors) + 1.0)
    values = np.concatenate(([0.0], -np.log(discount_factors)))
    curve = PchipInterpolator(knots, values)
    return float(curve.derivative()(time))


def tangency_portfolio(returns, volatilities, correlation=0.3, riskless=0.02):
    """Weights of the portfolio of greatest Sharpe ratio, and that ratio."""
    n = len(returns)
    cov = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            rho = 1.0 if i == j else correlation ** abs(i - j)
            cov[i, j] = rho * volatilities[i] * volatilities[j]
    excess = returns - riskless
    raw = np.linalg.solve(cov, excess)
    weights = raw / raw.sum()
    sharpe = weights @ excess / np.sqrt(weights @ cov @ weights)
    return np.append(weights, sharpe)


def max_drawdown(log_returns):
    """Greatest loss from a peak to a later trough."""
    wealth, peak, worst = 1.0, 1.0, 0.0
    for r in log_returns:
        wealth *= math.exp(r)
        peak = max(peak, wealth)
        drawdown = 1 - wealth / peak
        if drawdown > worst:
            worst = drawdown
    return worst


def garch_likelihood(returns, alpha, beta, omega=0.05):
    """Negative log-likelihood of GARCH(1, 1)."""
    if alpha + beta >= 1:
        return np.inf
    variance = omega / (1 - alpha - beta)
    nll = 0.0
    for r in returns:
        nll += 0.5 * (np.log(2 * np.pi * variance) + r**2 / variance)
        variance = omega + alpha * r**2 + beta * variance
    return nll


def mortgage_interest(principal, rate, payment=1200.0):
    """Interest that is paid until a loan with a fixed monthly payment is gone."""
    balance = principal
    interest_paid = 0.0
    months = 0
    while balance > 0:
        interest = balance * rate / 12
        if payment <= interest:
            raise ValueError("the loan is never paid back")
        interest_paid += interest
        balance = balance + interest - min(payment, balance + interest)
        months += 1
        if months > 1200:
            break
    return interest_paid


def smile_prices(strikes, parameters):
    """Prices of calls at several strikes, where a parabola in the log-moneyness gives the volatility."""
    level, skew, curvature = parameters
    forward, t = 100.0, 0.75
    k = np.log(strikes / forward)
    vol = level + skew * k + curvature * k**2
    total = vol * np.sqrt(t)
    d1 = -k / total + total / 2
    return forward * normal_cdf(d1) - strikes * normal_cdf(d1 - total)


SHOCKS = np.array([[0.4, -0.7, 1.1, 0.2], [-1.3, 0.5, 0.1, -0.4], [0.9, 0.6, -0.2, 0.3]])
RETURNS = np.array([0.02, -0.05, 0.04, -0.08, 0.01, -0.03, 0.06])

PROGRAMS = [
    Program(black_scholes, (105.0, 100.0, 0.22)),
    Program(implied_volatility, (8.5, 102.0)),
    Program(american_put, (97.3, 0.27)),
    Program(barrier_by_differences, (0.2, 130.7)),
    Program(asian_option_on_paths, (100.0, 0.25, SHOCKS)),
    Program(bond_duration, (0.04, 0.055)),
    Program(internal_rate, (np.array([-100.0, 30.0, 35.0, 40.0, 25.0]),)),
    Program(bootstrapped_curve, (np.array([0.021, 0.025, 0.028, 0.03]),)),
    Program(smooth_forward, (np.array([0.97, 0.93, 0.9, 0.85]),)),
    Program(tangency_portfolio, (np.array([0.07, 0.05, 0.09]), np.array([0.2, 0.12, 0.3]))),
    Program(max_drawdown, (RETURNS,)),
    Program(garch_likelihood, (10 * RETURNS, 0.1, 0.7)),
    Program(mortgage_interest, (150000.0, 0.045)),
    Program(smile_prices, (np.array([85.0, 95.0, 105.0, 120.0]), np.array([0.2, -0.1, 0.3]))),
]
