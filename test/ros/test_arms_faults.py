# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Several arms of which one controller does not do its part: nothing goes on alone."""

from arms_rig import ArmsProbe, READY, running, SIMULATED, URDF
from harness import COLD_START, process
import pytest
from two_arms import ARM_JOINTS, both, TREE

from ik_node.ros.handshake import greet


@pytest.mark.fault('controller', 'one of two controllers ignores its trajectory',
                   'all arms are stopped, and the goal fails with the joint and its controller')
def test_if_one_arm_does_not_follow_all_stop(tmp_path):
    with running(tmp_path, right_controller={'silent': True}) as probe:
        stamp = probe.send_posture(both(pan=0.8, lift=-0.4, elbow=0.2, torso=0.8))
        answer = probe.final(stamp)
        assert (answer['state'], answer['reason']) == ('failed', 'OFF_TRACK'), answer
        assert "out of step: 'right_" in answer['message']
        assert "of 'right_controller' is " in answer['message']
        assert 'all arms come to rest in' in answer['message']
        probe.wait(lambda: len(probe.sent['left_controller']) == 2, what='the stop')


@pytest.mark.fault('controller', 'one of two controllers is not there',
                   'nothing is sent to the other; the goal is rejected with the topic')
def test_without_one_controller_nothing_moves(tmp_path):
    with running(tmp_path, sims={'left_controller': SIMULATED['left_controller']}) as probe:
        names = [joint for joint in TREE.joint_names if 'right' in joint]
        q = [float(READY[TREE.joint_names.index(joint)]) for joint in names]
        stamp = ''

        def answered():
            probe.publish_state(names, q)
            return stamp and any(a['state'] != 'accepted' for a in probe.answers(stamp))

        probe.wait(lambda: answered() or probe.positions() is not None)
        stamp = probe.send_posture(both(pan=0.3, lift=0.5, elbow=-1.0))
        probe.wait(answered, 60.0)
        answer = probe.final(stamp)
        assert answer['reason'] == 'NO_LISTENER', answer
        assert 'nobody listens on /right_controller/joint_trajectory' in answer['message']
        assert not probe.sent['left_controller']


def test_without_a_robot_description_goals_are_refused(tmp_path):
    probe = ArmsProbe(())
    with process('ik_arms', tmp_path):
        assert greet(probe, '/ik_arms', COLD_START, probe.poses)
        stamp = probe.send_posture(READY)
        assert probe.final(stamp)['reason'] == 'MODEL_MISSING'
    probe.destroy_node()


@pytest.mark.parametrize('wrong, words', [
    ({'controllers': ['left_controller']}, 'controllers has 1 names (1 different) and '
     'controller_joints 2 entries'),
    ({'tip_links': ['left_tool', 'right_tol']}, "the link 'right_tol' is not in the URDF; did "),
    ({'controller_joints': ['torso_joint left_elbow', 'right_elbow']},
     "no controller has 'left_shoulder_pan'"),
    ({'motion.velocity_limits': [1.0, 2.0]}, 'the parameter motion.velocity_limits needs 1 or 13'),
])
def test_wrong_parameters_are_said_at_the_start(tmp_path, wrong, words):
    """One sentence, and exit code 1."""
    given = {'tip_links': list(TREE.tip_links), 'controllers': list(ARM_JOINTS),
             'controller_joints': [' '.join(joints) for joints in ARM_JOINTS.values()]}
    with process('ik_arms', tmp_path, {'urdf_file': URDF, **given, **wrong}) as node:
        assert node.wait(COLD_START) == 1
        assert words in node.output
