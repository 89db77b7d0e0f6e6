# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated joint_trajectory_controller and arm, as a process of its own."""

from __future__ import annotations

from collections import Counter

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ik_node.errors import ParameterError, quote
from ik_node.model.chain import Chain, make_chain
from ik_node.model.urdf import Tree
from ik_node.ros.description import Description
from ik_node.ros.parameters import declare, SIM_CONTROLLER
from ik_node.solver.options import one_per_joint
from ik_node.trajectory.acceptance import AcceptanceOptions
from ik_node.trajectory.simulated import SimulatedController


class SimController(Node):
    """Takes ``joint_trajectory``, publishes ``joint_states``, says what it refused."""

    def __init__(self) -> None:
        super().__init__('sim_controller')
        self._values = declare(self, SIM_CONTROLLER)
        self._controller: SimulatedController | None = None
        self._standing: dict[str, float] = {}
        self._counts: Counter[str] = Counter()
        self._complaint = ''
        self._states = self.create_publisher(JointState, 'joint_states', 10)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._subscription = self.create_subscription(
            JointTrajectory, 'joint_trajectory', self._on_trajectory, 10)
        self._period = 1.0 / self._values['rate']
        self.create_timer(self._period, self._update)
        self.create_timer(1.0, self._report)
        self._description = Description(self, self._values, self._take_model)

    def _take_model(self, tree: Tree) -> None:
        chain = make_chain(tree, self._values['base_link'], self._values['tip_link'])
        q = _posture(chain, self._values['initial_positions'])
        self._controller = SimulatedController(
            chain.joint_names, chain.continuous & chain.turning, q,
            AcceptanceOptions(**{name: self._values[name] for name in (
                'allow_partial_joints_goal', 'allow_nonzero_velocity_at_trajectory_end',
                'allow_integration_in_goal_trajectories')}),
            self._values['interpolate_from_desired_state'])
        # Joints beside the chain (a gripper) stand, so that every link has a pose.
        self._standing = {
            joint.name: float(np.clip(0.0, joint.lower, joint.upper)) for joint in tree.joints
            if joint.moves and joint.mimic is None and joint.name not in chain.joint_names}
        self.get_logger().info(
            f'simulates {", ".join(map(quote, chain.joint_names))} at {self._values["rate"]:g} '
            f'Hz; listens on {self._subscription.topic_name}')

    def _now(self) -> float:
        return 1e-9 * self.get_clock().now().nanoseconds

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if self._controller is None:
            why = 'there is no robot description yet: ' + self._description.complaint
        else:
            why = self._controller.offer(message, self._now())
        self._counts['accepted' if why is None else 'refused'] += 1
        if why is not None:
            self._complaint = why
            self.get_logger().error(f'trajectory refused: {why}')
            self._report()

    def _update(self) -> None:
        if self._controller is None:
            return
        now = self.get_clock().now()
        state = self._controller.update(1e-9 * now.nanoseconds, self._period)
        message = JointState()
        message.header.stamp = now.to_msg()
        message.name = [*self._controller.joints, *self._standing]
        rest = [0.0] * len(self._standing)
        message.position = [*state.q.tolist(), *self._standing.values()]
        message.velocity = [*state.qd.tolist(), *rest]
        self._states.publish(message)

    def _report(self) -> None:
        level, text = DiagnosticStatus.OK, 'running'
        if self._controller is None:
            level, text = DiagnosticStatus.WARN, 'no robot description'
        elif self._complaint:
            level, text = DiagnosticStatus.WARN, f'last refused: {self._complaint}'
        array = DiagnosticArray()
        array.header.stamp = self.get_clock().now().to_msg()
        array.status = [DiagnosticStatus(
            level=level, name=f'{self.get_fully_qualified_name()}: trajectories', message=text,
            values=[KeyValue(key=key, value=str(self._counts[key]))
                    for key in ('accepted', 'refused')])]
        self._diagnostics.publish(array)

    def close(self) -> None:
        """Nothing to say."""


def _posture(chain: Chain, values: tuple[float, ...]) -> np.ndarray:
    if not values:
        return chain.middle
    q = one_per_joint(chain, values, 'the parameter initial_positions')
    if not ((q >= chain.lower) & (q <= chain.upper)).all():
        raise ParameterError(f'initial_positions {list(values)} are not inside the joint limits '
                             f'{chain.lower.tolist()} .. {chain.upper.tolist()}')
    return q


def main(args: list[str] | None = None) -> None:
    """Run the simulated controller; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.process import run
    run('sim_controller', SimController, args)
