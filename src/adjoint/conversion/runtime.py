"""What rewritten code calls, by name. Importing this module makes conversion ready."""

from __future__ import annotations

from types import CellType

from adjoint.conversion import array_functions, builtins, mathematics, reflection, sequences  # noqa: F401  (they fill the table of calls)
from adjoint.conversion.branches import choose_block, trying
from adjoint.conversion.calls import call, note_container_made
from adjoint.conversion.forms import HELPERS
from adjoint.conversion.lifting import caught
from adjoint.conversion.log import Variable
from adjoint.conversion.loops import run_for, run_while
from adjoint.conversion.special_methods import contains, iterate, managed, truth
from adjoint.conversion.stores import (
    apply_binary,
    apply_comparison,
    apply_unary,
    augment,
    augment_attribute,
    augment_item,
    delete_attribute,
    delete_item,
    get_attribute,
    get_item,
    set_attribute,
    set_item,
)
from adjoint.conversion.texts import formatted, percent, text
from adjoint.conversion.truths import all_of, any_of, choose, compare, negate
from adjoint.conversion.unsure import read_variable, returned_value, surely
from adjoint.conversion.values import UNDEFINED

HELPERS.update(
    {
        f"ad·{name}": CellType(value)
        for name, value in {
            "call": call,
            "call_into": array_functions.call_into,
            "set_item": set_item,
            "set_attribute": set_attribute,
            "augment": augment,
            "augment_item": augment_item,
            "augment_attribute": augment_attribute,
            "delete_item": delete_item,
            "delete_attribute": delete_attribute,
            "item": get_item,
            "attribute": get_attribute,
            "binary": apply_binary,
            "unary": apply_unary,
            "comparison": apply_comparison,
            "iterate": iterate,
            "fresh": builtins.fresh,
            "made": note_container_made,
            "truth": truth,
            "contains": contains,
            "managed": managed,
            "cell": Variable,
            "read": read_variable,
            "undefined": UNDEFINED,
            "returned_value": returned_value,
            "surely": surely,
            "trying": trying,
            "divide": mathematics.divide,
            "caught": caught,
            "if": choose_block,
            "while": run_while,
            "for": run_for,
            "choose": choose,
            "and": all_of,
            "or": any_of,
            "not": negate,
            "compare": compare,
            "formatted": formatted,
            "text": text,
            "percent": percent,
        }.items()
    }
)
