"""One map of every kind, for the tests that run over all of them."""

import numpy as np

import adjoint as ad
from adjoint import linear
from adjoint.linear.operators.from_function import Derivative

RNG = np.random.default_rng(7)
a, b = RNG.normal(size=(2, 4, 4))
tall = RNG.normal(size=(5, 3))
z = RNG.normal(size=(4, 4)) + 1j * RNG.normal(size=(4, 4))
spd = a @ a.T + np.eye(4)
d = RNG.uniform(1, 2, size=4)
q = np.linalg.qr(a)[0]
PARAMETERS = {"w": RNG.normal(size=(2, 2)), "b": 1.5}


def quiet(p):
    return {"y": np.tanh(p["w"]) * p["b"], "z": np.sum(p["w"]) ** 2}


def shifted(v):
    return np.cumsum(v)[::-1] + v


def filtered(kernel, v):
    return np.convolve(v, kernel)


tree_map = lambda: linear.block_diagonal({"w": linear.matrix(a), "b": linear.diagonal(np.array([2.0, 3.0]))})

MAPS = {
    "matrix": lambda: linear.matrix(a),
    "tall": lambda: linear.matrix(tall),
    "wide": lambda: linear.matrix(tall).T,
    "complex": lambda: linear.matrix(z),
    "complex adjoint": lambda: linear.matrix(z).adjoint,
    "complex transpose": lambda: linear.matrix(z).T,
    "between trees": lambda: linear.matrix(RNG.normal(size=(5, 5)), domain=PARAMETERS, range=5),
    "positive definite": lambda: linear.matrix(spd, "positive definite"),
    "negative definite": lambda: linear.matrix(-spd, "negative definite"),
    "orthonormal": lambda: linear.matrix(q, "orthonormal"),
    "tridiagonal": lambda: linear.matrix(np.triu(np.tril(spd, 1), -1), "tridiagonal"),
    "lower": lambda: linear.triangular(spd),
    "upper, unit": lambda: linear.triangular(a, lower=False, unit_diagonal=True),
    "identity": lambda: linear.identity(3),
    "identity on a tree": lambda: linear.identity(PARAMETERS),
    "zero": lambda: linear.zero(3, 2),
    "scaling": lambda: linear.scaling(-2.0, 3),
    "complex multiple": lambda: (1 + 2j) * linear.matrix(z),
    "diagonal": lambda: linear.diagonal(d),
    "complex diagonal": lambda: linear.diagonal(z[0]),
    "diagonal on a tree": lambda: linear.diagonal(PARAMETERS),
    "indefinite diagonal": lambda: linear.diagonal(d - 1.5),
    "low rank": lambda: linear.low_rank(RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))),
    "gram": lambda: linear.low_rank(a[:, :2]),
    "complex low rank": lambda: linear.low_rank(z[:, 0], z[:, 1]),
    "permutation": lambda: linear.permutation([2, 0, 3, 1]),
    "function": lambda: linear.from_function(shifted, 4),
    "function with parameters": lambda: linear.from_function(filtered, 4, parameters=(d,)),
    "derivative": lambda: Derivative(quiet, PARAMETERS),
    "hessian": lambda: Derivative(ad.grad(lambda p: np.sum(quiet(p)["y"] ** 2) + quiet(p)["z"]), PARAMETERS),
    "sum": lambda: linear.matrix(a) + linear.matrix(b),
    "sum with its adjoint": lambda: linear.matrix(a) + linear.matrix(a).T,
    "difference": lambda: linear.matrix(a) - 0.5 * linear.diagonal(d),
    "shifted gram": lambda: linear.matrix(tall).T @ linear.matrix(tall) + 0.1 * linear.identity(3),
    "complex gram": lambda: linear.matrix(z).H @ linear.matrix(z),
    "product": lambda: linear.matrix(a) @ linear.diagonal(d) @ linear.matrix(b),
    "rectangular product": lambda: linear.matrix(tall) @ linear.matrix(tall).T,
    "congruence": lambda: linear.congruence(linear.matrix(a), linear.diagonal(d)),
    "power": lambda: linear.matrix(a) ** 3,
    "even power": lambda: linear.matrix(spd, "symmetric") ** 2,
    "inverse": lambda: linear.matrix(spd, "positive definite").inverse,
    "negative power": lambda: linear.matrix(a) ** -2,
    "woodbury": lambda: linear.diagonal(d) + linear.low_rank(b[:, 0], a[:, 0]),
    "scaled woodbury": lambda: linear.permutation([2, 0, 3, 1]) - 0.5 * linear.low_rank(b[:, 0]),
    "wide gram, shifted": lambda: linear.matrix(tall[:1]).T @ linear.matrix(tall[:1]) + 2.0 * linear.identity(3),
    "block": lambda: linear.block([[linear.matrix(a), linear.matrix(tall[:4])], [None, linear.identity(3)]]),
    "lower block": lambda: linear.block([[linear.diagonal(d), None], [linear.matrix(tall[:4].T), linear.identity(3)]]),
    "saddle point": lambda: linear.block(
        [[linear.diagonal(d), linear.matrix(tall[:4])], [linear.matrix(tall[:4]).T, linear.zero(3)]]
    ),
    "rectangular block": lambda: linear.block([[linear.matrix(a), linear.matrix(tall[:4])]]),
    "block diagonal": tree_map,
    "block diagonal of unequal": lambda: linear.block_diagonal([linear.matrix(tall), linear.matrix(tall).T]),
    "raveled": lambda: linear.raveled(tree_map()),
    "kronecker": lambda: linear.kronecker(linear.matrix(tall), linear.matrix(a), b[:2]),
    "kronecker, square": lambda: linear.kronecker(linear.matrix(spd, "positive definite"), linear.permutation([1, 0])),
    "complex kronecker": lambda: linear.kronecker(linear.matrix(z), linear.matrix(a)),
    "negative kronecker": lambda: linear.kronecker(linear.diagonal(-d), linear.matrix(spd, "positive definite")),
    "khatri-rao": lambda: linear.khatri_rao(tall, a[:, :3]),
    "complex khatri-rao": lambda: linear.khatri_rao(z, a),
    "factored, definite": lambda: linear.factored(linear.matrix(spd, "positive definite")),
    "factored, negative": lambda: linear.factored(linear.matrix(-spd, "negative definite")),
    "factored": lambda: linear.factored(linear.matrix(a)),
    "factored, complex": lambda: linear.factored(linear.matrix(z)),
    "factored, tall": lambda: linear.factored(linear.matrix(tall)),
    "factored, on a tree": lambda: linear.factored(linear.matrix(a, domain=(2, 2), range=4)),
    "sparse": lambda: linear.sparse([1.0, 2.0, 3.0, 4.0], [0, 0, 2, 1], [0, 0, 1, 2], (3, 3)),
    "sparse, complex": lambda: linear.sparse(z[0], [0, 1, 2, 4], [0, 2, 1, 0], (5, 3)),
    "complex times real": lambda: linear.matrix(z) @ linear.matrix(a) + 0.5 * linear.identity(4),
    "complex multiple of a real map": lambda: 2j * linear.matrix(a) @ linear.diagonal(d),
    "complexified": lambda: linear.complexified(linear.matrix(spd, "positive definite")),
    "complexified tree": lambda: linear.complexified(tree_map()),
    "holomorphic derivative": lambda: Derivative(lambda w: np.sin(w) * w[::-1], z[0]),
    "found facts": lambda: linear.find_facts(linear.matrix(np.diag(d))),
}  # fmt: skip

# those that can be solved with; `tests/linear/test_maps.py` solves them all
SQUARE = [
    name
    for name in MAPS
    if (lambda A: A.is_square and "zero" not in A.facts and np.linalg.cond(A.to_dense()) < 1e8)(MAPS[name]())
]
