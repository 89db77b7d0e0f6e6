# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The node of one of two arms: the other one is where joint states say, also while it moves."""

from contextlib import contextmanager

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_oracle import Oracle
from harness import process, QUICK
from motion_checker import path_of, states_at
import numpy as np
import pytest
import robots
from sensor_msgs.msg import JointState
from two_arms import TWO_ARMS

from ik_node.collision import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.other_joints import OtherJoint, REST_ROOM
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf

TREE = parse_urdf(TWO_ARMS.read_text(encoding='utf-8'))
CHAIN = make_chain(TREE, 'base_link', 'left_tool')
BODIES = arm_bodies(TREE).bodies
MARGIN_M = 0.005
MODEL = CollisionModel(CHAIN, TREE, BODIES, margin=MARGIN_M)
ARM = {'urdf_file': TWO_ARMS, 'base_link': 'base_link', 'tip_link': 'left_tool'}
CHECKED = {**ARM, **QUICK, 'collision.check': True, 'motion.detour_time': 0.0}
HOME = {'left_shoulder_pan': 0.1, 'left_shoulder_lift': 0.6, 'left_elbow': -1.2,
        'left_wrist_pitch': 0.3}


def at(others):
    """Return the collision model with the right arm at positions."""
    return MODEL.with_others(
        {name: OtherJoint(value, REST_ROOM) for name, value in others.items()})


# From START to GOAL the way is free, but for the right arm where it is IN_THE_WAY.
START = np.array([HOME.get(name, 0.0) for name in CHAIN.joint_names])
GOAL = np.array([-0.471, 0.819, -0.308, -2.103, 0.459, -0.435, 0.326])
IN_THE_WAY = {'right_shoulder_pan': 1.192, 'right_shoulder_lift': 0.401, 'right_elbow': -1.022,
              'right_wrist_roll': 0.915, 'right_wrist_pitch': 0.528, 'right_tool_roll': -1.162}
AT_REST = dict.fromkeys(IN_THE_WAY, 0.0)


@contextmanager
def running(tmp_path, probe, **node):
    """Run the node of the left arm and its controller; the probe is the right arm."""
    sim = {**ARM, 'initial_positions': START.tolist(), 'fixed_joints': False}
    with process('sim_controller', tmp_path, sim), \
            process('ik_node', tmp_path, {**CHECKED, **node}) as probe.node:
        probe.watch_motion()
        probe.right = probe.create_publisher(JointState, 'joint_states', 10)
        probe.told = {}
        probe.create_timer(0.05, lambda: tell(probe, probe.told))
        probe.wait_for_node()
        probe.wait_until_ready()
        yield


def tell(probe, positions):
    """Publish where the right arm is, from now on."""
    probe.told = positions
    message = JointState(name=list(positions), position=list(positions.values()))
    message.header.stamp = probe.get_clock().now().to_msg()
    if positions:
        probe.right.publish(message)


def send(probe, q):
    """Send a goal for the left arm; return its stamp."""
    goal = JointState(name=list(CHAIN.joint_names), position=q.tolist())
    return probe.send_goal('joints', goal, '')


@pytest.mark.fault('collision', 'a joint beside the arm that carries links (another arm, a lid) '
                   'is not where the URDF has its zero, or moves', 'it is where joint states say; '
                   'as long as they say nothing, ~/diagnostics does')
def test_another_arm_in_the_way(tmp_path, probe):
    """Unknown, at rest, in the way, and away again: goals are refused only while it is there."""
    with running(tmp_path, probe):
        probe.wait_for_health(DiagnosticStatus.WARN, 'right_elbow', 'collision.other_joints')
        tell(probe, IN_THE_WAY)
        probe.wait_for_health(DiagnosticStatus.OK)
        refused = probe.final(send(probe, GOAL))
        assert refused['reason'] == 'COLLISION' and "'right_" in refused['message']
        assert not probe.trajectories
        tell(probe, AT_REST)
        probe.spin_for(1.0)
        assert probe.final(send(probe, GOAL))['reason'] == 'REACHED'
        probe.wait_for_health(DiagnosticStatus.OK)


def test_positions_that_are_assumed(tmp_path, probe):
    """As long as no joint state says otherwise."""
    texts = [f'{name}={value!r}' for name, value in IN_THE_WAY.items()]
    with running(tmp_path, probe, **{'collision.other_joints': texts}):
        assert probe.final(send(probe, GOAL))['reason'] == 'COLLISION'
        tell(probe, AT_REST)
        probe.spin_for(0.5)
        assert probe.final(send(probe, GOAL))['reason'] == 'REACHED'


def test_another_arm_that_moves_into_the_way(tmp_path, probe):
    """The motion under way is brought to rest before it comes too near."""
    slow = {'motion.velocity_scale': 0.1}
    with running(tmp_path, probe, **slow):
        tell(probe, AT_REST)
        stamp = send(probe, GOAL)
        probe.wait(lambda: probe.trajectories, what='the motion')
        probe.spin_for(0.3)
        tell(probe, IN_THE_WAY)
        answer = probe.final(stamp)
        probe.wait(lambda: len(probe.trajectories) > 1, what='the ramp')
        assert answer['state'] == 'stopped' and answer['reason'] == 'COLLISION', answer
        assert "'right_" in answer['message']
        model = at(IN_THE_WAY)
        oracle = Oracle(robots.Reference(TWO_ARMS.read_text(encoding='utf-8')), model, BODIES)
        path = path_of(probe.trajectories[-1])
        for q, _, _ in states_at(path, np.linspace(path.times[0], path.times[-1], 50)):
            assert (oracle.distances(q, IN_THE_WAY) > MODEL.margins - 1e-5).all()


@pytest.mark.fault('collision', 'the states of a joint beside the arm end while it moves', 'it '
                   'may be anywhere, and no motion begins near it; ~/diagnostics says so')
def test_another_arm_whose_states_end(tmp_path, probe):
    """It is anywhere until they come again."""
    with running(tmp_path, probe):
        for k in range(20):
            tell(probe, AT_REST | {'right_shoulder_pan': -0.02 * k})
            probe.spin_for(0.05)
        tell(probe, {})
        probe.wait_for_health(DiagnosticStatus.WARN, "'right_shoulder_pan' may be anywhere")
        refused = probe.final(send(probe, GOAL))
        assert refused['reason'] == 'COLLISION' and "'right_" in refused['message']
        assert 'wait until these rest' in refused['message'] and not probe.trajectories
        tell(probe, AT_REST)
        probe.wait_for_health(DiagnosticStatus.OK)
        assert probe.final(send(probe, GOAL))['reason'] == 'REACHED'
