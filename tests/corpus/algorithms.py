"""Algorithms of first courses: roots, integrals, sorting, trees, polygons."""

import bisect
import cmath
import contextlib
import heapq
import math

import numpy as np

from tests.corpus.programs import Program


def bisected_root(target, scale):
    """Solve scale * (x + exp(x)) = target by halving, then polish with one Newton step."""
    lo, hi = -5.0, 5.0

    def f(x):
        return scale * (x + math.exp(x)) - target

    assert f(lo) * f(hi) < 0, "no change of sign"
    while hi - lo > 1e-9:
        mid = 0.5 * (lo + hi)
        if f(mid) == 0:
            lo = hi = mid
        elif f(lo) * f(mid) < 0:
            hi = mid
        else:
            lo = mid
    x = 0.5 * (lo + hi)
    return x - f(x) / (scale * (1 + math.exp(x)))


def newton_root(coefficients, start=2.0):
    """Root of a polynomial: Horner's rule for value and slope in each Newton step."""
    x = start
    for _ in range(50):
        value, slope = 0.0, 0.0
        for c in coefficients:
            slope = slope * x + value
            value = value * x + c
        step = value / slope
        x = x - step
        if abs(step) < 1e-13:
            break
    else:
        raise RuntimeError("no convergence")
    return x


def secant_volume(pressure, temperature, a=3.6, b=0.0427):
    """Molar volume of a van der Waals gas by the secant method."""
    R = 0.082057

    def excess(v):
        return (pressure + a / v**2) * (v - b) - R * temperature

    v0 = R * temperature / pressure
    v1 = v0 * 0.95
    f0, f1 = excess(v0), excess(v1)
    iterations = 0
    while abs(v1 - v0) > 1e-12 and f1 != f0:
        v0, v1 = v1, v1 - f1 * (v1 - v0) / (f1 - f0)
        f0, f1 = f1, excess(v1)
        iterations += 1
        if iterations > 60:
            break
    return v1


def romberg_integral(a, b, frequency):
    """Romberg's table for the integral of exp(-x/2) sin(frequency x)."""
    f = lambda x: math.exp(-x / 2) * math.sin(frequency * x)
    levels = 6
    R = np.zeros((levels, levels))
    h = b - a
    R[0, 0] = h / 2 * (f(a) + f(b))
    for i in range(1, levels):
        h /= 2
        middle = sum(f(a + k * h) for k in range(1, 2**i, 2))
        R[i, 0] = R[i - 1, 0] / 2 + h * middle
        for j in range(1, i + 1):
            R[i, j] = R[i, j - 1] + (R[i, j - 1] - R[i - 1, j - 1]) / (4**j - 1)
    return R[-1, -1]


def adaptive_simpson(center, width):
    """Integral of a peak over [0, 1]: intervals are halved where they are not good enough."""

    def f(x):
        return 1.0 / (width**2 + (x - center) ** 2)

    def simpson(fa, fm, fb, h):
        return h / 6 * (fa + 4 * fm + fb)

    def integrate(a, b, fa, fm, fb, whole, tol, depth):
        m = (a + b) / 2
        fl, fr = f((a + m) / 2), f((m + b) / 2)
        left, right = simpson(fa, fl, fm, m - a), simpson(fm, fr, fb, b - m)
        error = left + right - whole
        if depth == 0 or abs(error) < 15 * tol:
            return left + right + error / 15
        below = integrate(a, m, fa, fl, fm, left, tol / 2, depth - 1)
        return below + integrate(m, b, fm, fr, fb, right, tol / 2, depth - 1)

    fa, fm, fb = f(0.0), f(0.5), f(1.0)
    return integrate(0.0, 1.0, fa, fm, fb, simpson(fa, fm, fb, 1.0), 1e-6, 20)


def upper_gamma_fraction(s, x):
    """Upper incomplete gamma function by the continued fraction, with the method of Lentz."""
    tiny = 1e-300
    b = x + 1 - s
    c = 1 / tiny
    d = 1 / b
    h = d
    for i in range(1, 200):
        an = -i * (i - s)
        b += 2
        d = an * d + b
        if abs(d) < tiny:
            d = tiny
        c = b + an / c
        d = 1 / d
        delta = c * d
        h *= delta
        if abs(delta - 1) < 1e-14:
            break
    return math.exp(-x + s * math.log(x)) * h


def recursive_power_spectrum(signal):
    """Power spectrum by the recursive fast Fourier transform on lists of complex numbers."""

    def fft(values):
        n = len(values)
        if n == 1:
            return values
        even, odd = fft(values[0::2]), fft(values[1::2])
        twiddled = [cmath.exp(-2j * cmath.pi * k / n) * odd[k] for k in range(n // 2)]
        plus = [e + t for e, t in zip(even, twiddled)]
        return plus + [e - t for e, t in zip(even, twiddled)]

    assert len(signal) & (len(signal) - 1) == 0, "length must be a power of two"
    return np.array([abs(z) ** 2 for z in fft([complex(s) for s in signal])])


def convex_hull_area(points):
    """Area of the convex hull: monotone chain, then the shoelace formula."""

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    ordered = sorted(points, key=lambda p: (p[0], p[1]))

    def chain(sequence):
        hull = []
        for p in sequence:
            while len(hull) >= 2 and cross(hull[-2], hull[-1], p) <= 0:
                hull.pop()
            hull.append(p)
        return hull[:-1]

    hull = chain(ordered) + chain(ordered[::-1])
    area = 0.0
    for i, p in enumerate(hull):
        q = hull[(i + 1) % len(hull)]
        area += p[0] * q[1] - q[0] * p[1]
    return area / 2


def network_sorted_gaps(values):
    """Batcher's sorting network in place, then the squared gaps between neighbors."""
    a = values.copy()
    n = len(a)
    k = 2
    while k <= n:
        j = k // 2
        while j > 0:
            for i in range(n):
                partner = i ^ j
                if partner > i:
                    ascending = (i & k) == 0
                    if (a[i] > a[partner]) == ascending:
                        a[i], a[partner] = a[partner], a[i]
            j //= 2
        k *= 2
    return (a[1:] - a[:-1]) ** 2


def table_lookup(x, knots, heights):
    """Piecewise cubic Hermite interpolation; the interval is found by binary search."""
    if x <= knots[0]:
        return heights[0]
    if x >= knots[-1]:
        return heights[-1]
    i = bisect.bisect_right(list(knots), x) - 1
    n = len(knots)

    def slope(j):
        left, right = max(j - 1, 0), min(j + 1, n - 1)
        return (heights[right] - heights[left]) / (knots[right] - knots[left])

    h = knots[i + 1] - knots[i]
    t = (x - knots[i]) / h
    return (
        (1 + 2 * t) * (1 - t) ** 2 * heights[i]
        + t * (1 - t) ** 2 * h * slope(i)
        + t**2 * (3 - 2 * t) * heights[i + 1]
        + t**2 * (t - 1) * h * slope(i + 1)
    )


def merged_discounted_sum(first, second, discount):
    """Merge sorted streams with a heap and weigh the values by their rank."""
    streams = [iter(sorted(first)), iter(sorted(second))]
    heap = []
    for number, stream in enumerate(streams):
        head = next(stream, None)
        if head is not None:
            heapq.heappush(heap, (head, number))
    merged = []
    while heap:
        value, number = heapq.heappop(heap)
        merged.append(value)
        with contextlib.suppress(StopIteration):
            heapq.heappush(heap, (next(streams[number]), number))
    return sum(discount**rank * value for rank, value in enumerate(merged))


def expression_tree(x, y):
    """Value of a formula in a tree, by a walk with an explicit stack."""
    tree = ("+", ("*", "x", ("sin", "y")), ("/", ("exp", ("-", "y", "x")), ("+", "x", 2.0)))
    arity = {"+": 2, "-": 2, "*": 2, "/": 2, "sin": 1, "exp": 1}
    operations = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "sin": math.sin,
        "exp": math.exp,
    }
    variables = {"x": x, "y": y}
    stack, output = [tree], []
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            output.append(node[0])
            stack.extend(node[1:])
        else:
            output.append(variables.get(node, node))
    values = []
    for item in reversed(output):
        if isinstance(item, str):
            arguments = [values.pop() for _ in range(arity[item])]
            values.append(operations[item](*arguments[::-1]))
        else:
            values.append(item)
    return values[0]


def tridiagonal_solution(lower, diagonal, upper):
    """Thomas' algorithm with sweeps in place, for a right-hand side of ones."""
    n = len(diagonal)
    d = diagonal.copy()
    rhs = np.ones(n)
    for i in range(1, n):
        w = lower[i - 1] / d[i - 1]
        d[i] -= w * upper[i - 1]
        rhs[i] -= w * rhs[i - 1]
    rhs[-1] /= d[-1]
    for i in range(n - 2, -1, -1):
        rhs[i] = (rhs[i] - upper[i] * rhs[i + 1]) / d[i]
    return rhs


def gauss_determinant(matrix):
    """Determinant by elimination with row exchanges."""
    A = np.array(matrix, dtype=float)
    n = A.shape[0]
    det = 1.0
    for k in range(n):
        p = k + int(np.argmax(np.abs(A[k:, k])))
        if abs(A[p, k]) < 1e-14:
            return 0.0
        if p != k:
            A[[k, p]] = A[[p, k]]
            det = -det
        det *= A[k, k]
        for i in range(k + 1, n):
            A[i, k:] -= A[i, k] / A[k, k] * A[k, k:]
    return det


def shortest_path(weights):
    """Cheapest way through a small network: Dijkstra's algorithm with a heap and a dictionary."""
    names = ["a-b", "a-c", "b-d", "c-d", "b-e", "d-e", "c-f", "e-f"]
    graph = {}
    for name, w in zip(names, weights):
        u, v = name.split("-")
        graph.setdefault(u, []).append((v, w))
        graph.setdefault(v, []).append((u, w))
    best = {"a": 0.0}
    done = set()
    queue = [(0.0, "a")]
    while queue:
        cost, node = heapq.heappop(queue)
        if node in done:
            continue
        done.add(node)
        if node == "f":
            return cost
        for other, w in graph[node]:
            if cost + w < best.get(other, math.inf):
                best[other] = cost + w
                heapq.heappush(queue, (best[other], other))
    return math.inf


def accelerated_series(x):
    """Logarithm of 1 + x by its slow series, sped up with Aitken's process on a generator of partial sums."""

    def partial_sums():
        total, sign, power, k = 0.0, 1.0, 1.0, 0
        while True:
            k += 1
            power *= x
            total += sign * power / k
            sign = -sign
            yield total

    window, previous = [], None
    for s in partial_sums():
        window.append(s)
        if len(window) < 3:
            continue
        a, b, c = window[-3:]
        bend = c - 2 * b + a
        if bend == 0:
            return c
        estimate = c - (c - b) ** 2 / bend
        if previous is not None and abs(estimate - previous) < 1e-9:
            return estimate
        previous = estimate


PROGRAMS = [
    Program(bisected_root, (2.7, 1.3)),
    Program(newton_root, (np.array([1.0, -0.5, -2.0, 0.3]),)),
    Program(secant_volume, (12.0, 320.0)),
    Program(romberg_integral, (0.2, 3.1, 1.7)),
    Program(adaptive_simpson, (0.43, 0.21)),
    Program(upper_gamma_fraction, (1.6, 3.4)),
    Program(recursive_power_spectrum, (np.array([0.3, 1.2, -0.7, 0.4, 0.9, -1.1, 0.2, 0.6]),)),
    Program(
        convex_hull_area,
        (np.array([[0.0, 0.1], [1.0, 0.0], [0.5, 0.4], [1.3, 0.9], [0.2, 1.1], [0.6, 0.7], [0.8, 1.4]]),),
    ),
    Program(network_sorted_gaps, (np.array([0.7, -0.2, 1.5, 0.1, 0.9, -1.3, 0.4, 2.2]),)),
    Program(table_lookup, (1.3, np.array([0.0, 0.5, 1.1, 1.8, 2.6]), np.array([0.2, 0.7, 0.4, 1.3, 0.9]))),
    Program(merged_discounted_sum, (np.array([0.3, 1.4, 0.8]), np.array([1.0, 0.1, 2.2, 0.6]), 0.9)),
    Program(expression_tree, (0.7, 1.2)),
    Program(
        tridiagonal_solution,
        (np.array([0.4, -0.3, 0.6, 0.2]), np.array([2.0, 2.5, 1.8, 2.2, 3.0]), np.array([-0.5, 0.7, 0.3, -0.4])),
    ),
    Program(
        gauss_determinant,
        (np.array([[0.1, 2.0, -1.0, 0.5], [1.5, 0.3, 0.8, -0.6], [0.9, -1.2, 2.1, 0.4], [-0.7, 0.6, 0.2, 1.9]]),),
    ),
    Program(accelerated_series, (0.83,)),
    Program(shortest_path, (np.array([1.0, 2.5, 1.7, 0.4, 3.0, 0.9, 4.2, 1.1]),)),
]
