import asyncio
import inspect
import threading

import pytest

from adjoint.base.scopes import current_scope, scope


def test_scopes_nest_and_close():
    assert current_scope() == ()
    with scope("model"):
        with scope("encoder"):
            assert current_scope() == ("model", "encoder")
        assert current_scope() == ("model",)
    assert current_scope() == ()


def test_scope_closes_after_an_error():
    with pytest.raises(ZeroDivisionError), scope("model"):
        1 / 0
    assert current_scope() == ()


def test_one_object_can_be_entered_inside_itself():
    block = scope("block")
    with block, block:
        assert current_scope() == ("block", "block")
    assert current_scope() == ()


def test_decorated_function_runs_inside_and_keeps_its_signature():
    @scope("layer")
    def layer(x: float, depth: int = 0) -> tuple[str, ...]:
        """A layer."""
        return current_scope() if depth == 0 else layer(x, depth - 1)

    assert layer(1.0) == ("layer",)
    assert layer(1.0, depth=2) == ("layer", "layer", "layer")
    assert current_scope() == ()
    assert layer.__doc__ == "A layer."
    assert list(inspect.signature(layer).parameters) == ["x", "depth"]


def test_threads_do_not_see_each_other():
    shared = scope("shared")
    barrier = threading.Barrier(4)
    seen = {}

    def work(number):
        with scope(f"thread{number}"), shared:
            barrier.wait()
            seen[number] = current_scope()
            barrier.wait()
        seen[number] += current_scope()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    with scope("main"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert current_scope() == ("main",)
    assert seen == {number: (f"thread{number}", "shared") for number in range(4)}


def test_tasks_do_not_see_each_other():
    async def work(name):
        with scope(name):
            await asyncio.sleep(0)
            return current_scope()

    async def main():
        return await asyncio.gather(work("a"), work("b"))

    assert asyncio.run(main()) == [("a",), ("b",)]


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_scope_needs_a_name(name):
    with pytest.raises(TypeError, match="scope takes a name"):
        scope(name)


def test_functions_whose_body_runs_later_are_refused():
    async def coroutine(): ...

    def generator():
        yield

    async def both():
        yield

    for function in (coroutine, generator, both):
        with pytest.raises(TypeError, match="with scope"):
            scope("late")(function)


def test_repr():
    assert repr(scope("encoder")) == "scope('encoder')"
