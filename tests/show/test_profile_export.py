"""Files for viewers: valid in their formats, and of the same total as the profile."""

import json

import numpy as np
import pytest

import adjoint as ad
from adjoint.show import profile_export


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
    told = profile_export.chrome_trace("f", found.timing, found.overhead)
    spans = [(e["ts"], e["ts"] + e["dur"]) for e in told["traceEvents"] if e["ph"] == "X"]
    for begin, end in spans:
        for other_begin, other_end in spans:
            apart = end <= other_begin + 1e-3 or other_end <= begin + 1e-3
            within = begin >= other_begin - 1e-3 and end <= other_end + 1e-3
            around = other_begin >= begin - 1e-3 and other_end <= end + 1e-3
            assert apart or within or around


def test_long_runs_are_joined(found, monkeypatch) -> None:
    monkeypatch.setattr(profile_export, "MOST_EVENTS", 5)
    joined = profile_export.spells(found.timing)
    assert len(joined) < len(found.timing.order)
    assert sum(seconds for _, seconds, _ in joined) == pytest.approx(found.kernels)
    assert sum(calls for *_, calls in joined) == len(found.timing.order)
