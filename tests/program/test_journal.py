"""Journals: what changed inside is put back, and ends as far as the furthest run."""

from adjoint.program.journal import Journal, journal, moment, note


class Counter:
    """A holder that counts."""

    def __init__(self):
        self.state, self.born = 0, moment()

    def move(self, steps):
        note(self)
        self.state += steps

    def furthest(self, states):
        return max(states)


def test_runs_begin_where_the_first_one_began():
    one, other = Counter(), Counter()
    other.move(5)
    changes = Journal()
    with journal(changes):
        one.move(2)
        changes.restore(given_up=True)
        assert one.state == 0
        for steps in (3, 7, 4):
            assert (one.state, other.state) == (0, 5)
            one.move(steps)
            if steps == 4:
                other.move(1)
            changes.restore()
        changes.settle()
    assert (one.state, other.state) == (7, 6)


def test_what_is_made_inside_is_left_alone():
    changes = Journal()
    with journal(changes):
        inside = Counter()
        inside.move(2)
        changes.restore()
        changes.settle()
    assert inside.state == 2


def test_journals_nest():
    counter = Counter()
    outer = Journal()
    with journal(outer):
        counter.move(1)
        inner = Journal()
        with journal(inner):
            counter.move(2)
            inner.restore()
            assert counter.state == 1
            inner.settle()
        assert counter.state == 3
        outer.restore(given_up=True)
    assert counter.state == 0
    counter.move(1)  # nobody watches
    assert counter.state == 1
