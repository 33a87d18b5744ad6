"""The runner of pages sees what is wrong, and says where."""

import math
import textwrap

import pytest

from tests.docs.pages import PageError, agrees, blocks, run_page


def page(code: str) -> str:
    return f"# Title\n\nSome words.\n\n```python\n{textwrap.dedent(code).strip()}\n```\n"


def test_blocks_of_a_page_share_a_namespace_and_others_are_left_alone() -> None:
    text = page("a = 2") + "```sh\n```python is not run here\n```\n" + page("b = a + 1  # → 3")
    assert run_page(text, "p.md")["b"] == 3
    assert [block.line for block in blocks(text)] == [6, 16]


@pytest.mark.parametrize(
    "code, message",
    [
        ("1 + 1  # → 3", "p.md:6: promised 3\n  but got 2"),
        ("a = 1\nb = 1 / 0", "p.md:7: ZeroDivisionError"),
        ("def f(:\n    pass", "p.md:6: "),
        ("for k in range(2):\n    k  # → 0", "p.md:7: a promised value stands at the end"),
        ("1 + 1  # → ValueError: no", "p.md:6: promised ValueError: no, but nothing was raised"),
        ("int('x')  # → ValueError: another text", "p.md:6: promised ValueError: another text\n  but got ValueError"),
        ("int('x')  # → TypeError: invalid", "p.md:6: promised TypeError"),
        ("pass  # → Exception: any", "p.md:6: promised Exception: any, but nothing was raised"),
        ("print('one')  # → two", "p.md:6: promised two\n  but got 'one'"),
    ],
)
def test_faults_are_reported_with_their_line(code: str, message: str) -> None:
    with pytest.raises(PageError) as caught:
        run_page(page(code), "p.md")
    assert str(caught.value).startswith(message)


def test_a_block_left_open_is_an_error() -> None:
    with pytest.raises(PageError, match="never closed"):
        run_page("```python\n1 + 1\n", "p.md")


@pytest.mark.parametrize("opening", ["```py", "  ```py", "```pycon", "```python no-run"])
def test_a_block_that_would_be_passed_over_is_an_error(opening: str) -> None:
    with pytest.raises(PageError, match="line 3: this block would not run"):
        run_page(f"One\n\n{opening}\n1 + 1\n```\n", "p.md")


def test_blocks_in_tabs_run_at_their_lines() -> None:
    with pytest.raises(PageError, match=r"p\.md:4: promised 3"):
        run_page('=== "A tab"\n\n    ```python\n    1 + 1  # → 3\n    ```\n', "p.md")


def test_promises_that_hold() -> None:
    code = """
        import numpy as np
        x = np.array([1.0, 2.0])  # → [1.0, 2.0]
        x * (1 + 1e-12)  # → array([1., 2.])
        {"a": x, "b": (1, True)}  # → {"a": [1.0, 2.0], "b": (1, True)}
        (x[0] / 3,
         x[1])  # → (0.3333…, 2.0)
        print("two", 2)  # → two 2
        print(x[0] / 3)  # → 0.33…
        int("x")  # → ValueError: invalid literal … 'x'
        object()  # → <object object at …>
        np.exp(-20.0)  # → 2.06…e-09
    """
    run_page(page(code), "p.md")


@pytest.mark.parametrize(
    "value, promise, holds",
    [
        (5.98308, "5.983…", True),
        (5.9845, "5.983…", False),
        (5.98308, "5.983", False),
        (-0.0, "0.0", True),
        (1e-14, "0.0", True),
        (1e-3, "0.0", False),
        ([1.0, 2.0], "[1.0]", False),
        ((1.0,), "(1.0,)", True),
        (True, "1.0", False),
        (None, "1.0", False),
        (math.nan, "1.0", False),
        (math.nan, "nan", True),
        (1 + 2j, "(1+2j)", True),
        ("text", "'text'", True),
        ("text", "other", False),
        ({"a": 1.0}, "{'b': 1.0}", False),
    ],
)
def test_agreement(value: object, promise: str, holds: bool) -> None:
    assert agrees(value, promise) is holds
