# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Previews and plans: what would become of a goal, while nothing moves."""

import math

from geometry_msgs.msg import Point, PoseStamped
from harness import (
    DOWN,
    latest,
    lent,
    MODEL,
    NAMES,
    off_line,
    pose,
    positions_of,
    READY,
    seconds,
    tip,
)
import numpy as np
import pinocchio as pin
import pytest
from scenes import at, colour, FAR_AWAY, HERE, line, numbers, place, text, values


@pytest.fixture
def system(shared_system):
    with lent(shared_system) as probe:
        yield probe


# ---- previews ---------------------------------------------------------------

def test_a_green_preview_moves_nothing(system, eyes):
    """Its posture reaches the goal and its numbers agree with Pinocchio; nothing moves."""
    goal = pose(HERE.translation + [0.02, 0.1, -0.05])
    answer = eyes.preview('pose', goal)
    assert (answer.level, answer.message) == (b'\x00', 'reachable')
    assert answer.name == '/ik_node: preview'
    given, q = values(answer), numbers(answer)
    assert (given['colour'], given['reason'], given['limiting_joint']) == ('green', 'SOLVED', '')
    assert np.linalg.norm(tip(q).translation - HERE.translation - [0.02, 0.1, -0.05]) < 2e-6
    assert np.linalg.norm(pin.log3(tip(q).rotation.T @ HERE.rotation)) < 2e-6
    room = np.minimum(q - MODEL.lowerPositionLimit, MODEL.upperPositionLimit - q).min()
    assert float(given['limit_margin']) == pytest.approx(room, abs=1e-4)
    assert float(given['jump']) == pytest.approx(np.abs(q - READY).max(), abs=1e-4)
    J = pin.computeFrameJacobian(MODEL, MODEL.createData(), q, MODEL.getFrameId('tool0'),
                                 pin.LOCAL_WORLD_ALIGNED)
    assert float(given['smallest_singular_value']) == pytest.approx(
        np.linalg.svd(J, compute_uv=False)[-1], abs=1e-4)
    eyes.see(lambda: eyes.there('ghost'))
    assert {colour(each) for each in eyes.there('ghost').values()} == {'green'}
    assert colour(eyes.there('goal')[3]) == 'green' and not eyes.there('reason')
    assert not eyes.there('path') and not eyes.there('limiting_joint')
    system.wait(lambda: eyes.ghosts and eyes.ghosts[-1].name)
    assert eyes.ghosts[-1].name == NAMES
    assert np.allclose(eyes.ghosts[-1].position, q, atol=1e-8)
    for _ in range(20):
        eyes.preview('pose', goal)
    assert not system.statuses and not system.trajectories
    assert np.abs(latest(system) - READY).max() < 1e-5


def test_an_amber_preview(system, eyes):
    """A joint near its limit gets a ring and its name; other causes follow."""
    answer = eyes.preview('pose', at(joint_5=2.08))
    assert answer.level == b'\x01' and values(answer)['colour'] == 'amber'
    assert answer.message.startswith('reachable, but ')
    assert values(answer)['limiting_joint'] == 'joint_5'
    eyes.see(lambda: eyes.there('reason'))
    assert text(eyes.there('reason')[0]) == answer.message
    assert {colour(each) for each in eyes.there('ghost').values()} == {'amber'}
    marks = eyes.there('limiting_joint')
    assert len(marks) == 2
    assert marks[1].text == 'joint_5' and colour(marks[0]) == 'amber'
    pin.forwardKinematics(MODEL, data := MODEL.createData(), numbers(answer))
    joint, ring = data.oMi[5], line(marks[0])
    ring = np.array([place(marks[0]).act(p) for p in ring]) - joint.translation
    assert np.allclose(ring @ joint.rotation[:, 1], 0.0, atol=1e-9)  # its axis is y
    assert np.ptp(np.linalg.norm(ring, axis=1)) < 1e-9


def test_thresholds_are_parameters(system, eyes):
    """Each threshold can be changed at runtime and turns a green preview amber."""
    goal = pose(HERE.translation + [0.0, 0.1, 0.0])
    assert values(eyes.preview('pose', goal))['colour'] == 'green'
    for name, value, words in (('far', 0.05, 'far branch'), ('limit_margin', 2.0, 'limit'),
                               ('singular_value', 1.0, 'singularity')):
        system.change('/ik_node', **{f'markers__{name}': value})
        answer = eyes.preview('pose', goal)
        assert values(answer)['colour'] == 'amber' and words in answer.message
        eyes.see(lambda said=answer.message: eyes.there('reason')
                 and text(eyes.there('reason')[0]) == said)
        joint = values(answer)['limiting_joint']
        assert bool(joint) == bool(eyes.there('limiting_joint')) == (name == 'limit_margin')
        system.set_back()
    refused = system.set_parameters('/ik_node', {'markers.far': -1.0})
    assert not refused.successful


def test_a_red_preview_says_why(system, eyes):
    """It gives the reason of the solver; the ghost is at the nearest posture."""
    answer = eyes.preview('pose', FAR_AWAY)
    assert answer.level == b'\x02' and values(answer)['colour'] == 'red'
    assert values(answer)['reason'] == 'OUT_OF_REACH' and 'reaches at most' in answer.message
    eyes.see(lambda: eyes.there('reason'))
    assert text(eyes.there('reason')[0]) == answer.message
    assert 'shifted by [' in answer.message and answer.message.endswith('it can be reached')
    assert colour(eyes.there('goal')[3]) == 'red'
    assert np.allclose(place(eyes.there('goal')[3]).translation, [2.0, 0.0, 0.5])
    assert {colour(each) for each in eyes.there('ghost').values()} == {'red'}
    shift = np.array(values(answer)['remedy_shift_m'].split(), dtype=float)
    nearer = pose(place(eyes.there('goal')[3]).translation + shift)
    planned = eyes.plan()
    assert not planned.success and planned.message == answer.message
    assert values(eyes.preview('pose', nearer))['reason'] == 'SOLVED'
    assert not system.statuses


def test_a_preview_outside_of_what_is_kept_is_red(system, eyes):
    """As a goal there would be refused while motion.keep is set."""
    goal = pose(HERE.translation + [0.0, 0.1, 0.0])
    system.change('/ik_node', motion__keep='{position: [.inf, 0.05, .inf], frame: start}')
    answer = eyes.preview('pose', goal)
    assert values(answer)['colour'] == 'red' and values(answer)['reason'] == 'CONSTRAINT'
    assert answer.message.endswith('y of the position is outside by 50 mm')


def test_a_red_preview_names_the_joint(system, eyes):
    """It names the joint that would have to exceed its limit."""
    answer = eyes.preview('pose', pose((0.0, 0.0, 0.02), np.eye(3)))
    assert values(answer)['reason'] == 'BEYOND_LIMIT'
    assert repr(values(answer)['limiting_joint']) in answer.message
    eyes.see(lambda: eyes.there('limiting_joint'))
    assert eyes.there('limiting_joint')[1].text == values(answer)['limiting_joint']
    assert colour(eyes.there('limiting_joint')[0]) == 'red'


@pytest.mark.parametrize('goal, frame, reason', [
    (pose((math.nan, 0.0, 0.4)), 'base_link', 'GOAL_NOT_FINITE'),
    (pose((1e200, 0.0, 0.4)), 'base_link', 'GOAL_NOT_FINITE'),
    (pose((0.4, 0.0, 0.4)), 'nowhere', 'FRAME_UNKNOWN'),
    (pose((0.4, 0.0, 0.4)), '', 'FRAME_MISSING')])
def test_bad_previews_are_answered(system, eyes, goal, frame, reason):
    """They remove the previous ghost and cannot be planned; the next preview works."""
    eyes.preview('pose', at(joint_1=0.5))
    eyes.see(lambda: eyes.there('ghost'))
    answer = eyes.preview('pose', goal, frame)
    assert answer.level == b'\x02' and answer.message
    assert values(answer)['reason'] == reason and values(answer)['q'] == ''
    eyes.see(lambda: not eyes.there('ghost') and not eyes.there('goal'))
    response = eyes.plan()
    assert not response.success and 'no preview' in response.message
    assert values(eyes.preview('pose', pose(HERE.translation)))['colour'] == 'green'
    assert not system.statuses


def test_positions_and_directions(system, eyes):
    """Only the axes that count have arrows; the posture fits position or direction."""
    answer = eyes.preview('position', Point(x=0.2, y=0.5, z=0.3))
    assert np.linalg.norm(tip(numbers(answer)).translation - [0.2, 0.5, 0.3]) < 2e-6
    eyes.see(lambda: sorted(eyes.there('goal')) == [3])
    R = pin.Quaternion(np.array(DOWN)).matrix()
    answer = eyes.preview('pointing', pose((0.45, 0.1, 0.4), R))
    found = tip(numbers(answer))
    assert np.linalg.norm(found.translation - [0.45, 0.1, 0.4]) < 2e-6
    assert np.allclose(found.rotation[:, 2], [0.0, 0.0, -1.0], atol=2e-6)
    eyes.see(lambda: sorted(eyes.there('goal')) == [2, 3])
    arrow = eyes.there('goal')[2]
    assert np.allclose(place(arrow).rotation[:, 0], [0.0, 0.0, -1.0], atol=1e-9)
    eyes.preview('pose', pose(HERE.translation))
    eyes.see(lambda: sorted(eyes.there('goal')) == [0, 1, 2, 3])
    for k in range(3):
        c = eyes.there('goal')[k].color
        assert np.argmax([c.r, c.g, c.b]) == k
        assert np.allclose(place(eyes.there('goal')[k]).rotation[:, 0], HERE.rotation[:, k])


def test_a_preview_in_the_frame_of_a_link(system, eyes):
    """It uses the present pose of the link."""
    R = np.eye(3)
    answer = eyes.preview('pose', pose((0.0, 0.03, -0.05), R), 'tool0')
    expected = HERE.act(np.array([0.0, 0.03, -0.05]))
    assert np.linalg.norm(tip(numbers(answer)).translation - expected) < 1e-4


# ---- plans ------------------------------------------------------------------

@pytest.mark.parametrize('straight', [False, True])
def test_a_plan_equals_the_motion_of_its_goal(system, eyes, straight):
    """Duration and path of the plan are those of the later goal; the plan moves nothing."""
    system.change('/ik_node', motion__straight=straight)
    end = HERE.translation + [0.05, -0.35, -0.1]
    goal = pose(end)
    eyes.preview('pose', goal)
    response = eyes.plan()
    assert response.success, response.message
    eyes.see(lambda: eyes.there('path'))
    points = line(eyes.there('path')[0])
    duration, length = [float(part.split()[0]) for part in response.message.split(', ')]
    assert length == pytest.approx(np.linalg.norm(np.diff(points, axis=0), axis=1).sum(), abs=1e-3)
    off = off_line(points, HERE.translation, end).max()
    assert off < 1e-4 if straight else off > 1e-3
    assert not system.trajectories and not system.statuses
    answer = system.final(system.send_goal('pose', PoseStamped(pose=goal)))
    assert answer['state'] == 'reached'
    assert float(answer['duration_s']) == pytest.approx(duration, abs=0.1)  # and the delivery
    assert seconds(system.trajectories[0].points[-1].time_from_start) \
        == pytest.approx(float(answer['duration_s']), abs=0.02)
    tips = np.array([tip(positions_of(message)).translation for _, message in system.states])
    assert np.min([off_line(tips, a, b) for a, b in zip(points, points[1:])], axis=0).max() < 5e-4
    response = eyes.plan()
    assert (response.success, response.message) == (False, 'the arm is there already')


def test_a_plan_during_a_motion_leaves_it(system, eyes):
    """The plan starts from the present state of the moving arm; the motion continues."""
    system.change('/ik_node', motion__velocity_scale=0.2)
    stamp = system.send(HERE.translation + [0.0, 0.35, -0.1], DOWN)
    system.wait(lambda: system.trajectories)
    system.spin_for(0.7)
    eyes.preview('pose', pose(HERE.translation))
    response = eyes.plan()
    assert response.success, response.message
    eyes.see(lambda: eyes.there('path'))
    points = line(eyes.there('path')[0])
    assert system.final(stamp)['state'] == 'reached'
    assert len(system.trajectories) == 1 and len(system.answers(stamp)) == 2
    tips = np.array([tip(positions_of(message)).translation for _, message in system.states])
    assert np.linalg.norm(tips - points[0], axis=1).min() < 0.02
    assert min(np.linalg.norm(points[0] - each) for each in (tips[0], tips[-1])) > 0.02
    assert np.linalg.norm(points[-1] - HERE.translation) < 1e-5


def test_no_plan_to_an_unreachable_pose(system, eyes):
    """The answer gives the reason of the preview, or of the line."""
    answer = eyes.preview('pose', FAR_AWAY)
    response = eyes.plan()
    assert not response.success and response.message == answer.message
    system.change('/ik_node', motion__straight=True)
    response = eyes.plan()
    assert not response.success and '% of its length' in response.message
    eyes.see(lambda: eyes.there('reason') and text(eyes.there('reason')[0]) == response.message)
    assert not system.trajectories
