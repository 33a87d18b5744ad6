"""Biology and medicine: populations, epidemics, cells, sequences."""

import heapq
import math

import numpy as np
from scipy import ndimage
from scipy.special import logsumexp

from tests.corpus.programs import Program


def epidemic_peak(beta, gamma, days=60):
    """Largest number of infected people in an SIR model with daily steps."""
    S, I, R = 990.0, 10.0, 0.0
    N = S + I + R
    infected = [I]
    for _day in range(days):
        new_infections = beta * S * I / N
        recoveries = gamma * I
        S -= new_infections
        I += new_infections - recoveries
        R += recoveries
        infected.append(I)
        if I < 0.5:
            break
    return max(infected)


def predator_prey(growth, predation, start):
    """Hares and lynxes sampled at some times of an Euler integration."""
    hares, lynxes = start
    dt = 0.01
    history = []
    for step in range(400):
        if step % 80 == 0:
            history.append([hares, lynxes])
        dh = growth * hares - predation * hares * lynxes
        dl = 0.3 * predation * hares * lynxes - 0.4 * lynxes
        hares, lynxes = hares + dt * dh, lynxes + dt * dl
    return np.array(history)


def mean_population(birth, death):
    """Time average of a birth-death process whose unit waiting times are given: the events come from a heap."""
    waits = [0.9, 0.4, 1.7, 0.2, 0.8, 1.1, 0.5, 2.3, 0.3, 0.6, 1.4, 0.7, 0.1, 1.0]
    queue = []
    for k, w in enumerate(waits):
        kind = "birth" if k % 3 != 2 else "death"
        rate = birth if kind == "birth" else death
        heapq.heappush(queue, ((k + w) / rate, kind))
    population, now, area = 5, 0.0, 0.0
    while queue:
        time, kind = heapq.heappop(queue)
        area += population * (time - now)
        now = time
        population += 1 if kind == "birth" else -1
        if population == 0:
            return 0.0
    return area / now


def drug_concentration(absorption, elimination, volume, dose=100.0, interval=8.0):
    """Plasma concentration of repeated oral doses, by superposition of the one-compartment solution."""
    if abs(absorption - elimination) < 1e-8:
        raise ValueError("absorption and elimination must differ")
    times = np.linspace(0.0, 48.0, 25)
    scale = dose * absorption / (volume * (absorption - elimination))
    total = np.zeros(len(times))
    n_doses = int(times[-1] // interval)
    for k in range(n_doses):
        since = times - k * interval
        given = since > 0
        total[given] += scale * (np.exp(-elimination * since[given]) - np.exp(-absorption * since[given]))
    return total


def membrane_voltage(current, sodium):
    """Hodgkin and Huxley's axon for a few milliseconds."""

    def rates(V):
        def ratio(x):
            return x / (1 - math.exp(-x)) if abs(x) > 1e-7 else 1.0 + x / 2

        return {
            "n": (0.1 * ratio((V + 55) / 10), 0.125 * math.exp(-(V + 65) / 80)),
            "m": (1.0 * ratio((V + 40) / 10), 4.0 * math.exp(-(V + 65) / 18)),
            "h": (0.07 * math.exp(-(V + 65) / 20), 1 / (1 + math.exp(-(V + 35) / 10))),
        }

    V, dt = -65.0, 0.02
    gates = {name: a / (a + b) for name, (a, b) in rates(V).items()}
    for _ in range(150):
        for name, (a, b) in rates(V).items():
            gates[name] += dt * (a * (1 - gates[name]) - b * gates[name])
        I_na = sodium * gates["m"] ** 3 * gates["h"] * (V - 50)
        I_k = 36.0 * gates["n"] ** 4 * (V + 77)
        I_leak = 0.3 * (V + 54.4)
        V += dt * (current - I_na - I_k - I_leak)
    return V


def gray_scott(feed, kill):
    """Total of the second substance of a reaction-diffusion pattern on a small torus."""
    n = 12
    U = np.ones((n, n))
    V = np.zeros((n, n))
    U[4:8, 4:8] = 0.5
    V[4:8, 4:8] = 0.25
    V[5, 6] += 0.1
    kernel = np.array([[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]])
    for _ in range(40):
        lap_u = ndimage.convolve(U, kernel, mode="wrap")
        lap_v = ndimage.convolve(V, kernel, mode="wrap")
        reaction = U * V**2
        U = U + 0.16 * lap_u - reaction + feed * (1 - U)
        V = V + 0.08 * lap_v + reaction - (feed + kill) * V
    return np.sum(V)


def growth_rate(fertility, survival):
    """Long-term growth of a population with age classes: power iteration on the Leslie matrix."""
    n = len(fertility)
    assert len(survival) == n - 1
    L = np.zeros((n, n))
    L[0, :] = fertility
    for i in range(n - 1):
        L[i + 1, i] = survival[i]
    x = np.ones(n) / n
    rate, change = 0.0, 1.0
    while change > 1e-13:
        y = L @ x
        new = y.sum()
        change = abs(new - rate)
        rate = new
        x = y / new
    return rate


def tree_likelihood(branch_lengths, kappa):
    """Log-likelihood of aligned bases on a small tree, by pruning with recursion (model of Kimura)."""
    sites = [("A", "A", "G", "G"), ("C", "T", "C", "C"), ("A", "A", "A", "A"), ("G", "G", "A", "T")]
    bases = "AGCT"
    tree = ((0, 1), (2, 3))  # leaves by number
    lengths = {0: 0, 1: 1, 2: 2, 3: 3, (0, 1): 4, (2, 3): 5}

    def transition(t):
        alpha = kappa / (kappa + 2)
        beta = 1 / (kappa + 2)
        e1 = math.exp(-4 * beta * t)
        e2 = math.exp(-2 * (alpha + beta) * t)
        same, ts, tv = 0.25 + 0.25 * e1 + 0.5 * e2, 0.25 + 0.25 * e1 - 0.5 * e2, 0.25 - 0.25 * e1
        return np.array([[same, ts, tv, tv], [ts, same, tv, tv], [tv, tv, same, ts], [tv, tv, ts, same]])

    def partial(node, site):
        if isinstance(node, int):
            leaf = np.zeros(4)
            leaf[bases.index(site[node])] = 1.0
            return leaf
        result = np.ones(4)
        for child in node:
            result *= transition(branch_lengths[lengths[child]]) @ partial(child, site)
        return result

    return sum(math.log(0.25 * partial(tree, site).sum()) for site in sites)


def soft_alignment(match, gap):
    """Logarithm of the sum over all global alignments of two short sequences."""
    first, second = "GATTACA", "GCATGCU"
    n, m = len(first), len(second)
    table = np.full((n + 1, m + 1), -np.inf)
    table[0, 0] = 0.0
    for i in range(1, n + 1):
        table[i, 0] = table[i - 1, 0] - gap
    for j in range(1, m + 1):
        table[0, j] = table[0, j - 1] - gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            score = match if first[i - 1] == second[j - 1] else -0.5
            table[i, j] = logsumexp([table[i - 1, j - 1] + score, table[i - 1, j] - gap, table[i, j - 1] - gap])
    return float(table[n, m])


def excitable_medium(threshold, coupling):
    """Cellular automaton with real numbers: cells fire smoothly when their neighbors do."""
    rows, cols = 6, 6
    grid = [[0.0] * cols for _ in range(rows)]
    rest = [[0.0] * cols for _ in range(rows)]
    grid[2][2] = grid[2][3] = 1.0
    for _ in range(8):
        new = [row[:] for row in grid]
        for r in range(rows):
            for c in range(cols):
                around = 0.0
                for dr, dc in [(-1, 0), (1, 0), (0, -1), (0, 1)]:
                    if 0 <= r + dr < rows and 0 <= c + dc < cols:
                        around += grid[r + dr][c + dc]
                drive = coupling * around - threshold - 2.0 * rest[r][c]
                new[r][c] = 0.5 * grid[r][c] + 0.5 / (1.0 + math.exp(-6.0 * drive))
                rest[r][c] += 0.3 * (grid[r][c] - rest[r][c])
        grid = new
    return np.array(grid)


def combined_dose_effect(doses, half_effect, hill=1.8):
    """Effect of several doses: Hill's curve for each, averaged with a calibration curve of the instrument."""

    def response(dose):
        if isinstance(dose, np.ndarray):
            return np.array([response(d) for d in dose])
        if dose <= 0:
            return 0.0
        return dose**hill / (half_effect**hill + dose**hill)

    if np.isscalar(doses):
        doses = np.array([doses])
    effects = response(doses)
    calibrated = np.interp(effects, [0.0, 0.3, 0.6, 1.0], [0.0, 0.35, 0.55, 1.0])
    labeled = {f"dose {k}": (e + c) / 2 for k, (e, c) in enumerate(zip(effects, calibrated))}
    return sum(labeled.values()) / len(labeled) + labeled["dose 0"]


PROGRAMS = [
    Program(epidemic_peak, (0.45, 0.12)),
    Program(predator_prey, (1.1, 0.4, np.array([3.0, 2.0]))),
    Program(mean_population, (1.3, 0.9)),
    Program(drug_concentration, (1.2, 0.17, 25.0)),
    Program(membrane_voltage, (11.0, 120.0)),
    Program(gray_scott, (0.035, 0.06)),
    Program(growth_rate, (np.array([0.0, 1.2, 1.5, 0.4]), np.array([0.6, 0.7, 0.3]))),
    Program(tree_likelihood, (np.array([0.1, 0.2, 0.15, 0.3, 0.25, 0.12]), 2.5)),
    Program(soft_alignment, (1.0, 0.6)),
    Program(excitable_medium, (0.8, 1.1)),
    Program(combined_dose_effect, (np.array([0.3, 1.0, 2.4, 5.0]), 1.4)),
]
