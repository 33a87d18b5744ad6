"""A transformer block before whose parts stands a normalization: gradient of ½ mean z² in the input and all parameters.

y = x + attention(norm x) Wₒ + bₒ and z = y + gelu(norm y W₁ + c₁) W₂ + c₂, with h heads of softmax(q kᵀ / √d) v. By
hand: a softmax A with cotangent Ā pulls back to A (Ā − Σ Ā A), a normalized x̂ = (x − mean) r with the cotangent ē to
r (ē − mean ē − x̂ mean(ē x̂)).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload

SMALL, CUBIC = 1e-5, 0.044715
ROOT = float(np.sqrt(2.0 / np.pi))


def number(x: Any, c: float) -> Any:
    """A constant in the precision of an array."""
    return x.dtype.type(c)


def normalized(m: Any, x: Any, small: Any) -> tuple[Any, Any]:
    """(x̂, r)."""
    centered = x - m.mean(x, axis=-1, keepdims=True)
    scale = 1.0 / m.sqrt(m.mean(centered * centered, axis=-1, keepdims=True) + small)
    return centered * scale, scale


def softmax(m: Any, x: Any) -> Any:
    e = m.exp(x - m.max(m.real(x), axis=-1, keepdims=True))
    return e / m.sum(e, axis=-1, keepdims=True)


def value(x: Any, g1: Any, b1: Any, Wi: Any, bi: Any, Wo: Any, bo: Any, g2: Any, b2: Any, W1: Any, c1: Any, W2: Any, c2: Any, heads: Any) -> Any:  # noqa: E501  # fmt: skip
    return block(np, x, g1, b1, Wi, bi, Wo, bo, g2, b2, W1, c1, W2, c2, heads)


def block(m: Any, x: Any, g1: Any, b1: Any, Wi: Any, bi: Any, Wo: Any, bo: Any, g2: Any, b2: Any, W1: Any, c1: Any, W2: Any, c2: Any, heads: Any) -> Any:  # noqa: E501  # fmt: skip
    """The loss over a namespace `m`."""
    c = partial(number, x)
    (batch, length, width), h = x.shape, int(heads)
    parts = m.reshape(m.matmul(normalized(m, x, c(SMALL))[0] * g1 + b1, Wi) + bi, (batch, length, 3, h, width // h))
    q, k, v = (m.swapaxes(parts[:, :, i], 1, 2) for i in range(3))
    A = softmax(m, m.matmul(q, m.swapaxes(k, -1, -2)) * c((width // h) ** -0.5))
    o = m.reshape(m.swapaxes(m.matmul(A, v), 1, 2), (batch, length, width))
    y = x + m.matmul(o, Wo) + bo
    u = m.matmul(normalized(m, y, c(SMALL))[0] * g2 + b2, W1) + c1
    gelu = c(0.5) * u * (1 + m.tanh(c(ROOT) * (u + c(CUBIC) * u * u * u)))
    z = y + m.matmul(gelu, W2) + c2
    return c(0.5) * m.mean(z * z)


def gradient(x: Any, g1: Any, b1: Any, Wi: Any, bi: Any, Wo: Any, bo: Any, g2: Any, b2: Any, W1: Any, c1: Any, W2: Any, c2: Any, heads: Any) -> tuple[Any, ...]:  # noqa: E501  # fmt: skip
    c = partial(number, x)
    (batch, length, width), h = x.shape, int(heads)
    rows, d = batch * length, width // h
    x2 = x.reshape(rows, width)
    x1, r1 = normalized(np, x2, c(SMALL))
    a = x1 * g1 + b1
    q, k, v = (a @ Wi + bi).reshape(batch, length, 3, h, d).transpose(2, 0, 3, 1, 4)
    A = softmax(np, (q @ k.swapaxes(-1, -2)) * c(d**-0.5))
    o = (A @ v).transpose(0, 2, 1, 3).reshape(rows, width)
    y = x2 + o @ Wo + bo
    y1, r2 = normalized(np, y, c(SMALL))
    e = y1 * g2 + b2
    u = e @ W1 + c1
    t = np.tanh(c(ROOT) * (u + c(CUBIC) * u * u * u))
    gelu = c(0.5) * u * (1 + t)
    z = y + gelu @ W2 + c2

    def back(cotangent: Any, g: Any, hat: Any, r: Any) -> tuple[Any, Any, Any]:
        s = cotangent * g
        inner = s - s.mean(axis=1, keepdims=True) - hat * (s * hat).mean(axis=1, keepdims=True)
        return r * inner, (cotangent * hat).sum(axis=0), cotangent.sum(axis=0)

    dz = z / c(z.size)
    slope = c(0.5) * (1 + t) + c(0.5) * u * (1 - t * t) * c(ROOT) * (1 + c(3 * CUBIC) * u * u)
    du = (dz @ W2.T) * slope
    from_norm, in_g2, in_b2 = back(du @ W1.T, g2, y1, r2)
    dy = dz + from_norm
    do = (dy @ Wo.T).reshape(batch, length, h, d).transpose(0, 2, 1, 3)
    dA = do @ v.swapaxes(-1, -2)
    scores = A * (dA - (dA * A).sum(axis=-1, keepdims=True)) * c(d**-0.5)
    pulled = np.stack([scores @ k, scores.swapaxes(-1, -2) @ q, A.swapaxes(-1, -2) @ do])
    dqkv = pulled.transpose(1, 3, 0, 2, 4).reshape(rows, 3 * width)
    from_norm, in_g1, in_b1 = back(dqkv @ Wi.T, g1, x1, r1)
    first = ((dy + from_norm).reshape(x.shape), in_g1, in_b1, a.T @ dqkv, dqkv.sum(axis=0), o.T @ dy, dy.sum(axis=0))
    rest = (in_g2, in_b2, e.T @ du, du.sum(axis=0), gelu.T @ dz, dz.sum(axis=0))
    return c(0.5) * np.mean(z * z), *first, *rest


def problem(size: str) -> Problem:
    """Size: "f32 b8 s128 d128 h4": batch, length, width, heads."""
    precision, *parts = size.split()
    batch, length, width, heads = (int(part[1:]) for part in parts)
    draw = np.random.default_rng(0).standard_normal
    full = lambda m, n: draw((m, n)) / np.sqrt(m)
    near = lambda n, middle=0.0: middle + 0.1 * draw(n)
    arrays = (
        draw((batch, length, width)), near(width, 1.0), near(width), full(width, 3 * width), near(3 * width),
        full(width, width), near(width), near(width, 1.0), near(width), full(width, 4 * width), near(4 * width),
        full(4 * width, width), near(width),
    )  # fmt: skip
    dtype = np.float32 if precision == "f32" else np.float64
    return Problem((*[a.astype(dtype) for a in arrays], heads), len(arrays))


def by_adjoint(problem: Problem) -> Contender:
    *arrays, heads = problem.arguments
    given = Problem(tuple(arrays), len(arrays))
    return engines.adjoint_gradient(lambda *a: value(*a, heads), given)


def by_jax(problem: Problem) -> Contender:
    jax = engines.start_jax()
    jnp = jax.numpy
    *arrays, heads = problem.arguments
    width = arrays[0].shape[-1]

    def norm(x: Any, g: Any, b: Any) -> Any:
        middle = x.mean(-1, keepdims=True)
        spread = ((x - middle) ** 2).mean(-1, keepdims=True)
        return (x - middle) * jax.lax.rsqrt(spread + SMALL) * g + b

    def loss(x: Any, g1: Any, b1: Any, Wi: Any, bi: Any, Wo: Any, bo: Any, *rest: Any) -> Any:
        g2, b2, W1, c1, W2, c2 = rest
        parts = (norm(x, g1, b1) @ Wi + bi).reshape(*x.shape[:2], 3, heads, width // heads)
        q, k, v = parts[:, :, 0], parts[:, :, 1], parts[:, :, 2]
        root = x.dtype.type((width // heads) ** 0.5)
        A = jax.nn.softmax(jnp.einsum("bshd,bthd->bhst", q, k) / root, axis=-1)
        y = x + jnp.einsum("bhst,bthd->bshd", A, v).reshape(x.shape) @ Wo + bo
        z = y + jax.nn.gelu(norm(y, g2, b2) @ W1 + c1, approximate=True) @ W2 + c2
        return 0.5 * jnp.mean(z * z)

    return engines.jax_gradient(loss, Problem(tuple(arrays), len(arrays)))


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    torch = engines.start_torch(compiled)
    functional = torch.nn.functional
    *arrays, heads = problem.arguments
    batch, length, width = arrays[0].shape

    def loss(x: Any, g1: Any, b1: Any, Wi: Any, bi: Any, Wo: Any, bo: Any, *rest: Any) -> Any:
        g2, b2, W1, c1, W2, c2 = rest
        a = functional.layer_norm(x, (width,), g1, b1, SMALL)
        parts = (a @ Wi + bi).view(batch, length, 3, heads, width // heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        o = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        y = x + o @ Wo + bo
        u = functional.layer_norm(y, (width,), g2, b2, SMALL) @ W1 + c1
        z = y + functional.gelu(u, approximate="tanh") @ W2 + c2
        return 0.5 * (z * z).mean()

    return engines.torch_gradient(loss, Problem(tuple(arrays), len(arrays)), compiled)


def by_autograd(problem: Problem) -> Contender:
    anp = engines.start_autograd().numpy
    *arrays, heads = problem.arguments

    return engines.autograd_gradient(lambda *a: block(anp, *a, heads), Problem(tuple(arrays), len(arrays)))


ATTENTION = Workload(
    name="attention",
    title="Transformer block",
    problem=problem,
    sizes=("f32 b8 s128 d128 h4",),
    tiny="f64 b2 s5 d4 h2",
    value=value,
    by_hand=gradient,
    contenders={
        "adjoint": by_adjoint,
        "jax": by_jax,
        "torch": by_torch,
        "torch compiled": partial(by_torch, compiled=True),
        "autograd": by_autograd,
        "numpy by hand": partial(engines.by_hand, gradient),
    },
)
