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


@pytest.mark.parametrize("name", CASES)
def test_values(opened, name):
    check(opened, CASES[name].of(name))


@pytest.mark.parametrize("name", heads())
def test_a_file_gives_what_it_says(opened, name):
    *before, own = [file("numbers.js"), *(file(f"special/{each}.js") for each in ordered([name]))]
    listed = "{t}.flatMap((kind) => Object.keys({r}[kind]))".replace("{t}", "['of', 'several', 'given', 'arrays']")
    given = lambda registry: listed.replace("{r}", registry)
    html = f"<script>{''.join(before)}\nconst had = [{given('numbers')}, {given('complexes')}];\n"
    html += f"{own}\nconst has = [{given('numbers')}, {given('complexes')}];</script>"
    page = opened(f"<!DOCTYPE html><meta charset=utf-8>{html}")
    new = page.evaluate("[0, 1].map((k) => has[k].filter((name) => !had[k].includes(name)))")
    assert [set(names) for names in new] == [heads()[name].gives, heads()[name].complexes]


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
