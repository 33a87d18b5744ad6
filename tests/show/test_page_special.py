"""Rarer functions in a page: each file says what it gives, and a page has those that it needs."""

import pytest
from scipy import special

import adjoint as ad
from adjoint.program.op import Op
from adjoint.show.scripts import MEMBERS, file, heads, ordered
from tests.show.evaluating import BY_NAME, Case, check

pytestmark = pytest.mark.browser
DEGREES = [0.0, 30.0, 45.0, 90.0, -135.0, 180.0, 270.0, 1234.5, -7.0, float("nan")]
CASES = {
    "tandg": Case(DEGREES, 1e-14),
    "cotdg": Case(DEGREES, 1e-14),
    "radian": Case([(1.0, 2.0, 3.0), (-90.0, 0.0, 30.5), (720.0, 59.0, 59.9)], 1e-15),
    "powm1": Case(
        [(2.0, 3.0), (1.0, 9.0), (1.001, 1e-9), (-2.0, 3.0), (5.0, 1e-20), (0.0, 2.0), (1e-300, 1e-3)], 1e-15
    ),
}


def test_values(opened):
    check(opened, *[case.of(name) for name, case in CASES.items()])


LISTED = "[numbers, complexes].map((r) => KINDS.flatMap((kind) => Object.keys(r[kind])))"


def test_files_give_what_they_say(opened):
    """Each registers the names of its head, no more and no less, with nothing before it but what it needs."""
    programs = []
    for name in heads():
        *before, own = [file("numbers.js"), *(file(f"special/{each}.js") for each in ordered([name]))]
        kinds = "const KINDS = ['of', 'several', 'given', 'arrays'];"
        programs.append("".join([*before, f"{kinds} const had = {LISTED};\n", own, f"return [had, {LISTED}];"]))
    page = opened("<!DOCTYPE html><meta charset=utf-8>")
    said = page.evaluate("programs => programs.map((text) => new Function(text)())", programs)
    for (name, head), (before, after) in zip(heads().items(), said, strict=True):
        new = [set(b) - set(a) for a, b in zip(before, after, strict=True)]
        assert new == [head.gives, head.complexes], name


def test_names_are_those_of_primitives():
    def below(kind):
        return {kind.__name__}.union(*map(below, kind.__subclasses__()))

    known = below(Op) | set(BY_NAME)
    families = tuple(f"{name}." for name in MEMBERS)
    for head in heads().values():
        assert not [g for g in head.gives | head.complexes if g not in known and not g.startswith(families)]


def test_a_page_has_the_files_that_its_primitives_need():
    page = ad.explain(lambda x: special.tandg(x) * 2)(30.0).html()
    assert file("special/degrees.js") in page
    assert file("special/degrees.js") not in ad.explain(lambda x: special.expit(x) * 2)(30.0).html()
