"""The names of autograd are here, and its programs give the same numbers."""

import importlib
import pkgutil
from types import ModuleType

import autograd
import numpy as np
import pytest

import adjoint as ad
import adjoint.compat.autograd as ours
from tests.compat.autograd_programs import PROGRAMS

PARTS = ["builtins", "core", "extend", "misc.fixed_points", "misc.flatten", "misc.optimizers", "numpy", "scipy.stats"]
PARTS += ["scipy.integrate", "scipy.signal", "scipy.special", "test_util"]


def load(package: ModuleType) -> ModuleType:
    for part in PARTS:
        importlib.import_module(f"{package.__name__}.{part}")
    return package


THEIRS, OURS = load(autograd), load(ours)


@pytest.mark.filterwarnings("ignore")  # autograd's own
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_give_the_same_numbers(program) -> None:
    expected, structure = ad.tree.flatten(program(THEIRS))
    found, same = ad.tree.flatten(program(OURS))
    assert same == structure
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=3e-6 if program.__name__ == "differential_equation" else 1e-8, atol=1e-10)


# Modules of which users import a few names, those listed here; the rest is autograd's own machinery.
INSIDE = {
    "autograd.core": "make_vjp make_jvp vspace VSpace primitive getval isbox defvjp defjvp def_linear",
    "autograd.tracer": "Box getval isbox primitive notrace_primitive register_notrace",
    "autograd.util": "func subval subvals quick_grad_check",
    "autograd.builtins": "dict list tuple isinstance type",
    "autograd.numpy.numpy_boxes": "ArrayBox",
    "autograd.numpy.numpy_jvps": "",
    "autograd.numpy.numpy_vjps": "unbroadcast unbroadcast_f match_complex replace_zero metadata",
    "autograd.numpy.numpy_vspaces": "ArrayVSpace ComplexArrayVSpace",
    "autograd.numpy.numpy_wrapper": "make_diagonal concatenate_args array_from_args metadata",
    "autograd.misc.tracers": "const_graph",
}
# Names of public modules that are only the text of their rules.
RULES = (
    *("grad_", "fwd_grad_", "make_grad_", "make_gammainc_", "norm_vjp", "norm_jvp", "fft_grad", "rfft_grad"),
    *("irfft_grad", "get_fft", "check_even", "check_no_rep", "make_rfft", "truncate_pad", "argnums_unpack", "add2d"),
    *("T", "covgrad", "generalized_outer", "solve", "compute_conv", "einsum_tensordot", "flipped_idxs", "parse_axes"),
    *("fixed_point_vjp", "SparseObject", "custom_where", "notrace_functions", "wrap_", "parse_einsum", "c_class"),
    *("r_class", "inv_root_pi", "root_pi", "EPS", "TOL", "RTOL", "make_numerical_jvp", "atuple"),
)


def public_names(module: ModuleType) -> set[str]:
    """What a module of autograd defines itself, for its users."""
    if module.__name__ in INSIDE:
        return set(INSIDE[module.__name__].split())
    named = {name for name in dir(module) if not name.startswith("_") and hasattr(module, name)}
    return {
        name
        for name in named
        if not isinstance(getattr(module, name), ModuleType)
        and (name in np.__all__ or str(getattr(getattr(module, name), "__module__", "")).startswith(module.__name__))
        and not name.startswith(RULES)
    }


def test_every_public_name_is_here() -> None:
    found = [module.name for module in pkgutil.walk_packages(autograd.__path__, "autograd.")]
    modules = [importlib.import_module(name) for name in ("autograd", *found)]
    missing, count = [], 0
    for module in modules:
        if INSIDE.get(module.__name__) == "":
            continue
        mine = importlib.import_module(f"adjoint.compat.{module.__name__}")
        names = public_names(module)
        count += len(names)
        missing += [f"{module.__name__}.{name}" for name in sorted(names) if not hasattr(mine, name)]
    assert not missing
    assert count > 500, "the enumeration itself"


def test_names_of_its_machinery_are_refused_with_a_reason() -> None:
    for module, name in [("tracer", "new_box"), ("extend", "SparseObject"), ("misc.tracers", "full_graph")]:
        with pytest.raises(AttributeError, match="inside of autograd"):
            getattr(importlib.import_module(f"adjoint.compat.autograd.{module}"), name)


def test_one_import_is_enough() -> None:
    """A star import, parts by their full names, and NumPy itself in the place of autograd.numpy."""
    names: dict = {}
    exec("from adjoint.compat.autograd.numpy import *\nfrom adjoint.compat.autograd import grad", names)
    assert names["grad"](lambda x: names["sum"](names["tanh"](x)))(np.zeros(2)).tolist() == [1.0, 1.0]
    from adjoint.compat.autograd.numpy.linalg import slogdet
    from adjoint.compat.autograd.scipy.misc import logsumexp

    assert ours.grad(lambda a: slogdet(a)[1])(np.diag([2.0, 4.0])).tolist() == [[0.5, 0.0], [0.0, 0.25]]
    np.testing.assert_allclose(ours.grad(logsumexp)(np.zeros(4)), 0.25)
    assert ours.grad(lambda x: np.sum(x**2))(np.ones(2)).tolist() == [2.0, 2.0]
