# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Every option has its effect, and wrong options are refused with a clear message."""

from dataclasses import fields
import logging

from answers import assert_solves, errors_of, near, PATIENT, reachable, solver
import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError, Reason
from ik_node.model.joints import one_per_joint
from ik_node.solver.goal import Goal
from ik_node.solver.options import OptionValues, SolverOptions
from ik_node.solver.solver import Solver
from ik_node.solver.tree_search import TreeSearch

SEVEN = robots.chain('panda')
ARM_OF = {'closed_form': 'ur5'}  # panda, unless it says otherwise
# Options that change what another one does are tested with it.
WITH = {'preferred': {'gains': (1.0,)}, 'posture': {'posture_gains': (1.0,)},
        'posture_gains': {'posture': (0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0)},
        'max_bias_iterations': {'gains': (1.0,)}, 'explore': {'gains': (1.0,)},
        'step_fraction': {'method': 'damped_least_squares'},
        'deadline': {'max_restarts': 2000}, 'nearest_keeps_position': {'nearest': True}}
OTHER = {
    'method': 'damped_least_squares', 'position_tolerance': 1e-11, 'orientation_tolerance': 1e-11,
    'metres_per_radian': 1.0, 'max_iterations': 3, 'step_fraction': 0.3, 'max_restarts': 1,
    'deadline': 1e-9, 'random_seed': 5,
    'weights': (1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0), 'locked': ('panda_joint1',),
    'gains': (1.0,), 'preferred': (0.1, -0.2, 0.3, -1.0, 0.5, 0.6, -0.7),
    'posture': (0.1, -0.2, 0.3, -1.0, 0.5, 0.6, -0.7), 'posture_gains': (1.0,),
    'manipulability_gain': 1.0, 'max_bias_iterations': 1, 'explore': False, 'select': 'centred',
    'max_jump': 0.3, 'nearest': True, 'nearest_keeps_position': True, 'closed_form': False}


def outcome(arm, one, count):
    """Return the answers of an arm's solver to poses and positions, reachable and not."""
    poses = reachable(arm, count)[1].copy()
    poses[::6, 0, 3] += 3.0
    poses[3::6, 0, 3] += 0.4
    goals = [*poses, *(Goal.position(T[:3, 3]) for T in poses[:10])]
    answers = [one.solve(goal, seed)
               for goal, seed in zip(goals, robots.random_postures(one.chain, len(goals), 12))]
    return [(result.q.tobytes(), result.status) for result in answers]


@pytest.mark.parametrize('name', [field.name for field in fields(SolverOptions)])
def test_no_option_is_ignored(name):
    """Another value changes the answers, as an option of the solver and of one call."""
    arm = ARM_OF.get(name, 'panda')
    chain, base = robots.chain(arm), {**PATIENT, **WITH.get(name, {})}
    changed = {**base, name: OTHER[name]}
    count = 6 if 'method' in changed else 30  # the textbook methods are slow
    before, after = (outcome(arm, Solver(chain, **options), count) for options in (base, changed))
    assert before != after
    one, T = Solver(chain, **base), reachable(arm, 2)[1][1]
    for seed in robots.random_postures(chain, 3, 40):
        called, made = one.solve(T, seed, **{name: OTHER[name]}), \
            Solver(chain, **changed).solve(T, seed)
        assert called.q.tobytes() == made.q.tobytes() and called.status is made.status
    assert outcome(arm, one, count) == before  # a call does not change the solver


def test_each_tolerance_holds_for_its_own_error():
    """Each error meets its own tolerance, and no step is taken beyond that."""
    chain = robots.chain('ur5')
    steps = []
    for position, orientation in ((1e-3, 1e-3), (1e-3, 1e-11), (1e-11, 1e-3), (1e-11, 1e-11)):
        one = Solver(chain, **PATIENT, position_tolerance=position, closed_form=False,
                     orientation_tolerance=orientation)
        worst, count = np.zeros(2), 0
        for q, T in zip(*reachable('ur5', 200)):
            result = one.solve(T, near('ur5', q, 0.3, 5))
            assert result.success
            worst = np.maximum(worst, errors_of('ur5', T, result.q))
            count += result.iterations
        steps.append(count)
        rounding = np.array([1e-14, 3e-8])  # of the logarithm of a rotation near zero
        assert (worst <= np.array([position, orientation]) + rounding).all()
    assert worst[0] < 1e-10 and steps[0] < min(steps[1:3]) and max(steps[1:3]) <= steps[3]
    assert result.orientation_error <= 1e-11


def test_max_iterations_limits_one_attempt():
    """No attempt takes more steps."""
    for T, seed in zip(reachable('ur5', 30)[1],
                       robots.random_postures(robots.chain('ur5'), 30, 12)):
        few = solver('ur5', max_iterations=4, max_restarts=20, closed_form=False).solve(T, seed)
        if few.success:
            # The attempts near the seed count as one.
            assert few.iterations <= 4 * (few.restarts + 2)


def test_bias_steps_are_counted():
    """At most as many as allowed."""
    T = reachable('panda', 1)[1][0]
    for most in (0, 1, 3):
        result = solver('panda', gains=(1.0,), max_bias_iterations=most, explore=False).solve(T)
        assert result.bias_iterations == most
        assert_solves('panda', T, result)


def test_the_keywords_of_a_solver_are_its_options():
    """Editors and type checkers read the names from OptionValues."""
    assert list(OptionValues.__annotations__) == [field.name for field in fields(SolverOptions)]
    for method in (Solver.__new__, Solver.solve, TreeSearch.solve, Solver.changed):
        assert method.__annotations__['options'] == 'Unpack[OptionValues]'


def test_a_changed_solver_is_kept():
    """Calls with the same options share a solver; only the last few are kept."""
    one = Solver(robots.chain('ur5'), **PATIENT)
    assert one.changed(max_restarts=3) is one.changed(max_restarts=3)
    assert one.changed(max_restarts=3).options.deadline == PATIENT['deadline']
    first = one.changed(max_restarts=3)
    for k in range(40):
        one.changed(max_iterations=k + 1)
    assert one.changed(max_restarts=3) is not first
    by_name = {'elbow_joint': 4.0}
    assert one.changed(weights=by_name) is one.changed(weights={**by_name})
    preferred = [0.1] * 6
    assert one.changed(preferred=preferred) is one.changed(preferred=np.array(preferred))


def test_weights_by_name_are_those_in_the_order_of_the_joints():
    """Joints that are not named have the weight 1."""
    chain = robots.chain('ur5')
    T, seed = reachable('ur5', 1)[1][0], chain.middle + 0.3
    named, listed = (Solver(chain, closed_form=False, weights=weights).solve(T, seed).q.tobytes()
                     for weights in ({'elbow_joint': 4.0}, (1.0, 1.0, 4.0, 1.0, 1.0, 1.0)))
    assert named == listed != Solver(chain, closed_form=False).solve(T, seed).q.tobytes()


def test_one_number_is_used_for_all_joints():
    """One number is used for all joints, n numbers for one each."""
    chain = robots.chain('ur5')
    assert one_per_joint(chain, (2.0,), 'x').tolist() == [2.0] * 6
    assert one_per_joint(chain, (1, 2, 3, 4, 5, 6), 'x').tolist() == [1, 2, 3, 4, 5, 6]
    assert Solver(chain, preferred=(0.5,)).preferred.tolist() == [0.5] * 6
    assert Solver(chain, preferred=0.5).preferred.tolist() == [0.5] * 6
    assert Solver(chain).preferred.tolist() == chain.middle.tolist()
    assert Solver(chain, locked='elbow_joint').tables.locked == (2,)


# ---- what is refused --------------------------------------------------------

@pytest.mark.parametrize('option', ['position_tolerance', 'orientation_tolerance',
                                    'metres_per_radian', 'deadline'])
@pytest.mark.parametrize('value', [0.0, -1.0, np.nan, np.inf, -np.inf, 'a', None, (1.0,)])
def test_options_that_must_be_positive(option, value):
    """Zero, negative and non-finite options are refused, and the option is named."""
    with pytest.raises(ParameterError, match=option) as caught:
        Solver(robots.chain('ur5'), **{option: value})
    assert caught.value.reason is Reason.PARAMETER_INVALID


@pytest.mark.parametrize('options, words', [
    ({'gains': (-1.0,)}, 'gains.*negative'),
    ({'gains': (1.0, 1.0, 1.0, 1.0, 1.0, -1e-9)}, 'gains.*negative'),
    ({'gains': ()}, 'gains needs 1 or 6'),
    ({'gains': (1.0, 2.0)}, 'gains needs 1 or 6'),
    ({'gains': (1.0,) * 7}, 'gains needs 1 or 6'),
    ({'gains': (np.nan,)}, 'gains needs 1 or 6 finite'),
    ({'gains': (np.inf,)}, 'gains needs 1 or 6 finite'),
    ({'gains': 'a'}, 'gains'), ({'gains': None}, 'gains'), ({'gains': ('a',)}, 'gains'),
    ({'preferred': (0.0,) * 5}, 'preferred positions needs 1 or 6'),
    ({'preferred': (np.nan,) * 6}, 'preferred positions needs 1 or 6 finite'),
    ({'preferred': (7.0,)}, 'preferred positions.*not inside the joint limits'),
    ({'preferred': (0.0, 0.0, 0.0, 0.0, 0.0, -6.3)}, 'not inside the joint limits'),
    ({'posture': (0.0,) * 5, 'posture_gains': (1.0,)}, 'posture positions needs 1 or 6'),
    ({'posture_gains': (-1.0,)}, 'posture gains.*negative'),
    ({'manipulability_gain': -1.0}, 'manipulability_gain is -1.0'),
    ({'manipulability_gain': np.inf}, 'manipulability_gain'),
    ({'weights': (0.0,)}, 'weights.*must not be below'),
    ({'weights': (1.0, 2.0)}, 'weights needs 1 or 6'),
    ({'locked': ('nothing',)}, "'nothing' is not in the chain.*'elbow_joint'"),
    ({'locked': ('elbow_joint', 3)}, "'3' is not in the chain"),
    ({'locked': robots.chain('ur5').joint_names}, 'all joints are locked'),
    ({'select': 'best'}, 'select.*nearest.*centred.*manipulable'), ({'select': None}, 'select'),
    ({'max_jump': 0.0}, 'max_jump'), ({'max_jump': np.nan}, 'max_jump'),
    ({'max_iterations': -1}, 'max_iterations'), ({'max_iterations': 2.5}, 'max_iterations'),
    ({'max_restarts': -1}, 'max_restarts'), ({'max_restarts': np.inf}, 'max_restarts'),
    ({'max_restarts': 10 ** 9}, 'max_restarts'), ({'max_restarts': '3'}, 'max_restarts'),
    ({'max_bias_iterations': -1}, 'max_bias_iterations'),
    ({'method': 'magic'}, "no method 'magic'.*damped"),
    ({'speed': 3}, 'no option speed.*max_restarts'),
])
def test_options_that_are_refused(options, words):
    """Wrong types, counts, signs and names are refused, by a solver and by a call."""
    with pytest.raises(ParameterError, match=words):
        Solver(robots.chain('ur5'), **options)
    with pytest.raises(ParameterError, match=words):
        solver('ur5').solve(np.eye(4), **options)


def test_integers_of_any_type_are_accepted():
    """NumPy integers are accepted, and nothing is recompiled for them."""
    chain, T = robots.chain('ur5'), reachable('ur5', 1)[1][0]
    result = Solver(chain, max_restarts=np.int32(9), max_iterations=np.uint8(50)).solve(T)
    assert_solves('ur5', T, result)
    assert result.time < 1.0


def test_manipulability_needs_six_joints():
    """The measure needs all six motions of the tip."""
    with pytest.raises(ParameterError, match='six joints'):
        Solver(robots.skew_chain(), manipulability_gain=1.0)


def test_compiling_is_announced(caplog):
    """If the kernels are already compiled, nothing is logged."""
    with caplog.at_level(logging.DEBUG):
        Solver(robots.chain('ur5')).solve(Goal.position((0.3, 0.2, 0.4)))
    assert not caplog.records
