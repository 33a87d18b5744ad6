"""The layered layout: no overlaps, arrows down, few crossings, the same picture each time, and fast."""

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.show.drawing.crossings import crossings
from adjoint.show.drawing.layout import Arrow, arrange_layers, item_widths, spread


@st.composite
def graphs(draw, circles=False):
    boxes = draw(st.integers(1, 14))
    pairs = [(a, b) for a in range(boxes) for b in range(boxes) if (a != b if circles else a < b)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=24)) if pairs else []
    arrows = tuple(Arrow(a, b, draw(st.booleans()), draw(st.integers(0, 1))) for a, b in chosen)
    widths = draw(st.lists(st.floats(10, 400), min_size=boxes, max_size=boxes))
    return boxes, arrows, widths, [draw(st.floats(5, 80)) for _ in arrows]


def no_overlap(arrangement, x, widths, labels):
    width, apart = item_widths(arrangement, widths, labels)
    for layer in arrangement.layers:
        for a, b in itertools.pairwise(layer):
            assert x[b] - width[b] / 2 - (x[a] + width[a] / 2) >= (apart[a] + apart[b]) / 2 - 1e-6


@settings(max_examples=80, deadline=None)
@given(graphs())
def test_a_layout_has_no_overlaps_and_arrows_go_down_through_each_layer(graph):
    boxes, arrows, widths, labels = graph
    arrangement = arrange_layers(boxes, arrows)
    x = spread(arrangement, widths, labels, [(3.0, -4.0)] * len(arrows))
    no_overlap(arrangement, x, widths, labels)
    assert sorted(item for layer in arrangement.layers for item in layer) == list(range(len(arrangement.layer)))
    assert all(arrangement.layer[item] == k for k, layer in enumerate(arrangement.layers) for item in layer)
    for k, (arrow, route) in enumerate(zip(arrows, arrangement.routes, strict=True)):
        assert (route[0], route[-1]) == (arrow.source, arrow.target)
        ranks = [arrangement.layer[item] for item in route]
        assert ranks == list(range(ranks[0], ranks[0] + len(ranks)))
        assert all(item >= boxes for item in route[1:-1])
        label = arrangement.label(k)
        assert (label is not None) == arrow.labeled
        if label is not None:  # nobody else runs through a label
            assert sum(label in other for other in arrangement.routes) == 1
    again = arrange_layers(boxes, arrows)
    assert again == arrangement
    assert spread(again, widths, labels, [(3.0, -4.0)] * len(arrows)) == x


@settings(max_examples=30, deadline=None)
@given(graphs(circles=True))
def test_circles_are_cut_by_arrows_that_go_up(graph):
    boxes, arrows, widths, labels = graph
    arrangement = arrange_layers(boxes, arrows)
    no_overlap(arrangement, spread(arrangement, widths, labels), widths, labels)
    for k, (arrow, route) in enumerate(zip(arrows, arrangement.routes, strict=True)):
        assert (route[0], route[-1]) == (arrow.source, arrow.target)
        down = arrangement.layer[arrow.source] < arrangement.layer[arrow.target]
        assert down == (k not in arrangement.backwards)


@settings(max_examples=30, deadline=None)
@given(graphs(), st.integers(0, 3), st.integers(0, 3))
def test_ports_make_up_the_first_and_the_last_layer_in_their_order(graph, enter, leave):
    boxes, arrows, _, _ = graph
    first = list(range(boxes, boxes + enter))[::-1]
    last = list(range(boxes + enter, boxes + enter + leave))[::-1]
    ported = [*arrows, *[Arrow(p, k % boxes, True, 0) for k, p in enumerate(first)],
              *[Arrow(k % boxes, p, False, 1) for k, p in enumerate(last)]]  # fmt: skip
    arrangement = arrange_layers(boxes + enter + leave, ported, first=first, last=last)
    if first:
        assert arrangement.layers[0] == first
    if last:
        assert arrangement.layers[-1] == last


def test_chains_are_straight_and_what_goes_beside_them_makes_way():
    chain = [Arrow(k, k + 1, True) for k in range(7)]
    arrangement = arrange_layers(10, [*chain, Arrow(0, 7), Arrow(8, 3, True), Arrow(9, 5, True)], floating=(8, 9))
    x = spread(arrangement, [100.0, 140.0, 60.0, 100.0, 80.0, 220.0, 100.0, 100.0, 90.0, 90.0], [20.0] * 10)
    assert len({round(x[k], 6) for k in range(8)}) == 1
    assert arrangement.layer[8] == arrangement.layer[2]  # it stands beside what is read together with it
    assert arrangement.layer[9] == arrangement.layer[4]


def test_there_are_no_more_crossings_than_there_must_be():
    """Trees and ladders have none; and a loop whose turns all read the same three variables."""
    tree = [Arrow((k - 1) // 2, k, True) for k in range(1, 31)]
    ladder = [Arrow(k, k + 1) for k in range(20)] + [Arrow(k, k + 2) for k in range(19)]
    loop = [Arrow(k, 3 + t) for k in range(3) for t in range(6)] + [Arrow(3 + t, 4 + t) for t in range(5)]
    for boxes, arrows in ((31, tree), (21, ladder)):
        arrangement = arrange_layers(boxes, arrows)
        assert crossings(arrangement.layers, arrangement.lower) == 0
    arrangement = arrange_layers(9, loop)  # two of the three run on the same side: one of them is crossed at each turn
    assert crossings(arrangement.layers, arrangement.lower) == 5


def test_crossings_are_counted_as_by_hand():
    rng = random.Random(1)
    upper, lower = list(range(8)), list(range(8, 16))
    lines = [[rng.choice(lower) for _ in range(3)] for _ in upper] + [[] for _ in lower]
    lines = [sorted(set(ends)) for ends in lines]
    pairs = [(a, b) for a in upper for b in lines[a]]
    slow = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(pairs, 2))
    assert crossings([upper, lower], lines) == slow > 0


def test_two_thousand_boxes():
    rng = random.Random(0)
    pairs = sorted({(max(0, j - rng.randint(1, 30)), j) for j in range(1, 2000) for _ in range(2)})
    arrows = [Arrow(a, b, True) for a, b in pairs]
    arrangement = arrange_layers(2000, arrows)
    x = spread(arrangement, [100.0] * 2000, [30.0] * len(arrows))
    no_overlap(arrangement, x, [100.0] * 2000, [30.0] * len(arrows))


def test_nothing_is_a_layout_too():
    assert arrange_layers(0, ()).layers == []
    assert spread(arrange_layers(0, ()), []) == []
    assert spread(arrange_layers(1, ()), [50.0]) == [39.0]
