# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Controllers of arms are found by their joints, or by their names."""

from importlib.util import find_spec
from time import monotonic

from harness import NOT_BUILT
from managers import Manager
import pytest
import rclpy
from rclpy.parameter import Parameter
from trajectory_msgs.msg import JointTrajectory

from ik_node.node.arms.controller_search import ControllerSearch
from ik_node.ros.middleware.executor import make_executor

LEFT, RIGHT = ('left_1', 'left_2'), ('right_1', 'right_2')
SOUGHT = {'left_arm_controller': LEFT, 'right_arm_controller': RIGHT}
SETTLED_S = 1.2  # in which two looks and two answers fit


class Graph:
    """A search, and the controllers that a test starts."""

    def __init__(self):
        self.node = rclpy.create_node('searcher')
        self.found, self.busy = [], False
        self.search = ControllerSearch(self.node, self.found.append, lambda: self.busy)
        self.executor = make_executor()
        self.executor.add_node(self.node)
        self.nodes = [self.node]

    def start(self, name, joints=None):
        """Start what takes trajectories, and says which joints it moves, as JTC does."""
        node = rclpy.create_node(name)
        if joints is not None:
            node.declare_parameter('joints', list(joints) or Parameter.Type.STRING_ARRAY)
        node.create_subscription(JointTrajectory, f'{name}/joint_trajectory', print, 10)
        self.executor.add_node(node)
        self.nodes.append(node)
        return node

    def wait(self, condition, seconds=20.0):
        """Return whether a condition holds before the time is over."""
        end = monotonic() + seconds
        while monotonic() < end and not condition():
            self.executor.spin_once(timeout_sec=0.05)
        return condition()

    def close(self):
        for node in self.nodes:
            self.executor.remove_node(node)
            node.destroy_node()


@pytest.fixture
def graph():
    """Return a graph without controllers."""
    made = Graph()
    yield made
    made.close()


def test_controllers_are_found_by_their_joints(graph):
    """Whatever their names are, in whatever order the joints; also those that come late."""
    graph.start('left_joint_trajectory_controller', LEFT[::-1])
    graph.start('both_arms_controller', LEFT + RIGHT)
    graph.search.begin(SOUGHT)
    graph.wait(lambda: 'both_arms_controller' in graph.search.complaint)
    assert not graph.found and "up for right_1, right_2 (by its parameter joints, or by the " \
        "name 'right_arm_controller')" in graph.search.complaint
    assert "'left_arm" not in graph.search.complaint
    assert 'set controllers' in graph.search.complaint
    graph.start('r_traj', RIGHT)
    assert graph.wait(lambda: graph.found)
    assert graph.found == [{'left_arm_controller': '/left_joint_trajectory_controller',
                            'right_arm_controller': '/r_traj'}]
    assert graph.search.complaint == ''


def test_a_controller_of_the_supposed_name_need_not_say_its_joints(graph):
    """Such as a simulated one; but if it does, it must be these."""
    graph.start('left_arm_controller')
    graph.start('right_arm_controller', LEFT[:1])
    graph.search.begin(SOUGHT)
    assert not graph.wait(lambda: graph.found, SETTLED_S)
    assert "name 'right_arm_controller'); up: '/right_arm_controller' (left_1); set" \
        in graph.search.complaint
    graph.search.begin({'left_arm_controller': LEFT})
    assert graph.wait(lambda: graph.found)
    assert graph.found == [{'left_arm_controller': 'left_arm_controller'}]


def test_nothing_is_changed_at_a_bad_time(graph):
    """The search ends when it may."""
    graph.start('left_arm_controller')
    graph.busy = True
    graph.search.begin({'left_arm_controller': LEFT})
    assert not graph.wait(lambda: graph.found, SETTLED_S)
    graph.busy = False
    assert graph.wait(lambda: graph.found)


@pytest.mark.skipif(find_spec('controller_manager_msgs') is None, reason=NOT_BUILT)
def test_of_several_controllers_the_active_one_is_taken(graph):
    """By their manager; without one it is not clear."""
    for name in ('scaled', 'plain'):
        graph.start(name, LEFT)
    graph.search.begin({'left_arm_controller': LEFT})
    assert not graph.wait(lambda: graph.found, SETTLED_S)
    assert "'/plain' (left_1, left_2)" in graph.search.complaint
    manager = Manager(graph.start('controller_manager_node'))
    manager.states = {'scaled': 'inactive', 'plain': 'active'}
    assert graph.wait(lambda: graph.found)
    assert graph.found == [{'left_arm_controller': '/plain'}]
