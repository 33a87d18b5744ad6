"""Times nested as user functions call each other, or as scopes enclose each other: what a flame graph shows."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from adjoint.base.source import describe
from adjoint.show.profile.timing import Site

__all__ = ["Nest", "format_time", "frames", "nested"]

BAR = 24  # characters


@dataclass
class Nest:
    """A function, line, scope or primitive: the seconds spent in it, and in what it is made of."""

    name: str
    forward: float = 0.0
    backward: float = 0.0
    children: dict[str, Nest] = field(default_factory=dict[str, "Nest"])

    @property
    def seconds(self) -> float:
        """Forwards and backwards together."""
        return self.forward + self.backward

    def child(self, name: str) -> Nest:
        """The part of this name, made when it is new."""
        return self.children.setdefault(name, Nest(name))

    def largest_first(self) -> list[Nest]:
        """The parts."""
        return sorted(self.children.values(), key=lambda nest: -nest.seconds)

    def as_dict(self) -> dict[str, object]:
        """Plain dicts, lists, strings and numbers."""
        children = [child.as_dict() for child in self.largest_first()]
        return {"name": self.name, "forward": self.forward, "backward": self.backward, "children": children}

    def __str__(self) -> str:
        return "\n".join(self._lines(self.seconds, 0))

    __repr__ = __str__

    def _lines(self, whole: float, depth: int) -> Iterator[str]:
        share = self.seconds / whole if whole else 0.0
        bar = "█" * round(BAR * share)
        yield f"{bar:<{BAR}} {100 * share:5.1f} % {format_time(self.seconds):>9}  {'  ' * depth}{self.name}"
        for child in self.largest_first():
            yield from child._lines(whole, depth + 1)

    def flame(self) -> str:
        """The nest as HTML: wider is longer, further down is further inside."""
        return f'<div style="font:11px sans-serif">{self._flame(self.seconds or 1.0)}</div>'

    def _flame(self, whole: float) -> str:
        text = f"{self.name}: {format_time(self.seconds)}, {100 * self.seconds / whole:.1f} %"
        label = f'<div title="{html.escape(text)}" style="{_BOX}">{html.escape(self.name)}</div>'
        wide = [child for child in self.largest_first() if child.seconds > 0.002 * whole]
        share = max(self.seconds, 1e-300)
        inner = "".join(
            f'<div style="flex:0 0 {100 * child.seconds / share:.2f}%;min-width:0">{child._flame(whole)}</div>'
            for child in wide
        )
        return label + (f'<div style="display:flex">{inner}</div>' if inner else "")


_BOX = (
    "overflow:hidden;white-space:nowrap;text-overflow:ellipsis;padding:1px 3px;margin:0 1px 1px 0;"
    "background:#f2b35e;color:#222"
)


def frames(site: Site, by: str = "calls") -> list[str]:
    """What a site stands in, outermost first, with the primitive at the end."""
    if by == "scope":
        return [*site.equation.scope, describe(site.location), site.name]
    return [*map(describe, site.stack or (site.location,)), site.name]


def nested(name: str, sites: Iterable[Site], by: str) -> Nest:
    """The nest of all sites."""
    if by not in ("calls", "scope"):
        raise ValueError(f"nested(by={by!r}): give 'calls' for the user's functions, or 'scope' for `with ad.scope`.")
    top = Nest(name)
    for site in sites:
        if site.seconds == 0.0 and not site.calls:
            continue
        nest = top
        for frame in ("", *frames(site, by)):
            nest = nest.child(frame) if frame else top
            nest.forward += 0.0 if site.backward else site.seconds
            nest.backward += site.seconds if site.backward else 0.0
    return top


def format_time(seconds: float) -> str:
    """Seconds for people."""
    if seconds >= 1.0:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds * 1e6:.1f} µs" if seconds >= 1e-7 else f"{seconds * 1e9:.0f} ns" if seconds else "0"
