# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The components of a configured node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from ik_node.base.compilation import compilation_told
from ik_node.base.errors import IkNodeError, ParameterError, Reason
from ik_node.base.text import quote
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arm import forward_kinematics, singular_values
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import Tree
from ik_node.model.user_files.joint_limits_file import with_joint_limits
from ik_node.motion.direct.point_to_point import warm_up
from ik_node.motion.direct.torque_limits import TorqueLimits
from ik_node.node.doors.motion_sequences import MotionSequences
from ik_node.node.doors.moveit_kinematics import offer_moveit
from ik_node.node.doors.pose_actions import PoseActions
from ik_node.node.execution.context import MotionContext
from ik_node.node.execution.gripper import Gripper
from ik_node.node.execution.motion import Motion
from ik_node.node.execution.outputs import make_output
from ik_node.node.execution.pace import Pace
from ik_node.node.execution.ramps import Ramps
from ik_node.node.execution.supervisor import Supervisor
from ik_node.node.execution.trajectory_sender import TrajectorySender
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.goals.preparation import Preparation
from ik_node.node.goals.queue import ActiveFlag, GoalQueue
from ik_node.node.intake.chunks import Chunks
from ik_node.node.intake.context import NodeContext
from ik_node.node.intake.goal_starter import GoalStarter
from ik_node.node.intake.goal_subscriptions import GoalSubscriptions, Stopping
from ik_node.node.intake.health import Health
from ik_node.node.recorder import Recorder
from ik_node.node.robot.collisions import ground_notes, load_collisions, load_scene
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.robot.settings import make_settings, Settings, start_options
from ik_node.node.scene.scene_changes import SceneChanges
from ik_node.node.scene.scene_draft import SceneServices
from ik_node.node.scene.scene_topics import SceneTopics
from ik_node.node.show.display import Display
from ik_node.node.show.preview import PostureList, Preview
from ik_node.node.show.scene_display import ClearanceDisplay, SceneDisplay
from ik_node.node.state.arm_state import ArmState, OtherJoints
from ik_node.node.state.clocks import CallbackDelay, StampCheck, TimeJumps
from ik_node.node.state.duplicate_names import DuplicateNames
from ik_node.node.state.frames import Frames
from ik_node.node.state.named_poses import PoseSaver, PoseTable, SemanticDescription, ToolList
from ik_node.node.state.team import Seat
from ik_node.node.stream.jog import Jog
from ik_node.node.stream.stream import Stream
from ik_node.ros.description import Description
from ik_node.ros.messages.status_messages import GoalState, home_text
from ik_node.ros.middleware.clocks import request_origin
from ik_node.ros.middleware.process import forget_garbage
from ik_node.ros.parameters.node_parameters import other_than_default
from ik_node.ros.parameters.tables import IK_NODE
from ik_node.solver.goal import Goal

TOOL_PARAMETERS = 'tool.name', 'tool.position', 'tool.orientation', 'tool.mass', \
    'tool.center_of_mass'
TORQUE_PARAMETERS = 'motion.torque_limits', 'motion.gravity'
FLUSH_TIMEOUT_S = 0.5  # at the end, for each reader of trajectories or answers, and the disk


class Components:
    """
    Builds the node's components in dependency order.

    They create publishers, subscriptions, services and timers here, and none later.

    Parameters
    ----------
    values : mapping
        All parameters of IK_NODE.
    active_flag : ActiveFlag
        While it is not set, goals are refused.
    seat : Seat
        What other arms of the robot do.

    """

    def __init__(self, node: Node, values: Mapping[str, Any], active_flag: ActiveFlag,
                 seat: Seat) -> None:
        self._node, self._seat = node, seat
        self._values, self._options = values, start_options(values)
        options, prefix = self._options, self._options.frame_prefix
        slot = self._robot_slot = RobotSlot(lambda: self._description.complaint)
        # What is known of the robot and the arm.
        duplicates = DuplicateNames(node)  # before anything that takes goals
        frames = Frames(node, prefix)
        self._scene_display = SceneDisplay(node, slot, prefix)
        self._semantics = SemanticDescription(node, slot, options, self._take_semantics)
        self._named = PoseTable(node, options, self._semantics)
        self._tools = ToolList(node, options)
        self._output = make_output(node, options, active_flag,
                                   lambda verdict: supervisor.on_end(verdict))
        self._preparation = Preparation(node)
        # Before the subscriptions: messages that arrive during preparation would be old.
        self._description = Description(node, options, self._take_model, self._busy)
        self._clock_jumps = TimeJumps(node)
        delay = CallbackDelay(node, self._clock_jumps.sample)
        stamps = StampCheck(node, delay, self._clock_jumps)
        self._arm = ArmState(node, slot, options, delay, self._clock_jumps)
        others = OtherJoints(node, self._arm.joints, options.collision_other_joints, seat)
        # Goals, from arrival to answer.
        display = Display(node, slot, self._arm, prefix)
        self._recorder = Recorder(node, slot, lambda: self._values)
        goals = self._goals = GoalQueue(
            node, slot, active_flag, duplicates, lambda task: self._changes.waits(task),
            slot.not_checked, (display.on_answer, self._recorder.on_answer))
        seat.join(slot, self._arm, goals.kind_under_way)
        conversion = GoalConversion(node, self._arm, frames)
        # Motions, from a plan to what the controller does.
        sender = TrajectorySender(node, slot, self._arm, self._output, seat)
        moving = MotionContext(node, slot, self._arm, self._output, goals, sender, seat)
        self._ramps = Ramps(moving)
        supervisor = Supervisor(moving, self._ramps)
        motion = Motion(moving, conversion, self._preparation, self._ramps, supervisor)
        self._pace = Pace(moving, self._ramps, supervisor, motion)
        # What comes by topics, services and actions.
        context = NodeContext(
            **vars(moving), options=options, active_flag=active_flag, duplicates=duplicates,
            delay=delay, stamps=stamps, others=others, conversion=conversion,
            preparation=self._preparation, ramps=self._ramps, motion=motion)
        health = Health(context)
        chunks = Chunks(moving, conversion, self._preparation, motion,
                        Gripper(node, options.chunk_gripper))
        starter = GoalStarter(self._arm, conversion, motion, self._named, chunks)
        self._intake = GoalSubscriptions(node, slot, starter, goals, stamps, health)
        self.stopping = Stopping(node, goals, self._ramps, self._intake, seat)
        node.create_service(Trigger, '~/home', self._on_home)
        self._stream = Stream(context)
        Jog(node, slot, conversion, goals, self._ramps, stamps, self._stream)
        services = SceneServices(frames, stamps, node.get_clock().clock_type,
                                 self._arm.joints.positions, options.mesh_paths)
        self._changes = SceneChanges(node, slot, services, self._ramps, self._with_scene,
                                     self._scene_display.show, others)
        self._scene_topics = SceneTopics(node, self._changes, health)
        offer_moveit(context, self._changes)
        MotionSequences(node, slot, conversion, goals, motion, self._ramps)
        PoseActions(context, starter)
        PoseSaver(node, slot, self._arm, self._named)
        # What is shown.
        ClearanceDisplay(node, slot, self._arm, self._preparation, prefix)
        preview = Preview(node, slot, self._arm, conversion, self._preparation, sender, display)
        PostureList(node, slot, conversion, self._preparation, sender, preview, goals.work_queue)

    # ---- model and parameters -----------------------------------------------

    def _busy(self) -> bool:
        robot = self._robot_slot.robot
        return bool(self._goals.open()) or robot is not None and robot.moves

    def _take_model(self, tree: Tree) -> None:
        logger = self._node.get_logger()
        tree = with_joint_limits(tree, self._options.joint_limits_file)
        chain = self._options.position_limits.narrow(
            make_chain(tree, self._options.base_link, self._options.tip_link))
        with compilation_told(logger.info):
            tools = self._tools.read(tree, chain)
            scene = load_scene(tree, chain, self._options, tools, self._seat.world_link)
            collisions = self._semantics.apply(
                load_collisions(tree, chain, self._options, logger), tree)
            settings = make_settings(self._values, chain, collisions, scene, tools)
            chain = settings.solver.chain  # with the tool
            solved = settings.solver.solve(Goal(forward_kinematics(chain, chain.middle)),
                                           chain.middle)
            singular_values(chain, solved.q)
            warm_up(chain, settings.limits)
            if collisions is not None and collisions.other_joints:
                collisions.with_others(collisions.others)
        self._named.load(chain)
        before, robot = self._robot_slot.robot, Robot(
            tree, settings, collisions, scene, tools, self._seat.without_others)
        robot.diverged = before is not None and before.diverged  # the controller is the same
        self._renew_torques(robot)
        self._robot_slot.robot = robot
        self._scene_display.show()
        self._tools.show(robot)
        forget_garbage()
        self._preparation.begin(chain, settings)
        notes = ground_notes(settings) if scene.base_link == chain.base_link else []
        for note in (*tree.notes, *notes):
            logger.warning(note)
        logger.info(
            f'{quote(tree.name)}: from {quote(chain.base_link)} to {quote(chain.tip_link)} by '
            f'{", ".join(map(quote, chain.joint_names))}; {settings.limits.described(chain)}; '
            f'{self._values["motion.velocity_scale"]} of the velocity is used')
        # Shows whether a parameter file was meant for a node of another name.
        logger.info(f'parameters of {self._node.get_fully_qualified_name()}: '
                    + other_than_default(self._values, IK_NODE))
        logger.info(f'ready for goals on {self._node.resolve_topic_name("~/goal_pose")}; '
                    f'trajectories go to {self._output.name}')

    def _take_semantics(self, robot: Robot) -> None:
        try:
            self._named.load(robot.chain)
        except IkNodeError as error:  # the file of named poses has changed
            self._node.get_logger().error(f'{error}; the named poses stay as they are')
        if robot.collisions is not None:
            self._changes.renew()

    def take_parameters(self, values: Mapping[str, Any]) -> None:
        """Apply other parameters."""
        fixed = [row.name for row in IK_NODE
                 if not row.live and values[row.name] != self._values[row.name]]
        if fixed:
            raise ParameterError(f'{", ".join(fixed)} cannot be changed while the node is '
                                 'configured; deactivate it and clean it up first')
        robot = self._robot_slot.robot
        other_tool, other_torques = (
            any(values[name] != self._values[name] for name in names)
            for names in (TOOL_PARAMETERS, TORQUE_PARAMETERS))
        if (other_tool or other_torques) and self._busy():
            what = 'the tool' if other_tool else ' and '.join(TORQUE_PARAMETERS)
            raise ParameterError(f'{what} cannot be changed while the arm moves or has a goal; '
                                 'stop it, or wait until it rests')
        settings = None if robot is None \
            else make_settings(values, robot.chain, robot.collisions, robot.scene, robot.tools)
        self._values = values
        if robot is None:
            self._description.retry()
        else:
            other_speed = settings.speed != robot.settings.speed
            robot.settings = settings
            self._scene_display.show()
            if other_speed:
                self._pace.change_speed()
            if other_tool or other_torques:
                self._renew_torques(robot)
            if other_tool:
                self._arm.renew_tip_pose()
                self._tools.show(robot)
                self._tools.warn_of_contact(robot, self._arm)

    def _renew_torques(self, robot: Robot) -> None:
        """Check torques as the settings say; warn if that is not possible."""
        settings = robot.settings
        tool = 'the tool' if settings.tool is None else f'the tool {quote(settings.tool.name)}'
        try:
            with compilation_told(self._node.get_logger().info):
                robot.torques = TorqueLimits.of(robot.chain, robot.tree, settings.torques, tool)
        except IkNodeError as error:
            robot.torques = None
            self._node.get_logger().warning(f'torques are not checked: {error}')

    def _with_scene(self, robot: Robot, scene: Scene) -> Settings:
        """Return the settings of a robot with a scene; in any thread."""
        return make_settings(self._values, robot.chain, robot.collisions, scene, robot.tools)

    # ---- services, and the end ----------------------------------------------

    def _on_home(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        task = self._intake.home(self._goals.precedence.of_request(
            *request_origin(self._node, request), early=True))
        response.success = task.state in (None, GoalState.ACCEPTED, GoalState.REACHED)
        response.message = home_text(task.number)
        return response

    def halt(self, reason: Reason, sentence: str) -> None:
        """Bring the arm to rest and answer open goals, even if a ramp fails."""
        try:
            self._ramps.stop(reason, sentence)
        except Exception as error:
            self._goals.dismiss(GoalState.STOPPED, reason, f'{sentence}; the motion goes on to '
                                f'its end, because: {error}')
            if not isinstance(error, IkNodeError):
                raise
            self._node.get_logger().error(f'the motion goes on to its end: {error}')
        finally:
            self._intake.stop(reason, sentence)
            self._goals.finish(FLUSH_TIMEOUT_S)
            self._stream.close()

    def flush(self) -> None:
        """Wait until trajectories, answers and recordings are out, for FLUSH_TIMEOUT_S each."""
        self._changes.close()
        self._scene_topics.flush(FLUSH_TIMEOUT_S)
        self._output.flush(FLUSH_TIMEOUT_S)
        self._goals.status.flush(FLUSH_TIMEOUT_S)
        self._recorder.close(FLUSH_TIMEOUT_S)
        self._clock_jumps.close()
