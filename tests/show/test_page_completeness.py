"""Every primitive is computed in pages, or stands here with the reason why not: a new one cannot be forgotten."""

import importlib
import inspect
import pkgutil

import pytest

import adjoint
from adjoint.ops.arrays.contract import MatMul
from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.ops.special.parameters import FAMILIES
from adjoint.ops.special.quadrature import PLACES
from adjoint.ops.special.sequences import EQUATIONS
from adjoint.program.op import Op
from adjoint.show.scripts import file, heads, ordered

pytestmark = pytest.mark.browser

for module in pkgutil.walk_packages(adjoint.__path__, "adjoint."):
    if "compile" not in module.name and not module.name.endswith("__main__"):
        importlib.import_module(module.name)

# The modules of primitives that are neither functions of numbers nor reductions, products or rearrangements, by why a
# page does not compute them.
NOT_COMPUTED = {
    "linear algebra": """
        banded decompose determinant eigenvalues equations exponential frames ldl levels linear_solve matrix_functions
        riccati schur solving spectral spectral_function strays""",
    "control flow, which a story tells step by step": "call control loops recompute reversible rewind scan sweep",
    "effects, which a story leaves out": "effects guards",
    "functions in Python": "custom",
    "draws, which are made of 64 bits": "draws ordering rejection",
}
FAMILIES_BY_MEMBER = {"ParameterDerivative": FAMILIES, "Placed": PLACES, "FunctionSequence": EQUATIONS}


def classes(kind=Op):
    """All primitives that have a class of their own."""
    for below in kind.__subclasses__():
        if below.__module__.startswith("adjoint.") and not inspect.isabstract(below):
            yield below
        yield from classes(below)


@pytest.fixture(scope="module")
def computed(chromium):
    """What the evaluator has with all of its files, for real numbers and for complex ones."""
    names = ("numbers", *(f"special/{name}" for name in ordered(heads())), "arrays", "primitives")
    text = "".join(file(f"{name}.js") for name in names)
    page = chromium.new_page()
    page.set_content(f"<!DOCTYPE html><meta charset=utf-8><script>{text}</script>")
    listed = "['of', 'several', 'given', 'arrays'].flatMap((kind) => Object.keys(registry[kind]))"
    real = page.evaluate(f"[...((registry) => {listed})(numbers), ...Object.keys(primitives.table)]")
    yield set(real), set(page.evaluate(f"((registry) => {listed})(complexes)"))
    page.close()


def loops(op):
    """For each loop of a ufunc, whether it takes or gives complex numbers."""
    return {bool({*kind} & {*"FDG"}) for kind in getattr(op.ufunc, "types", [])}


def test_every_function_is_computed(computed):
    real, complexes = computed
    ufuncs = {str(op): op for op in UFUNCS.values() if not isinstance(op, MatMul)}
    members = {f"{family}.{member}" for family, known in FAMILIES_BY_MEMBER.items() for member in known}
    done = real | (members & complexes) | {name for name, op in ufuncs.items() if loops(op) == {True}} & complexes
    assert not (ufuncs.keys() | members) - done
    takes = {name for name, op in ufuncs.items() if True in loops(op)}
    assert not takes - complexes


def test_every_class_of_primitives_is_computed_or_has_a_reason(computed):
    given = {name for names in NOT_COMPUTED.values() for name in names.split()}
    ufuncs = {type(op) for op in UFUNCS.values()}
    own = [kind for kind in classes() if kind not in ufuncs and not kind.__name__.endswith("Ufunc")]
    found = {kind.__name__ for kind in own if kind.__module__.rpartition(".")[2] not in given}
    assert not found - computed[0] - computed[1] - set(FAMILIES_BY_MEMBER)
    assert given <= {kind.__module__.rpartition(".")[2] for kind in own}
