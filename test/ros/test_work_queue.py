# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Long work leaves room for all else."""

from time import sleep

import pytest

from ik_node.node.work_queue import WorkQueue


@pytest.fixture
def turns(probe):
    """Give turns, and with them the log of what was done, in which a timer has its beats."""
    log = []
    timer = probe.create_timer(0.001, lambda: log.append('beat'))
    yield WorkQueue(probe), log
    probe.destroy_timer(timer)


def pieces_of(log):
    """Return the pieces of a log, with None where the timer did not come between two."""
    done, beaten = [], True
    for entry in log:
        if entry != 'beat':
            done += [entry] if beaten else [None, entry]
        beaten = entry == 'beat'
    return done


def test_a_timer_comes_between_two_pieces(probe, turns):
    """Three callbacks that are ready at once do their work in three rounds, in their order."""
    turns, log = turns

    def piece(name):
        def work():
            sleep(0.005)  # so that the timer is due
            log.append(name)

        return work

    pieces = {name: piece(name) for name in 'abc'}
    guards = [probe.create_guard_condition(lambda each=each: turns.now(each))
              for each in pieces.values()]
    for guard in guards:
        guard.trigger()
    probe.wait(lambda: {*'abc'} <= {*log})
    assert sorted(pieces_of(log)) == ['a', 'b', 'c']
    for guard in guards:
        probe.destroy_guard_condition(guard)


def test_a_piece_that_has_not_ended_has_more_turns(probe, turns):
    """As many as it needs; what comes meanwhile is not kept from its own."""
    turns, log = turns

    def other():
        sleep(0.005)
        log.append('other')

    def long():
        sleep(0.005)
        log.append('long')
        if log.count('long') == 1:
            turns.later(other)
        if log.count('long') < 5:
            turns.later(long)

    turns.now(long)
    probe.wait(lambda: log.count('long') == 5)
    assert pieces_of(log) == ['long', 'other'] + 4 * ['long']


def test_a_piece_is_kept_once(probe, turns):
    """However often it is asked for before its turn."""
    turns, log = turns

    def piece():
        log.append('piece')

    turns.now(lambda: log.append('first'))
    for _ in range(10):
        turns.now(piece)
        turns.later(piece)
    probe.wait(lambda: 'piece' in log)
    probe.spin_for(0.1)
    assert [entry for entry in log if entry != 'beat'] == ['first', 'piece']


def test_a_piece_that_fails_costs_nobody_his_turn(probe, turns):
    """The next round has its own."""
    turns, log = turns

    def bad():
        raise ValueError('bad')

    turns.later(bad)
    turns.later(lambda: log.append('good'))
    with pytest.raises(ValueError, match='bad'):
        probe.wait(lambda: 'good' in log)
    probe.wait(lambda: 'good' in log)
