"""Writes docs/special_functions.md: how accurate derivatives of special functions are, measured against mpmath.

Run it from anywhere: `python tools/special_accuracy.py`. The exact values are kept in
`tests/ops/special_accuracy/references.json`; those of new points are computed first, which takes a while. With
`--anew` all are computed again.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mpmath

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.ops.special_accuracy.collection import REFERENCES, entries, stored  # noqa: E402
from tests.ops.special_accuracy.entry import Entry, error, exactly, key  # noqa: E402

PAGE = ROOT / "docs" / "special_functions.md"

HEADER = """\
# Accuracy of special functions

Written by `tools/special_accuracy.py`; the test suite holds every row to what it states.

Every ufunc of `scipy.special` is differentiable in all its real arguments; an integer (the degree of Hermite's
polynomials, the order of a Mathieu function) is none, and an error says so. Values are SciPy's. The derivatives are
closed forms where there are any; in a parameter often there are none, and they are series or integrals: sums of a
fixed number of terms or nodes, in NumPy, without differences of function values. Derivatives of derivatives are those
of the same sums.

In the table, *measured* is the greatest error among the points of a region, relative to the exact derivative (mpmath,
22 digits or more); *stated* is what the tests demand. `∂²` marks second derivatives. Of the inverses of distribution
functions the point itself is SciPy's, with the digits that it has.

| function | in | method | region | stated | measured |
|---|---|---|---|---|---|
"""

FOOTER = """
Not in the table: closed forms without a hard region (`expit`, `boxcox`, `fresnel`, `j0` …), which are held to 1e-10 at
points where the textbook formula would cancel or overflow, and all functions at regular points, against differences of
SciPy's values.

What has fewer digits, or no derivative:

* `pbwa` for a and x near 5: the function falls, its two parts do not, and eight digits remain, as in SciPy.
* `pro_rad2` and `obl_rad2` in c, and the `_cv` forms in c or cv: refused. A characteriztic value that does not belong
  to m, n and c belongs to no function. SciPy's values of `obl_rad2` are wrong, those of `pro_rad2` have few digits.
* `ncfdtridfn`, `ncfdtridfd`, `ncfdtrinc`, `stdtridf`, `nctdtridf`: SciPy's values have six to ten digits, so the
  derivatives, at these points, too.
* `nctdtr` and `stdtr` in df for df beyond 10⁵: the derivative falls as 1/df², and digits are lost as df grows.
* Mathieu functions in q: |q| up to a few thousand. Spheroidal functions in c: c up to 40.
* `ellip_harm`, `ellip_harm_2`, `ellip_normal`, `mathieu_even_coef`, `mathieu_odd_coef`, nodes and polynomials in the
  parameters of their weight (`roots_jacobi`, `jacobi` …): refused, with the reason and what to use instead.
"""


def completed(found: dict[str, str], wanted: Iterable[Entry], anew: bool) -> dict[str, str]:
    """The exact values of all points, as text."""
    values: dict[str, str] = {}
    for entry in wanted:
        for point in entry.points:
            name = key(entry, point)
            if anew or name not in found:
                print("computing", name, flush=True)
                values[name] = str(mpmath.nstr(exactly(entry, point), 25))
            else:
                values[name] = found[name]
    return values


def row(entry: Entry, values: dict[str, Any]) -> str:
    """A line of the table."""
    measured = max(error(entry, point, mpmath.mpf(values[key(entry, point)])) for point in entry.points)
    argument = f"`{entry.argument}`" + (f" ∂{'²³⁴⁵'[entry.order - 2]}" if entry.order > 1 else "")
    name = f"`{entry.function}`" + ("" if entry.result is None else f" [{entry.result}]")
    words = f"{entry.method} & {entry.region}".replace("|", "\\|").replace(" & ", " | ")
    return f"| {name} | {argument} | {words} | {entry.stated:.0e} | {measured:.0e} |"


def main() -> None:
    warnings.simplefilter("ignore")
    own = [e for e in entries() if not e.direct]
    values = completed(stored(), own, "--anew" in sys.argv)
    REFERENCES.write_text(json.dumps(values, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = [
        row(e, values if not e.direct else {key(e, p): exactly(e, p) for p in e.points})
        for e in sorted(entries(), key=lambda e: e.function)
    ]
    PAGE.write_text(HEADER + "\n".join(lines) + "\n" + FOOTER, encoding="utf-8")
    print("wrote", PAGE)


if __name__ == "__main__":
    main()
