# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""An arm of five axes: what it is told, and what it can do instead."""

import json

from geometry_msgs.msg import PointStamped
from harness import Probe, QUICK, READY, reasons, run_system, tool
import pytest
from sensor_msgs.msg import JointState

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


def asked(arm, *arguments):
    """Return the answer to a goal of send_goal in the frame of the tip, which it may turn to."""
    running = tool('send_goal', *arguments, '--frame', 'link_5', '--json')
    arm.wait(lambda: running.poll() is not None, 60.0)
    return json.loads(running.stdout.read())


def back(arm):
    """Move to READY."""
    goal = JointState(name=[f'joint_{k}' for k in range(1, 6)], position=READY[:5])
    assert arm.final(arm.send_goal('joints', goal, ''))['state'] == 'reached'


WAYS = {'line': ('--line', '--xyz', 0.0, -0.15, 0.0),
        'arc': ('--through', 0.0, -0.08, 0.03, '--xyz', 0.0, -0.15, 0.0), 'path': ('--path',)}


@pytest.mark.parametrize('way', WAYS)
def test_ways_with_a_free_axis(arm, tmp_path, way):
    """By the command line for one goal; without, it is refused."""
    file = tmp_path / 'poses.csv'
    file.write_text('x,y,z,roll,pitch,yaw\n0,-0.08,0.03,0,0,0\n0,-0.15,0,0,0,0\n')
    goal = *WAYS[way], *([file] if way == 'path' else [])
    assert asked(arm, *goal)['reason'] == 'PATH_INTERRUPTED'
    answer = asked(arm, *goal, '--free', 'rz')
    kind = way if way == 'line' else f'free_{way}'
    assert (answer['state'], answer['kind']) == ('reached', kind), answer
    assert answer['measured_orientation_error_rad'] < 1e-3
    back(arm)


def test_the_parameter_counts_for_all_ways(arm):
    """Of a path, until it is taken back."""
    assert arm.set_parameters('/ik_node', {'path.free_axes': ['rz']}).successful
    answer = asked(arm, *WAYS['line'])
    assert (answer['state'], answer['kind']) == ('reached', 'path')
    assert arm.set_parameters('/ik_node', {'path.free_axes': ['']}).successful
    back(arm)


def test_a_line_without_its_name(arm):
    """To --xyz with --free a line is the way."""
    answer = asked(arm, *WAYS['line'][1:], '--free', 'rz')
    assert (answer['state'], answer['kind']) == ('reached', 'line'), answer
    back(arm)


def test_an_axis_that_is_named_twice(arm):
    """The parameter is refused in one sentence, and stays as it is."""
    answer = arm.set_parameters('/ik_node', {'path.free_axes': ['rz', 'rx', 'rz']})
    assert not answer.successful
    assert answer.reason == "'rz' is among the free axes more than once; name each axis once"
    assert asked(arm, *WAYS['line'])['reason'] == 'PATH_INTERRUPTED'


def test_what_it_names_is_reached(arm):
    """Each of the three, for the same position."""
    goal = PointStamped()
    goal.point.x, goal.point.y, goal.point.z = AWAY
    stamp = arm.send_goal('position', goal)
    assert reasons(arm, stamp)[-1] == 'REACHED'
    assert 'axes reach few' not in arm.final(stamp)['message']
    assert arm.set_parameters('/ik_node', {'solver.nearest': True,
                                           'solver.nearest_keeps_position': True}).successful
    answer = arm.final(arm.send(AWAY, (0.0, 0.0, 0.0, 1.0)))
    assert answer['reason'] == 'NEAREST' and float(answer['position_error_m']) < 1e-5
    assert arm.set_parameters('/ik_node', {'solver.nearest': False,
                                           'solver.nearest_keeps_position': False}).successful
