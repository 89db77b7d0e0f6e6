# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The node: goal poses in, joint trajectories out, one answer for each goal."""

from __future__ import annotations

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from ik_node.errors import IkNodeError, ParameterError, quote, Reason
from ik_node.kinematics.arm import forward_kinematics, singular_values
from ik_node.model.chain import make_chain
from ik_node.model.urdf import Tree
from ik_node.ros.arm_state import ArmState
from ik_node.ros.description import Description
from ik_node.ros.display import Display
from ik_node.ros.frames import Frames
from ik_node.ros.goals import Goals
from ik_node.ros.health import Health
from ik_node.ros.intake import Intake
from ik_node.ros.motion import Motion
from ik_node.ros.namesakes import Namesakes
from ik_node.ros.output import make_output
from ik_node.ros.parameters import declare, IK_NODE, other_than_default, plain, refused
from ik_node.ros.preview import Preview
from ik_node.ros.robot import Robot, RobotHolder
from ik_node.ros.stamps import Stamps
from ik_node.ros.status import GoalState
from ik_node.ros.stream import Stream
from ik_node.ros.targets import Targets
from ik_node.solver.goal import Goal
from ik_node.trajectory.cartesian import warm_up as prepare_paths
from ik_node.trajectory.settings import make_settings
from ik_node.trajectory.tip import tip_rates
from ik_node.trajectory.tracking import Follower


class IkNode(Node):
    """
    Puts the parts together: parameters, the model, services.

    The parts, each of which knows only those before it: goals (their answers), output and
    arm (the two ends towards the controller), motion, health, stamps, targets, intake,
    stream, display, preview.
    """

    def __init__(self) -> None:
        super().__init__('ik_node')
        self._values = declare(self, IK_NODE)
        self._holder = RobotHolder(lambda: self._description.complaint)
        self._goals = Goals(self, self._holder)
        self._output = make_output(self, self._values['output'], self._values['controller'])
        frames = Frames(self, self._values['frame_prefix'])
        # What is heard while the robot is prepared would be old afterwards.
        self._description = Description(self, self._values, self._take_model)
        self.add_on_set_parameters_callback(self._on_parameters)
        self._arm = ArmState(self, self._holder, self._values)
        self._motion = Motion(self, self._holder, self._arm, self._output, self._goals)
        health = Health(self, self._holder, self._arm, self._output, self._goals)
        stamps = Stamps(self, health)
        targets = Targets(self, self._arm, frames)
        self._intake = Intake(self, self._holder, self._arm, targets, self._goals,
                              self._motion, stamps, health)
        self._stream = Stream(self, self._holder, self._arm, targets, self._goals, self._motion,
                              stamps, self._output, self._values)
        display = Display(self, self._holder, self._arm, self._goals,
                          self._values['frame_prefix'])
        Namesakes(self)
        self._preview = Preview(self, self._holder, self._arm, targets, self._motion, display)
        self.create_service(Trigger, '~/stop', self._on_stop)
        self.create_service(Trigger, '~/home', self._on_home)

    # ---- model and parameters -----------------------------------------------

    def _take_model(self, tree: Tree) -> None:
        logger = self.get_logger()
        if self._goals.open() or (self._holder.robot and self._holder.robot.moves):
            raise ParameterError('a new robot description came during a motion; it is not taken')
        chain = make_chain(tree, self._values['base_link'], self._values['tip_link'])
        logger.info('preparing the solver (the first start on a machine compiles it, '
                    'which takes about a minute)')
        settings = make_settings(self._values, chain)
        warm_up = settings.solver.solve(Goal(forward_kinematics(chain, chain.middle)),
                                        chain.middle)
        singular_values(chain, warm_up.q)
        tip_rates(chain, warm_up.q[None], warm_up.q[None])
        prepare_paths(settings.solver)
        Follower(chain, settings.planning, settings.following)
        self._holder.robot = Robot(tree, chain, settings)
        for note in tree.notes:
            logger.warning(note)
        limits = settings.limits
        logger.info(
            f'{quote(tree.name)}: from {quote(chain.base_link)} to {quote(chain.tip_link)} by '
            f'{", ".join(map(quote, chain.joint_names))}; velocity {limits.velocity.tolist()} '
            f'x {settings["motion.velocity_scale"]}, acceleration '
            f'{limits.acceleration.tolist()}, jerk {limits.jerk.tolist()}')
        # A parameter file for a node of another name has no effect.
        logger.info(f'parameters of {self.get_fully_qualified_name()}: '
                    + other_than_default(self._values, IK_NODE))
        logger.info(f'ready for goals on {self.resolve_topic_name("~/goal_pose")}; trajectories '
                    f'go to {self._output.name}')

    def _on_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        known = {row.name for row in IK_NODE}
        values = {**self._values, **{change.name: plain(change) for change in changes
                                     if change.name in known}}
        robot = self._holder.robot
        try:
            if robot is not None:
                robot.settings = make_settings(values, robot.chain)
        except ParameterError as error:
            return refused(str(error))
        self._values = values
        if robot is None:
            self._description.retry()
        return SetParametersResult(successful=True)

    # ---- services -----------------------------------------------------------

    def _on_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self._motion.stop(Reason.STOPPED, 'stopped by request')
            response.success = True
        except IkNodeError as error:
            response.success, response.message = False, str(error)
            self.get_logger().error(f'stop: {error}')
        return response

    def _on_home(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        task = self._intake.home()
        response.success = task.state not in (GoalState.REJECTED, GoalState.FAILED)
        response.message = f'goal {task.number}, see ~/status'
        return response

    def close(self) -> None:
        """Bring the arm to rest and answer open goals before the process ends."""
        try:
            self._motion.stop(Reason.SHUTDOWN, 'the node is shut down')
        except IkNodeError as error:
            self.get_logger().error(f'the motion goes on to its end: {error}')
            for task in self._goals.open():
                self._goals.end(task, GoalState.STOPPED, Reason.SHUTDOWN, 'the node is shut '
                                f'down; the motion goes on to its end, because: {error}')
        self._stream.close()
        self._output.flush(0.5)
        self._goals.status.flush(0.5)


def main(args: list[str] | None = None) -> None:
    """Run the node; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.process import run
    run('ik_node', IkNode, args)
