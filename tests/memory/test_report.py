"""memory_report against what is measured, on programs of many kinds; and by line."""

import gc
import io
import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.memory.report import format_bytes
from tests.support.sweeps import sampled

N = 60_000
X = np.linspace(0.1, 1, N)
RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=(200, 200)) / 15 for _ in range(4)]
BATCH = RNG.normal(size=(150, 200))


def chain(x):
    for _ in range(10):
        x = np.sin(x) * 1.1
    return np.sum(x)


def variables(x):
    a = np.exp(x)
    b = a * x
    c = np.tanh(b) + a
    return np.sum(c / b * a)


def network(weights):
    h = BATCH
    for w in weights:
        h = np.tanh(h @ w)
    return np.sum(h**2)


def softmax(x):
    e = np.exp(x - np.max(x))
    return -np.log(e[0] / np.sum(e))


def views(x):
    a = x.reshape(100, -1)
    b = a.T[10:50]
    return np.sum(b * b) + np.sum(np.concatenate([a[0], a[1]]) ** 3)


def gathers(x):
    y = x[::2]
    return np.sum(y**2) + np.sum(y[np.arange(1000)] ** 3)


def loop(x):
    return np.sum(ad.scan(lambda c, _: (np.sin(c) * 1.01, None), x, length=20)[0])


def loop_with_slots(x):
    return np.sum(ad.scan(lambda c, _: (np.sin(c) * 1.01, None), x, length=40, checkpoint=5)[0])


def checkpointed(x):
    f = ad.checkpoint(lambda x: np.sin(np.cos(np.sin(np.cos(x)))))
    return np.sum(f(f(f(f(x)))))


def branches(x):
    for _ in range(6):
        x = np.sin(x) if x[0] > 0.3 else np.exp(x) * 0.5
    return np.sum(x)


def until(x):
    return np.sum(ad.while_loop(lambda x: x[0] < 1.0, lambda x: x * 1.3 + 0.01 * np.sin(x), x))


def undone(x):
    return np.sum(ad.reversible(*[ad.memory.coupling(np.sin, np.cos)] * 6)((x, x * 2))[0])


def statistics(x):
    return np.linalg.norm(x) + np.mean(x) * np.var(x) + np.std(x)


IMAGES = RNG.normal(size=(4, 3, 32, 32))


def images(x):
    kernels = x[:600].reshape(8, 3, 5, 5)
    return np.sum(np.tanh(ad.signal.conv(IMAGES, kernels)) ** 2) + np.sum(x)


def contractions(x):
    a = x[:57_600].reshape(16, 60, 60)
    q = np.einsum("bij,bkj->bik", a, a)
    return np.sum(np.einsum("bik,bkj->bij", np.exp(q), a))


def waves(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2)


def masks(x):
    y = x[np.arange(N)[::-1]] * x
    return np.sum(y[y > 0.1] ** 2)


def in_place(x):
    y = np.zeros_like(x)
    y[::2] = np.sin(x[::2])
    y[1::2] = np.cos(x[1::2])
    y += x
    return np.sum(y**2)


def lanes(x):
    return np.sum(ad.vmap(lambda row: np.sum(np.exp(row)) ** 2)(x.reshape(200, 300)))


def order(x):
    return np.sum(np.sort(-x)[:100] ** 2) + np.median(x)


def second(x):
    return np.sum(ad.grad(lambda x: np.sum(np.sin(x) * x**2))(x) ** 2)


def in_files(x):
    return np.sum(ad.fori_loop(0, 30, lambda i, x: np.sin(x) * 1.01, x, checkpoint=ad.memory.Disk(slots=5)))


def kept_in_files(x):
    f = ad.checkpoint(lambda x: np.sin(np.cos(np.sin(np.cos(x)))), policy=ad.memory.offload("everything"))
    return np.sum(f(f(x)))


DATA = RNG.normal(size=(300, 200))


def with_data(x):
    """Programs have copies of the arrays that they close over."""
    f = ad.checkpoint(lambda w: np.tanh(DATA @ w), policy="products")
    return np.sum(f(x[:40_000].reshape(200, 200)) ** 2)


def turns_of_python(x):
    s = x[:3]
    for _ in range(5000):
        s = np.sin(s) + 0.1
    return np.sum(s)


def small_pieces(x):
    """Small records are read backwards without taking them apart."""
    for _ in range(400):
        y = np.sin(x)
        x = 0.5 * (y * y[0] + y[::-1]) + np.prod(y[:2])
    return x[1]


def chosen_branch(x):
    """Only the branch that is taken counts."""
    return np.sum(ad.cond(np.sum(x) > 0, lambda x: np.sin(np.exp(x)), np.cos, x))


def rows(x):
    """The gradient is handed out as a copy of a view."""
    return np.sum(ad.map(lambda row: np.sum(np.sin(row)), x.reshape(100, 600)))


def picked(x):
    return np.sum(np.take(x, np.argsort(-x))[:1000] ** 2)


def neighbors(x):
    return np.sum((x[1:] - x[:-1]) ** 2) + np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2)


def own_rule(x):
    rule = ad.custom_rule(jvp=lambda primals, tangents: (np.floor(primals[0]), tangents[0]))(np.floor)
    return np.sum(rule(x * 10) ** 2)


def pooled(x):
    return np.sum(ad.signal.max_pool(x[:57_600].reshape(4, 3, 60, 80) ** 2, 2) ** 2)


def undone_turns(x):
    turn = lambda c, t: (c * 1.01 + np.sin(t), None)
    return np.sum(ad.scan(turn, x, np.linspace(0, 1, 20), checkpoint=ad.memory.Invertible())[0] ** 2)


def chosen_states(x):
    plan = ad.memory.CheckpointsAt((4, 9, 14))
    return np.sum(ad.fori_loop(0, 24, lambda i, x: x + 0.01 * np.sin(x * i), x, checkpoint=plan))


def online(x):
    """There are more slots than turns."""
    turn = lambda x: x * 1.1 + 0.01 * np.sin(x)
    return np.sum(ad.while_loop(lambda x: x[-1] < 10, turn, x, checkpoint="online"))


PROGRAMS = [
    *(chain, variables, softmax, views, gathers, loop, loop_with_slots, checkpointed),
    *(branches, until, undone, statistics, images, contractions, waves, masks, in_place, lanes, order, second),
    *(in_files, kept_in_files, with_data, turns_of_python),
    *(chosen_branch, rows, picked, neighbors, own_rule, pooled, undone_turns, chosen_states, online),
]


def numbers(x):
    for _ in range(2000):
        x = np.sin(x) + 0.1 * x
    return x


def list_of_vectors(x):
    found = [x]
    for _ in range(300):
        found.append(np.sin(found[-1]) * 1.01)
    return np.sum(np.stack(found))


def products(w):
    s = np.ones(4)
    for _ in range(1000):
        s = np.tanh(w @ s)
    return np.sum(s)


def small_network(p):
    return np.sum(np.tanh(np.ones((3, 4)) @ p[0] + p[1]) ** 2)


def few_turns(x):
    return np.sum(ad.scan(lambda c, t: (np.sin(c) * t, None), x, np.linspace(0.9, 1, 50))[0])


def tiny(x):
    return np.sin(x) * x


def reshaped_transpose(x):
    y = 2.0 * np.reshape(x, (2, -1))
    return np.sum(np.sin(np.reshape(y.T, (-1,))))


def fortran_order(x):
    y = np.sin(np.reshape(x, (2, -1)).T)  # lies as its argument does
    return np.sum(np.exp(np.reshape(y, (-1,))))


def moved_axis(x):
    y = np.moveaxis(np.reshape(2.0 * x, (2, 2, -1)), 0, -1)
    return np.sum(np.exp(np.reshape(y, (2, -1))))


def raveled_step(x):
    return np.sum(np.sin(np.ravel((2.0 * x)[::2])))


COPIES = [reshaped_transpose, fortran_order, moved_axis, raveled_step]  # no view has these elements in C order


OBJECTS = [  # what they take is Python's objects
    (numbers, np.float64(0.3)),
    (list_of_vectors, np.linspace(0.1, 1, 8)),
    (products, 0.9 * np.eye(4)),
    (small_network, [np.ones((4, 4)), np.ones(4)]),
    (few_turns, np.linspace(0.1, 1, 20)),
    (tiny, np.float64(0.3)),
]


def measured(f, x):
    """The peak of value and gradient, in bytes."""
    ad.value_and_grad(f)(x)  # what is made once, such as programs of loops
    gc.collect()  # objects that Python keeps for later use would not be seen
    tracemalloc.start()
    try:
        ad.value_and_grad(f)(x)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "f, x",
    sampled([*[(f, X) for f in PROGRAMS + COPIES], (network, WEIGHTS), (small_pieces, X[:90]), *OBJECTS], 4),
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_within_a_fifth(f, x) -> None:
    report = ad.memory_report(f)(x)
    assert report.peak == pytest.approx(measured(f, x), rel=0.2)
    assert (report.notes != ()) == (f in (branches, until, chosen_branch, online))
    assert sum(part.nbytes for part in report.parts) == pytest.approx(report.peak)


def test_nothing_is_computed() -> None:
    huge = np.broadcast_to(np.float64(1.0), (10**6, 10**6))  # eight terabytes, if they were there
    report = ad.memory_report(lambda x: np.sum(np.exp(x) ** 2))(huge)
    assert report.peak >= 2 * 8e12
    assert "TB" not in str(report)
    assert "GB" in str(report)


def test_branches_run_forwards_once() -> None:
    seen = []

    def f(x):
        ad.debug.callback(lambda x: seen.append(x.shape), x)
        return np.sum(np.exp(x)) if x[0] > 0 else np.sum(x)

    report = ad.memory_report(f)(X)
    assert "ran forwards once" in report.notes[0]
    assert seen == [(N,)]
    assert ad.memory_report(f)(-X).peak < report.peak


def test_lines() -> None:
    report = ad.memory_report(variables)(X)
    first = next(part for part in report.parts if "a = np.exp(x)" in part.line)
    assert first.phase == "forward"
    assert first.nbytes == X.nbytes
    back = [part for part in report.parts if part.phase == "backward"]
    assert any("np.sum(c / b * a)" in part.line for part in back)
    assert list(report.parts) == sorted(report.parts, key=lambda part: -part.nbytes)


def test_arguments() -> None:
    def f(p, x, *, scale):
        return np.sum(np.tanh(p["w"] * x)) * scale

    one = ad.memory_report(f)({"w": X}, X, scale=2.0)
    both = ad.memory_report(f, argnums=(0, 1))({"w": X}, X, scale=2.0)
    assert one.results == X.nbytes + 8
    assert both.results == 2 * X.nbytes + 8
    assert both.peak > one.peak


def test_what_has_no_gradient_is_refused_as_by_grad() -> None:
    refused = [
        (lambda x: 2 * x, r"^memory_report needs a scalar output; the function returned float64\[3\]"),
        (lambda x: (x[0], x[1]), "^memory_report needs a function with one scalar output; it returned a tuple"),
        (lambda x: 1j * x[0], "^memory_report needs a real output"),
    ]
    for f, words in refused:
        with pytest.raises((ShapeError, DtypeError), match=words):
            ad.memory_report(f)(X[:3])
    with pytest.raises(DtypeError, match="memory_report: argument a has dtype int64"):
        ad.memory_report(np.sum)(np.arange(3))
    with pytest.raises(TypeError, match="argnums=3, but the function was called with 1"):
        ad.memory_report(np.sum, argnums=3)(X)


def test_checkpoints_take_less() -> None:
    plain = ad.memory_report(lambda x: np.sum(ad.fori_loop(0, 100, lambda i, x: np.sin(x), x)))(X)
    slots = ad.memory_report(lambda x: np.sum(ad.fori_loop(0, 100, lambda i, x: np.sin(x), x, checkpoint=6)))(X)
    assert slots.peak < plain.peak / 4


def test_compiled_functions() -> None:
    def f(x):
        return np.sum(ad.fori_loop(0, 50, lambda i, x: np.sin(x) * 1.01, x, checkpoint=4) ** 2)

    report = ad.memory_report(ad.jit(f))(X)
    assert 5 * X.nbytes < report.peak < 12 * X.nbytes
    assert report.parts[0].line == "workspace of the machine code"
    open_loop = ad.memory_report(ad.jit(until))(X)
    assert "while loop" in open_loop.notes[0]


def test_text_table_and_page() -> None:
    from rich.console import Console

    report = ad.memory_report(chain)(X)
    assert str(report).startswith("chain: ")
    page = io.StringIO()
    Console(width=160, file=page).print(report)
    assert "x = np.sin(x) * 1.1" in page.getvalue()
    assert "<table>" in report._repr_html_()
    assert report.as_dict()["peak"] == report.peak
    assert [format_bytes(n) for n in (12, 3400, 5.6e6, 7.8e9)] == ["12 B", "3.4 kB", "5.6 MB", "7.8 GB"]
