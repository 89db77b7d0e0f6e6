# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""One solve for several tips of a robot; answers are checked by Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
import robots
from two_arms import model, TREE

from ik_node import Goal, load_tree, Solver
from ik_node.base.errors import GoalError, ParameterError, Reason
from ik_node.base.se3 import pose
from ik_node.model.chain import make_chain
from ik_node.solver.result import JointMetrics

TWO_ARMS = robots.OWN / 'two_arms.urdf'
LEFT, RIGHT = 'left_tool', 'right_tool'
TREES = {
    'two_arms': (TWO_ARMS, 'base_link', (LEFT, RIGHT)),
    'pr2': (robots.ARMS['pr2'].path, 'base_link',
            ('l_gripper_tool_frame', 'r_gripper_tool_frame')),
    'baxter': (robots.ARMS['baxter'].path, 'torso', ('left_gripper', 'right_gripper')),
    'talos': (robots.REAL / 'talos_data/robots/talos_full_v2.urdf', 'left_sole_link',
              ('gripper_left_base_link', 'gripper_right_base_link', 'right_sole_link')),
}

# Each only with the torso turned far to its side.
CONFLICT = {LEFT: Goal.position([0.9, -0.55, 1.02]), RIGHT: Goal.position([0.9, 0.55, 1.02])}


@pytest.fixture(scope='module')
def two_arms():
    return Solver(load_tree(*TREES['two_arms']))


def tip_goal(x, y, z, R=None):
    return pose(np.eye(3) if R is None else R, np.array([x, y, z]))


@pytest.mark.parametrize('name', TREES)
def test_answers_put_every_tip_at_its_goal(name):
    """From the middle of the limits, for 40 goals that a random posture reaches."""
    path, base, tips = TREES[name]
    tree = load_tree(path, base, tips)
    solver, reference = Solver(tree), robots.Reference(path.read_text(encoding='utf-8'))
    for q in robots.random_postures(tree, 40, 7):
        goals = reference.poses(base, tips, robots.positions(tree, q))
        result = solver.solve(goals)
        assert result.success and result.status is Reason.SOLVED, result.message
        assert (result.q >= tree.lower).all() and (result.q <= tree.upper).all()
        reached = reference.poses(base, tips, result.joint_positions)
        for tip, T in reached.items():
            error = goals[tip][:3, 3] - T[:3, 3]
            turn = pin.log3(goals[tip][:3, :3] @ T[:3, :3].T)
            assert np.linalg.norm(error) < 1e-6 and np.linalg.norm(turn) < 1e-6
            assert result.errors[tip].met
            assert result.errors[tip].position == pytest.approx(np.linalg.norm(error), abs=1e-11)
            assert result.errors[tip].orientation == pytest.approx(np.linalg.norm(turn), abs=1e-7)


def test_goals_with_free_axes_and_tips_without_goals(two_arms):
    """A position alone, a free turn about the tool, the other arm anywhere."""
    goals = {LEFT: Goal.position([0.5, 0.2, 1.1]),
             RIGHT: Goal.pointing(tip_goal(0.5, -0.3, 0.9, np.diag([1.0, -1.0, -1.0])))}
    result = two_arms.solve(goals)
    T = two_arms.tree.fk(result.q)
    assert result.success and np.abs(T[LEFT][:3, 3] - [0.5, 0.2, 1.1]).max() < 1e-6
    assert np.abs(T[RIGHT][:3, 2] - [0.0, 0.0, -1.0]).max() < 1e-5
    assert 'solved for 2 tips to ' in result.message and result.errors[LEFT].orientation == 0.0
    one = two_arms.solve({LEFT: [0.5, 0.2, 1.1, 0.0, 1.0, 0.0, 0.0]})
    assert one.success and set(one.errors) == {LEFT} and 'solved for 1 tip to ' in one.message


def test_the_torso_serves_both_hands(two_arms):
    """Both far to the left: only with the torso turned, which one arm's chain does not show."""
    goals = {LEFT: Goal.position([0.2, 0.95, 1.0]), RIGHT: Goal.position([0.5, 0.55, 1.0])}
    result = two_arms.solve(goals)
    assert result.success and result.joint_positions['torso_joint'] > 0.2
    fixed = two_arms.tree.with_limits(*(np.where(
        np.array(two_arms.tree.joint_names) == 'torso_joint', 0.0, sign * np.inf)
        for sign in (-1.0, 1.0)))
    held = Solver(fixed).solve(goals)
    assert not held.success and held.unreachable == (RIGHT,)


def test_the_farther_the_base_from_the_hand_the_more_it_reaches():
    """Of Talos, with the arm alone, with arm and chest, and from the foot with the legs, too."""
    path, _, (hand, *_) = TREES['talos']
    foot = load_tree(path, 'left_sole_link', ['base_link', 'torso_2_link', hand])
    reference = robots.Reference(path.read_text(encoding='utf-8'))
    at_zero = foot.fk(np.zeros(foot.n)) | {'left_sole_link': np.eye(4)}
    reached = {}
    for base in ('torso_2_link', 'base_link', 'left_sole_link'):
        tree = load_tree(path, base, [hand])
        reached[tree.n] = []
        for p in ([0.4, 0.2, 1.2], [0.5, 0.2, 0.9], [0.6, 0.1, 0.6]):  # m, in the left foot
            here = np.linalg.inv(at_zero[base]) @ [*p, 1.0]
            result = Solver(tree).solve({hand: Goal.position(here[:3])})
            reached[tree.n].append(result.success)
            T = reference.pose(base, hand, result.joint_positions)
            assert (np.linalg.norm(T[:3, 3] - here[:3]) < 1e-6) == result.success
    assert reached == {7: [True, False, False], 9: [True, True, False], 15: [True, True, True]}


def test_a_mobile_base_is_part_of_the_solve():
    """Goals beyond the arms: the base drives, inside its bounds, and no farther."""
    text = TWO_ARMS.read_text(encoding='utf-8').replace('</robot>', (
        '<link name="floor"/><joint name="drive" type="planar"><parent link="floor"/>'
        '<child link="base_link"/><axis xyz="0 0 1"/></joint></robot>'))
    tree = load_tree(text, 'floor', (LEFT, RIGHT), {'drive': {
        'x': (-2.0, 2.0), 'y': (-0.5, 0.5), 'yaw': (-np.inf, np.inf)}})
    goals = {LEFT: Goal.position([2.4, 0.3, 1.0]), RIGHT: Goal.position([2.4, -0.3, 1.0])}
    result = Solver(tree).solve(goals)
    assert result.success and 1.5 < result.joint_positions['drive/x'] <= 2.0
    stiff = Solver(tree, weights={'drive/x': 100.0, 'drive/y': 100.0}).solve(goals)
    assert stiff.success
    assert abs(stiff.joint_positions['drive/x']) < abs(result.joint_positions['drive/x'])
    goals[LEFT] = Goal.position([4.0, 0.3, 1.0])
    assert not Solver(tree).solve(goals).success


def test_which_tip_cannot_be_reached(two_arms):
    """By itself: too far, or in that orientation; or each by itself, but not together."""
    near = tip_goal(0.5, 0.3, 1.0)
    result = two_arms.solve({LEFT: near, RIGHT: tip_goal(3.0, 0.0, 1.0)})
    assert result.status is Reason.OUT_OF_REACH and result.unreachable == (RIGHT,)
    assert "the tip 'right_tool' cannot be brought to its goal, which is 3.162 m from the base " \
        'link; it reaches at most ' in result.message
    assert "'right_tool' is 1.86 m and " in result.message and not result.errors[LEFT].met
    result = two_arms.solve({LEFT: near, RIGHT: tip_goal(
        0.78, -0.3, 1.02, pose_rotation([0.0, 1.0, 0.0], -np.pi / 2))})
    assert result.status is Reason.ORIENTATION_OUT_OF_REACH and result.unreachable == (RIGHT,)
    together = CONFLICT
    for tip, goal in together.items():
        assert two_arms.solve({tip: goal}).success
    result = two_arms.solve(together)
    assert result.status is Reason.NO_SOLUTION and result.unreachable == (LEFT, RIGHT)
    assert "a posture was found for each of the tips 'left_tool', 'right_tool', but none" \
        in result.message


def pose_rotation(axis, angle):
    return pin.exp3(angle * np.array(axis))


def test_of_three_tips_those_in_the_way_are_named():
    """With the torso turned, the left hand is too short; the right one is not."""
    tree = load_tree(TWO_ARMS, 'base_link', (LEFT, RIGHT, 'torso'))
    T = tree.fk(np.zeros(tree.n))
    goals = {LEFT: T[LEFT], RIGHT: T[RIGHT],
             'torso': Goal.orientation(pose_rotation([0.0, 0.0, 1.0], 1.3))}
    result = Solver(tree).solve(goals)
    assert result.status is Reason.NO_SOLUTION and result.unreachable == (LEFT, 'torso')
    assert "; without 'left_tool', or without 'torso', the others can; " in result.message


def test_the_nearest_posture_is_a_minimum_of_the_weighted_errors(two_arms):
    """Where no posture fits, L-BFGS-B of scipy finds none nearer beside it; weights choose."""
    goals = CONFLICT
    from scipy.optimize import minimize
    tree, errors = two_arms.tree, {}
    for weight in (1.0, 10.0):
        result = two_arms.solve(goals, tip_weights={RIGHT: weight})
        errors[weight] = result.errors

        def cost(q, weight=weight):
            T = tree.fk(q)
            return sum(w**2 * np.sum((T[tip][:3, 3] - goals[tip].T_base_tip[:3, 3])**2)
                       for tip, w in ((LEFT, 1.0), (RIGHT, weight)))

        found = minimize(cost, result.q, method='L-BFGS-B',
                         bounds=list(zip(tree.lower, tree.upper)))
        assert found.fun > cost(result.q) - 1e-6
    assert errors[10.0][RIGHT].position < 0.2 * errors[1.0][RIGHT].position
    assert errors[10.0][LEFT].position > errors[1.0][LEFT].position


def test_a_secondary_tip_comes_as_near_as_it_can(two_arms):
    """The first stays exact; the second is at a minimum on what the first leaves free."""
    from scipy.optimize import minimize
    tree = two_arms.tree
    goals = CONFLICT
    for first, second in ((LEFT, RIGHT), (RIGHT, LEFT)):
        result = two_arms.solve(goals, secondary=[second])
        assert result.success and result.secondary == (second,)
        assert result.errors[first].met and not result.errors[second].met
        assert f"; '{second}', which comes second, is " in result.message

        def distance(q, tip):
            return np.linalg.norm(tree.fk(q)[tip][:3, 3] - goals[tip].T_base_tip[:3, 3])

        found = minimize(lambda q, tip=second: distance(q, tip), result.q, method='SLSQP',
                         bounds=list(zip(tree.lower, tree.upper)), constraints={
                             'type': 'eq', 'fun': lambda q, tip=first: (
                                 tree.fk(q)[tip][:3, 3] - goals[tip].T_base_tip[:3, 3])})
        assert found.fun > result.errors[second].position - 1e-5
    both = two_arms.solve({LEFT: goals[LEFT], RIGHT: Goal.position([0.3, -0.5, 0.9])},
                          secondary=[RIGHT])
    assert both.success and all(error.met for error in both.errors.values())


def test_equal_calls_give_equal_answers():
    """Bit for bit; another random seed starts elsewhere; the seed of the joints is kept near."""
    tree = load_tree(*TREES['baxter'])
    solver = Solver(tree)
    for q in robots.random_postures(tree, 20, 11):
        one, again = solver.solve(tree.fk(q)), Solver(tree).solve(tree.fk(q))
        assert np.array_equal(one.q, again.q) and one.attempts == again.attempts
        if one.attempts > 2:
            other = Solver(tree, random_seed=5).solve(tree.fk(q))
            assert other.success and not np.array_equal(one.q, other.q)
            break
    near = solver.solve(tree.fk(q), np.clip(q + 0.02, tree.lower, tree.upper))
    assert near.success and near.attempts == 1 and np.abs(near.q - q).max() < 0.1


def test_a_result_has_what_that_of_a_chain_has(two_arms):
    """For a tree with one tip the same, of the same posture; options are for one call, too."""
    chain = make_chain(two_arms.tree.tree, 'base_link', LEFT)
    tree = load_tree(TWO_ARMS, 'base_link', [LEFT])
    T = tree.fk(np.full(tree.n, 0.3))[LEFT]
    results = Solver(chain).solve(T), Solver(tree).solve({LEFT: T}), \
        two_arms.solve({LEFT: T}, max_restarts=0)
    for result in results:
        assert isinstance(result, JointMetrics) and result.success and set(result.errors) == {LEFT}
        assert result.errors[LEFT] == (result.position_error, result.orientation_error, True)
        assert result.position_error < 1e-6 and result.orientation_error < 1e-6
        assert list(result.joint_positions.values()) == result.q.tolist()
        assert result.limiting_joints == () and 0.0 < result.limit_margin < np.pi
        assert result.distance == np.abs(result.q - result.space.middle).max()
        assert isinstance(result.space, type(tree)) == (result is not results[0])
    assert all(isinstance(each, Solver) for each in (two_arms, Solver(chain)))
    far = two_arms.solve({LEFT: tip_goal(3.0, 0.0, 1.0)}, max_restarts=0)
    assert far.position_error > 1.0 and far.attempts == 1


def test_a_deadline_is_kept(two_arms):
    """It is read between groups of attempts; then the reason is not looked for."""
    goals = CONFLICT
    result = Solver(two_arms.tree, deadline=1e-6).solve(goals)
    assert result.status is Reason.DEADLINE and result.attempts == 1
    assert 'no solution within the time allowed' in result.message and not result.unreachable


def test_answers_are_free_of_collisions():
    """Among the solutions of goals near each other, where the first one found often is not."""
    free, blocked = Solver(TREE, model()), 0
    plain = Solver(TREE)
    for q in robots.random_postures(TREE, 60, 17):
        if not model().check_many(q[None])[0]:
            continue
        goals = TREE.fk(q)
        result = free.solve(goals)
        assert result.success and model().check_many(result.q[None])[0], result.message
        blocked += not model().check_many(plain.solve(goals).q[None])[0]
    assert blocked > 2


def test_free_postures_are_solutions_that_differ():
    """Free, with both tips at their goals, each another one; the first is that of solve."""
    solver = Solver(TREE, model())
    reference = robots.Reference(TWO_ARMS.read_text(encoding='utf-8'))
    for q in filter(lambda q: model().check_many(q[None])[0],
                    robots.random_postures(TREE, 20, 31)):
        goals = TREE.fk(q)
        postures = solver.free_postures(goals, TREE.middle)
        first = solver.solve(goals, TREE.middle)
        assert np.array_equal(postures[0], first.q) and len(postures) > 1
        assert model().check_many(np.array(postures)).all()
        for k, posture in enumerate(postures):
            assert ((posture >= TREE.lower) & (posture <= TREE.upper)).all()
            assert all(np.abs(posture - other).max() > 0.1 for other in postures[:k])
            reached = reference.poses('base_link', (LEFT, RIGHT), robots.positions(TREE, posture))
            for tip, T in goals.items():
                assert np.allclose(reached[tip], T, rtol=0.0, atol=2e-6)


def test_goals_at_which_the_arms_meet():
    """Every posture collides: the pair is named, and the tips are at their goals."""
    same = {LEFT: tip_goal(0.5, 0.0, 1.0), RIGHT: tip_goal(0.5, 0.0, 1.0)}
    result = Solver(TREE, model(), max_restarts=30).solve(same)
    assert result.status is Reason.COLLISION and not result.success and result.attempts == 31
    assert all(error.met for error in result.errors.values())
    assert result.message.startswith('every posture found that brings the tips to their goals '
                                     "collides: '") and 'overlap' in result.message
    result = Solver(TREE, model(), max_restarts=3).solve(same, secondary=TREE.tip_links)
    assert result.status is Reason.COLLISION and result.attempts == 4


@pytest.mark.parametrize('call, error, sentence', [
    (lambda s: s.solve({}), GoalError, "one goal at least, got {}; the tips are 'left_tool'"),
    (lambda s: s.solve(np.eye(4)), GoalError, 'a mapping of tip link to goal'),
    (lambda s: s.solve({'left_tol': np.eye(4)}), ParameterError, "did you mean 'left_tool'"),
    (lambda s: s.solve({LEFT: np.eye(3)}), GoalError, "the goal of 'left_tool': a goal is a 4x4"),
    (lambda s: s.solve({LEFT: np.full((4, 4), np.nan)}), GoalError, 'is not finite'),
    (lambda s: s.solve({LEFT: np.eye(4)}, np.zeros(3)), ParameterError,
     'a seed must be 13 finite numbers'),
    (lambda s: s.solve({LEFT: np.eye(4)}, tip_weights={LEFT: 0.0}), ParameterError,
     "the weight of 'left_tool' is 0.0; it must be positive"),
    (lambda s: s.solve({LEFT: np.eye(4)}, secondary=[RIGHT]), ParameterError,
     "the secondary tip 'right_tool' has no goal"),
    (lambda s: s.solve({LEFT: np.eye(4)}, secondary=LEFT), ParameterError, 'is the string'),
    (lambda s: Solver(s.tree, restarts=3), ParameterError, 'has no option restarts; it has'),
    (lambda s: Solver(s.tree, max_restarts=-1), ParameterError, 'max_restarts is -1'),
    (lambda s: Solver(s.tree, position_tolerance=0.0), ParameterError, 'must be positive'),
    (lambda s: Solver(s.tree, deadline=0.0), ParameterError, 'deadline is 0.0'),
    (lambda s: Solver(s.tree, weights={'x': 1.0}), ParameterError, "names 'x', which"),
    (lambda s: Solver(s.tree, weights={'left_elbow': -1.0}), ParameterError,
     "the weight of joint 'left_elbow' is -1.0"),
    (lambda s: Solver(s.tree, select='nearest'), ParameterError,
     'select is an option for a chain; a tree has position_tolerance, '),
    (lambda s: s.solve_all({LEFT: np.eye(4)}), ParameterError, 'only the solver of a chain finds'),
    (lambda s: s.solve({LEFT: np.eye(4)}, gains=1.0), ParameterError, 'gains is an option for a'),
    (lambda s: Solver(make_chain(s.tree.tree, 'base_link', LEFT)).solve(
        np.eye(4), secondary=[LEFT]), ParameterError, 'the solver has no option secondary'),
])
def test_errors_say_what_to_do(two_arms, call, error, sentence):
    with pytest.raises(error) as caught:
        call(two_arms)
    assert sentence in str(caught.value)


def test_a_solver_and_a_result_print_as_one_line(two_arms):
    assert repr(Solver(two_arms.tree, max_restarts=3)) == (
        f'Solver({two_arms.tree!r}, max_restarts=3)')
    assert repr(two_arms.solve({LEFT: Goal.position([0.5, 0.3, 1.0])})).startswith(
        'TreeResult(SOLVED, success=True, left_tool: ')
