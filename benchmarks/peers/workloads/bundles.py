"""Bundle adjustment in the size of ADBench's smallest problem: the sparse Jacobian of 31843 reprojections.

A camera has a rotation r (3), a center (3), a focal length, a middle of the picture (2) and a distortion (2); a point
has three coordinates, an observation a weight w. Residuals: w (projection − feature), and 1 − w². With the angle
θ = |r| and the axis k = r / θ, a point P seen from the center goes to P cos θ + (k × P) sin θ + k (k·P)(1 − cos θ).

The answer is the two rows of fifteen numbers for every observation, and the slope −2 w of what its weight adds. Peers
are given this block structure; *adjoint* is given the plain function of all parameters and finds it, and returns a
matrix of SciPy; *adjoint, blocks* is told it, as the peers are.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import STEP, Contender, Problem, Workload, relative_error

CAMERA, POINT = 11, 3  # numbers of each


def project(m: Any, c: Any, X: Any, w: Any, feature: Any) -> tuple[Any, Any]:
    """Two residuals, of numbers, arrays or symbols alike."""
    angle = m.sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])
    cosine, sine = m.cos(angle), m.sin(angle)
    i, j, k = c[0] / angle, c[1] / angle, c[2] / angle
    x, y, z = X[0] - c[3], X[1] - c[4], X[2] - c[5]
    along = (i * x + j * y + k * z) * (1.0 - cosine)
    a = x * cosine + (j * z - k * y) * sine + i * along
    b = y * cosine + (k * x - i * z) * sine + j * along
    depth = z * cosine + (i * y - j * x) * sine + k * along
    u, v = a / depth, b / depth
    radius = u * u + v * v
    scale = (1.0 + c[9] * radius + c[10] * radius * radius) * c[6]
    return w * (u * scale + c[7] - feature[0]), w * (v * scale + c[8] - feature[1])


def collected(cameras: Any, points: Any, w: Any, seen: Any, m: Any = np) -> Any:
    """(observations, 15): what each of them depends on."""
    return m.concatenate([cameras[seen[:, 0]], points[seen[:, 1]], w[:, None]], axis=1)


def value(cameras: Any, points: Any, w: Any, features: Any, seen: Any) -> Any:
    z = collected(cameras, points, w, seen).T
    return np.concatenate([*project(np, z[:CAMERA], z[CAMERA:-1], z[-1], features.T), 1.0 - w * w])


def blocks(cameras: Any, points: Any, w: Any, features: Any, seen: Any) -> tuple[Any, Any]:
    c, X, f = cameras[seen[:, 0]].T, points[seen[:, 1]].T, features.T
    angle = np.sqrt((c[:3] * c[:3]).sum(axis=0))
    cosine, sine, k = np.cos(angle), np.sin(angle), c[:3] / angle
    rest, P = 1.0 - cosine, X - c[3:6]
    turned, along = np.cross(k, P, axis=0), (k * P).sum(axis=0)
    seen_from = P * cosine + turned * sine + k * (along * rest)
    u, v = seen_from[:2] / seen_from[2]
    radius, inverse = u * u + v * v, 1.0 / seen_from[2]
    lens, slope = 1.0 + c[9] * radius + c[10] * radius * radius, c[9] + 2.0 * c[10] * radius
    strength = w * c[6]
    uu, uv, vv = (strength * s for s in (lens + 2 * u * u * slope, 2 * u * v * slope, lens + 2 * v * v * slope))
    by_angle = -P * sine + turned * cosine + k * (along * sine)
    J = np.empty((w.size, 2, CAMERA + POINT + 1))
    for q, (s, t) in enumerate(((uu, uv), (uv, vv))):
        g = np.stack([s, t, -(s * u + t * v)]) * inverse
        part = (k * g).sum(axis=0)
        back = g * cosine - np.cross(k, g, axis=0) * sine + k * (part * rest)
        by_axis = np.cross(P, g, axis=0) * sine + rest * (along * g + part * P)
        J[:, q, :3] = (k * (g * by_angle).sum(axis=0) + (by_axis - k * (k * by_axis).sum(axis=0)) / angle).T
        J[:, q, 3:6], J[:, q, 11:14] = -back.T, back.T
    for q, s in enumerate((u, v)):
        J[:, q, 6], J[:, q, 7 + q], J[:, q, 8 - q] = w * s * lens, w, 0.0
        J[:, q, 9], J[:, q, 10] = strength * s * radius, strength * s * radius * radius
        J[:, q, 14] = s * lens * c[6] + c[7 + q] - f[q]
    return J, -2.0 * w


def problem(size: str) -> Problem:
    """Size: "49 cameras, 7776 points, 31843 seen"."""
    n, m, p = (int(part.split()[0]) for part in size.split(", "))
    draw = np.random.default_rng(0).standard_normal
    columns = [0.2 * draw((n, 3)), draw((n, 3)), 500.0 + 50.0 * draw((n, 1)), 5.0 * draw((n, 2))]
    cameras = np.concatenate([*columns, 0.1 * draw((n, 1)), 0.01 * draw((n, 1))], axis=1)
    points = draw((m, 3)) + np.array([0.0, 0.0, 12.0])
    seen = np.stack([np.arange(p) % n, np.arange(p) % m], axis=1)
    return Problem((cameras, points, 0.6 + 0.1 * draw(p), 100.0 * draw((p, 2)), seen), 3)


def check(problem: Problem) -> float:
    """The blocks against the complex step of the residuals, one parameter after the other."""
    cameras, points, w, features, seen = problem.arguments
    z = collected(cameras, points, w, seen).T
    columns = []
    for unit in np.eye(z.shape[0]):
        moved = z + 1j * STEP * unit[:, None]
        both = project(np, moved[:CAMERA], moved[CAMERA:-1], moved[-1], features.T)
        columns.append(np.stack(both, axis=1).imag / STEP)
    return relative_error([np.stack(columns, axis=2)], blocks(*problem.arguments)[:1])


def by_adjoint(problem: Problem) -> Contender:
    """Nothing is said of the structure: pattern, colors and blocks are found from the program."""
    import adjoint as ad

    cameras, points, w, features, seen = problem.arguments
    n, m, p = len(cameras), len(points), w.size
    first, second = CAMERA * n, CAMERA * n + POINT * m

    def residuals(x: Any) -> Any:
        z = collected(x[:first].reshape(n, CAMERA), x[first:second].reshape(m, POINT), x[second:], seen).T
        both = project(np, z[:CAMERA], z[CAMERA:-1], z[-1], features.T)
        return np.concatenate([np.stack(both, axis=1).reshape(-1), 1.0 - x[second:] ** 2])

    def answers(result: Any) -> list[Any]:
        matrix, rows = result[1], np.arange(p)
        camera = CAMERA * seen[:, :1] + np.arange(CAMERA)
        point = first + POINT * seen[:, 1:] + np.arange(POINT)
        columns = np.concatenate([camera, point, second + rows[:, None]], axis=1)
        entries = lambda i, j: np.asarray(matrix[np.broadcast_to(i, j.shape).ravel(), j.ravel()])
        found = [entries((2 * rows + q)[:, None], columns).reshape(columns.shape) for q in range(2)]
        return [np.stack(found, axis=1), entries(2 * p + rows, second + rows).ravel()]

    x = np.concatenate([cameras.ravel(), points.ravel(), w])

    def build() -> Any:
        return partial(ad.sparse.jacobian(residuals, with_value=True, jit=True), x)

    return Contender(build, answers)


def by_adjoint_blocks(problem: Problem) -> Contender:
    one = lambda z, f: np.stack(project(np, z[:CAMERA], z[CAMERA:-1], z[-1], f))

    def write(ad: Any) -> Any:
        def both(cameras: Any, points: Any, w: Any, features: Any, seen: Any) -> Any:
            z = collected(cameras, points, w, seen)
            return ad.vmap(one)(z, features), ad.vmap(ad.jacobian(one))(z, features), -2.0 * w

        return both

    return engines.adjoint_call(write, problem, lambda result: result[1:])


def by_jax(problem: Problem, mode: str = "reverse") -> Contender:
    jax = engines.start_jax()
    jnp = jax.numpy
    one = lambda z, f: jnp.stack(project(jnp, z[:CAMERA], z[CAMERA:-1], z[-1], f))
    derivative = jax.jacrev(one) if mode == "reverse" else jax.jacfwd(one)

    def both(cameras: Any, points: Any, w: Any, features: Any, seen: Any) -> Any:
        z = collected(cameras, points, w, seen, jnp)
        return jax.vmap(one)(z, features), jax.vmap(derivative)(z, features), -2.0 * w

    return engines.jax_call(both, problem, lambda result: result[1:])


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    """Eager: two backward passes over vectors of all observations. Compiled: `vmap(jacrev)`."""
    torch = engines.start_torch(compiled)
    one = lambda z, f: torch.stack(project(torch, z[:CAMERA], z[CAMERA:-1], z[-1], f))

    def whole(cameras: Any, points: Any, w: Any, features: Any, seen: Any) -> Any:
        z = collected(cameras, points, w, seen, torch)
        return one(z.T, features.T), torch.func.vmap(torch.func.jacrev(one))(z, features), -2.0 * w

    def twice_back(cameras: Any, points: Any, w: Any, features: Any, seen: Any) -> Any:
        columns = [z.clone().requires_grad_() for z in collected(cameras, points, w, seen, torch).T.contiguous()]
        both = project(torch, columns[:CAMERA], columns[CAMERA:-1], columns[-1], features.T)
        back = partial(torch.autograd.grad, inputs=columns, allow_unused=True, materialize_grads=True)
        rows = [torch.stack(back(e, grad_outputs=torch.ones_like(w), retain_graph=True), 1) for e in both]
        return both, torch.stack(rows, 1), -2.0 * w

    answers = lambda result: [a.detach().numpy() for a in result[1:]]
    return engines.torch_call(whole if compiled else twice_back, problem, answers, compiled)


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    """The Jacobian of one observation, mapped over all."""
    casadi = engines.start_casadi()
    cameras, points, w, features, seen = problem.arguments
    width = CAMERA + POINT + 1

    def build() -> Any:
        z, f = casadi.SX.sym("z", width), casadi.SX.sym("f", 2)
        parts = [z[k] for k in range(width)]
        both = casadi.vertcat(*project(casadi, parts[:CAMERA], parts[CAMERA:-1], parts[-1], [f[0], f[1]]))
        results = [both, casadi.densify(casadi.jacobian(both, z))]
        one = casadi.Function("one", [z, f], results, engines.C_OPTIONS if generated_c else {}).map(w.size)
        buffer, run = one.buffer()
        given, found = [np.empty((w.size, width)), features], [np.empty(one.nnz_out(k)) for k in range(2)]
        for k, (a, b) in enumerate(zip(given, found)):
            buffer.set_arg(k, memoryview(a.reshape(-1)))
            buffer.set_res(k, memoryview(b))

        def call(_kept: Any = (buffer, one)) -> Any:
            given[0][:] = collected(cameras, points, w, seen)
            run()
            return found[1], -2.0 * w

        return call

    return Contender(build, lambda result: [result[0].reshape(w.size, width, 2).transpose(0, 2, 1), result[1]])


BUNDLES = Workload(
    name="ba",
    title="Bundle adjustment, sparse Jacobian",
    problem=problem,
    sizes=("49 cameras, 7776 points, 31843 seen",),
    tiny="2 cameras, 5 points, 9 seen",
    value=value,
    by_hand=blocks,
    contenders={
        "adjoint": by_adjoint,
        "adjoint, blocks": by_adjoint_blocks,
        "jax": by_jax,
        "jax forward": partial(by_jax, mode="forward"),
        "torch": by_torch,
        "torch compiled": partial(by_torch, compiled=True),
        "casadi": by_casadi,
        "casadi C": partial(by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, blocks),
    },
    check=check,
)
