"""The architecture, as tests: layers, where imports stand, hooks against the order, and what `import adjoint` loads.

tests/test_file_layout.py has the sizes and names of files, and that tests mirror the source.

Each test lists every offender with its line, and says what to do.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source_files import ROOT, SOURCE, part_of, python_files, refuse, shown, within_source

# From the ground up. A folder (or file) imports from the rows below its own, never from its neighbors in the row.
LAYERS = [
    {"coverage"},
    {"base"},
    {"tree"},
    {"program"},
    {"ops"},
    {"transform", "simplify", "compile", "numpy", "scipy", "random", "signal"},
    {"conversion"},
    {"api", "debug", "extend", "jit"},
    {"testing", "deployment"},
    {"linear"},
    {"curvature", "sparse", "series", "memory", "audit", "data"},
    {"show"},
    {"implicit"},
    {"optimize"},
    {"integrate", "distributed"},
    {"probability"},
    {"smoothing"},
    {"graphical", "nn"},
    {"compat"},
    {"command"},
    {"__init__", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# The two files that tie a knot in this order. They alone may import out of order, import an own file when it is first
# needed, and give attributes to a class of another file.
KNOTS = {
    "ops/operators.py": "gives traced values the operators whose primitives are defined above them",
    "transform/tape_fast.py": "gives the tape's values operators that record without a detour, for small-array code",
    "numpy/dispatch.py": "the table behind __array_function__, which fetches the rules of SciPy's ufuncs on first use",
}

# Against the order of the layers: what a lower part leaves to an upper one, which hands it over when it is imported.
# Functions, by the name that the upper part calls, and tables that it fills. Fewer are better.
HOOKS = {
    "base.source.equation_lines": "program: frames that evaluate an equation stand for the line where it was recorded",
    "base.source.explainers": "program.misfits says in better words why shapes and dtypes do not fit",
    "base.config.thread_count": "compile.pool: machine code reads the number of threads, from memory above",
    "tree.registry.register": "random.generator: generators are containers, whose class is above",
    "tree.registry.register_leaf": "program.types: a type stands for an array in a tree",
    "program.save.RECORDS": "ops: classes beside the primitives that a saved program holds, by name",
    "program.record.WEAKENED": "ops.elementwise.weak_types: which arithmetic of Python numbers gives Python numbers",
    "program.trace.provide_programs": "transform.inner_programs: primitives transform their programs by the trace",
    "ops.operators.FUNCTIONS": "numpy.dispatch: the functions behind __array_function__",
    "ops.operators.GENERAL": "numpy: what operators leave to the functions (keywords of ufuncs, assignment)",
    "ops.operators.answer_operators": "numpy.selected: what a mask selects answers operators beside traced values",
    "ops.operators.install": "numpy: traced values have operators once the functions behind them are there",
    "numpy.waiting.load_all": "extend: the names of primitives are known where others are declared",
    "ops.control.call.run_with": "jit.pipeline: programs that are called with plain values run compiled",
    "transform.tape_fast.install": "api.gradients: after the operators of all traced values, those of the tape",
}

# Imported inside the functions that need them, so that `import adjoint` stays quick and small.
LAZY = {
    "IPython",
    "attrs",
    "attr",
    "clarabel",
    "difflib",
    "glob",
    "html",
    "llvmlite",
    "matplotlib",
    "mpmath",
    "pandas",
    "pyarrow",
    "rich",
    "safetensors",
    "scipy",
    "sklearn",
    "sysconfig",
    "tempfile",
    "torch",
    "unopy",
    "zipfile",
}

# Packages whose files wait until they are asked for.
DOORS = {"__init__.py", "jit/__init__.py", "command/main.py", "coverage/__init__.py", "nn/__init__.py"}
DOORS |= {"scipy/__init__.py"}
DOORS |= {"numpy/__init__.py", "conversion/runtime.py"}  # functions of NumPy, and what rewritten code calls
DOORS |= {"compile/families.py"}  # the rules of primitives that a program has
DOORS |= {"scipy/sparse/linalg/__init__.py"}  # its iterative solvers are those of linear
DOORS |= {"integrate/__init__.py", "optimize/__init__.py"}  # their parts are loaded when they are first used
DOORS |= {"scipy/integrate.py"}  # its integrals and paths are those of integrate
DOORS |= {"scipy/optimize.py"}  # its solvers have the derivatives of implicit, and stand in optimize


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Full dotted names that an import statement brings in."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names]


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of each import, wherever it stands; what is deferred is one as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, name) for name in imported(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "deferred":
            yield node.lineno, ".".join(str(ast.literal_eval(argument)) for argument in node.args)


def own_part(name: str) -> str | None:
    """Which folder or top file of this package a full name belongs to; None for other packages."""
    package, *rest = name.split(".")
    if package != "adjoint":
        return None
    return rest[0] if rest and rest[0] in LEVEL else "__init__"


def imports_out_of_order(path: Path, tree: ast.AST) -> Iterator[str]:
    here = part_of(path)
    for line, name in imports(tree):
        there = own_part(name)
        if there is None or there == here or LEVEL[there] < LEVEL[here]:
            continue
        relation = "its neighbor" if LEVEL[there] == LEVEL[here] else "above it"
        yield f"{shown(path)}:{line} imports {name}: {there} is {relation}"


def imports_in_functions(path: Path, tree: ast.AST) -> Iterator[str]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for line, name in imports(function):
            if name.split(".")[0] not in LAZY:
                yield f"{shown(path)}:{line} imports {name} inside a function"
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and "adjoint" in imported_by_name(call) and within_source(path) not in DOORS:
                yield f"{shown(path)}:{call.lineno} imports a file of this package by its name as text"


def attributes_given_from_outside(path: Path, tree: ast.AST) -> Iterator[str]:
    """`Other.name = ...` and `setattr(Other, ...)`, where Other is a class that another file of ours defines."""
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = [node for node in statements if (node.module or "").split(".")[0] == "adjoint"]
    foreign = {alias.asname or alias.name for node in own for alias in node.names if alias.name[:1].isupper()}
    foreign = {name for name in foreign if not name.isupper()}  # tables are there to be filled
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = [target.value for target in node.targets if isinstance(target, ast.Attribute)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
            targets = node.args[:1]
        for target in targets:
            if isinstance(target, ast.Name) and target.id in foreign:
                yield f"{shown(path)}:{target.lineno} gives an attribute to {target.id}"


def module_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """What runs when a file is imported."""
    waiting: list[ast.stmt] = list(tree.body)
    for node in waiting:  # it grows
        if isinstance(node, ast.If | ast.For | ast.With | ast.Try):
            waiting += [*node.body, *getattr(node, "orelse", [])]
        else:
            yield node


def handed_over(path: Path, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What a file hands to other parts when it is imported: name of the hook, and line.

    `hook(…)`, `module.hook(…)`, `TABLE[…] = …` and `TABLE.update(…)`, whose first name another part defines.
    """
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    origins = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in statements for alias in node.names}
    for node in module_statements(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            targets = [node.value.func]
        elif isinstance(node, ast.Assign):
            targets = [target for target in node.targets if isinstance(target, ast.Attribute | ast.Subscript)]
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        for target in targets:
            attributes: list[str] = []
            while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
                attributes += [target.attr] if isinstance(target, ast.Attribute) else []
                target = target.func if isinstance(target, ast.Call) else target.value
            origin = origins.get(target.id, "") if isinstance(target, ast.Name) else ""
            if own_part(origin) not in (None, part_of(path)):
                is_module = (SOURCE.parent / origin.replace(".", "/")).with_suffix(".py").is_file()
                hook = ".".join([origin, *attributes[::-1][:1]] if is_module else [origin])
                yield hook.removeprefix("adjoint."), f"{shown(path)}:{node.lineno}"


def imported_by_name(call: ast.Call) -> str:
    """The text given to import_module or __import__; empty for other calls."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if function not in {"import_module", "__import__"} or not call.args:
        return ""
    return ast.unparse(call.args[0])


@pytest.fixture(scope="module")
def modules() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(encoding="utf-8"), filename=str(path))) for path in python_files(SOURCE)]


def test_every_part_has_a_layer(modules: list[tuple[Path, ast.Module]]) -> None:
    unknown = sorted({part_of(path) for path, _ in modules} - set(LEVEL))
    refuse(unknown, "Parts of src/adjoint with no layer; give each one its row in LAYERS:")


def unless_a_knot(modules: list[tuple[Path, ast.Module]]) -> list[tuple[Path, ast.Module]]:
    return [(path, tree) for path, tree in modules if within_source(path) not in KNOTS]


def test_imports_point_downwards(modules: list[tuple[Path, ast.Module]]) -> None:
    known = [(path, tree) for path, tree in unless_a_knot(modules) if part_of(path) in LEVEL]
    refuse(
        (offender for path, tree in known for offender in imports_out_of_order(path, tree)),
        "Imports point downwards, to a lower row of LAYERS. Move what is shared down to where both can see it, "
        "or have the upper part hand it over:",
    )


def test_imports_stand_at_the_top(modules: list[tuple[Path, ast.Module]]) -> None:
    refuse(
        sorted({offender for path, tree in unless_a_knot(modules) for offender in imports_in_functions(path, tree)}),
        f"Imports stand at the top of the file, except for the lazy packages ({', '.join(sorted(LAZY))}). "
        "An own file imported in a function is a hidden cycle:",
    )


def test_classes_get_their_attributes_where_they_are_defined(modules: list[tuple[Path, ast.Module]]) -> None:
    refuse(
        (fault for path, tree in unless_a_knot(modules) for fault in attributes_given_from_outside(path, tree)),
        f"Only {' and '.join(KNOTS)} give attributes to a class of another file; register with their tables instead:",
    )


def test_every_knot_is_needed(modules: list[tuple[Path, ast.Module]]) -> None:
    trees = {within_source(path): (path, tree) for path, tree in modules}
    rules = (imports_out_of_order, imports_in_functions, attributes_given_from_outside)
    stale = [name for name in KNOTS if name not in trees or not any(list(rule(*trees[name])) for rule in rules)]
    refuse(stale, "Files in KNOTS that are gone, or need no exception any more; take them out:")


def test_every_hook_is_named(modules: list[tuple[Path, ast.Module]]) -> None:
    hooks = [(name, line) for path, tree in modules for name, line in handed_over(path, tree)]
    refuse(
        (f"{line} hands something to {name}" for name, line in hooks if name not in HOOKS),
        "A part hands something to one below it when it is imported. Let the upper part call the lower one with it; "
        "if that is not possible, name the hook in HOOKS, with the reason:",
    )
    refuse(sorted(set(HOOKS) - {name for name, _ in hooks}), "Hooks in HOOKS that nobody uses any more; remove them:")


def test_import_is_light() -> None:
    """`import adjoint` loads none of the lazy packages."""
    code = f"import sys, adjoint; print(*sorted(sys.modules.keys() & {LAZY!r}))"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    refuse(run.stdout.split(), "`import adjoint` loads packages that should wait until they are needed:")
