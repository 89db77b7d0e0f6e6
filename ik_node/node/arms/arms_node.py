# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The node ik_arms: poses of several tips in, a trajectory for each controller out, in step."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from geometry_msgs.msg import PoseArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from ik_node.base.errors import GoalError, IkNodeError, Reason, StateError
from ik_node.base.text import quote
from ik_node.kinematics.links import link_pose
from ik_node.model.description.urdf import Tree
from ik_node.node.arms.arm_nodes import arm_node, arms_of
from ik_node.node.arms.arms_motion import ArmsMotion, ArmsQueue, Goals
from ik_node.node.arms.arms_robot import ArmsOptions, ArmsRobot, make_arms, require_frame_known
from ik_node.node.arms.controller_search import ControllerSearch
from ik_node.node.execution.outputs import TopicOutput
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.goals.queue import ActiveFlag
from ik_node.node.node import IkNode
from ik_node.node.robot.robot import Slot
from ik_node.node.state.clocks import CallbackDelay, StampCheck, TimeJumps
from ik_node.node.state.send_order import SendTime
from ik_node.node.state.team import TeamModels, TeamSeat
from ik_node.ros.controller_manager import prefix_of
from ik_node.ros.description import Description
from ik_node.ros.messages.conversion import matrix_from_pose
from ik_node.ros.messages.joint_states import JointStates, read_joint_state
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.clocks import MessageInfo, request_origin, tell_origin
from ik_node.ros.middleware.process import forget_garbage
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS, KEEP_ALL_QOS, QosLog, STATES_QOS
from ik_node.ros.parameters.node_parameters import declare, options_of
from ik_node.ros.parameters.tables import IK_ARMS, IK_NODE
from ik_node.solver.goal import Goal

GOAL_KIND = 'goal_poses'


class ArmsSlot(Slot[ArmsRobot]):
    """
    Holds the robot, once its description has arrived and its controllers are found.

    Parameters
    ----------
    complaint, search : callable
        Return why there is no description, and which controllers are sought.

    """

    def __init__(self, complaint: Callable[[], str], search: Callable[[], str]) -> None:
        super().__init__(complaint)
        self._search = search

    def require(self) -> ArmsRobot:
        """Return the robot; IkNodeError MODEL_MISSING, or NO_LISTENER while it is sought."""
        if self.robot is None and self._search():
            raise IkNodeError(self._search(), Reason.NO_LISTENER)
        return super().require()


class ArmsNode(QosLog, Node):
    """
    Takes ``~/goal_poses``, answers each goal once on ``~/answers``, and moves all arms in step.

    A PoseArray has the poses of all tips, in the order of the parameter tip_links, and one stamp:
    so all that belongs together comes together.

    Parameters
    ----------
    prepare : callable
        Called with each robot and the options, before its controllers are looked for.

    """

    def __init__(self, prepare: Callable[[ArmsRobot, ArmsOptions], None]
                 = lambda robot, options: None) -> None:
        super().__init__('ik_arms')
        self._prepare = prepare
        self._values = declare(self, IK_ARMS, others=[row.name for row in IK_NODE])
        self._options = options_of(ArmsOptions, self._values, IK_ARMS)
        self._arms: list[IkNode] = []
        self._seats: list[TeamSeat] = []
        self._models = TeamModels(self._seats, lambda: self._motion.beside)
        self._slot = ArmsSlot(lambda: self._description.complaint,
                              lambda: self._search.complaint)
        self._sought: ArmsRobot | None = None  # whose controllers are not found yet
        self._search = ControllerSearch(self, self._on_controllers, lambda: self._motion.busy)
        self._known_joints: frozenset[str] | None = None
        self._active_flag = ActiveFlag(self)
        self._active_flag.is_set = True
        self._states = JointStates()
        self._goals = ArmsQueue(self, self._slot, self._active_flag,
                                not_checked=self._slot.not_checked)
        clock_jumps = TimeJumps(self)
        delay = CallbackDelay(self, clock_jumps.sample)
        self._stamps = StampCheck(self, delay, clock_jumps)
        self._outputs: dict[str, TopicOutput] = {}
        self._motion = ArmsMotion(self, self._states, self._goals, self._output, self._options,
                                  self._seats, self._models)
        self._description = Description(self, self._options, self._take_model,
                                        lambda: self._motion.busy)
        self.create_subscription(JointState, 'joint_states', self._on_state, STATES_QOS, raw=True)
        tell_origin(self.create_subscription(PoseArray, f'~/{GOAL_KIND}', self._on_goal,
                                             KEEP_ALL_QOS))
        tell_origin(self.create_subscription(Empty, '~/halt', self._on_halt, BEST_EFFORT_QOS))
        self.create_service(Trigger, '~/stop', self._on_stop)

    def _output(self, controller: str) -> TopicOutput:
        """Return the output to a controller; it is made once."""
        if controller not in self._outputs:
            self._outputs[controller] = TopicOutput(self, prefix_of(controller), self._active_flag)
        return self._outputs[controller]

    def _take_model(self, tree: Tree) -> None:
        robot = make_arms(tree, self._options, self.get_logger())
        arms_of(robot, self._options)  # which refuses what cannot be
        self._prepare(robot, self._options)
        if robot.arms.supposed:
            self._sought = robot
            self._search.begin({name: robot.controllers[name] for name in robot.arms.supposed})
        else:
            self._search.cancel()
            self._use(robot)

    def _on_controllers(self, found: dict[str, str]) -> None:
        try:
            self._use(self._sought.with_controllers(found))
        except IkNodeError as error:
            self.get_logger().error(f'the arms cannot be made: {error}')

    def _use(self, robot: ArmsRobot) -> None:
        """Move this robot from now on."""
        for name in robot.controllers:
            self._output(name)
        if not self._arms:
            self._make_arms(robot)
        self._slot.robot = robot
        self._motion.use(robot)
        self._known_joints = frozenset(joint.name for joint in robot.tree.tree.joints)
        forget_garbage()
        for note in robot.tree.tree.notes:
            self.get_logger().warning(note)
        for arm in arms_of(robot, self._options):
            self.get_logger().info(f'the arm {arm}')
        self.get_logger().info(
            f'ready for {", ".join(map(quote, robot.tree.tip_links))} in '
            f'{quote(robot.tree.base_link)}: {robot.tree.n} joints of {len(robot.controllers)} '
            f'controllers; {robot.limits.described(robot.tree)}')

    def _make_arms(self, robot: ArmsRobot) -> None:
        """Make the nodes of the arms; their chains stay what they are."""
        self._seats.clear()
        for arm in (arms := arms_of(robot, self._options)):
            self._seats.append(TeamSeat(arm.name, robot.tree.base_link, self._seats, self._models,
                                    self._moves_in_step, self._stop_in_step))
        made = list[IkNode]()
        try:
            for arm, seat in zip(arms, self._seats):
                made.append(arm_node(self, arm, robot, self._values, seat))
        except BaseException:
            for node in made:
                node.destroy_node()
            raise
        self._arms = made
        for node in made if self.executor is not None else ():
            self.executor.add_node(node)

    def _moves_in_step(self) -> bool:
        """Return whether arms have to wait for a goal of all of them."""
        return bool(self._goals.open()) or self._motion.busy

    @property
    def nodes(self) -> list[Node]:
        """Return this node and those of the arms."""
        return [self, *self._arms]

    def _on_state(self, data: bytes, info: MessageInfo) -> None:
        try:
            message = read_joint_state(data)
        except RuntimeError:
            return  # the nodes of the arms say so
        # Several of them may have waited while the executor was busy.
        self._states.take(message, monotonic() - self._stamps.waited(info), self._known_joints)

    def _on_goal(self, message: PoseArray, info: MessageInfo) -> None:
        task = self._goals.new(message.header.stamp, GOAL_KIND,
                               self._goals.precedence.of_message(info))
        self._goals.attempt(task, lambda: self._begin(task, message, info))

    def _begin(self, task: GoalTask, message: PoseArray, info: MessageInfo) -> Steps | None:
        try:
            robot = self._slot.require()
            self._stamps.checked(message.header.stamp, self._options.max_goal_age, info)
            goals = self._goals_of(message, robot)
        except IkNodeError as error:  # also shortly after the start
            self._goals.end(task, GoalState.REJECTED, error.reason, str(error))
            return None
        return self._motion.to_goals(task, robot, goals)

    def _goals_of(self, message: PoseArray, robot: ArmsRobot) -> Goals:
        """Return the goal of each tip in the base link."""
        tips, frame, base = robot.tree.tip_links, message.header.frame_id, robot.tree.base_link
        if len(message.poses) != len(tips):
            raise GoalError(f'the goal has {len(message.poses)} poses; it needs {len(tips)}, of '
                            f'{", ".join(map(quote, tips))}, in this order', Reason.PATH_INVALID)
        require_frame_known(frame, robot.tree.tree)
        T = link_pose(robot.tree.tree, frame, base, self._states.positions)
        return {tip: Goal(T @ matrix_from_pose(pose, f'the goal of {quote(tip)}'))
                for tip, pose in zip(tips, message.poses)}

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self._stop(
                self._goals.precedence.of_request(*request_origin(self, request)))
            response.success = True
        except IkNodeError as error:
            response.message = f'the arms cannot be stopped: {error}'
            self.get_logger().error(response.message)
        return response

    def _on_halt(self, _message: Empty, info: MessageInfo) -> None:
        try:
            self._stop(self._goals.precedence.of_message(info))
        except IkNodeError as error:
            self.get_logger().error(f'the arms cannot be halted: {error}',
                                    throttle_duration_sec=1.0)

    def _stop(self, sent_at: SendTime) -> str:
        """Stop what was sent before that; return what was done."""
        try:
            stopped, sentences = True, [self._stop_in_step(sent_at)]
        except IkNodeError as error:
            stopped, sentences = False, [str(error)]
        for arm in self._arms:
            done, said = arm.stop(sent_at)
            stopped = stopped and done
            sentences.append(f'{arm.get_name()}: {said}')
        if not stopped:
            raise StateError('; '.join(sentences), Reason.STOPPED)
        return '; '.join(sentences)

    def _stop_in_step(self, sent_at: SendTime) -> str:
        """Stop goals of all arms that were sent before that; return what was done."""
        precedence = self._goals.precedence
        precedence.stopped(sent_at)
        return self._motion.stop(lambda task: precedence.is_before(task.sent_at, sent_at))

    def close(self) -> None:
        """Bring the arms to rest and answer open goals before the process ends."""
        for arm in self._arms:  # before any of them waits for readers of its answers
            arm.halt()
        self._motion.close()
        for arm in self._arms:
            arm.close()

    def destroy_node(self) -> None:
        """Leave the ROS graph, with the nodes of the arms."""
        for arm in self._arms:
            arm.destroy_node()
        super().destroy_node()


def main(args: list[str] | None = None) -> None:
    """Run the node; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.middleware.process import run
    run('ik_arms', ArmsNode, args)
