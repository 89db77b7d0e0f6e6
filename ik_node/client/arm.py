# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""An arm that an ik_node moves, for programs in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import inf
import random
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import Any, TYPE_CHECKING

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Pose, PoseStamped, TwistStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ik_node.base.errors import ParameterError, StateError
from ik_node.base.text import quote
from ik_node.client.answers import AnswerTimeoutError, ClientError, PostureEntry, PreviewReport
from ik_node.client.chunks import Chunks
from ik_node.client.goals import GoalMethods
from ik_node.client.gripper import Gripper, GRIPPER_ACTION
from ik_node.client.handles import GoalHandle, Handle
from ik_node.client.poses import joint_path_message, stamped_point
from ik_node.client.scene import SceneClient
from ik_node.client.sequences import Motion, SequenceClient
from ik_node.client.streams import Jog, Stream
from ik_node.client.transport.connection import Connection
from ik_node.client.transport.description import ArmDescription, subscribed_topic
from ik_node.motion.constrained.keep import Keep
from ik_node.motion.joint_path.taught_path import TaughtPath
from ik_node.motion.joint_path.waypoints import at_limits
from ik_node.ros.messages.conversion import matrix_from_pose
from ik_node.ros.messages.goal_kinds import KEPT_KIND
from ik_node.ros.messages.joint_states import JointStates
from ik_node.ros.messages.kept_goals import kept_goal, KeptGoal
from ik_node.ros.messages.motion_primitives import tool_poses
from ik_node.ros.messages.status_messages import home_number, stamp_text, values_of
from ik_node.ros.middleware.clocks import nanoseconds_of
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS, LATCHED_QOS, STATES_QOS
from ik_node.ros.state_recorder import StateRecorder

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ik_node.kinematics.arm import Arm as KinematicArm
    from ik_node.solver.result import Posture, Result
    from ik_node.solver.solver import Solver

FIRST_STATE_S = 5.0             # for the first joint state or tip pose
MAX_STAMP_OFFSET_NS = 1_000_000  # of a client, where simulated time has the same stamp for many


class Arm(GoalMethods[GoalHandle]):
    """
    An arm that a running ik_node moves.

    Commands return at once, with a handle.  ``arm.move(pose).wait()`` waits until the arm is
    there; ``await arm.move(pose)`` does in coroutines.  Whatever is not reached raises an error
    with the reason that the node gives.  A newer goal takes the place of the active one.

    The client has a node and a thread of its own, so it works in plain scripts and in callbacks
    of other nodes.  In a plain script Ctrl-C stops the arm before the program ends, if one of
    its goals is open; so does an error that leaves a ``with Arm() as arm:`` block.

    Parameters
    ----------
    name : str, optional
        Of the ik_node, such as 'ik_node' or '/left/ik_node'.  By default the only one there is.
    namespace : str, optional
        In which the node is.
    node : rclpy.node.Node, optional
        A node of the caller: its context and namespace are used, and its executor runs the
        callbacks that are given to handles.  Signals remain the caller's; when ROS is shut down
        during a goal, the arm is stopped.
    timeout : float
        How long to look for the node, s.

    Raises
    ------
    NodeUnreachableError
        If no such node answers in time, or if there are several and no name is given.
    ClientError
        If the node is not configured, or simulated time does not arrive.

    Notes
    -----
    The methods that take poses share these parameters:

    * `pose`: a PoseStamped, a Pose, a matrix (4, 4), or seven numbers x, y, z, qx, qy, qz, qw;
      or a position (3,) with `quaternion` (x, y, z, w) or `rpy` (fixed-axis roll, pitch, yaw,
      rad).  Positions are in m.
    * `frame`, str, optional: frame of the pose, a link of the URDF or a TF frame.  By default
      the base link of the arm.

    They raise a ClientError if that is no pose; the node refuses what cannot be reached.
    """

    def __init__(self, name: str | None = None, *, namespace: str = '',
                 node: Node | None = None, timeout: float = 10.0) -> None:
        self._stamp_lock, self._last_stamp = Lock(), 0
        self._previews: dict[str, Handle[PreviewReport]] = {}
        self._lists: dict[str, Handle[tuple[PostureEntry, ...]]] = {}
        self._states, self._states_topic = JointStates(), ''
        self._recorders: list[StateRecorder] = []
        self._tip: PoseStamped | None = None
        self._tip_is_old = False  # of another tool
        self._named: dict[str, dict[str, float]] | None = None
        self._tools: dict[str, NDArray[np.float64]] | None = None
        self._named_lists = 0  # how many have come
        self._saved: list[tuple[Handle[str], str]] = []  # that are not in the list yet
        self._latest_stream: list[Stream] = []
        self._latest_jog: list[Jog] = []
        self._latest_chunks: list[Chunks] = []
        self._connection = Connection(name, namespace, node, timeout, self._create)

    def _create(self, connection: Connection) -> list[Any]:
        """Create what the arm needs; return the publishers whose topics the node must have."""
        self._connection = connection
        self.scene = SceneClient(connection, self._base_frame, self._stamp)
        self._sequences = SequenceClient(connection)
        connection.node.create_subscription(DiagnosticStatus, f'{connection.target}/preview',
                                            self._on_preview, 10)
        connection.node.create_subscription(DiagnosticArray, f'{connection.target}/postures',
                                            self._on_postures, 10)
        connection.node.create_subscription(DiagnosticArray, f'{connection.target}/named_poses',
                                            self._on_named_poses, LATCHED_QOS)
        connection.node.create_subscription(DiagnosticArray, f'{connection.target}/tools',
                                            self._on_tools, LATCHED_QOS)
        connection.node.create_subscription(PoseStamped, f'{connection.target}/tip_pose',
                                            self._on_tip_pose, BEST_EFFORT_QOS)
        self._twists = connection.node.create_publisher(
            TwistStamped, f'{connection.target}/delta_twist_cmds', 1)
        return [self.scene.publisher, self._twists]

    def __repr__(self) -> str:
        return f'Arm({self.name!r})'

    @property
    def name(self) -> str:
        """Return the full name of the node."""
        return self._connection.target

    # ---- goals, besides those of GoalMethods ---------------------------------

    def sequence(self, motions: Iterable[Motion]) -> GoalHandle:
        """
        Move through PTP, LIN and CIRC motions in sequence, blended where they have a radius.

        All of them are planned and checked before the arm moves.  ::

            arm.sequence([ptp(above), lin(below, velocity=0.1), lin(above)]).wait()

        Parameters
        ----------
        motions : iterable of Motion
            At most 255, of :func:`~ik_node.client.sequences.ptp`,
            :func:`~ik_node.client.sequences.lin` and :func:`~ik_node.client.sequences.circ`.

        Raises
        ------
        ClientError
            If a motion cannot be sent; it is named by its number, from 1.  If control_msgs is
            not installed here, or lacks the action ExecuteMotionPrimitiveSequence.

        """
        return self._sequences.send(motions, self._base_frame, lambda: self.joint_names)

    def play(self, path: TaughtPath, speed: float = 1.0) -> GoalHandle:
        """
        Move to the start of a path that was taught, and then along it.

        Parameters
        ----------
        path : TaughtPath
            Waypoints, or a recorded motion; joints that the arm lacks are left out, and those
            of the arm that it lacks stay.
        speed : float
            Of a recorded motion: 1 is as it was recorded, 0.5 half as fast.  Limits are kept in
            any case.

        Returns
        -------
        GoalHandle
            Of both motions together.

        Raises
        ------
        ClientError
            If the path has no joint of the arm, or the speed is none.

        """
        try:
            path = self._own_joints(path).at_speed(speed)
        except ParameterError as error:
            raise ClientError(str(error)) from None
        chain = self._description.chain
        columns = [chain.joint_names.index(name) for name in path.joint_names]
        first = at_limits(path.q[0], chain.lower[columns], chain.upper[columns])
        stops = self._connection.await_ready()
        goal = GoalHandle(self._connection, 'joint_path')
        try:
            begin = self.joints(dict(zip(path.joint_names, first.tolist())))
        except Exception as error:
            goal.finish(error=error)
            raise

        def along() -> None:
            if begin.exception is not None:
                goal.finish(begin.result, begin.exception)
                return
            if goal.cancel_asked:
                goal.finish(error=ClientError('cancelled before the motion along the path began'))
                return
            try:
                self._connection.require_no_stop_since(stops)
                self._send('joint_path', joint_path_message(path), goal=goal)
            except Exception as error:  # noqa: BLE001 - also of rclpy; the goal has one end
                goal.finish(error=error)

        begin.on_end(along)
        return goal

    def record(self, seconds: float, tolerance: float = 2e-3) -> TaughtPath:
        """
        Take down how the arm moves, whatever moves it, and return the motion.

        It waits for so long; nothing is sent.  Pauses at both ends are left out.

        Parameters
        ----------
        seconds : float
        tolerance : float
            Largest distance of a joint on the motion that is returned from a joint state, rad or
            m.

        Raises
        ------
        ClientError
            If nothing has moved, or the joint states lack a joint.

        """
        names = self.joint_names
        self._listen_to_states(names)
        recorder = StateRecorder(names)
        self._recorders.append(recorder)
        try:
            self._connection.wait_until(lambda: False, seconds)
            return recorder.path(tolerance)[0]
        except ParameterError as error:
            raise ClientError(str(error)) from None
        finally:
            self._recorders.remove(recorder)

    def home(self) -> GoalHandle:
        """Move to the preferred joint positions of the node."""
        self._connection.await_ready()
        goal, answers = GoalHandle(self._connection, 'home'), self._connection.answers
        before = answers.count

        def on_response(call: Handle[str]) -> None:
            text = call.result or str(call.exception)
            number = home_number(text.rpartition(': ')[2])
            if not number:
                goal.finish(error=call.exception or ClientError(f'~/home answered: {text}'))
                return
            answers.expect_where(lambda values: values.get('kind') == 'home'
                                 and values.get('goal') == number, goal.take, before)

        call = self._connection.trigger('home')
        call.on_end(lambda: on_response(call))
        return goal

    def stream(self) -> Stream:
        """
        Follow poses that come often, up to 500 a second.

        ::

            with arm.stream() as stream:
                while ...:
                    stream.send(pose)
                    time.sleep(0.01)
        """
        return Stream(self._connection, self._base_frame, self._stamp, self._latest_stream)

    def chunks(self) -> Chunks:
        """
        Follow chunks of timed poses, one after another, as a learned policy makes them.

        ::

            with arm.chunks() as chunks:
                while ...:
                    chunks.send(policy(observe()), period=0.05)
        """
        return Chunks(self._connection, self.chunk, self._latest_chunks)

    def jog(self) -> Jog:
        """
        Move the tip at a velocity that is sent again and again.

        ::

            with arm.jog() as jog:
                while ...:
                    jog.send(linear=(0.0, 0.0, 0.25))
                    time.sleep(0.02)
        """
        return Jog(self._connection, self._twists, self._base_frame, self._stamp,
                   self._latest_jog)

    def stop(self) -> Handle[str]:
        """
        Bring the arm to rest within its limits; open goals end as stopped.

        A goal that is sent before the answer waits for it, for 10 s at most: ``await`` the stop
        where that would keep others waiting.
        """
        return self._connection.stop()

    def pause(self) -> Handle[str]:
        """
        Bring the arm to rest on its path; the goal stays open.

        The result is a sentence.  It fails with a ClientError if nothing moves, or the motion
        cannot be paused.
        """
        return self._connection.pause(True)

    def resume(self) -> Handle[str]:
        """Go on with the goal that was paused, along the same path; as :meth:`pause`."""
        return self._connection.pause(False)

    # ---- before a motion ----------------------------------------------------

    def preview(self, pose: Any, quaternion: Sequence[float] | None = None, *,
                frame: str | None = None, rpy: Sequence[float] | None = None,
                kind: str = 'pose') -> Handle[PreviewReport]:
        """
        Ask the node whether and how it would reach a pose; nothing moves.

        It solves as for a goal: with its options, and free of collisions.  A newer preview takes
        the place of one that has not been answered.

        Parameters
        ----------
        kind : str
            'pose', 'pointing' or 'position'; then `pose` may be a position (3,).

        """
        return self._previewed(pose, quaternion, frame, rpy, kind)[0]

    def list_postures(self, pose: Any, quaternion: Sequence[float] | None = None, *,
                      frame: str | None = None, rpy: Sequence[float] | None = None,
                      kind: str = 'pose') -> Handle[tuple[PostureEntry, ...]]:
        """
        Ask the node for all postures that reach a pose, and what it thinks of each.

        Nothing moves.  Unlike :meth:`postures` it knows the scene, and also tells of postures
        that collide and why, of the direct motion to each, and of which a goal would take.
        :meth:`joints` moves the arm to one of them.  It is a preview as well.

        Returns
        -------
        Handle
            Its result is a tuple of PostureEntry, the nearest to the present posture first.  It
            fails with a ClientError if no posture reaches the pose.

        """
        handle: Handle[tuple[PostureEntry, ...]] = Handle(self._connection,
                                                          'the list of postures')
        preview, stamp = self._previewed(pose, quaternion, frame, rpy, kind)
        self._lists[stamp] = handle
        handle.on_end(lambda: self._lists.pop(stamp, None))

        def on_call(call: Handle[str]) -> None:
            if call.exception is not None:
                handle.finish(error=call.exception)

        def on_preview() -> None:
            if preview.exception is not None:
                handle.finish(error=preview.exception)
                return
            call = self._connection.trigger('list_postures')
            call.on_end(lambda: on_call(call))

        preview.on_end(on_preview)
        return handle

    def _previewed(self, pose: Any, quaternion: Sequence[float] | None, frame: str | None,
                   rpy: Sequence[float] | None, kind: str
                   ) -> tuple[Handle[PreviewReport], str]:
        """Send a preview; return its handle and its stamp."""
        topic = f'preview_{kind}'
        if topic not in self._connection.publishers:
            raise ClientError(f'there is no preview of {kind!r}; there are pose, pointing and '
                              'position')
        message = stamped_point(pose, frame, self._base_frame) if kind == 'position' \
            else self._pose(pose, quaternion, frame, rpy)
        self._connection.greet_again()
        handle: Handle[PreviewReport] = Handle(self._connection, 'the preview')
        for older in [*self._previews.values()]:
            older.finish(error=ClientError('a newer preview took its place'))
        for older_list in [*self._lists.values()]:
            older_list.finish(error=ClientError('a newer preview took its place'))
        message.header.stamp = self._stamp(message)
        stamp = stamp_text(message.header.stamp)
        self._previews[stamp] = handle
        handle.on_end(lambda: self._previews.pop(stamp, None))
        self._connection.publishers[topic].publish(message)
        return handle, stamp

    def plan(self) -> Handle[str]:
        """
        Ask the node to plan and show the motion to the latest preview; nothing moves.

        Returns
        -------
        Handle
            Its result is a sentence with the duration and the length of the motion.

        """
        return self._connection.trigger('plan')

    def set_speed(self, share: float) -> Handle[None]:
        """
        Have motions use a share of the velocity limits, the active one as well.

        Parameters
        ----------
        share : float
            0.001 to 1; the parameter ``motion.velocity_scale``.

        """
        return self._connection.set_parameters({'motion.velocity_scale': float(share)})

    def set_tool(self, position: ArrayLike = (0.0, 0.0, 0.0),
                 orientation: ArrayLike = (0.0, 0.0, 0.0), *, name: str = '') -> Handle[None]:
        """
        Tell the node which tool is mounted; goals are then poses of its tool centre point.

        Without arguments there is none.

        Parameters
        ----------
        position : (3,) array
            Of the tool centre point in the tip link, m.
        orientation : (3,) array
            Roll, pitch, yaw of the tool in the tip link, rad, as in a URDF.
        name : str
            Instead: of a tool in the file of tools of the node, which has its position,
            orientation and shape; :meth:`tools` has them all.

        Returns
        -------
        Handle
            It fails with a ClientError if the node refuses, for example during a motion, or if
            there is no tool of this name.

        """
        return self._connection.set_parameters({
            'tool.name': name,
            'tool.position': [float(number) for number in np.ravel(position)],
            'tool.orientation': [float(number) for number in np.ravel(orientation)]},
            self._forget_tool)

    def save_named(self, name: str) -> Handle[str]:
        """
        Have the node save where the arm is under a name, in its file of named poses.

        A pose of the same name in the file is replaced.

        Returns
        -------
        Handle
            Its result is a sentence.  It fails with a ClientError if the node has no such file or
            cannot write it, the name is not allowed, or the joint states are old.

        """
        handle: Handle[str] = Handle(self._connection, f'{self.name}/save_named')
        before, call = self._named_lists, self._connection.save_named(name)

        def on_response() -> None:
            if call.exception is not None:
                handle.finish(error=call.exception)
            elif self._named_lists > before and name in (self._named or {}):
                handle.finish(call.result)
            else:  # the list that has it will follow
                self._saved.append((handle, call.result))

        call.on_end(on_response)
        return handle

    # ---- the solver in this program -----------------------------------------

    @cached_property
    def kinematics(self) -> KinematicArm:
        """
        Return the arm of the library, from the URDF that the node uses.

        Forward kinematics, Jacobians and more, see :func:`ik_node.load_urdf`.  The first use
        loads the compiler.

        Raises
        ------
        ClientError
            If the URDF is in a file of another machine.

        """
        return self._description.kinematics()

    @cached_property
    def solver(self) -> Solver:
        """Return a solver of the library for :attr:`kinematics`, with default options."""
        from ik_node.solver.solver import Solver
        return Solver(self.kinematics)

    def ik(self, pose: Any, seed: ArrayLike | None = None, **options: Any) -> Result:
        """
        Find joint positions for a pose in this program; nothing moves.

        The solver is that of the library, on the URDF and the position limits of the node.  It
        knows neither the scene nor the options of the node, which may answer with another
        posture; :meth:`preview` asks the node itself.

        Parameters
        ----------
        pose : (4, 4) or (7,) array, PoseStamped, Pose or Goal
            Of the tip in the base link; m.
        seed : (n,) array, optional
            The posture to start from, rad or m; by default the present one.
        **options
            Of :meth:`ik_node.Solver.solve`.

        Returns
        -------
        Result
            With ``success``, ``q`` (n,), ``status`` and ``message``.

        """
        return self.solver.solve(self._goal(pose), self.q if seed is None else np.asarray(seed),
                                 **options)

    def postures(self, pose: Any, seed: ArrayLike | None = None) -> tuple[Posture, ...]:
        """Return all joint positions for a pose, the nearest to `seed` first; as :meth:`ik`."""
        return self.solver.solve_all(self._goal(pose),
                                     self.q if seed is None else np.asarray(seed))

    # ---- state --------------------------------------------------------------

    @property
    def base_link(self) -> str:
        """Return the frame of poses without one, the base link of the arm."""
        return self._base_frame()

    @property
    def tip_link(self) -> str:
        """Return the link that is moved; errors as :attr:`kinematics`."""
        return self._description.chain.tip_link

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter of the node, None if there is no such."""
        return self._connection.parameters([name])[name]

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the joints of the arm, in the order of the chain."""
        return tuple(self._description.chain.joint_names)

    @property
    def turning_joints(self) -> frozenset[str]:
        """Return which of :attr:`joint_names` turn, in rad; the others slide, in m."""
        chain = self._description.chain
        return frozenset(name for name, turns in zip(chain.joint_names, chain.revolute) if turns)

    @property
    def joint_positions(self) -> dict[str, float]:
        """
        Return the latest positions of all joints that are measured, by their names, rad or m.

        Raises
        ------
        AnswerTimeoutError
            If no joint state comes.

        """
        self._listen_to_states(())
        return dict(self._states.positions)

    @property
    def q(self) -> NDArray[np.float64]:
        """Return the latest positions (n,) of :attr:`joint_names`, rad or m; errors as before."""
        names = self.joint_names
        self._listen_to_states(names)
        return np.array([self._states.positions[name] for name in names])

    def named_poses(self) -> dict[str, dict[str, float]]:
        """
        Return the named poses of the node: by name, the positions of the joints, rad or m.

        Raises
        ------
        AnswerTimeoutError
            If the node does not tell of them, for example because it has no robot description.

        """
        self._await(lambda: self._named is not None, f'{self.name}/named_poses',
                    'has the node a robot description?')
        return {name: dict(positions) for name, positions in self._named.items()}

    def tools(self) -> dict[str, NDArray[np.float64]]:
        """
        Return the named tools of the node: by name, the pose (4, 4) in the tip link, m.

        Raises
        ------
        AnswerTimeoutError
            If the node does not tell of them, for example because it has no robot description.

        """
        self._await(lambda: self._tools is not None, f'{self.name}/tools',
                    'has the node a robot description?')
        return {name: T.copy() for name, T in self._tools.items()}

    @property
    def tip_pose(self) -> NDArray[np.float64]:
        """
        Return the latest pose (4, 4) of the tip in the base link, m.

        The node publishes it ``tip_pose_rate`` times a second.

        Raises
        ------
        AnswerTimeoutError
            If none comes.

        """
        return matrix_from_pose(self._tip_pose(lambda: not self._tip_is_old).pose)

    # ---- gripper ------------------------------------------------------------

    def gripper(self, action: str = GRIPPER_ACTION) -> Gripper:
        """
        Return a client of a gripper.

        Parameters
        ----------
        action : str
            Name of the action, of type control_msgs/GripperCommand, in the namespace of the node
            unless it begins with /.

        """
        return Gripper(self._connection, action)

    # ---- the end ------------------------------------------------------------

    def close(self) -> None:
        """Leave ROS.  The motion goes on, but open handles end with an error."""
        self._connection.close()

    def __enter__(self) -> Arm:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is not None:
            self._connection.stop_if_moving()
        self.close()

    # ---- inside -------------------------------------------------------------

    def _forget_tool(self) -> None:
        self._tip_is_old = True
        for name in ('_description', 'kinematics', 'solver'):
            self.__dict__.pop(name, None)

    @cached_property
    def _description(self) -> ArmDescription:
        return ArmDescription(self._connection, self.tools)

    def _goal(self, pose: Any) -> Any:
        """Return a goal as the solver takes it."""
        if isinstance(pose, PoseStamped):
            if pose.header.frame_id != self._base_frame():
                raise ClientError(f'the pose is in {pose.header.frame_id!r}; the solver takes '
                                  f'poses in the base link, {self._base_frame()!r}')
            return matrix_from_pose(pose.pose)
        return matrix_from_pose(pose) if isinstance(pose, Pose) else pose

    def _own_joints(self, path: TaughtPath) -> TaughtPath:
        """Return a path of the joints that the arm has; raise ParameterError if it has none."""
        own = [name for name in self.joint_names if name in path.joint_names]
        if not own:
            raise ParameterError(f'the path is of {", ".join(map(quote, path.joint_names))}; the '
                                 f'arm has {", ".join(map(quote, self.joint_names))}')
        return path.of_joints(own)

    def _send(self, kind: str, message: Any, keeps: tuple[Keep, ...] = (),
              goal: GoalHandle | None = None) -> GoalHandle:
        connection = self._connection
        connection.await_ready()
        goal = goal or GoalHandle(connection, kind)
        try:
            message.header.stamp = self._stamp(message)
            stamp = stamp_text(message.header.stamp)
            connection.answers.expect(stamp, goal.take)
            goal.on_end(lambda: connection.answers.forget(stamp))
            if keeps:
                kind, message = KEPT_KIND, kept_goal(KeptGoal(kind, message, keeps))
            connection.publishers[f'goal_{kind}'].publish(message)
        except Exception as error:  # noqa: BLE001 - also of rclpy; the goal has one end
            goal.finish(error=error)
        return goal

    def _stamp(self, message: Any) -> Time:
        """Return the stamp of a message that is sent: its own if it has one, and no other's."""
        own = 0 if message is None else nanoseconds_of(message.header.stamp)
        clock = self._connection.node.get_clock()
        with self._stamp_lock:
            number = own or max(clock.now().nanoseconds + (
                self._stamp_offset if clock.ros_time_is_active else 0), self._last_stamp + 1)
            while True:
                sec, nanosec = divmod(number, 10**9)
                stamp = Time(sec=sec, nanosec=nanosec)
                if not self._connection.answers.expects(stamp_text(stamp)):
                    break
                number += 1
            if not own:
                self._last_stamp = number
        return stamp

    @cached_property
    def _stamp_offset(self) -> int:
        return random.randrange(MAX_STAMP_OFFSET_NS)

    def _base_frame(self) -> str:
        return str(self._tip_pose().header.frame_id)

    def _tip_pose(self, condition: Callable[[], bool] = lambda: True) -> PoseStamped:
        self._await(lambda: self._tip is not None and condition(), f'{self.name}/tip_pose')
        return self._tip

    def _on_tip_pose(self, message: PoseStamped) -> None:
        self._tip, self._tip_is_old = message, False

    def _listen_to_states(self, names: Sequence[str]) -> None:
        """Receive joint states from now on, and wait until there are some of these joints."""
        connection = self._connection
        with connection.lock:
            if not self._states_topic:
                self._states_topic = subscribed_topic(
                    connection.node, self.name, 'sensor_msgs/msg/JointState',
                    ('goal_joints', 'goal_named'), 'joint_states')
                connection.node.create_subscription(JointState, self._states_topic,
                                                    self._on_state, STATES_QOS)
        positions = self._states.positions
        try:
            self._await(lambda: all(name in positions for name in names) if names else positions,
                        self._states_topic)
        except AnswerTimeoutError as error:
            if not positions:
                raise
            try:  # others have come
                self._states.state(names, 0.0, inf)
            except StateError as why:
                raise AnswerTimeoutError(f'{error}: {why}') from None

    def _on_state(self, message: JointState) -> None:
        self._states.take(message, 1e-9 * nanoseconds_of(message.header.stamp))
        for recorder in [*self._recorders]:
            recorder.take(message, monotonic())

    def _on_preview(self, message: DiagnosticStatus) -> None:
        values = values_of(message)
        handle = self._previews.get(values.get('stamp', ''))
        if handle is not None:
            handle.finish(PreviewReport.of(values, message.message))

    def _on_postures(self, message: DiagnosticArray) -> None:
        entries = [(values_of(status), status.message) for status in message.status]
        handle = self._lists.get(entries[0][0].get('stamp', '')) if entries else None
        if handle is not None:
            handle.finish(tuple(PostureEntry.of(*entry) for entry in entries))

    def _on_named_poses(self, message: DiagnosticArray) -> None:
        self._named = {status.name: {joint: float(position)
                                     for joint, position in values_of(status).items()}
                       for status in message.status}
        self._named_lists += 1
        saved, self._saved = self._saved, []
        for handle, sentence in saved:
            handle.finish(sentence)

    def _on_tools(self, message: DiagnosticArray) -> None:
        self._tools = tool_poses(message)

    def _await(self, condition: Callable[[], object], topic: str,
               advice: str = 'are the joint states of all joints published?') -> None:
        self._connection.require_open()
        if not self._connection.wait_until(condition, FIRST_STATE_S):
            raise AnswerTimeoutError(f'nothing came on {topic} within {FIRST_STATE_S:g} s; '
                                     f'{advice}')
