# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters: one table; changed while running, all or nothing, with a reason when refused."""

from itertools import product
from math import inf, nan
from pathlib import Path
import re

from graph import all_of
from harness import DOWN, PATIENCE_S, READY, seconds, tip
import numpy as np
import pytest
from rcl_interfaces.srv import DescribeParameters, GetParameters
import yaml

from ik_node.ros.parameters.tables import IK_NODE, SIM_CONTROLLER, VIEWER_NODE
from scripts.reference import reasons_text, with_tables, yaml_text

ROOT = Path(__file__).parents[2]


def change(probe, **values):
    """Set parameters together, as `ros2 param load` does; return the result."""
    return probe.set_parameters('/ik_node', {
        name.replace('__', '.'): value for name, value in values.items()})


def value_there(probe, name):
    """Return the value of a number, as `ros2 param get` does."""
    client = probe.create_client(GetParameters, '/ik_node/get_parameters')
    value, = probe.call(client, GetParameters.Request(names=[name])).values
    probe.destroy_client(client)
    return value.double_value


def peak_speed(probe, xyz) -> float:
    """Return the highest planned joint speed of a motion."""
    count = len(probe.trajectories)
    assert probe.final(probe.send(xyz, DOWN))['state'] == 'reached'
    points = probe.trajectories[count].points
    return float(np.abs([point.velocities for point in points]).max())


def test_change_takes_effect_at_the_next_goal(shared_system):
    """A tenth of the velocity limits means slower motion, at once."""
    assert peak_speed(shared_system, (0.4, 0.3, 0.4)) > 0.5
    assert change(shared_system, motion__velocity_scale=0.05).successful
    assert not change(shared_system, motion__velocity_scale=0.5,
                      motion__tool_speed=-1.0).successful
    assert peak_speed(shared_system, (0.4, 0.1, 0.4)) < 0.05 * 7.0 + 1e-9
    assert change(shared_system, motion__velocity_scale=1.0).successful


def test_acceleration_and_tool_speed_are_limited_at_the_next_goal(shared_system):
    """A tenth of the acceleration; a tip that is no faster than allowed."""
    system = shared_system
    count = len(system.trajectories)
    assert change(system, motion__acceleration_scale=0.1).successful
    assert system.final(system.send((0.4, 0.1, 0.45), DOWN))['state'] == 'reached'
    assert change(system, motion__acceleration_scale=1.0, motion__tool_speed=0.05).successful
    assert system.final(system.send((0.4, 0.2, 0.45), DOWN))['state'] == 'reached'
    assert change(system, motion__tool_speed=0.0).successful
    soft, slow = system.trajectories[count:]
    assert 0.75 < np.abs([point.accelerations for point in soft.points]).max() <= 1.0
    places = np.array([tip(point.positions).translation for point in slow.points])
    times = [seconds(point.time_from_start) for point in slow.points]
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / np.diff(times)
    assert 0.045 < speeds.max() <= 0.05


@pytest.mark.fault('parameters',
                   'out of range, NaN, wrong type, wrong length, empty, unknown, read-only, alone '
                   'or with good ones', 'refused with the reason, and nothing is changed')
@pytest.mark.parametrize('values, words', [
    (dict(motion__velocity_scale=2.0), 'range'),
    (dict(motion__velocity_scale=0.0), 'range'),
    (dict(motion__velocity_scale='fast'), 'type'),
    (dict(motion__acceleration_scale=1.5), 'range'),
    (dict(motion__acceleration_scale=-0.1), 'range'),
    (dict(motion__tool_speed=-1.0), 'range'),
    (dict(motion__tool_speed=1), 'type'),
    (dict(motion__no_such=1.0), 'undeclared'),
    (dict(solver__position_tolerance=0.0), 'range'),
    (dict(solver__deadline=float('nan')), 'range'),
    (dict(solver__deadline=[]), 'type'),
    (dict(solver__joint_weights=[]), 'needs 1 or 6'),
    (dict(solver__joint_weights=[1.0] * 7), 'needs 1 or 6'),
    (dict(motion__jerk_limits=[1.0, 2.0]), 'needs 1 or 6'),
    (dict(motion__jerk_limits=[float('nan')]), 'finite'),
    (dict(motion__acceleration_limits=[0.0]), 'positive'),
    (dict(solver__null_space_gains=[-1.0]), 'negative'),
    (dict(solver__preferred_positions=[9.0] * 6), 'joint limits'),
    (dict(solver__method='cdd'), 'there is no method'),
    (dict(solver__select='best'), 'select'),
    (dict(solver__joint_weights=[0.0]), 'weights'),
    (dict(solver__locked_joints=['elbow']), 'not in the chain'),
    (dict(tip_link='link_3'), 'clean it up first'),
    (dict(autostart=False), 'read-only'),
])
def test_refused_change_changes_nothing(shared_system, values, words):
    """A good value in the same request as a bad one is not taken either."""
    result = change(shared_system, **{'watch__joint_tolerance': 0.02, **values})
    assert not result.successful and words in result.reason.lower()
    assert value_there(shared_system, 'watch.joint_tolerance') == 0.01


@pytest.mark.fault('goals', 'a tolerance of zero, negative, not finite, or an angle over pi',
                   'refused as a parameter, with the range; the one before stays')
def test_tolerances_that_cannot_be(shared_system):
    """A goal is met within something, and an angle is never more than pi."""
    for kind, value in product(('position', 'orientation'), (0.0, -1.0, 3.3, nan, inf)):
        name = f'solver.{kind}_tolerance'
        result = shared_system.set_parameters('/ik_node', {name: value})
        assert not result.successful
        assert f'{name} out of range Min: 1e-09, Max: ' in result.reason
        assert value_there(shared_system, name) == 1e-6


@pytest.mark.fault('goals', 'only another posture of the arm reaches it',
                   'taken by default; refused from solver.max_jump on')
def test_the_options_of_the_solver_reach_it(shared_system):
    """A bound on jumps refuses; a textbook method and locked joints do as they say."""
    assert shared_system.final(shared_system.send((0.4, 0.2, 0.4), DOWN))['state'] == 'reached'
    assert change(shared_system, solver__max_jump=0.05).successful
    answer = shared_system.final(shared_system.send((0.4, -0.2, 0.4), DOWN))
    assert (answer['state'], answer['reason']) == ('rejected', 'OTHER_BRANCH')
    assert change(shared_system, solver__max_jump=0.0,
                  solver__method='damped_least_squares').successful
    answer = shared_system.final(shared_system.send((0.4, 0.15, 0.4), DOWN))
    assert answer['state'] == 'reached', answer
    # Turned about the first axis only that joint moves; locked, it cannot.
    assert change(shared_system, solver__method='damped',
                  solver__locked_joints=['joint_1']).successful
    answer = shared_system.final(shared_system.send((0.4, -0.2, 0.4), DOWN))
    assert answer['state'] == 'rejected', answer
    assert change(shared_system, solver__locked_joints=['']).successful
    assert shared_system.final(shared_system.send((0.4, 0.2, 0.4), DOWN))['state'] == 'reached'


@pytest.mark.fault('parameters', 'limits lowered during a motion, and a new goal',
                   'planned under them from a faster begin; ~/stop stops it')
def test_a_goal_under_lowered_limits_does_not_prevent_a_stop(shared_system):
    """Until the arm is as slow as is allowed now, it may be as fast as its motion begins."""
    assert shared_system.final(shared_system.send_joints(READY))['state'] == 'reached'
    assert change(shared_system, motion__velocity_scale=0.2).successful
    stamp = shared_system.send((0.3, -0.4, 0.3), DOWN)
    shared_system.wait(lambda: shared_system.answers(stamp))
    shared_system.spin_for(0.5)
    assert change(shared_system, motion__velocity_limits=[0.05]).successful
    shared_system.spin_for(0.2)
    assert 'leapt' not in shared_system.node.output
    stamp = shared_system.send_joints(READY)
    shared_system.wait(lambda: shared_system.answers(stamp))
    shared_system.spin_for(0.05)
    response = shared_system.call(shared_system.stop)
    assert response.success and 'at rest' in response.message, response
    assert shared_system.final(stamp)['reason'] == 'STOPPED'
    assert change(shared_system, motion__velocity_scale=1.0,
                  motion__velocity_limits=[10.0]).successful


def test_descriptions_and_ranges_are_on_the_node(shared_system):
    """`ros2 param describe` shows what the table says."""
    client = shared_system.create_client(DescribeParameters, '/ik_node/describe_parameters')
    assert client.wait_for_service(PATIENCE_S)
    future = client.call_async(DescribeParameters.Request(names=[row.name for row in IK_NODE]))
    shared_system.wait(future.done)
    for row, found in zip(IK_NODE, future.result().descriptors):
        assert found.description == row.description
        assert found.read_only == row.at_start
        if isinstance(row.default, float):
            assert found.floating_point_range[0].to_value == row.high


def test_files_follow_from_the_table():
    """config/ik_node.yaml and the reference pages say what the nodes do."""
    text = (ROOT / 'config/ik_node.yaml').read_text()
    assert text == yaml_text(), 'run: python scripts/reference.py'
    assert (ROOT / 'docs/reference/reasons.md').read_text() == reasons_text()
    page = (ROOT / 'docs/reference/parameters.md').read_text()
    assert page == with_tables(page), 'run: python scripts/reference.py'
    values = yaml.safe_load(text)
    for node, table in (('ik_node', IK_NODE), ('sim_controller', SIM_CONTROLLER),
                        ('viewer', VIEWER_NODE)):
        written = values[f'/**/{node}']['ros__parameters']
        for row in table:
            if row.default not in ('', ()):
                default = list(row.default) if isinstance(row.default, tuple) else row.default
                assert written[row.name] == default
            assert f'`{row.name}`' in page


def test_shipped_file_is_taken_in_a_namespace(tmp_path, probe):
    """The parameter file matches the nodes by name, wherever they are."""
    from harness import ARM, process
    changed = tmp_path / 'changed.yaml'
    text = (ROOT / 'config/ik_node.yaml').read_text()
    changed.write_text(text.replace('velocity_scale: 0.5', 'velocity_scale: 0.123'))
    with process('ik_node', tmp_path, {'urdf_file': ARM}, remap={'__ns': '/left/arm'},
                 arguments=['--params-file', str(changed)]) as node:
        probe.wait(lambda: 'ready for goals' in node.output)
        assert '0.123 of the velocity is used' in node.output
        assert '/left/arm/ik_node/goal_pose' in node.output


def test_the_reference_has_every_topic_and_service(shared_system):
    """Its tables name what the node has, with the types."""
    rows = re.findall(r'^\| `(\S+)` ?(\w*) \| (\w+)/(\w+)',
                      (ROOT / 'docs/reference/topics.md').read_text(), re.M)
    said = {way: {name.replace('~', '/ik_node').rpartition('/')[2]: kind
                  for name, direction, _, kind in rows if direction == way}
            for way in ('in', 'out', '')}
    everything = all_of(shared_system, 'ik_node')
    for way, kind in (('in', 'subscriber'), ('out', 'publisher'), ('', 'service')):
        there = {name.rpartition('/')[2]: type_.rpartition('/')[2]
                 for (of, name), type_ in everything.items() if of == kind
                 and 'parameter' not in name and name not in ('/rosout', '/clock')
                 and not name.endswith('type_description') and '/_action/' not in name}
        if kind == 'service':  # an action is one, too, and others, and topics
            there |= {name.split('/')[-3]: type_.rpartition('/')[2].removesuffix('_SendGoal')
                      for (_, name), type_ in everything.items()
                      if name.endswith('/_action/send_goal')}
        assert there and {name: said[way].get(name) for name in there} == there
