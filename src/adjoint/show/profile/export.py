"""A profile as a file for speedscope (www.speedscope.app) and for Chrome's and Perfetto's trace viewers."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from adjoint.base.source import Location, describe, line
from adjoint.show.profile.nesting import frames
from adjoint.show.profile.timing import Site, Timing

__all__ = ["chrome_trace", "speedscope", "write_json"]

MOST_EVENTS = 200_000  # beyond that, neighbors of one site are joined, then all of a site
TICKS = 1024  # in a microsecond. Viewers add up floats: fractions of two stay exact, so that ends meet
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_json(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write a file, whole or not at all."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def spells(timing: Timing) -> list[tuple[Site, float, int]]:
    """(site, seconds, calls) in the order in which things ran; when they are too many, joined by site."""
    events: list[tuple[int, float, int]] = [(p, s, 1) for p, s in zip(timing.order, timing.seconds, strict=True)]
    if len(events) > MOST_EVENTS:
        sums: dict[int, tuple[int, float, int]] = {}
        for number, seconds, _ in events:
            _, before, calls = sums.get(number, (number, 0.0, 0))
            sums[number] = (number, before + seconds, calls + 1)
        events = list(sums.values())
    listed = [(timing.sites[number], seconds, calls) for number, seconds, calls in events]
    return sorted(listed, key=lambda one: one[0].backward)  # stable: forwards first, each in its order


def speedscope(name: str, timing: Timing, overhead: float, estimates: Sequence[Site] = ()) -> dict[str, Any]:
    """speedscope's own format: one profile each for both passes, forward, backward; samples weigh seconds.

    `estimates` are the sites of a compiled function, which get a profile of their own.
    """
    numbers: dict[tuple[str, str | None, int | None], int] = {}

    def number(text: str, file: str | None = None, at: int | None = None) -> int:
        return numbers.setdefault((text, file, at), len(numbers))

    def stack(site: Site) -> list[int]:
        locations: Sequence[Any] = site.stack or (site.location,)
        frames = [number(scope) for scope in site.equation.scope]
        for location in locations:
            where = (location.code.co_filename, line(location)) if isinstance(location, Location) else (None, None)
            frames.append(number(describe(location), *where))
        return [*frames, number(site.name)]

    ran = spells(timing)
    stacks = {id(site): stack(site) for site in (*timing.sites, *estimates)}
    parts = [
        [(stacks[id(site)], s) for site, s, _ in ran if wanted is None or site.backward is wanted]
        for wanted in (None, False, True)
    ]
    parts[0].append(([number("Python and the record")], overhead))
    titles = ["forward and backward", "forward", "backward", "compiled (estimates)"]
    parts.append([(stacks[id(site)], site.seconds) for site in sorted(estimates, key=lambda site: site.backward)])
    profiles = [_sample(f"{name}: {title}", part) for title, part in zip(titles, parts, strict=True) if part]
    shared: list[dict[str, Any]] = []
    for text, file, at in numbers:
        shared.append({"name": text} if file is None else {"name": text, "file": file, "line": at})
    return {
        "$schema": _SCHEMA,
        "name": name,
        "exporter": "adjoint",
        "activeProfileIndex": 0,
        "shared": {"frames": shared},
        "profiles": profiles,
    }


def _sample(name: str, weighed: Sequence[tuple[list[int], float]]) -> dict[str, Any]:
    weights = [weight for _, weight in weighed]
    return {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [sample for sample, _ in weighed],
        "weights": weights,
    }


def chrome_trace(name: str, timing: Timing, overhead: float) -> dict[str, Any]:
    """Chrome's trace event format: a complete event for each primitive, and for each user line around it."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": 1, "tid": 1, "ts": 0, "name": "process_name", "args": {"name": name}},
        {"ph": "M", "pid": 1, "tid": 1, "ts": 0, "name": "thread_name", "args": {"name": "primitives, end to end"}},
    ]
    events += _spans(spells(timing))
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "what": "primitives timed one by one, laid end to end: forward, then backward",
            "seconds of Python and the record": overhead,
        },
    }


def _spans(ran: Sequence[tuple[Site, float, int]]) -> list[dict[str, Any]]:
    """Complete events, each before those that it encloses; one that encloses several neighbors spans all of them."""
    now = 0
    timed_events: list[tuple[int, int, dict[str, Any]]] = []  # begin, depth, event
    open_: list[tuple[str, int]] = []

    def close(depth: int) -> None:
        while len(open_) > depth:
            text, begin = open_.pop()
            timed_events.append((begin, len(open_), _event(text, "line", begin, now - begin, {})))

    for site, seconds, calls in ran:
        outer = [("backward" if site.backward else "forward"), *site.equation.scope, *frames(site)[:-1]]
        same = 0
        while same < min(len(outer), len(open_)) and outer[same] == open_[same][0]:
            same += 1
        close(same)
        open_ += [(text, now) for text in outer[same:]]
        details = {"calls": calls, "bytes": site.nbytes // max(site.calls, 1) * calls, "inside": list(site.inside)}
        lasts = max(round(seconds * 1e6 * TICKS), 1)
        timed_events.append((now, len(open_), _event(site.name, "primitive", now, lasts, details)))
        now += lasts
    close(0)
    return [event for _, _, event in sorted(timed_events, key=lambda one: one[:2])]


def _event(name: str, category: str, begin: int, lasts: int, args: dict[str, Any]) -> dict[str, Any]:
    micro = {"ts": begin / TICKS, "dur": lasts / TICKS}
    return {"ph": "X", "pid": 1, "tid": 1, "cat": category, "name": name, **micro, "args": args}
