"""Files for viewers: valid in their formats, and of the same total as the profile."""

import json

import numpy as np
import pytest

import adjoint as ad
from adjoint.show.profile import export


def helper(x):
    return np.sin(x) * x


def f(x):
    with ad.scope("a"):
        y = helper(x)
    y = ad.fori_loop(0, 3, lambda i, v: np.tanh(v) * 2.0, y)
    return np.sum(y)


@pytest.fixture(scope="module")
def found():
    return ad.profile(f, seconds=0.02)(np.ones(50))


def test_speedscope(found, tmp_path) -> None:
    found.speedscope(tmp_path / "profile.speedscope.json")
    told = json.loads((tmp_path / "profile.speedscope.json").read_text(encoding="utf-8"))
    assert told["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = told["shared"]["frames"]
    assert all(isinstance(frame["name"], str) for frame in frames)
    assert any(frame.get("file") == __file__ and frame["line"] > 0 for frame in frames)
    assert 0 <= told["activeProfileIndex"] < len(told["profiles"])
    for one in told["profiles"]:
        assert (one["type"], one["unit"]) == ("sampled", "seconds")
        assert len(one["samples"]) == len(one["weights"])
        assert all(0 <= i < len(frames) for sample in one["samples"] for i in sample)
        assert min(one["weights"]) >= 0
        assert one["endValue"] - one["startValue"] == pytest.approx(sum(one["weights"]))
    both, forward, backward = (one["endValue"] for one in told["profiles"])
    assert forward == pytest.approx(found.forward)
    assert backward == pytest.approx(found.backward)
    assert both == pytest.approx(found.kernels + found.overhead)


def test_chrome_trace(found, tmp_path) -> None:
    found.chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    spans = [event for event in events if event["ph"] == "X"]
    for event in spans:
        assert {"name", "cat", "ts", "dur", "pid", "tid", "args"} <= set(event)
        assert event["dur"] >= 0
        assert event["ts"] >= 0
    primitives = [event for event in spans if event["cat"] == "primitive"]
    assert len(primitives) == len(found.timing.order)
    assert sum(event["dur"] for event in primitives) == pytest.approx(found.kernels * 1e6, rel=1e-3)
    names = [event["name"] for event in spans]
    assert {"forward", "backward", "a", "tanh"} <= set(names)


def test_spans_are_nested(found) -> None:
    """As viewers read them: in their order, with ends that are sums of floats."""
    told = export.chrome_trace("f", found.timing, found.overhead)
    spans = [e for e in json.loads(json.dumps(told))["traceEvents"] if e["ph"] == "X"]
    ends: list[float] = []
    for event in spans:
        while ends and ends[-1] <= event["ts"]:
            ends.pop()
        end = event["ts"] + event["dur"]
        assert not ends or end <= ends[-1]
        ends.append(end)
        if event["cat"] == "primitive":
            assert len(ends) >= 3  # inside a way and a line
    assert len(spans) > 20


# Of https://www.speedscope.app/file-format-schema.json: what must be there, and of which type it is.
FILE = {"$schema": str, "profiles": list, "shared": dict}
PROFILE = {"endValue": float, "name": str, "samples": list, "startValue": float, "type": str, "unit": str,
           "weights": list}  # fmt: skip
FRAME = {"name": str, "file": str, "line": float, "col": float}
UNITS = ("bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds")


@pytest.mark.parametrize("compiled", [False, True])
def test_speedscope_has_what_its_schema_requires(compiled, tmp_path) -> None:
    ad.profile(f, seconds=0.01, compiled=compiled)(np.ones(5)).speedscope(tmp_path / "p.json")
    told = json.loads((tmp_path / "p.json").read_text(encoding="utf-8"), parse_int=float)
    assert {key: type(told[key]) for key in FILE} == FILE
    assert {type(told[key]) for key in ("name", "exporter")} == {str}
    assert type(told["activeProfileIndex"]) is float
    for frame in told["shared"]["frames"]:
        assert "name" in frame
        assert {key: type(value) for key, value in frame.items()}.items() <= FRAME.items()
    assert len(told["profiles"]) == 3 + compiled
    for one in told["profiles"]:
        assert {key: type(one[key]) for key in PROFILE} == PROFILE
        assert one["type"] == "sampled"
        assert one["unit"] in UNITS
        assert {type(i) for sample in one["samples"] for i in sample} == {float}
        assert {type(weight) for weight in one["weights"]} == {float}


def test_long_runs_are_joined(found, monkeypatch) -> None:
    monkeypatch.setattr(export, "MOST_EVENTS", 5)
    joined = export.spells(found.timing)
    assert len(joined) < len(found.timing.order)
    assert sum(seconds for _, seconds, _ in joined) == pytest.approx(found.kernels)
    assert sum(calls for *_, calls in joined) == len(found.timing.order)
