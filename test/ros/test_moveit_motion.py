# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""plan_kinematic_path, compute_cartesian_path, move_action and execute_trajectory of MoveIt."""

from action_msgs.msg import GoalStatus
from harness import (
    ActionUser,
    DATA,
    DOWN,
    FORWARD,
    latest,
    MODEL,
    NAMES,
    NOT_BUILT,
    off_line,
    PATIENCE_S,
    pose,
    QUICK,
    READY,
    tip,
)
from moveit_kit import at, box, CODES, collision_object, ELSEWHERE, msg, primitive, scene_of, srv
import numpy as np
import pinocchio as pin
import pytest
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Header, String

action = pytest.importorskip('moveit_msgs.action', reason=NOT_BUILT)
NODE_LIMITS = {**QUICK, 'moveit.services': True, 'moveit.group': 'arm'}
LIMITS, READY_TIP = MODEL.velocityLimit, tip(READY)


def joint_goal(q, names=NAMES):
    """Return constraints of joint positions."""
    return msg.Constraints(joint_constraints=[
        msg.JointConstraint(joint_name=name, position=float(position), weight=1.0)
        for name, position in zip(names, q)])


def at_point(xyz, link='tool0', frame='base_link', offset=(0.0, 0.0, 0.0)):
    """Return the constraint that a point of a link is in a small sphere."""
    made = msg.PositionConstraint(header=Header(frame_id=frame), link_name=link, weight=1.0)
    made.target_point_offset.x, made.target_point_offset.y, made.target_point_offset.z = offset
    made.constraint_region.primitives = [primitive(SolidPrimitive.SPHERE, 1e-3)]
    made.constraint_region.primitive_poses = [at(*map(float, xyz))]
    return made


def turned(quaternion, link='tool0', frame='base_link', tolerances=(1e-3, 1e-3, 1e-3)):
    """Return the constraint of the orientation of a link."""
    made = msg.OrientationConstraint(header=Header(frame_id=frame), link_name=link, weight=1.0)
    o = made.orientation
    o.x, o.y, o.z, o.w = map(float, quaternion)
    for axis, tolerance in zip('xyz', tolerances):
        setattr(made, f'absolute_{axis}_axis_tolerance', float(tolerance))
    return made


def pose_goal(xyz, quaternion=DOWN, **named):
    """Return constraints of a pose of the tip."""
    return msg.Constraints(position_constraints=[at_point(xyz, **named)],
                           orientation_constraints=[turned(quaternion, **named)])


def asked_for(*goals, start=None, **fields):
    """Return a request."""
    request = msg.MotionPlanRequest(group_name='arm', goal_constraints=[*goals],
                                    max_velocity_scaling_factor=1.0, **fields)
    if start is not None:
        request.start_state.joint_state.name = NAMES
        request.start_state.joint_state.position = [*map(float, start)]
    return request


class Client:
    """Asks as a client of MoveIt does."""

    def __init__(self, probe) -> None:
        self.probe = probe
        self._plan = probe.create_client(srv.GetMotionPlan, 'plan_kinematic_path')
        self._path = probe.create_client(srv.GetCartesianPath, 'compute_cartesian_path')
        self._apply = probe.create_client(srv.ApplyPlanningScene, 'apply_planning_scene')
        self.moves = ActionUser(probe, action.MoveGroup, 'move_action')
        self.executions = ActionUser(probe, action.ExecuteTrajectory, 'execute_trajectory')
        self.events = probe.create_publisher(String, 'trajectory_execution_event', 1)

    def plan(self, *goals, **fields):
        """Return the name of the error code, and the response."""
        sent = self.asked(*goals, **fields)
        self.probe.wait(sent.done, 60.0, 'a plan')
        answer = sent.result().motion_plan_response
        return CODES[answer.error_code.val], answer

    def asked(self, *goals, **fields):
        """Ask for a plan; return the future response."""
        assert self._plan.wait_for_service(PATIENCE_S)
        return self._plan.call_async(srv.GetMotionPlan.Request(
            motion_plan_request=asked_for(*goals, **fields)))

    def path(self, *poses, **fields):
        """Return the name of the error code, and the response."""
        sent = self.asked_along(*poses, **fields)
        self.probe.wait(sent.done, 60.0, 'a path')
        return CODES[sent.result().error_code.val], sent.result()

    def asked_along(self, *poses, **fields):
        """Ask for a path; return the future response."""
        assert self._path.wait_for_service(PATIENCE_S)
        return self._path.call_async(srv.GetCartesianPath.Request(
            group_name='arm', waypoints=[*poses], max_step=0.01,
            **{'header': Header(frame_id='base_link'), 'link_name': 'tool0', **fields}))

    def scene(self, *objects) -> None:
        """Have these objects in the scene, and no others."""
        assert self.probe.call(self._apply, srv.ApplyPlanningScene.Request(
            scene=scene_of(*objects, diff=False))).success

    def end(self, handle):
        """Return the name of the error code, the status and the result of a goal of an action."""
        status, result = self.moves.end(handle)
        return CODES[result.error_code.val], status, result

    def move(self, *goals, plan_only=False, **fields):
        """Move there, to the end."""
        goal = action.MoveGroup.Goal(request=asked_for(*goals, **fields))
        goal.planning_options.plan_only = plan_only
        return self.end(self.moves.begin(goal))

    def execute(self, trajectory):
        """Have a trajectory executed, to the end."""
        return self.end(self.executions.begin(
            action.ExecuteTrajectory.Goal(trajectory=trajectory)))


@pytest.fixture(scope='module')
def shared(shared_system):
    """Return a client of the system of this module."""
    client = Client(shared_system)
    shared_system.watch_motion()
    return client


@pytest.fixture
def moveit(shared):
    """Lend it with the arm at READY, without objects."""
    shared.scene()
    if np.abs(latest(shared.probe) - READY).max() > 1e-6:
        assert shared.move(joint_goal(READY))[:2] == ('SUCCESS', GoalStatus.STATUS_SUCCEEDED)
    shared.probe.trajectories.clear()
    return shared


def positions(trajectory):
    """Return times (k,), and positions and velocities (k, 6), of a RobotTrajectory."""
    message = trajectory.joint_trajectory
    order = [message.joint_names.index(name) for name in NAMES]
    t = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec
                  for p in message.points])
    q, qd = (np.array([getattr(p, field) for p in message.points])[:, order]
             for field in ('positions', 'velocities'))
    return t, q, qd


# ---- plans ------------------------------------------------------------------

def test_plans_to_each_kind_of_goal(moveit):
    """From where the arm is, or from another start, within the scaled limits; nothing moves."""
    code, answer = moveit.plan(joint_goal(ELSEWHERE))
    t, q, qd = positions(answer.trajectory)
    assert code == 'SUCCESS' and answer.group_name == 'arm' and answer.planning_time > 0.0
    assert t[0] == 0.0 and q[0] == pytest.approx(READY) and q[-1] == pytest.approx(ELSEWHERE)
    assert not qd[-1].any() and (np.abs(qd) <= 0.5 * LIMITS).all()
    assert answer.trajectory_start.joint_state.position.tolist() == pytest.approx(READY)
    assert answer.trajectory.joint_trajectory.header.frame_id == 'base_link'
    slow = positions(moveit.plan(joint_goal(ELSEWHERE), start=READY,
                                 max_acceleration_scaling_factor=0.1)[1].trajectory)[0]
    assert slow[-1] > 1.5 * t[-1]
    slow = positions(moveit.plan(joint_goal(ELSEWHERE), max_cartesian_speed=0.05)[1]
                     .trajectory)[0]
    assert slow[-1] > 1.5 * t[-1]
    code, answer = moveit.plan(joint_goal([0.3], ['joint_1']), start=ELSEWHERE)
    _, q, _ = positions(answer.trajectory)
    assert q[0] == pytest.approx(ELSEWHERE) and q[-1] == pytest.approx([0.3, *ELSEWHERE[1:]])
    for goal, check in (
            (pose_goal((0.4, 0.2, 0.4)), [0.4, 0.2, 0.4]),
            (msg.Constraints(position_constraints=[at_point((0.4, 0.2, 0.4))]), [0.4, 0.2, 0.4]),
            (msg.Constraints(orientation_constraints=[turned(DOWN)]), tip(READY).translation)):
        code, answer = moveit.plan(goal)
        assert code == 'SUCCESS', answer.error_code
        _, q, _ = positions(answer.trajectory)
        there = tip(q[-1])
        assert there.translation == pytest.approx(check, abs=1e-5)
        if goal.orientation_constraints:
            assert there.rotation[:, 2] == pytest.approx([0.0, 0.0, -1.0], abs=1e-5)
    assert not moveit.probe.trajectories


@pytest.mark.parametrize('planner, plan_only', [('', True), ('LIN', False)])
def test_a_refused_pose_has_a_remedy(moveit, planner, plan_only):
    """The text beside the code names it; with it there is a motion."""
    far = READY_TIP.translation + [0.9, 0.0, 0.0]
    upright = pin.Quaternion(READY_TIP.rotation).coeffs()
    code, answer = moveit.plan(pose_goal(far, upright), planner_id=planner)
    sentence = answer.error_code.message
    assert code == 'NO_IK_SOLUTION' and '; shifted by [' in sentence, sentence
    code, status, result = moveit.move(pose_goal(far, upright), plan_only=plan_only,
                                       planner_id=planner)
    assert (code, status) == ('NO_IK_SOLUTION', GoalStatus.STATUS_ABORTED)
    assert result.error_code.message == sentence and not moveit.probe.trajectories
    told = sentence.partition('; shifted by [')[2].partition(']')[0]
    nearer = far + np.array(told.split(', '), dtype=float)
    code, _, result = moveit.move(pose_goal(nearer, upright), plan_only=plan_only,
                                  planner_id=planner)
    assert code == 'SUCCESS', result.error_code.message


def test_constraints_of_other_links_and_frames(moveit):
    """A link fixed to the tip with an offset of the point; a frame that moves; a free axis."""
    link = 'link_6'
    offset = (0.01, 0.02, 0.03)
    code, answer = moveit.plan(msg.Constraints(
        position_constraints=[at_point((0.4, 0.2, 0.5), link, offset=offset)],
        orientation_constraints=[turned(DOWN, link)]))
    assert code == 'SUCCESS', answer.error_code.message
    q = positions(answer.trajectory)[1][-1]
    pin.framesForwardKinematics(MODEL, DATA, q)
    T = DATA.oMf[MODEL.getFrameId(link)]
    assert T.act(np.array(offset)) == pytest.approx([0.4, 0.2, 0.5], abs=1e-5)
    code, answer = moveit.plan(pose_goal((0.0, 0.0, -0.1), (0.0, 0.0, 0.0, 1.0), frame='tool0'))
    expected = tip(READY) * pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.1]))
    assert code == 'SUCCESS'
    assert tip(positions(answer.trajectory)[1][-1]).isApprox(expected, 1e-5)
    # About z of the tool the orientation is free: the arm may keep joint 6 where it is.
    free = msg.Constraints(position_constraints=[at_point((0.4, 0.2, 0.4))],
                           orientation_constraints=[turned(DOWN, tolerances=(0.0, 0.0, 3.15))])
    code, answer = moveit.plan(free)
    there = tip(positions(answer.trajectory)[1][-1])
    exact = pin.Quaternion(np.array(DOWN)).matrix()
    assert np.abs(there.rotation - exact).max() > 1e-3
    assert code == 'SUCCESS' and there.rotation[2, 2] == pytest.approx(-1.0, abs=1e-9)
    assert there.translation == pytest.approx([0.4, 0.2, 0.4], abs=1e-5)


def test_wide_tolerances_are_made_use_of(moveit):
    """A pose 1 cm out of reach is planned to within the sphere, and turned as little as asked."""
    far = pin.SE3(pin.Quaternion(np.array(FORWARD)).matrix(), np.array([1.0072, 0.0, 0.5]))
    goal = pose_goal(far.translation, FORWARD)
    assert moveit.plan(goal)[0] == 'NO_IK_SOLUTION'
    goal.position_constraints[0].constraint_region.primitives = [
        primitive(SolidPrimitive.SPHERE, 0.06)]
    goal.orientation_constraints[0].absolute_x_axis_tolerance = 0.0
    code, answer = moveit.plan(goal)
    assert code == 'SUCCESS', answer.error_code.message
    there = tip(positions(answer.trajectory)[1][-1])
    assert 0.005 < np.linalg.norm(there.translation - far.translation) < 0.06
    assert np.abs(pin.log3(far.rotation.T @ there.rotation)).max() < 1e-3 + 1e-6
    goal.position_constraints[0].constraint_region.primitives = [
        primitive(SolidPrimitive.BOX, 2e-3, 2e-3, 0.06)]  # in the axes of the base: too flat
    assert moveit.plan(goal)[0] == 'NO_IK_SOLUTION'
    # In the axes of the goal it reaches far enough, along the tool.
    goal.position_constraints[0].constraint_region.primitive_poses[0].orientation = \
        goal.orientation_constraints[0].orientation
    code, answer = moveit.plan(goal)
    there = tip(positions(answer.trajectory)[1][-1])
    away = far.rotation.T @ (there.translation - far.translation)
    assert code == 'SUCCESS' and np.abs(away[:2]).max() < 1e-3 + 1e-6 and abs(away[2]) < 0.03


def test_lines_and_arcs_of_pilz(moveit):
    """The planners LIN and CIRC of the Pilz industrial motion planner."""
    begin, end = tip(READY).translation, np.array([0.4, -0.1, 0.45])
    orientation = pin.Quaternion(tip(READY).rotation).coeffs()
    bent = positions(moveit.plan(pose_goal(end, orientation))[1].trajectory)[1]
    code, answer = moveit.plan(pose_goal(end, orientation), planner_id='LIN')
    assert code == 'SUCCESS'
    line = positions(answer.trajectory)[1]
    off = [off_line(np.array([tip(q).translation for q in way]), begin, end)
           for way in (bent, line)]
    assert np.max(off[0]) > 0.005 and np.max(off[1]) < 2e-4
    between = 0.5 * (begin + end) + [0.0, 0.0, 0.08]
    through = msg.Constraints(name='interim', position_constraints=[at_point(between)])
    code, answer = moveit.plan(pose_goal(end, orientation), planner_id='CIRC',
                               path_constraints=through)
    assert code == 'SUCCESS', answer.error_code.message
    arc = np.array([tip(q).translation for q in positions(answer.trajectory)[1]])
    assert np.linalg.norm(arc - between, axis=1).min() < 0.01
    code, answer = moveit.plan(pose_goal(end, orientation), planner_id='CIRC')
    assert code == 'INVALID_GOAL_CONSTRAINTS' and "'interim'" in answer.error_code.message


BESIDE = [0.9, 0.6, 0.4, 0.0, 0.6, 0.0]
ACROSS = [-0.9, *BESIDE[1:]]


def test_a_way_round(moveit):
    """A direct motion that would collide is planned round; the node goes on meanwhile."""
    moveit.scene(collision_object('post', primitive(SolidPrimitive.CYLINDER, 1.2, 0.05),
                                  place=(0.45, 0.0, 0.6)))
    code, answer = moveit.plan(joint_goal(ACROSS), start=BESIDE, allowed_planning_time=5.0)
    assert code == 'SUCCESS', answer.error_code.message
    _, q, _ = positions(answer.trajectory)
    assert q[-1] == pytest.approx(ACROSS)
    assert np.abs((q - q[0])[:, 1:]).max() > 0.05  # the direct motion turns joint 1 alone
    code, answer = moveit.plan(joint_goal(ACROSS), start=BESIDE, allowed_planning_time=1e-6)
    assert code == 'PLANNING_FAILED' and "'post'" in answer.error_code.message


@pytest.mark.fault('goals', 'constraints of MoveIt that are not kept, unknown joints, links, '
                   'frames and groups', 'refused by their error code, with a sentence')
def test_requests_that_are_refused(moveit):
    """By an error code and a sentence; nothing that is asked for is left out silently."""
    good = joint_goal(ELSEWHERE)
    both = msg.Constraints(joint_constraints=good.joint_constraints,
                           position_constraints=[at_point((0.4, 0.2, 0.4))])
    mesh = pose_goal((0.4, 0.2, 0.4))
    mesh.position_constraints[0].constraint_region.primitives = []
    for goals, fields, code, words in (
            ([], {}, 'INVALID_GOAL_CONSTRAINTS', 'no goal constraints'),
            ([both], {}, 'INVALID_GOAL_CONSTRAINTS', '6 joint constraints, 1 of the position'),
            ([msg.Constraints(visibility_constraints=[msg.VisibilityConstraint()])], {},
             'INVALID_GOAL_CONSTRAINTS', 'visibility constraints'),
            ([good], {'path_constraints': good}, 'INVALID_GOAL_CONSTRAINTS',
             'joint constraints of the path are not kept'),
            ([joint_goal([0.1], ['elbow'])], {}, 'INVALID_GOAL_CONSTRAINTS', "'elbow'"),
            ([joint_goal([9.0], ['joint_1'])], {}, 'INVALID_GOAL_CONSTRAINTS', 'limits'),
            ([joint_goal([float('nan')], ['joint_1'])], {}, 'INVALID_GOAL_CONSTRAINTS', 'nan'),
            ([pose_goal((9.0, 0.0, 0.0))], {}, 'NO_IK_SOLUTION', ''),
            ([pose_goal((0.4, 0.2, 0.4), link='link_3')], {}, 'INVALID_LINK_NAME', "'link_3'"),
            ([pose_goal((0.4, 0.2, 0.4), frame='moon')], {}, 'FRAME_TRANSFORM_FAILURE', "'moon'"),
            ([mesh], {}, 'INVALID_GOAL_CONSTRAINTS', '0 primitives'),
            ([pose_goal((float('inf'), 0.0, 0.0))], {}, 'INVALID_GOAL_CONSTRAINTS', 'finite'),
            ([pose_goal((0.4, 0.2, 0.4), (0.0, 0.0, 0.0, 0.0))], {}, 'INVALID_GOAL_CONSTRAINTS',
             'not set'),
            ([good], {'start': [9.0, *READY[1:]]}, 'START_STATE_INVALID', 'joint limits'),
            ([good], {'start': [float('nan'), *READY[1:]]}, 'INVALID_ROBOT_STATE', 'nan'),
            ([joint_goal(READY)], {'planner_id': 'LIN'}, 'INVALID_GOAL_CONSTRAINTS', 'line')):
        found, answer = moveit.plan(*goals, **fields)
        assert found == code and words in answer.error_code.message, (found, answer.error_code)
        assert not answer.trajectory.joint_trajectory.points
    request = asked_for(good)
    request.group_name = 'hand'
    goal = action.MoveGroup.Goal(request=request)
    assert moveit.end(moveit.moves.begin(goal))[:2] == (
        'INVALID_GROUP_NAME', GoalStatus.STATUS_ABORTED)
    # The second of two goals is taken if the first cannot be reached.
    code, answer = moveit.plan(pose_goal((9.0, 0.0, 0.0)), good)
    assert code == 'SUCCESS' and positions(answer.trajectory)[1][-1] == pytest.approx(ELSEWHERE)


# ---- Cartesian paths --------------------------------------------------------

def test_a_cartesian_path(moveit):
    """Along all waypoints; with the fraction if it ends before, by reach or by an object."""
    T = tip(READY)
    corners = [T.translation + step for step in ([0.0, 0.1, 0.0], [0.0, 0.1, -0.1])]
    code, answer = moveit.path(*(pose(p, T.rotation) for p in corners))
    assert (code, answer.fraction) == ('SUCCESS', 1.0)
    t, q, qd = positions(answer.solution)
    points = np.array([tip(each).translation for each in q])
    for p in corners:
        assert np.linalg.norm(points - p, axis=1).min() < 2e-3
    assert points[-1] == pytest.approx(corners[-1], abs=1e-5) and not qd[-1].any()
    half = T.translation + [0.0, 0.0, 1.5]
    code, answer = moveit.path(pose(half, T.rotation))
    assert code == 'SUCCESS' and 0.05 < answer.fraction < 0.9
    reached = tip(positions(answer.solution)[1][-1]).translation
    assert reached[2] - T.translation[2] == pytest.approx(1.5 * answer.fraction, abs=1e-3)
    moveit.scene(collision_object('shelf', box(0.6, 0.6, 0.02), place=(
        T.translation[0], T.translation[1], T.translation[2] - 0.15)))
    below = pose(T.translation - [0.0, 0.0, 0.25], T.rotation)
    for avoided, least, most in ((True, 0.05, 0.7), (False, 1.0, 1.0)):
        code, answer = moveit.path(below, avoid_collisions=avoided)
        assert code == 'SUCCESS' and least <= answer.fraction <= most, answer.fraction
    code, answer = moveit.path(below, path_constraints=joint_goal(READY))
    assert code == 'INVALID_GOAL_CONSTRAINTS'
    assert moveit.path()[0] == 'INVALID_GOAL_CONSTRAINTS'
    assert not moveit.probe.trajectories


# ---- motions ----------------------------------------------------------------

def test_move_action(moveit):
    """The arm goes there, feedback tells how, and the result has the motion."""
    code, status, result = moveit.move(pose_goal((0.4, 0.2, 0.4)), start=READY)
    assert (code, status) == ('SUCCESS', GoalStatus.STATUS_SUCCEEDED)
    assert tip(latest(moveit.probe)).translation == pytest.approx([0.4, 0.2, 0.4], abs=1e-5)
    assert [each.state for each in moveit.moves.told] == ['PLANNING', 'MONITOR']
    assert result.planning_time > 0.0
    for trajectory in (result.planned_trajectory, result.executed_trajectory):
        assert positions(trajectory)[1][-1] == pytest.approx(latest(moveit.probe), abs=1e-6)
    sent = len(moveit.probe.trajectories)
    code, status, result = moveit.move(joint_goal(READY), plan_only=True)
    assert (code, status) == ('SUCCESS', GoalStatus.STATUS_SUCCEEDED)
    assert positions(result.planned_trajectory)[1][-1] == pytest.approx(READY)
    assert len(moveit.probe.trajectories) == sent
    code, status, result = moveit.move(joint_goal(READY), start=ELSEWHERE)
    assert (code, status) == ('START_STATE_INVALID', GoalStatus.STATUS_ABORTED)
    code, status, result = moveit.move(pose_goal((9.0, 0.0, 0.0)))
    assert (code, status) == ('NO_IK_SOLUTION', GoalStatus.STATUS_ABORTED)
    code, status, result = moveit.move(joint_goal(READY), planner_id='LIN')
    assert (code, status) == ('INVALID_GOAL_CONSTRAINTS', GoalStatus.STATUS_ABORTED)
    here = tip(latest(moveit.probe)).translation
    code, _, _ = moveit.move(pose_goal(here + [0.0, 0.0, 0.05]), planner_id='LIN')
    assert code == 'SUCCESS'


def test_a_plan_is_executed(moveit):
    """As it was planned; not from elsewhere, not beyond the limits, not through an object."""
    _, answer = moveit.plan(joint_goal(ELSEWHERE), start=[q + 1e-3 for q in READY])
    plan = answer.trajectory
    # It was planned from 1 mrad away; the difference fades.
    assert moveit.execute(plan)[:2] == ('SUCCESS', GoalStatus.STATUS_SUCCEEDED)
    assert latest(moveit.probe) == pytest.approx(ELSEWHERE, abs=1e-6)
    code, status, result = moveit.execute(plan)
    assert (code, status) == ('PLANNING_FAILED', GoalStatus.STATUS_ABORTED)
    assert 'plan again from where the arm is' in result.error_code.message
    _, answer = moveit.plan(joint_goal(READY))
    fast = answer.trajectory
    for point in fast.joint_trajectory.points:
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(
            (10**9 * point.time_from_start.sec + point.time_from_start.nanosec) // 5, 10**9)
        point.velocities = [5.0 * v for v in point.velocities]
        point.accelerations = [25.0 * a for a in point.accelerations]
    code, _, result = moveit.execute(fast)
    assert code == 'PLANNING_FAILED' and 'velocity' in result.error_code.message
    _, answer = moveit.plan(joint_goal(READY))
    bare = answer.trajectory
    bare.joint_trajectory.points[3].accelerations = []
    code, _, result = moveit.execute(bare)
    assert code == 'INVALID_MOTION_PLAN' and '0 accelerations' in result.error_code.message
    _, answer = moveit.plan(joint_goal(READY))
    moveit.probe.change('/ik_node', tool__mass=70.0)
    code, _, result = moveit.execute(answer.trajectory)
    moveit.probe.set_back()
    assert code == 'PLANNING_FAILED' and 'the tool of 70 kg' in result.error_code.message
    way = [tip(q).translation for q in positions(answer.trajectory)[1]]
    moveit.scene(collision_object('ball', primitive(SolidPrimitive.SPHERE, 0.03),
                                  place=tuple(way[len(way) // 2])))
    code, _, result = moveit.execute(answer.trajectory)
    assert code == 'PLANNING_FAILED' and "'ball'" in result.error_code.message


def moving(moveit):
    """Begin a long motion; return its handle when the arm moves."""
    handle = moveit.moves.begin(action.MoveGroup.Goal(
        request=asked_for(joint_goal([1.5, *READY[1:]]), max_acceleration_scaling_factor=0.1)))
    moveit.probe.wait(lambda: moveit.probe.states[-1][1].velocity[0] > 0.05)
    return handle


@pytest.mark.fault('goals', 'a goal of move_action is cancelled, stopped by '
                   'trajectory_execution_event, or superseded',
                   'the arm ramps down or goes on to the newer goal; each goal ends once')
def test_cancelled_stopped_and_superseded(moveit):
    """Each goal of the action ends once, with the code of MoveIt."""
    handle = moving(moveit)
    cancelling = handle.cancel_goal_async()
    assert moveit.end(handle)[:2] == ('PREEMPTED', GoalStatus.STATUS_CANCELED)
    assert cancelling.done()
    assert 0.0 < latest(moveit.probe)[0] < 1.4
    assert moveit.move(joint_goal(READY))[0] == 'SUCCESS'
    handle = moving(moveit)
    moveit.events.publish(String(data='stop'))
    assert moveit.end(handle)[:2] == ('PREEMPTED', GoalStatus.STATUS_ABORTED)
    assert moveit.move(joint_goal(READY))[0] == 'SUCCESS'
    handle = moving(moveit)
    assert moveit.move(joint_goal(READY))[0] == 'SUCCESS'
    assert moveit.end(handle)[:2] == ('PREEMPTED', GoalStatus.STATUS_ABORTED)
