# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The node sim_controller: a simulated joint_trajectory_controller and arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_node.base.errors import IkNodeError, ParameterError
from ik_node.base.text import quote
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import Tree
from ik_node.model.joints import one_per_joint
from ik_node.motion.action_goal import ActiveGoal, GoalStatus, Tolerances
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.ros.action_client import ACTION_NAME, action_type
from ik_node.ros.description import Description
from ik_node.ros.messages.joint_states import joint_state_message
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.process import forget_garbage, PeriodicReport
from ik_node.ros.middleware.qos import QosLog
from ik_node.ros.parameters.node_parameters import declare, options_of, plain, refused
from ik_node.ros.parameters.tables import SIM_CONTROLLER
from ik_node.simulation.controller import ControllerOptions, Feedback, SimulatedController
from ik_node.simulation.joints import Following, LaggingPlant, Measuring, Sensors
from ik_node.simulation.physics import PhysicsPlant

RESULT_TIMEOUT_S = 10  # for which the server keeps a result


class TrajectoryServer:
    """
    Serves the action for a simulated controller.

    rclpy executes the handle of a goal only when the goal has ended, because a waiting
    coroutine would keep the executor busy; until then its status is ACCEPTED.

    Parameters
    ----------
    offer : callable
        Takes a trajectory and its ActiveGoal; returns why it is rejected, or None.
    cancel : callable
        Cancels an ActiveGoal.

    """

    def __init__(self, node: Node, kind: Any, offer: Callable[[Any, ActiveGoal], str | None],
                 cancel: Callable[[ActiveGoal], None]) -> None:
        self._kind = kind
        self._node = node
        self._offer = offer
        self._cancel = cancel
        self._open: list[tuple[Any, ActiveGoal]] = []
        self._ended: dict[bytes, ActiveGoal] = {}
        self._offered: ActiveGoal | None = None
        self._server = ActionServer(
            node, kind, ACTION_NAME, execute_callback=self._finish, goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            # update() cancels the goal once the handle is cancelling.
            cancel_callback=lambda handle: CancelResponse.ACCEPT, result_timeout=RESULT_TIMEOUT_S)

    def _on_goal(self, goal: Any) -> GoalResponse:
        offered = ActiveGoal(goal)
        if self._offer(goal.trajectory, offered) is not None:
            return GoalResponse.REJECT
        self._offered = offered
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: Any) -> None:
        self._open.append((handle, self._offered))

    def update(self, controller: SimulatedController) -> None:
        """Publish the feedback of the last cycle and the results of goals that have ended."""
        for handle, goal in self._open[:]:
            if goal.outcome is None and handle.is_cancel_requested:
                self._cancel(goal)
            if goal.outcome is not None:
                self._open.remove((handle, goal))
                self._ended[bytes(handle.goal_id.uuid)] = goal
                handle.execute()
            elif controller.feedback is not None and controller.is_judging(goal):
                handle.publish_feedback(self._feedback(controller.joints, controller.feedback))

    def _finish(self, handle: Any) -> Any:
        status, code, text = self._ended.pop(bytes(handle.goal_id.uuid)).outcome
        {GoalStatus.SUCCEEDED: handle.succeed, GoalStatus.ABORTED: handle.abort,
         GoalStatus.CANCELED: handle.canceled}[status]()
        return self._kind.Result(error_code=int(code), error_string=text)

    def _feedback(self, joints: tuple[str, ...], feedback: Feedback) -> Any:
        message = self._kind.Feedback(joint_names=list(joints))
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.desired = _point(feedback.desired)
        message.actual = _point(feedback.actual)
        message.error = JointTrajectoryPoint(positions=feedback.error.tolist())
        return message


def _point(state: MotionState) -> JointTrajectoryPoint:
    return JointTrajectoryPoint(positions=state.q.tolist(), velocities=state.qd.tolist(),
                                accelerations=state.qdd.tolist())


@dataclass(frozen=True)
class SimulationOptions:
    """The fields that the rows of ``ros.parameters.SIM_CONTROLLER`` fill, and are described in."""

    robot_description: str
    urdf_file: str
    base_link: str
    tip_link: str
    rate: float  # Hz
    initial_positions: tuple[float, ...]  # rad or m; () = the middle of each joint range
    fixed_joints: bool  # whether joints outside the chain are published, too
    moved_joints: tuple[str, ...]  # outside the chain, which others publish
    physics: bool  # whether MuJoCo simulates the arm
    # path_tolerance, goal_tolerance: rad or m, one value or one per joint; 0 = no check
    path_tolerance: tuple[float, ...]
    goal_tolerance: tuple[float, ...]
    goal_time: float  # s; 0 = no limit
    blocked_joints: tuple[str, ...]  # '' names none
    seed: int  # of the noise and the losses
    controller: ControllerOptions
    following: Following
    measuring: Measuring


MIN_MOVING_SPEED = 1e-3  # rad/s or m/s


class SimController(QosLog, Node):
    """Executes ``joint_trajectory``, publishes ``joint_states``, reports rejected trajectories."""

    def __init__(self) -> None:
        super().__init__('sim_controller')
        self._values = declare(self, SIM_CONTROLLER)
        self._options = options_of(SimulationOptions, self._values, SIM_CONTROLLER)
        self._chain: Chain | None = None
        self._controller: SimulatedController | None = None
        self._sensors = Sensors(self._options.seed)
        self._fixed_joints: dict[str, float] = {}
        self._counts: Counter[str] = Counter()
        self._complaint = ''
        self._last_abort = ''
        self._states = self.create_publisher(JointState, 'joint_states', 10)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._subscription = self.create_subscription(
            JointTrajectory, 'joint_trajectory', self._offer, 10)
        kind = action_type()
        self._server = None if kind is None else TrajectoryServer(
            self, kind, self._offer, lambda goal: self._controller.cancel(goal))
        self._period = 1.0 / self._options.rate
        # System time may be set back, so timers use the steady clock, or simulated time.
        clock = self.get_clock() if self.get_parameter('use_sim_time').value \
            else steady_clock()
        self.create_timer(self._period, self._update, clock=clock)
        PeriodicReport(self, clock, self._report, lambda: (
            self._diagnostics.get_subscription_count(), self._controller is None))
        self._description = Description(self, self._options, self._take_model, self._moves)
        self.add_on_set_parameters_callback(self._on_parameters)

    def _take_model(self, tree: Tree) -> None:
        chain = make_chain(tree, self._options.base_link, self._options.tip_link)
        q = self._start(chain)
        # Other joints (a gripper) are fixed and published, so that every link has a pose.
        fixed_joints = {
            joint.name: float(np.clip(0.0, joint.lower, joint.upper)) for joint in tree.joints
            if joint.moves and joint.mimic is None
            and joint.name not in (*chain.joint_names, *self._options.moved_joints)}
        plant = PhysicsPlant(tree, chain, q, fixed_joints) if self._options.physics \
            else LaggingPlant(q)
        controller = SimulatedController(chain.joint_names, chain.continuous & chain.revolute, q,
                                         plant=plant, sensors=self._sensors)
        _apply(self._options, chain, controller, self._sensors)
        if self._controller is not None:
            self._controller.leave('The robot description has changed.')
            self._sensors.forget()
        self._chain, self._controller, self._fixed_joints = chain, controller, fixed_joints
        forget_garbage()
        self.get_logger().info(
            f'simulates {", ".join(map(quote, chain.joint_names))} at {self._options.rate:g} '
            f'Hz; listens on {self._subscription.topic_name}')

    def _moves(self) -> bool:
        if self._controller is None:
            return False
        speed = np.abs(self._controller.plant.state.qd).max()
        return self._controller.busy or bool(speed > MIN_MOVING_SPEED)

    def _start(self, chain: Chain) -> np.ndarray:
        """Return the start positions; joints that are simulated already keep theirs, if valid."""
        q = _start_positions(chain, self._options.initial_positions)
        if self._controller is None:
            return q
        there = dict(zip(self._controller.joints, self._controller.plant.state.q))
        stays = np.array([there.get(name, np.nan) for name in chain.joint_names])
        return np.where((stays >= chain.lower) & (stays <= chain.upper), stays, q)

    def _on_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        known = {row.name for row in SIM_CONTROLLER}
        values = {**self._values, **{change.name: plain(change) for change in changes
                                     if change.name in known}}
        options = options_of(SimulationOptions, values, SIM_CONTROLLER)
        try:
            if self._controller is not None:
                _apply(options, self._chain, self._controller, self._sensors)
        except IkNodeError as error:
            return refused(str(error))
        self._values, self._options = values, options
        if self._controller is None:
            self._description.retry()
        return SetParametersResult(successful=True)

    def _now(self) -> float:
        return 1e-9 * self.get_clock().now().nanoseconds

    def _offer(self, message: JointTrajectory, goal: ActiveGoal | None = None) -> str | None:
        if self._controller is None:
            why = 'there is no robot description yet: ' + self._description.complaint
        else:
            why = self._controller.offer(message, self._now(), goal)
        if self._options.controller.silent:
            return why
        self._counts['accepted' if why is None else 'refused'] += 1
        if why is not None:
            self._complaint = f'last refused: {why}'
            self.get_logger().error(f'trajectory refused: {why}')
            self._report()
        return why

    def _update(self) -> None:
        if self._controller is None:
            return
        controller, now = self._controller, self._now()
        state = controller.update(now, self._period)
        if self._server is not None:
            self._server.update(controller)
        if controller.complaint != self._last_abort:
            self._last_abort = controller.complaint
            self._complaint = f'last aborted: {controller.complaint}'
            self.get_logger().error(f'holding position: {controller.complaint}')
            self._report()
        for measured_at, measured in self._sensors.deliver(now, state):
            self._publish(measured_at, measured)

    def _publish(self, measured_at: float, state: MotionState) -> None:
        fixed = self._fixed_joints if self._options.fixed_joints else {}
        self._states.publish(joint_state_message(
            round(1e9 * measured_at), (*self._controller.joints, *fixed),
            [*state.q.tolist(), *fixed.values()], [*state.qd.tolist(), *[0.0] * len(fixed)]))

    def _report(self) -> None:
        level, text = DiagnosticStatus.OK, 'running'
        if self._controller is None:
            level, text = DiagnosticStatus.WARN, 'no robot description'
        elif self._complaint:
            level, text = DiagnosticStatus.WARN, self._complaint
        array = DiagnosticArray()
        array.header.stamp = self.get_clock().now().to_msg()
        array.status = [DiagnosticStatus(
            level=level, name=f'{self.get_fully_qualified_name()}: trajectories', message=text,
            values=[KeyValue(key=key, value=str(self._counts[key]))
                    for key in ('accepted', 'refused')])]
        self._diagnostics.publish(array)

    def close(self) -> None:
        """Nothing to close."""


def _apply(options: SimulationOptions, chain: Chain, controller: SimulatedController,
           sensors: Sensors) -> None:
    """Apply the parameters; all or none."""
    def tolerance(name: str, given: tuple[float, ...]) -> np.ndarray:
        array = one_per_joint(chain, given, f'the parameter {name}')
        if (array < 0.0).any():
            raise ParameterError(f'the parameter {name} is {list(given)}; '
                                 'none of its numbers may be negative')
        return array

    tolerances = Tolerances(tolerance('constraints.trajectory', options.path_tolerance),
                            tolerance('constraints.goal', options.goal_tolerance),
                            options.goal_time)
    blocked = [name for name in options.blocked_joints if name]
    for name in blocked:
        if name not in chain.joint_names:
            raise ParameterError(f'following.blocked_joints names {quote(name)}; the joints are '
                                 f'{", ".join(map(quote, chain.joint_names))}')
    controller.tolerances = tolerances
    controller.options = options.controller
    controller.plant.blocked = np.isin(chain.joint_names, blocked)
    if isinstance(controller.plant, LaggingPlant):
        controller.plant.following = options.following
    sensors.measuring = options.measuring


def _start_positions(chain: Chain, values: tuple[float, ...]) -> np.ndarray:
    if not values:
        return chain.middle
    q = one_per_joint(chain, values, 'the parameter initial_positions')
    if not ((q >= chain.lower) & (q <= chain.upper)).all():
        raise ParameterError(f'initial_positions {list(values)} are not inside the joint limits '
                             f'{chain.lower.tolist()} .. {chain.upper.tolist()}')
    return q


def main(args: list[str] | None = None) -> None:
    """Run the simulated controller; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.middleware.process import run
    run('sim_controller', SimController, args)
