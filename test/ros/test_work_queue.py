# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Long work leaves room for all else."""

from time import sleep

import pytest

from ik_node.node.goals.queue import WorkQueue


@pytest.fixture
def queue(probe):
    """Give a work queue, and the log of what was done, in which a timer has its ticks."""
    log = []
    timer = probe.create_timer(0.001, lambda: log.append('tick'))
    yield WorkQueue(probe), log
    probe.destroy_timer(timer)


def slices_of(log):
    """Return the slices of a log, with None where the timer did not come between two."""
    done, ticked = [], True
    for entry in log:
        if entry != 'tick':
            done += [entry] if ticked else [None, entry]
        ticked = entry == 'tick'
    return done


def test_a_timer_runs_between_two_slices(probe, queue):
    """Three callbacks that are ready at once do their work in three rounds, in their order."""
    queue, log = queue

    def slice_of(name):
        def work():
            sleep(0.005)  # so that the timer is due
            log.append(name)

        return work

    slices = {name: slice_of(name) for name in 'abc'}
    guards = [probe.create_guard_condition(lambda each=each: queue.now(each))
              for each in slices.values()]
    for guard in guards:
        guard.trigger()
    probe.wait(lambda: {*'abc'} <= {*log})
    assert sorted(slices_of(log)) == ['a', 'b', 'c']
    for guard in guards:
        probe.destroy_guard_condition(guard)


def test_work_that_has_not_ended_gets_more_slices(probe, queue):
    """As many as it needs; what comes meanwhile is not kept from its own."""
    queue, log = queue

    def other():
        sleep(0.005)
        log.append('other')

    def long():
        sleep(0.005)
        log.append('long')
        if log.count('long') == 1:
            queue.later(other)
        if log.count('long') < 5:
            queue.later(long)

    queue.now(long)
    probe.wait(lambda: log.count('long') == 5)
    assert slices_of(log) == ['long', 'other'] + 4 * ['long']


def test_a_slice_is_queued_once(probe, queue):
    """However often it is asked for before it runs."""
    queue, log = queue

    def work():
        log.append('slice')

    queue.now(lambda: log.append('first'))
    for _ in range(10):
        queue.now(work)
        queue.later(work)
    probe.wait(lambda: 'slice' in log)
    probe.spin_for(0.1)
    assert [entry for entry in log if entry != 'tick'] == ['first', 'slice']


def test_an_exception_in_one_slice_does_not_block_the_next(probe, queue):
    """The next round has its own."""
    queue, log = queue

    def bad():
        raise ValueError('bad')

    queue.later(bad)
    queue.later(lambda: log.append('good'))
    with pytest.raises(ValueError, match='bad'):
        probe.wait(lambda: 'good' in log)
    probe.wait(lambda: 'good' in log)
