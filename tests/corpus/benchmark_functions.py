"""Classical test functions of optimization, as textbooks write them: loops and the math module."""

import math
from functools import reduce
from operator import mul

import numpy as np

from tests.corpus.programs import Program


def ackley(x, a=20, b=0.2, c=2 * math.pi):
    d = len(x)
    sum1 = 0.0
    sum2 = 0.0
    for xi in x:
        sum1 += xi**2
        sum2 += math.cos(c * xi)
    term1 = -a * math.exp(-b * math.sqrt(sum1 / d))
    term2 = -math.exp(sum2 / d)
    return term1 + term2 + a + math.exp(1)


def griewank(x):
    total = 0.0
    product = 1.0
    for i, xi in enumerate(x, start=1):
        total += xi**2 / 4000
        product *= math.cos(xi / math.sqrt(i))
    return total - product + 1


def levy(x):
    d = len(x)
    w = []
    for i in range(d):
        w.append(1 + (x[i] - 1) / 4)
    term1 = math.sin(math.pi * w[0]) ** 2
    term3 = (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)
    total = 0.0
    for wi in w[:-1]:
        total += (wi - 1) ** 2 * (1 + 10 * math.sin(math.pi * wi + 1) ** 2)
    return term1 + total + term3


def shekel(x, m=7):
    beta = 0.1 * np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5])
    C = np.array(
        [
            [4.0, 1.0, 8.0, 6.0, 3.0, 2.0, 5.0, 8.0, 6.0, 7.0],
            [4.0, 1.0, 8.0, 6.0, 7.0, 9.0, 3.0, 1.0, 2.0, 3.6],
            [4.0, 1.0, 8.0, 6.0, 3.0, 2.0, 5.0, 8.0, 6.0, 7.0],
            [4.0, 1.0, 8.0, 6.0, 7.0, 9.0, 3.0, 1.0, 2.0, 3.6],
        ]
    )
    outer = 0.0
    for i in range(m):
        inner = 0.0
        for j in range(4):
            inner += (x[j] - C[j, i]) ** 2
        outer += 1 / (inner + beta[i])
    return -outer


def hartmann(x):
    """The one with six dimensions."""
    alpha = [1.0, 1.2, 3.0, 3.2]
    A = [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
    P = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    outer = 0
    for i in range(4):
        inner = 0
        for j in range(6):
            inner = inner + A[i][j] * (x[j] - P[i, j]) ** 2
        outer = outer + alpha[i] * np.exp(-inner)
    return -outer


def branin(x1, x2, a=1.0, r=6.0, s=10.0):
    b = 5.1 / (4 * math.pi**2)
    c = 5 / math.pi
    t = 1 / (8 * math.pi)
    return a * (x2 - b * x1**2 + c * x1 - r) ** 2 + s * (1 - t) * math.cos(x1) + s


def michalewicz(x, m=10):
    total = 0
    for i in range(len(x)):
        new = math.sin(x[i]) * math.sin((i + 1) * x[i] ** 2 / math.pi) ** (2 * m)
        total += new
    return -total


def rosenbrock(x):
    result = 0.0
    for i in range(len(x) - 1):
        result += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return result


def rastrigin(*coordinates):
    n = len(coordinates)
    return 10 * n + sum(x**2 - 10 * math.cos(2 * math.pi * x) for x in coordinates)


def schwefel(x):
    f = 418.9829 * len(x)
    for xi in x:
        f -= xi * math.sin(math.sqrt(abs(xi)))
    return f


def styblinski_tang(x):
    terms = [xi**4 - 16 * xi**2 + 5 * xi for xi in x]
    return sum(terms) / 2


def goldstein_price(x, y):
    first = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    second = 30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    return first * second


def six_hump_camel(x, y):
    if not (-3 <= x <= 3 and -2 <= y <= 2):
        return math.inf
    return (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (-4 + 4 * y**2) * y**2


def powell_singular(x):
    if len(x) % 4 != 0:
        raise ValueError("the dimension must be a multiple of four")
    total = 0.0
    for k in range(0, len(x), 4):
        a, b, c, d = x[k : k + 4]
        total += (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4
    return total


def shubert(x):
    """A product of sums."""
    sums = []
    for xi in x:
        sums.append(sum(j * math.cos((j + 1) * xi + j) for j in range(1, 6)))
    return reduce(mul, sums)


def langermann(x):
    centers = [(3, 5), (5, 2), (2, 1), (1, 4), (7, 9)]
    weights = (1, 2, 5, 2, 3)
    value = 0.0
    for c, center in zip(weights, centers):
        d2 = math.fsum((xj - aj) ** 2 for xj, aj in zip(x, center))
        value += c * math.exp(-d2 / math.pi) * math.cos(math.pi * d2)
    return value


def kowalik(x):
    """Least squares for an enzyme reaction."""
    a = [0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246]
    b = [0.25, 0.5, 1, 2, 4, 6, 8, 10, 12, 14, 16]
    residuals = np.zeros(11)
    for i in range(11):
        u = 1 / b[i]
        residuals[i] = a[i] - x[0] * (u**2 + u * x[1]) / (u**2 + u * x[2] + x[3])
    return residuals


PROGRAMS = [
    Program(ackley, (np.array([0.8, -1.3, 0.4]),)),
    Program(griewank, (np.array([2.5, -3.1, 4.2, 1.7]),)),
    Program(levy, (np.array([1.7, -0.6, 2.4, 0.3]),)),
    Program(shekel, (np.array([3.7, 4.4, 3.9, 4.6]),)),
    Program(hartmann, (np.array([0.25, 0.18, 0.42, 0.3, 0.35, 0.6]),)),
    Program(branin, (2.1, 3.4)),
    Program(michalewicz, (np.array([2.1, 1.6, 1.3, 1.9]),)),
    Program(rosenbrock, (np.array([-0.7, 0.9, 1.2, 0.5]),)),
    Program(rastrigin, (0.7, -1.2, 2.3)),
    Program(schwefel, (np.array([120.0, -75.5, 310.2]),)),
    Program(styblinski_tang, (np.array([-2.1, 0.6, 1.9]),)),
    Program(goldstein_price, (0.4, -0.7)),
    Program(six_hump_camel, (1.1, -0.4)),
    Program(powell_singular, (np.array([1.3, -0.4, 0.5, 0.9, -0.7, 0.2, 1.1, 0.3]),)),
    Program(shubert, (np.array([0.9, -1.4]),)),
    Program(langermann, (np.array([2.3, 1.4]),)),
    Program(kowalik, (np.array([0.2, 0.25, 0.15, 0.12]),)),
]
