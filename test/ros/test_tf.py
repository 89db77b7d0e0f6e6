# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals in frames that only TF knows."""

from harness import ARM, DOWN, latest, process, READY, tip
import numpy as np
import pinocchio as pin
import pytest

tf2_ros = pytest.importorskip('tf2_ros', reason='tf2_ros is not on PyPI; it comes with ROS 2')


def broadcast(probe, xyz, frame='table', parent='base_link'):
    from geometry_msgs.msg import TransformStamped
    message = TransformStamped()
    message.header.frame_id, message.child_frame_id = parent, frame
    message.header.stamp = probe.get_clock().now().to_msg()
    t, message.transform.rotation.w = message.transform.translation, 1.0
    t.x, t.y, t.z = xyz
    broadcaster = tf2_ros.StaticTransformBroadcaster(probe)
    broadcaster.sendTransform(message)
    return broadcaster


def test_goal_in_a_tf_frame(system):
    """The pose is taken to the base by TF, once, at receipt."""
    keep = broadcast(system, (0.3, 0.1, 0.2))
    system.spin_for(0.5)
    answer = system.final(system.send((0.1, 0.1, 0.2), DOWN, frame='table'))
    assert answer['state'] == 'reached', answer
    assert np.linalg.norm(tip(latest(system)).translation - [0.4, 0.2, 0.4]) < 1e-5
    del keep


@pytest.mark.fault('goals', 'a frame that TF does not know',
                   "refused with TF's own words after goal.tf_timeout")
def test_unknown_frame_is_refused_after_a_short_wait(system):
    """The answer carries TF's own reason."""
    answer = system.final(system.send((0.4, 0, 0.4), DOWN, frame='nowhere'))
    assert (answer['state'], answer['reason']) == ('rejected', 'FRAME_UNKNOWN')
    assert 'nowhere' in answer['message']
    answer = system.final(system.send((0.4, 0, 0.4), DOWN, frame='\x1b[2J'))
    assert answer['reason'] == 'FRAME_UNKNOWN' and answer['message'].isprintable()


@pytest.mark.fault('goals', 'a transform that comes late',
                   'waited for, and nothing is blocked meanwhile')
def test_frame_that_comes_late_is_waited_for(system):
    """A transform that arrives within the timeout is used; the node does not block meanwhile."""
    stamp = system.send((0.1, 0.0, 0.2), DOWN, frame='late')
    system.spin_for(0.1)
    keep = broadcast(system, (0.3, 0.0, 0.2), 'late')
    assert system.final(stamp)['state'] == 'reached'
    goal = pin.SE3(np.eye(3), np.array([0.4, 0.0, 0.4]))
    assert np.linalg.norm(tip(latest(system)).translation - goal.translation) < 1e-5
    del keep


def test_frame_prefix(tmp_path, probe):
    """With a prefix in TF, links are known with and without it."""
    parameters = {'urdf_file': ARM, 'frame_prefix': 'left_'}
    with process('sim_controller', tmp_path, {'urdf_file': ARM, 'initial_positions': READY}), \
            process('ik_node', tmp_path, parameters):
        probe.watch_motion()
        probe.wait_until_ready()
        probe.wait_for_node()
        keep = broadcast(probe, (0.3, 0.1, 0.2), parent='left_base_link')
        probe.spin_for(0.5)
        for frame in ('left_base_link', 'base_link'):
            xyz = (0.4, 0.2, 0.4 + 0.01 * len(frame))
            answer = probe.final(probe.send(xyz, DOWN, frame=frame))
            assert answer['state'] == 'reached', answer
        answer = probe.final(probe.send((0.1, 0.1, 0.2), DOWN, frame='table'))
        assert answer['state'] == 'reached', answer
        del keep
