# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""pymoveit2, as it is, with the node in place of a move_group."""

from threading import Thread

from harness import DOWN, latest, NAMES, QUICK, READY, tip
import numpy as np
import pinocchio as pin
import pytest
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor

pymoveit2 = pytest.importorskip(
    'pymoveit2', reason='pymoveit2 is not installed: it is a ROS package, and not on PyPI',
    exc_type=ImportError)
NODE_LIMITS = {**QUICK, 'moveit.services': True, 'moveit.group': 'arm'}
HERE = np.array(tip(READY).translation)


@pytest.fixture(scope='module')
def client(shared_system):
    """Return a MoveIt2 of its own node, which is spun in a thread as in its examples."""
    shared_system.watch_motion()
    node = rclpy.create_node('client')
    made = pymoveit2.MoveIt2(node=node, joint_names=NAMES, base_link_name='base_link',
                             end_effector_name='tool0', group_name='arm',
                             callback_group=ReentrantCallbackGroup(),
                             use_move_group_action=True)
    made.max_velocity = made.max_acceleration = 0.5
    executor = MultiThreadedExecutor(2)
    executor.add_node(node)
    thread = Thread(target=executor.spin, daemon=True)
    thread.start()
    shared_system.wait(lambda: made.joint_state is not None, what='joint states')
    yield made
    executor.shutdown()
    thread.join()
    node.destroy_node()


def wait(probe, client):
    """Wait until the motion that was asked for has ended; return whether it succeeded."""
    probe.wait(lambda: client.query_state() == pymoveit2.MoveIt2State.IDLE, 30.0, 'the end')
    probe.states.clear()
    probe.wait(lambda: probe.states)
    return client.motion_suceeded


def planned(probe, client, **goal):
    """
    Return the trajectory of a plan.

    Its plan() would spin the node in this thread, too, which ends the thread that spins it.
    """
    future = client.plan_async(**goal)
    probe.wait(future.done, 30.0, 'a plan')
    return client.get_trajectory(future, cartesian=goal.get('cartesian', False))


def test_joint_and_pose_goals(client, shared_system):
    """As in ex_joint_goal.py and ex_pose_goal.py, by move_action."""
    client.move_to_configuration([0.3, *READY[1:]])
    assert wait(shared_system, client)
    assert latest(shared_system) == pytest.approx([0.3, *READY[1:]], abs=1e-6)
    client.move_to_pose(position=(0.4, 0.2, 0.4), quat_xyzw=DOWN)
    assert wait(shared_system, client)
    assert tip(latest(shared_system)).translation == pytest.approx([0.4, 0.2, 0.4], abs=1e-5)
    client.move_to_configuration(READY)
    assert wait(shared_system, client)


def test_a_cartesian_motion(client, shared_system):
    """Planned by compute_cartesian_path, and executed."""
    goal = HERE + [0.0, 0.0, 0.06]
    trajectory = planned(shared_system, client, position=goal,
                         quat_xyzw=_quaternion(), cartesian=True)
    client.execute(trajectory)
    assert wait(shared_system, client)
    assert tip(latest(shared_system)).translation == pytest.approx(goal, abs=1e-5)
    client.execute(planned(shared_system, client, joint_positions=READY))
    assert wait(shared_system, client)
    assert latest(shared_system) == pytest.approx(READY, abs=1e-6)


def test_cancelled(client, shared_system):
    """The arm ramps down."""
    client.max_acceleration = 0.05
    client.move_to_configuration([1.5, *READY[1:]])
    shared_system.wait(lambda: shared_system.states[-1][1].velocity[0] > 0.05)
    client.cancel_execution()
    assert not wait(shared_system, client)
    assert 0.0 < latest(shared_system)[0] < 1.4
    client.max_acceleration = 0.5
    client.move_to_configuration(READY)
    assert wait(shared_system, client)


def test_kinematics(client, shared_system):
    """As in ex_ik.py and ex_fk.py."""
    future = client.compute_ik_async(HERE, _quaternion())
    shared_system.wait(future.done, what='compute_ik')
    found = client.get_compute_ik_result(future)
    q = [found.position[found.name.index(name)] for name in NAMES]
    assert tip(q).translation == pytest.approx(HERE, abs=1e-5)
    future = client.compute_fk_async(q)
    shared_system.wait(future.done, what='compute_fk')
    there = client.get_compute_fk_result(future).pose.position
    assert [there.x, there.y, there.z] == pytest.approx(HERE, abs=1e-5)


def test_a_scene(client, shared_system):
    """As in ex_collision_primitive.py: what is in a box cannot be reached until it is removed."""
    def reached():
        return planned(shared_system, client, position=(0.4, 0.2, 0.4), quat_xyzw=DOWN) is not None

    assert reached()
    client.add_collision_box('box', size=(0.1, 0.1, 0.1), position=(0.4, 0.2, 0.4),
                             quat_xyzw=(0.0, 0.0, 0.0, 1.0))
    shared_system.wait(lambda: not reached(), what='the box')
    client.remove_collision_object('box')
    shared_system.wait(reached, what='that the box is gone')


def _quaternion():
    """Return the orientation at READY, x, y, z, w."""
    return tuple(map(float, pin.Quaternion(tip(READY).rotation).coeffs()))
