"""What is kept of a checkpointed function: the same derivatives by every policy, and memory as the policy says."""

import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.checkpointing.policies import Mark

RNG = np.random.default_rng(1)
A, X, V = RNG.normal(size=(4, 4)), RNG.normal(size=4), RNG.normal(size=4)
POLICIES = {
    "nothing": "nothing",
    "everything": "everything",
    "products": "products",
    "names": ad.memory.names("even"),
    "all but names": ad.memory.all_but_names("odd"),
    "a function": lambda value: value.operation == "cos" and value.nbytes < 100,
    "a function that says no": lambda value: False,
    "offload": ad.memory.offload("everything"),
}


def block(x):
    for k in range(3):
        product = ad.checkpoint_name(A @ x, "odd" if k % 2 else "even")
        x = np.tanh(product) * np.cos(x)
        x = ad.scan(lambda c, t: (np.sin(c) * 1.1 + t, None), x, np.arange(3.0))[0]
    return x


def loss(x, step=lambda f: f):
    inner = step(block)
    return np.sum(inner(inner(x)) ** 2)


USES = {
    "value and gradient": lambda f: ad.value_and_grad(f)(X),
    "jvp": lambda f: ad.jvp(f, (X,), (V,))[1],
    "linearize": lambda f: ad.linearize(f, X)[1](V),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(np.stack([X, V])),
    "hessian": lambda f: ad.hessian(f)(X),
    "reverse over reverse": lambda f: ad.grad(lambda x: ad.grad(f)(x) @ V)(X),
    "jet of grad": lambda f: np.stack(ad.jet(ad.grad(f), (X,), ((V, X),))[1]),
}


@pytest.mark.parametrize("use", USES)
def test_the_same_numbers(use) -> None:
    expected = ad.tree.leaves(USES[use](loss))
    for policy in POLICIES.values():
        found = ad.tree.leaves(USES[use](lambda x, p=policy: loss(x, ad.checkpoint(policy=p))))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_compiled() -> None:
    compiled = ad.jit(ad.grad(lambda x: loss(x, ad.checkpoint(policy="products"))))
    np.testing.assert_allclose(compiled(X), ad.grad(loss)(X), rtol=1e-12)


def test_python_decides_by_values() -> None:
    @ad.checkpoint(policy="products")
    def f(x):
        return np.sum(A @ x) ** 2 if x[0] > 0 else np.sum(x)

    np.testing.assert_allclose(ad.grad(f)(np.abs(X)), 2 * np.sum(A @ np.abs(X)) * A.sum(0), rtol=1e-13)
    np.testing.assert_allclose(ad.grad(f)(-np.abs(X)), np.ones(4))


def test_effects_happen_once(capsys) -> None:
    @ad.checkpoint(policy=ad.memory.names("a"))
    def f(x):
        ad.debug.print("here")
        y = ad.scan(lambda c, t: (ad.debug.print("turn"), (np.sin(c), None))[1], x, length=2)[0]
        return np.sum(np.exp(ad.checkpoint_name(np.sin(y), "a")))

    ad.grad(f)(X)
    assert capsys.readouterr().out == "here\nturn\nturn\n"


def test_only_what_is_needed_is_computed_again() -> None:
    """Layers of the second half are read from what the policy keeps in the middle."""

    def f(x, policy):
        def layers(x):
            for k in range(4):
                x = np.sin(x)
                x = ad.checkpoint_name(x, "middle") if k == 1 else x
            return x

        return np.sum(ad.checkpoint(layers, policy=policy)(x))

    def sines(policy):
        program = ad.trace(ad.grad(lambda x: f(x, policy)))(X).program
        return sum(eq.op.title == "sin" for eq in program.equations)

    # forwards they stand inside the checkpoint; what stands outside is computed again
    assert sines(lambda value: False) == 3
    assert sines(ad.memory.names("middle")) == 2
    assert sines(ad.memory.all_but_names()) == 0


@pytest.mark.parametrize(
    "policy, most", [("nothing", 14), (ad.memory.names("a"), 22), (ad.memory.offload("everything"), 14)]
)
def test_memory(policy, most) -> None:
    """In units of one array. Four functions of six arrays each; three of each have a name."""
    n = 50_000
    x = np.linspace(0.1, 1, n)

    def part(x):
        for k in range(6):
            x = np.sin(x)
            x = ad.checkpoint_name(x, "a") if k % 2 else x
        return x

    def f(x):
        inner = ad.checkpoint(part, policy=policy)
        return np.sum(inner(inner(inner(inner(x)))))

    def peak(f):
        tracemalloc.start()
        try:
            found = ad.grad(f)(x)
            return found, tracemalloc.get_traced_memory()[1] / x.nbytes
        finally:
            tracemalloc.stop()

    expected, whole = peak(lambda x: np.sum(part(part(part(part(x))))))
    found, less = peak(f)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert less < most < whole, (less, whole)


def test_names_are_gone_in_compiled_programs() -> None:
    assert ad.checkpoint_name({"a": 1.0}, "n") == {"a": 1.0}
    f = ad.jit(lambda x: ad.checkpoint_name(x, "n") * 2)
    assert f(2.0) == 4.0
    assert ad.grad(lambda x: ad.checkpoint_name(x, "n") ** 2)(3.0) == 6.0
    assert str(Mark("n")) == "mark[name=n]"


def test_what_users_should_not_write() -> None:
    with pytest.raises(ValueError, match="policy='dots' is not known"):
        ad.checkpoint(block, policy="dots")
    with pytest.raises(ValueError, match="offload: policy='dots' is not known"):
        ad.memory.offload("dots")
