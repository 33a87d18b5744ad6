"""Fields: partial differential equations by finite differences, finite volumes and finite elements."""

import math

import numpy as np
from scipy.interpolate import RegularGridInterpolator
from scipy.ndimage import convolve, gaussian_filter
from scipy.sparse import diags
from scipy.sparse.linalg import spsolve
from scipy.special import erf

from tests.corpus.programs import Program


def explicit_heat(initial, diffusivity, steps=40, dt=0.2):
    """Temperatures of a rod with fixed ends, by the explicit scheme."""
    u = initial.copy()
    n = len(u)
    kappa = np.full(n, diffusivity) if np.isscalar(diffusivity) else diffusivity
    for _ in range(steps):
        new = np.zeros(n)
        new[0] = u[0]
        new[-1] = u[-1]
        for i in range(1, n - 1):
            new[i] = u[i] + dt * kappa[i] * (u[i - 1] - 2 * u[i] + u[i + 1])
        u = new
    return u


def crank_nicolson(initial, diffusivity, steps=15, dt=0.5):
    """Heat equation by Crank-Nicolson with tridiagonal sparse matrices."""
    n = initial.size
    r = float(diffusivity) * dt / 2
    A = diags([-r * np.ones(n - 1), (1 + 2 * r) * np.ones(n), -r * np.ones(n - 1)], [-1, 0, 1], format="csc")
    B = diags([r * np.ones(n - 1), (1 - 2 * r) * np.ones(n), r * np.ones(n - 1)], [-1, 0, 1], format="csc")
    u = initial
    for _ in range(steps):
        u = spsolve(A, B @ u)
    return u


def wave_on_string(pluck, speed, n=31, steps=45):
    """Displacement of a plucked string, leapfrog in time."""
    x = np.linspace(0, 1, n)
    dx = x[1] - x[0]
    dt = 0.5 * dx
    c2 = (speed * dt / dx) ** 2
    u_prev = np.where(x < 0.3, pluck * x / 0.3, pluck * (1 - x) / 0.7)
    u = u_prev.copy()
    u[1:-1] += 0.5 * c2 * (u_prev[2:] - 2 * u_prev[1:-1] + u_prev[:-2])
    for _ in range(steps):
        u_next = np.zeros(n)
        u_next[1:-1] = 2 * u[1:-1] - u_prev[1:-1] + c2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u_prev, u = u, u_next
    return u


def laplace_plate(top, left, n=9, tol=1e-7):
    """Temperature in the middle of a square plate, Gauss-Seidel sweeps with overrelaxation."""
    T = np.zeros((n, n))
    T[0, :] = top
    T[:, 0] = left
    omega = 2 / (1 + math.sin(math.pi / (n - 1)))
    change = 1.0
    sweeps = 0
    while change > tol:
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                residual = 0.25 * (T[i - 1, j] + T[i + 1, j] + T[i, j - 1] + T[i, j + 1]) - T[i, j]
                T[i, j] += omega * residual
                change = max(change, abs(residual))
        sweeps += 1
        if sweeps > 500:
            raise RuntimeError("no convergence")
    return T[n // 2, n // 2]


def burgers_upwind(amplitude, viscosity, n=40, steps=40):
    """Energy of a solution of Burgers' equation on a circle, upwind in space."""
    dx = 2 * np.pi / n
    x = np.arange(n) * dx
    u = 1.5 + amplitude * np.sin(x)
    dt = 0.02
    for _ in range(steps):
        left = np.roll(u, 1)
        right = np.roll(u, -1)
        du = np.where(u > 0, (u - left) / dx, (right - u) / dx)
        u = u - dt * u * du + dt * viscosity * (right - 2 * u + left) / dx**2
    return 0.5 * np.sum(u**2) * dx


def minmod(a, b):
    if a * b <= 0:
        return 0.0
    return a if abs(a) < abs(b) else b


def advected_bump(center, velocity, n=30, steps=20, dt=0.01):
    """Mean position of a bump after advection by a finite volume scheme with limited slopes."""
    dx = 1.0 / n
    cells = [math.exp(-(((i + 0.5) * dx - center) ** 2) / 0.01) for i in range(n)]
    for _ in range(steps):
        flux = []
        for i in range(n):
            slope = minmod(cells[i] - cells[i - 1], cells[(i + 1) % n] - cells[i])
            flux.append(velocity * (cells[i] + 0.5 * (1 - velocity * dt / dx) * slope))
        cells = [cells[i] - dt / dx * (flux[i] - flux[i - 1]) for i in range(n)]
    total = sum(cells)
    return sum((i + 0.5) * dx * c for i, c in enumerate(cells)) / total


def linear_elements(conductivity, source, n=12):
    """Poisson's equation on [0, 1] with linear elements; conductivity grows along the rod."""
    nodes = np.linspace(0, 1, n + 1) ** 1.2
    K = np.zeros((n + 1, n + 1))
    F = np.zeros(n + 1)
    gauss = [(-1 / math.sqrt(3), 1.0), (1 / math.sqrt(3), 1.0)]
    for e in range(n):
        a, b = nodes[e], nodes[e + 1]
        h = b - a
        for xi, w in gauss:
            x = 0.5 * (a + b) + 0.5 * h * xi
            k = conductivity * (1 + x**2)
            N = np.array([0.5 * (1 - xi), 0.5 * (1 + xi)])
            dN = np.array([-1.0, 1.0]) / h
            K[e : e + 2, e : e + 2] += w * h / 2 * k * np.outer(dN, dN)
            F[e : e + 2] += w * h / 2 * source * math.sin(math.pi * x) * N
    K[0, :] = 0
    K[0, 0] = 1
    F[0] = 0
    K[-1, :] = 0
    K[-1, -1] = 1
    F[-1] = 0
    return np.linalg.solve(K, F)


POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.45, 0.55], [0.5, 0.0]])
TRIANGLES = np.array([[0, 5, 4], [5, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])


def membrane_triangles(tension, pressure):
    """Deflection of a membrane on a mesh of triangles; nodes 4 and 5 are free."""
    n = len(POINTS)
    stiffness = np.zeros((n, n))
    load = np.zeros(n)
    for tri in TRIANGLES:
        p = POINTS[tri]
        M = np.column_stack([np.ones(3), p])
        area = 0.5 * abs(np.linalg.det(M))
        grads = np.linalg.inv(M)[1:, :]
        local = tension * area * grads.T @ grads
        for a in range(3):
            for b in range(3):
                stiffness[tri[a], tri[b]] += local[a, b]
        np.add.at(load, tri, pressure * area / 3)
    free = np.array([4, 5])
    w = np.zeros(n)
    w[free] = np.linalg.solve(stiffness[free][:, free], load[free])
    return w.max() + 0.1 * w.sum()


def reaction_diffusion(feed, kill, n=12, steps=25):
    """The Gray-Scott model on a small torus: concentration of the activator."""
    U = np.ones((n, n))
    V = np.zeros((n, n))
    U[4:8, 4:8] = 0.5
    V[4:8, 4:8] = 0.25

    def laplacian(Z):
        return np.roll(Z, 1, 0) + np.roll(Z, -1, 0) + np.roll(Z, 1, 1) + np.roll(Z, -1, 1) - 4 * Z

    for _ in range(steps):
        reaction = U * V**2
        U += 0.16 * laplacian(U) - reaction + feed * (1 - U)
        V += 0.08 * laplacian(V) + reaction - (feed + kill) * V
    return V[:, n // 2]


def lid_driven_vorticity(reynolds, lid, n=9, steps=12):
    """Stream function of a driven cavity, with vorticity transport and Jacobi sweeps."""
    h = 1.0 / (n - 1)
    dt = 0.2 * h
    psi = np.zeros((n, n))
    w = np.zeros((n, n))
    for _ in range(steps):
        for _ in range(10):
            psi[1:-1, 1:-1] = 0.25 * (
                psi[2:, 1:-1] + psi[:-2, 1:-1] + psi[1:-1, 2:] + psi[1:-1, :-2] + h**2 * w[1:-1, 1:-1]
            )
        w[:, -1] = -2 * psi[:, -2] / h**2 - 2 * lid / h
        w[:, 0] = -2 * psi[:, 1] / h**2
        w[0, :] = -2 * psi[1, :] / h**2
        w[-1, :] = -2 * psi[-2, :] / h**2
        u = (psi[1:-1, 2:] - psi[1:-1, :-2]) / (2 * h)
        v = -(psi[2:, 1:-1] - psi[:-2, 1:-1]) / (2 * h)
        lap = (w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2] - 4 * w[1:-1, 1:-1]) / h**2
        wx = (w[2:, 1:-1] - w[:-2, 1:-1]) / (2 * h)
        wy = (w[1:-1, 2:] - w[1:-1, :-2]) / (2 * h)
        w[1:-1, 1:-1] += dt * (lap / reynolds - u * wx - v * wy)
    return psi


def freezing_depth(conductivity, surface, latent=8.0, days=60):
    """Depth of frost in soil, with the enthalpy method; the front is interpolated."""
    n = 15
    h = np.full(n, latent + 1.0)
    for _ in range(days):
        T = np.where(h > latent, h - latent, np.where(h < 0, h, 0.0))
        padded = np.concatenate([[surface], T, [T[-1]]])
        h = h + 0.3 * conductivity * np.diff(padded, 2)
    frozen = np.clip(1 - h / latent, 0.0, 1.0)
    return np.sum(frozen) * 0.1


def smoothed_gradient(image, contrast):
    """Perona-Malik diffusion of an image after smoothing, with stencils as convolutions."""
    stencil = np.array([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]])
    u = gaussian_filter(image, 0.8)
    for _ in range(5):
        gx = np.gradient(u, axis=1)
        gy = np.gradient(u, axis=0)
        g = 1.0 / (1.0 + (gx**2 + gy**2) / contrast**2)
        u = u + 0.1 * g * convolve(u, stencil, mode="nearest")
    return u


def buried_pipe(temperature, diffusivity, depth=0.8, hours=(2.0, 6.0, 24.0)):
    """Warming of half space by a step at its surface, the largest over some times, with the flux there."""
    warming = [temperature * (1 - erf(depth / (2 * np.sqrt(diffusivity * t)))) for t in hours]
    flux = {t: temperature / np.sqrt(np.pi * diffusivity * t) for t in hours}
    hottest = max(warming)
    return hottest + 1e-2 * sum(flux[t] for t in sorted(flux))


def tracer_path(start, strength, dt=0.05, steps=30):
    """Where a tracer drifts to in a velocity field given on a grid."""
    axis = np.linspace(-2, 2, 17)
    X, Y = np.meshgrid(axis, axis, indexing="ij")
    radius2 = X**2 + Y**2 + 0.5
    field = RegularGridInterpolator((axis, axis), np.stack([-Y / radius2, X / radius2], axis=-1))
    position = np.asarray(start)
    for _ in range(steps):
        velocity = strength * field(position)[0]
        position = position + dt * velocity
    return position


PROGRAMS = [
    Program(explicit_heat, (np.array([1.0, 0.2, 0.5, 0.9, 0.1, 0.4, 0.8, 0.0]), 0.9)),
    Program(crank_nicolson, (np.array([0.1, 0.6, 1.2, 0.8, 0.3, 0.2]), 0.4)),
    Program(wave_on_string, (0.1, 1.2)),
    Program(laplace_plate, (100.0, 35.0)),
    Program(burgers_upwind, (0.8, 0.05)),
    Program(advected_bump, (0.4123, 1.3)),
    Program(linear_elements, (1.7, 3.0)),
    Program(membrane_triangles, (2.0, 0.7)),
    Program(reaction_diffusion, (0.037, 0.06)),
    Program(lid_driven_vorticity, (50.0, 1.0)),
    Program(freezing_depth, (0.9, -6.3)),
    Program(smoothed_gradient, (np.add.outer(np.sin(np.arange(6.0)), np.cos(0.7 * np.arange(6.0))), 0.6)),
    Program(buried_pipe, (15.0, 0.05)),
    Program(tracer_path, (np.array([0.83, -0.21]), 1.1)),
]
