# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""An arm of five axes: what it is told, and what it can do instead."""

import json

from geometry_msgs.msg import PointStamped
from harness import Probe, QUICK, READY, reasons, run_system, stamped, tool
import pytest

FIVE = {'tip_link': 'link_5'}
AWAY = (0.35, 0.2, 0.4)


@pytest.fixture(scope='module')
def arm(tmp_path_factory, recorded):
    """Run a system of the first five joints."""
    probe = Probe()
    with run_system(tmp_path_factory.mktemp('five'), probe, {**QUICK, **FIVE},
                    {**FIVE, 'initial_positions': READY[:5]}):
        yield probe
    probe.destroy_node()


def test_a_refusal_names_what_can_be_asked(arm):
    """The free orientation, the free rotation, and the nearest pose."""
    stamp = arm.send(AWAY, (0.0, 0.0, 0.0, 1.0))
    answer = arm.final(stamp)
    assert answer['reason'] in ('ORIENTATION_OUT_OF_REACH', 'NO_SOLUTION'), answer
    for word in ('5 axes reach few orientations', '--position', '--pointing',
                 'solver.nearest_keeps_position'):
        assert word in answer['message']


def test_a_line_with_a_free_axis(arm):
    """By the command line and by the parameter; without, the line is refused."""
    def asked(*arguments):
        running = tool('send_goal', '--xyz', 0.0, -0.15, 0.0, '--frame', 'link_5', *arguments,
                       '--json')
        arm.wait(lambda: running.poll() is not None, 60.0)
        return json.loads(running.stdout.read())

    assert asked('--line')['reason'] == 'PATH_INTERRUPTED'
    answer = asked('--free', 'rz')
    assert (answer['state'], answer['kind']) == ('reached', 'line'), answer
    assert answer['measured_orientation_error_rad'] < 1e-3
    back = tool('send_goal', '--joints', *READY[:5])
    arm.wait(lambda: back.poll() is not None, 60.0)
    assert back.returncode == 0
    assert arm.set_parameters('/ik_node', {'path.free_axes': ['rz']}).successful
    assert asked('--line')['state'] == 'reached'
    assert arm.set_parameters('/ik_node', {'path.free_axes': ['']}).successful


def test_what_it_names_is_reached(arm):
    """Each of the three, for the same position."""
    points = arm.publisher(PointStamped, 'goal_position')
    goal = PointStamped()
    goal.point.x, goal.point.y, goal.point.z = AWAY
    stamp = stamped(arm, goal)
    points.publish(goal)
    assert reasons(arm, stamp)[-1] == 'REACHED'
    assert 'axes reach few' not in arm.final(stamp)['message']
    assert arm.set_parameters('/ik_node', {'solver.nearest': True,
                                           'solver.nearest_keeps_position': True}).successful
    answer = arm.final(arm.send(AWAY, (0.0, 0.0, 0.0, 1.0)))
    assert answer['reason'] == 'NEAREST' and float(answer['position_error_m']) < 1e-5
    assert arm.set_parameters('/ik_node', {'solver.nearest': False,
                                           'solver.nearest_keeps_position': False}).successful
