# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The node: goal poses in, joint trajectories out, one answer for each goal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic
import traceback

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ik_node.errors import (
    GoalError,
    IkNodeError,
    ParameterError,
    quote,
    Reason,
    StateError,
    TrajectoryError,
)
from ik_node.kinematics.arm import forward_kinematics, singular_values
from ik_node.model.chain import Chain, make_chain
from ik_node.model.urdf import Tree
from ik_node.ros.description import Description
from ik_node.ros.frames import Frames, NotYet
from ik_node.ros.joint_states import JointStates
from ik_node.ros.messages import matrix_from_pose, pose_stamped, trajectory_message
from ik_node.ros.parameters import declare, IK_NODE, make_settings, refused, Settings
from ik_node.ros.status import GoalState, GoalTask, StatusReporter
from ik_node.se3 import distance
from ik_node.solver.goal import Goal
from ik_node.trajectory.acceptance import refusal
from ik_node.trajectory.course import Course, depart
from ik_node.trajectory.monitor import Monitor, MonitorOptions
from ik_node.trajectory.point_to_point import plan_point_to_point, plan_stop
from ik_node.trajectory.trajectory import MotionLimits, Trajectory

WATCH_PERIOD = 0.02       # s, while a goal is under way
LISTENER_SETTLE = 0.2     # s; what is published right after discovery may be lost
FUTURE_SLACK = 0.5        # s, clocks of two machines
PAUSE = 3.0               # s without a sign of life: the process was stopped
START_GRACE = 2.0         # s after the model came, in which a goal waits for what is still missing
MOST_ATTEMPTS = 2         # trajectories sent for one goal if the arm does not begin to move
TOO_FAST = 1.2            # times its limit: so fast moves no joint, its state is wrong
GOAL_DEPTH = 1000
STARTING = Reason.STATE_MISSING, Reason.STATE_INCOMPLETE, Reason.NO_LISTENER
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class Robot:
    """What follows from one robot description."""

    def __init__(self, tree: Tree, chain: Chain, settings: Settings) -> None:
        self.tree = tree
        self.chain = chain
        self.settings = settings


class IkNode(Node):
    """Thin: converts, calls the library, answers."""

    def __init__(self) -> None:
        super().__init__('ik_node')
        self._robot: Robot | None = None
        self._states = JointStates()
        self._course: Course | None = None
        self._task: GoalTask | None = None
        self._monitor: Monitor | None = None
        self._waiting: tuple[GoalTask, Callable[[], None], float] | None = None
        self._last_answer: np.ndarray | None = None
        self._goals = 0
        self._solve_times: deque[float] = deque(maxlen=1000)
        self._listener_seen: float | None = None
        self._last_tip_pose = 0.0
        self._grace_end = 0.0
        self._last_watch = monotonic()
        self._last_beat = monotonic()
        self._pause_end = 0.0
        self._values = declare(self, IK_NODE)

        self._status = StatusReporter(self)
        controller = self._values['controller'].strip('/')
        self._trajectories = self.create_publisher(
            JointTrajectory, f'{controller}/joint_trajectory' if controller
            else 'joint_trajectory', 10)
        self._tip_poses = self.create_publisher(PoseStamped, '~/tip_pose', 10)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._frames = Frames(self, self._values['frame_prefix'])
        self._description = Description(self, self._values, self._take_model)
        self.add_on_set_parameters_callback(self._on_parameters)
        self.create_subscription(PoseStamped, '~/goal_pose', self._on_goal_pose, GOAL_DEPTH)
        self._state_subscription = self.create_subscription(
            JointState, 'joint_states', self._on_joint_states, LATEST)
        self.create_service(Trigger, '~/stop', self._on_stop)
        self.create_service(Trigger, '~/home', self._on_home)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._watch_timer = self.create_timer(WATCH_PERIOD, self._watch, clock=steady)
        self._watch_timer.cancel()
        self.create_timer(1.0, self._report_health, clock=steady)

    # ---- model and parameters -----------------------------------------------

    def _take_model(self, tree: Tree) -> None:
        logger = self.get_logger()
        if self._task or self._waiting or self._moves(monotonic()):
            raise ParameterError('a new robot description came during a motion; it is not taken')
        chain = make_chain(tree, self._values['base_link'], self._values['tip_link'])
        logger.info('preparing the solver (the first start on a machine compiles it, '
                    'which takes about half a minute)')
        settings = make_settings(self._values, chain)
        warm_up = settings.solver.solve(Goal(forward_kinematics(chain, chain.middle)),
                                        chain.middle)
        singular_values(chain, warm_up.q)
        self._robot = Robot(tree, chain, settings)
        self._last_beat = monotonic()
        self._grace_end = self._last_beat + START_GRACE
        self._course = None
        self._last_answer = None
        for note in tree.notes:
            logger.warning(note)
        limits = settings.limits
        logger.info(
            f'{quote(tree.name)}: from {quote(chain.base_link)} to {quote(chain.tip_link)} by '
            f'{", ".join(map(quote, chain.joint_names))}; velocity {limits.velocity.tolist()} '
            f'x {settings["motion.velocity_scale"]}, acceleration '
            f'{limits.acceleration.tolist()}, jerk {limits.jerk.tolist()}')
        logger.info(f'ready for goals on {self.resolve_topic_name("~/goal_pose")}; trajectories '
                    f'go to {self._trajectories.topic_name}')

    def _on_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        known = {row.name for row in IK_NODE}
        values = {**self._values, **{change.name: self._plain(change) for change in changes
                                     if change.name in known}}
        try:
            if self._robot is not None:
                self._robot.settings = make_settings(values, self._robot.chain)
        except ParameterError as error:
            return refused(str(error))
        self._values = values
        if self._robot is None:
            self._description.retry()
        return SetParametersResult(successful=True)

    @staticmethod
    def _plain(parameter: Parameter) -> object:
        if parameter.type_ == Parameter.Type.DOUBLE_ARRAY:
            return tuple(parameter.value)
        return parameter.value

    # ---- joint states -------------------------------------------------------

    def _on_joint_states(self, message: JointState) -> None:
        now = monotonic()
        if not self._states.take(message, now):
            self.get_logger().warning(
                f'a message on {self._state_subscription.topic_name} is left out: '
                f'{self._states.complaint}', throttle_duration_sec=5.0)
            return
        robot = self._robot
        if robot is None or now - self._last_tip_pose < 1.0 / self._values['tip_pose_rate'] \
                or not self._tip_poses.get_subscription_count():
            return
        try:
            q, _ = self._states.state(robot.chain.joint_names, now,
                                      robot.settings['state.timeout'])
        except StateError:
            return
        self._last_tip_pose = now
        pose = pose_stamped(forward_kinematics(robot.chain, q),
                            self._values['frame_prefix'] + robot.chain.base_link)
        pose.header.stamp = message.header.stamp
        self._tip_poses.publish(pose)

    def _fresh_state(self, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        """Return fresh and possible q and qd of the chain."""
        chain, settings = robot.chain, robot.settings
        try:
            q, qd = self._states.state(chain.joint_names, monotonic(), settings['state.timeout'])
        except StateError as error:
            topic = self._state_subscription.topic_name
            publishers = self.count_publishers(topic)
            raise StateError(f'{error}; {publishers} publisher{"s" * (publishers != 1)} on '
                             f'{topic}', error.reason) from None
        share = np.abs(qd) / settings.limits.velocity
        k = int(share.argmax())
        if share[k] > TOO_FAST:
            raise StateError(f'joint {quote(chain.joint_names[k])} reports a velocity of '
                             f'{qd[k]:.4g}, its limit is {settings.limits.velocity[k]:.4g}; '
                             'are the units of the joint states right?', Reason.STATE_INVALID)
        return q, qd

    def _measured(self, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        """Return fresh q and qd of the chain, within (or just outside) its limits."""
        chain, settings = robot.chain, robot.settings
        q, qd = self._fresh_state(robot)
        excess = np.maximum(chain.lower - q, q - chain.upper)
        k = int(excess.argmax())
        if excess[k] > settings['motion.start_tolerance']:
            raise StateError(
                f'joint {quote(chain.joint_names[k])} stands at {q[k]:.4g}, {excess[k]:.4g} '
                f'outside its limits [{chain.lower[k]:.4g}, {chain.upper[k]:.4g}]; bring it back '
                'by hand or raise motion.start_tolerance', Reason.START_OUT_OF_LIMITS)
        if excess[k] > 0.0:
            self.get_logger().warning(
                f'joint {quote(chain.joint_names[k])} starts {excess[k]:.2g} outside its limits; '
                'it moves inward', throttle_duration_sec=5.0)
        return q, qd

    # ---- goals --------------------------------------------------------------

    def _on_goal_pose(self, message: PoseStamped) -> None:
        task = self._new_task(message.header.stamp)

        def take() -> None:
            robot = self._require_robot()
            stamp = self._checked_stamp(message, robot.settings)
            T_frame_tip = matrix_from_pose(message.pose)
            T_base_frame = self._frames.pose_of(
                message.header.frame_id, stamp, robot.tree, robot.chain.base_link,
                self._states.positions)
            task.goal = Goal(T_base_frame @ T_frame_tip)
            self._solve(task)

        self._attempt(task, take)

    def _new_task(self, stamp) -> GoalTask:
        self._goals += 1
        return GoalTask(self._goals, stamp)

    def _attempt(self, task: GoalTask, step: Callable[[], None],
                 patience: float | None = None) -> None:
        """Run a step of a goal; whatever it raises becomes the goal's answer."""
        try:
            step()
        except NotYet as error:
            if patience is None:
                patience = monotonic() + (self._robot.settings['goal.tf_timeout']
                                          if self._robot else 0.0)
            if monotonic() < patience:
                self._wait(task, step, patience)
            else:
                self._end(task, GoalState.REJECTED, Reason.FRAME_UNKNOWN, str(error))
        except IkNodeError as error:
            if error.reason in STARTING and monotonic() < self._grace_end:
                self._wait(task, step, self._grace_end)
            else:
                self._end(task, GoalState.REJECTED if task.state is None else GoalState.FAILED,
                          error.reason, str(error))
        except Exception as error:  # noqa: BLE001 - a goal never goes without an answer
            self.get_logger().error(traceback.format_exc())
            if not task.final:
                self._end(task, GoalState.REJECTED if task.state is None else GoalState.FAILED,
                          Reason.INTERNAL, f'internal error: {type(error).__name__}: {error}; '
                          'please report it with the log')

    def _wait(self, task: GoalTask, step: Callable[[], None], patience: float) -> None:
        """Try a step again at the next tick of the watch; a newer goal takes the place."""
        if self._waiting is not None and self._waiting[0] is not task:
            self._end(self._waiting[0], GoalState.SUPERSEDED, Reason.SUPERSEDED,
                      f'goal {task.number} came before it could begin')
        self._waiting = task, step, patience
        self._watch_timer.reset()

    def _end(self, task: GoalTask, state: GoalState, reason: Reason, sentence: str) -> None:
        """Give the final answer, and let go of the goal."""
        if self._task is task:
            self._task = self._monitor = None
        if self._waiting is not None and self._waiting[0] is task:
            self._waiting = None
        self._status.report(task, state, reason, sentence)

    def _require_robot(self) -> Robot:
        if self._robot is None:
            raise IkNodeError('there is no robot description yet: '
                              + self._description.complaint, Reason.MODEL_MISSING)
        return self._robot

    def _checked_stamp(self, message: PoseStamped, settings: Settings) -> Time:
        now = self.get_clock().now()
        if message.header.stamp.sec < 0:
            raise GoalError('the stamp of the goal is negative; set it to now, or to 0',
                            Reason.GOAL_STALE)
        stamp = Time.from_msg(message.header.stamp, clock_type=now.clock_type)
        if now.nanoseconds == 0:
            raise GoalError('use_sim_time is true, but no time has arrived on /clock',
                            Reason.CLOCK_STOPPED)
        if stamp.nanoseconds == 0:
            if self._was_paused():
                raise GoalError('the goal has no stamp, and this process was stopped for a while, '
                                'so it may be old; send it again', Reason.GOAL_STALE)
            return stamp
        age = 1e-9 * (now - stamp).nanoseconds
        if age > settings['goal.max_age']:
            raise GoalError(f'the goal is {age:.1f} s old by its stamp, at most '
                            f'{settings["goal.max_age"]:g} s are allowed; set the stamp to now, '
                            'or to 0', Reason.GOAL_STALE)
        if age < -FUTURE_SLACK:
            raise GoalError(f'the stamp of the goal is {-age:.1f} s in the future; do the clocks '
                            'agree?', Reason.GOAL_FROM_FUTURE)
        return stamp

    def _was_paused(self) -> bool:
        now = monotonic()
        return now - self._last_beat > PAUSE or now < self._pause_end

    def _solve(self, task: GoalTask) -> None:
        robot = self._require_robot()
        q, qd = self._measured(robot)
        seeds = [q] if self._last_answer is None else [q, self._last_answer]
        result = robot.settings.solver.solve(task.goal, np.array(seeds))
        self._solve_times.append(result.time)
        task.figures |= {
            'solve_time_ms': f'{1e3 * result.time:.3f}', 'restarts': result.restarts,
            'iterations': result.iterations, 'solution': result.status.value,
            'position_error_m': f'{result.position_error:.3e}',
            'orientation_error_rad': f'{result.orientation_error:.3e}'}
        if not result.success:
            raise GoalError(result.message, result.status)
        task.figures |= {
            'q': ' '.join(f'{value:.9f}' for value in result.q),
            'limit_margin': f'{result.limit_margin:.4f}',
            'smallest_singular_value': f'{result.smallest_singular_value:.4f}'}
        self._last_answer = task.q_goal = result.q
        self._move(task)

    def _move(self, task: GoalTask) -> None:
        """Plan to ``task.q_goal`` from where the arm is now, and send it."""
        robot = self._require_robot()
        q, qd = self._measured(robot)
        now = monotonic()
        if not self._moves(now) and self._is_there(task, robot, q):
            self._supersede(task)
            self._note_measured_error(task, robot, q)
            self._end(task, GoalState.REACHED, Reason.ALREADY_THERE, 'the arm is there already')
            return
        if not self._listener_ready(now):
            self._wait(task, lambda: self._move(task), np.inf)
            return
        settings = robot.settings
        departures = depart(robot.chain, self._course, q, qd, now,
                            settings['motion.handover_time'], settings['watch.joint_tolerance'])
        q_goal = robot.chain.nearest_turns(task.q_goal, departures[0].handover.q)
        trajectory = plan_point_to_point(robot.chain.joint_names, departures, q_goal,
                                         settings.planning, settings['motion.sample_period'])
        self._send(trajectory, robot)
        self._supersede(task)
        task.attempts += 1
        task.figures['duration_s'] = f'{trajectory.duration:.3f}'
        self._task = task
        self._monitor = Monitor(robot.chain, trajectory, q, MonitorOptions(
            settings['watch.joint_tolerance'], settings['watch.start_timeout'],
            settings['watch.settle_timeout'], settings['state.timeout']))
        self._last_watch = monotonic()
        self._watch_timer.reset()
        if task.state is None:
            self._status.report(task, GoalState.ACCEPTED, Reason.ACCEPTED,
                                f'on its way, {trajectory.duration:.2f} s')

    def _is_there(self, task: GoalTask, robot: Robot, q: np.ndarray) -> bool:
        if task.goal is None:
            return bool(np.abs(robot.chain.difference(q, task.q_goal)).max() <= 1e-6)
        position, angle = distance(forward_kinematics(robot.chain, q), task.goal.T_base_tip)
        return (position <= robot.settings['solver.position_tolerance']
                and angle <= robot.settings['solver.orientation_tolerance'])

    def _supersede(self, task: GoalTask) -> None:
        """Answer whatever else is under way: `task` takes its place."""
        for other in self._open_tasks():
            if other is not task:
                self._end(other, GoalState.SUPERSEDED, Reason.SUPERSEDED,
                          f'goal {task.number} took its place')
        if self._waiting is not None:
            self._waiting = None

    def _open_tasks(self) -> list[GoalTask]:
        """Return the goals without a final answer: under way, waiting."""
        tasks = [self._task, self._waiting[0] if self._waiting else None]
        return [task for k, task in enumerate(tasks) if task and task not in tasks[:k]]

    # ---- motion -------------------------------------------------------------

    def _moves(self, now: float) -> bool:
        return self._course is not None and self._course.moves(now)

    def _listener_ready(self, now: float) -> bool:
        """Return whether a controller listens and has had time to settle; raise if none does."""
        if not self._trajectories.get_subscription_count():
            self._listener_seen = None
            raise TrajectoryError(
                f'nobody listens on {self._trajectories.topic_name}; start the controller, or '
                'name it by the parameter controller', Reason.NO_LISTENER)
        if self._listener_seen is None:
            self._listener_seen = now
        return now - self._listener_seen >= LISTENER_SETTLE

    def _send(self, trajectory: Trajectory, robot: Robot) -> None:
        message = trajectory_message(trajectory)
        why = refusal(message, robot.chain.joint_names, 0.0)
        if why:
            raise TrajectoryError(f'the controller would refuse the trajectory: {why}')
        self._trajectories.publish(message)
        self._course = Course(trajectory, monotonic(), robot.settings.limits)

    def _watch(self) -> None:
        """While goals are under way: try again what had to wait, and judge the motion."""
        now = monotonic()
        paused, self._last_watch = now - self._last_watch > PAUSE, now
        if self._waiting is not None:
            task, step, patience = self._waiting
            self._waiting = None
            self._attempt(task, step, patience)
        # After a pause of the process the joint states come first.
        waits = self._waiting is not None and self._waiting[0] is self._task
        if self._task is not None and not waits and not paused:
            self._attempt(self._task, self._judge)
        if self._task is None and self._waiting is None:
            self._watch_timer.cancel()

    def _judge(self) -> None:
        robot, task, now = self._robot, self._task, monotonic()
        names = robot.chain.joint_names
        age = self._states.age(names, now)
        if not np.isfinite(age):
            return
        q = np.array([self._states.positions[name] for name in names])
        verdict = self._monitor.observe(now - self._course.began, q, age)
        if verdict is None:
            return
        if verdict.reason is Reason.NOT_MOVING and task.attempts < MOST_ATTEMPTS:
            self.get_logger().warning(f'goal {task.number}: {verdict.sentence} Sending it again')
            self._course = None
            self._move(task)
            return
        self._note_measured_error(task, robot, q)
        if verdict.reason is Reason.REACHED:
            self._end(task, GoalState.REACHED, Reason.REACHED, self._reached_sentence(task))
        else:
            self._course = None
            self._end(task, GoalState.FAILED, verdict.reason, verdict.sentence)

    def _note_measured_error(self, task: GoalTask, robot: Robot, q: np.ndarray) -> None:
        T_goal = task.goal.T_base_tip if task.goal else forward_kinematics(
            robot.chain, task.q_goal)
        position, angle = distance(forward_kinematics(robot.chain, q), T_goal)
        task.figures |= {'measured_position_error_m': f'{position:.3e}',
                         'measured_orientation_error_rad': f'{angle:.3e}'}

    @staticmethod
    def _reached_sentence(task: GoalTask) -> str:
        return (f'reached; the tip is measured {task.figures["measured_position_error_m"]} m and '
                f'{task.figures["measured_orientation_error_rad"]} rad from the goal')

    # ---- services -----------------------------------------------------------

    def _on_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self._stop(Reason.STOPPED, 'stopped by request')
            response.success = True
        except IkNodeError as error:
            response.success, response.message = False, str(error)
            self.get_logger().error(f'stop: {error}')
        return response

    def _stop(self, reason: Reason, sentence: str) -> str:
        """
        Ramp down what moves, answer what is open; return what was done.

        Raises
        ------
        StateError, TrajectoryError
            If it is not known how the arm moves, or no ramp keeps its limits; what
            is open stays open then.

        """
        done = 'nothing moves'
        now = monotonic()
        if self._robot is not None and (self._moves(now) or self._task is not None):
            robot, settings = self._robot, self._robot.settings
            q, qd = self._fresh_state(robot)
            departures = depart(robot.chain, self._course, q, qd, now,
                                settings['motion.handover_time'],
                                settings['watch.joint_tolerance'])
            # An arm that stands away from its motion is told to hold: the controller may
            # still have that motion, and go on with it.
            if self._moves(now) or not departures[0].handover.rests:
                ramp = plan_stop(robot.chain.joint_names, departures,
                                 self._widest_limits(settings.limits),
                                 settings['motion.sample_period'])
                self._send(ramp, robot)
                done = f'at rest in {ramp.duration:.2f} s'
        for task in self._open_tasks():
            self._end(task, GoalState.STOPPED, reason, f'{sentence}; {done}')
        return done

    def _widest_limits(self, limits: MotionLimits) -> MotionLimits:
        """Return limits with which the present motion can be stopped, whatever was lowered."""
        if self._course is None:
            return limits
        then = self._course.limits
        return MotionLimits(limits.lower, limits.upper,
                            np.maximum(limits.velocity, then.velocity),
                            np.maximum(limits.acceleration, then.acceleration),
                            np.maximum(limits.jerk, then.jerk))

    def _on_home(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        task = self._new_task(self.get_clock().now().to_msg())

        def go() -> None:
            task.q_goal = self._require_robot().settings.solver.preferred.copy()
            self._move(task)

        self._attempt(task, go)
        response.success = task.state not in (GoalState.REJECTED, GoalState.FAILED)
        response.message = f'goal {task.number}, see ~/status'
        return response

    # ---- health -------------------------------------------------------------

    def _report_health(self) -> None:
        robot, now = self._robot, monotonic()
        if self._was_paused():
            self._pause_end = now + 0.5  # until what came meanwhile is taken
        self._last_beat = now
        if not self._trajectories.get_subscription_count():
            self._listener_seen = None
        values = {'goals': self._goals, **self._status.outcomes}
        level, message = DiagnosticStatus.OK, 'ready'
        if self._solve_times:
            values |= {f'solve_time_ms_p{p}': f'{1e3 * np.percentile(self._solve_times, p):.3f}'
                       for p in (50, 99)}
        values |= {'joint_state_messages_left_out': self._states.ignored,
                   'controllers_listening': self._trajectories.get_subscription_count()}
        if robot is None:
            level, message = DiagnosticStatus.WARN, 'no robot description'
        else:
            names = robot.chain.joint_names
            age = self._states.age(names, now)
            values['joint_state_age_s'] = f'{age:.3f}'
            if age > robot.settings['state.timeout']:
                level, message = DiagnosticStatus.STALE, 'joint states are missing or old'
            else:
                q = np.array([self._states.positions[name] for name in names])
                values['limit_margin'] = '%.4f' % np.minimum(
                    q - robot.chain.lower, robot.chain.upper - q).min()
                values['smallest_singular_value'] = '%.4f' % singular_values(robot.chain, q)[-1]
                if not values['controllers_listening']:
                    level = DiagnosticStatus.WARN
                    message = f'nobody listens on {self._trajectories.topic_name}'
        array = DiagnosticArray()
        array.header.stamp = self.get_clock().now().to_msg()
        array.status = [DiagnosticStatus(
            level=level, name=f'{self.get_fully_qualified_name()}: health', message=message,
            hardware_id=quote(robot.tree.name) if robot else '',
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])]
        self._diagnostics.publish(array)

    def close(self) -> None:
        """Bring the arm to rest and answer open goals before the process ends."""
        try:
            self._stop(Reason.SHUTDOWN, 'the node is shut down')
        except IkNodeError as error:
            self.get_logger().error(f'the motion goes on to its end: {error}')
            for task in self._open_tasks():
                self._end(task, GoalState.STOPPED, Reason.SHUTDOWN, 'the node is shut down; '
                          f'the motion goes on to its end, because: {error}')
        self._trajectories.wait_for_all_acked(Duration(seconds=0.5))
        self._status.flush(0.5)


def main(args: list[str] | None = None) -> None:
    """Run the node; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.process import run
    run('ik_node', IkNode, args)
