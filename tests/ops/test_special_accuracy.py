"""The accuracy that docs/special_functions.md states: every row against stored values, some against mpmath anew."""

from pathlib import Path

import mpmath
import pytest

from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.ops.special import RULES
from tests.ops.special_accuracy.collection import entries, stored
from tests.ops.special_accuracy.entry import error, exactly, key

OURS = [e for e in entries() if not e.direct]  # the others hold their values themselves, and have tests of their own
VALUES = stored()
AGAIN = [(e, p) for e in OURS for p in e.points if "_cem" not in e.function and "nct" not in e.function][::9]


def title(entry):
    return f"{entry.function}-{entry.argument}-{entry.region}-{entry.order}"


@pytest.mark.parametrize("entry", OURS, ids=title)
def test_stated_accuracy(entry):
    for point in entry.points:
        assert key(entry, point) in VALUES, "compute the new value: python tools/special_accuracy.py"
        assert error(entry, point, mpmath.mpf(VALUES[key(entry, point)])) <= entry.stated, f"at {point}"


@pytest.mark.parametrize("entry, point", AGAIN, ids=lambda part: title(part) if hasattr(part, "stated") else str(part))
def test_stored_values(entry, point):
    with mpmath.workdps(30):
        want = exactly(entry, point)
        assert abs(mpmath.mpf(VALUES[key(entry, point)]) / want - 1) < 1e-18


def test_the_page_has_every_row():
    text = (Path(__file__).resolve().parents[2] / "docs" / "special_functions.md").read_text(encoding="utf-8")
    missing = [title(e) for e in entries() if f"`{e.function}`" not in text or e.region.replace("|", "\\|") not in text]
    assert not missing, "write docs/special_functions.md anew: python tools/special_accuracy.py"


def test_every_argument_is_differentiable_or_counts_or_is_refused_by_name():
    refused = {
        (f"{kind}_{name}{form}", argument)
        for kind in ("pro", "obl")
        for name in ("ang1", "rad1", "rad2")
        for form, arguments in (("", "c" if name == "rad2" else ""), ("_cv", "c cv"))
        for argument in arguments.split()
    }
    missing = {
        (name, argument)
        for name, op in RULES.items()
        for argument in getattr(op, "arguments", ())
        if argument not in op.partials and argument not in op.whole
    }
    assert missing == refused
    assert len(UFUNCS) > 230
