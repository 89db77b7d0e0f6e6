# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a viewer gets of goals, and when it comes late; the ghost against Pinocchio."""

from importlib import import_module
import math
from math import inf
import sys
from unittest.mock import Mock

from geometry_msgs.msg import PoseStamped
from harness import latest, lent, off_line, path_of, pose, positions_of, READY, stamped, tip
import numpy as np
import pinocchio as pin
import pytest
from scenes import at, colour, Eyes, FAR_AWAY, HERE, line, numbers, place, shapes_at, text, values
from visualization_msgs.msg import Marker

from ik_node.model.description.shapes import Shape
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.constrained.keep import Keep, keeps_text
from ik_node.node.show.display import ARROW_SIZE, ARROW_SIZE_RANGE_M
from ik_node.ros.messages.markers import (
    constraint_markers,
    Ghost,
    goal_markers,
    joint_markers,
    reason_marker,
    text_marker,
)
from ik_node.ros.parameters.tables import INTERACTIVE_GOAL
from ik_node.solver.goal import Goal
from ik_node.solver.unreachable import Colour

QUAT = pin.Quaternion(HERE.rotation).coeffs()


@pytest.fixture
def system(shared_system):
    with lent(shared_system) as probe:
        yield probe


def test_the_ghost_is_the_robot(system, eyes):
    """Each visual of the moving links has the pose by Pinocchio and the right size."""
    answer = eyes.preview('pose', at(joint_1=0.7, joint_4=-0.5, joint_6=1.0))
    eyes.see(lambda: eyes.there('ghost'))
    ghost = eyes.there('ghost')
    expected = shapes_at(numbers(answer))
    assert len(ghost) == len(expected) > 100
    for number, (T, box) in enumerate(expected):
        assert np.allclose(place(ghost[number]).translation, T.translation, atol=1e-7)
        assert np.allclose(place(ghost[number]).rotation, T.rotation, atol=1e-7)
        scale = ghost[number].scale
        assert np.allclose([scale.x, scale.y, scale.z], box, atol=1e-9)
        assert 0.0 < ghost[number].color.a < 1.0


def test_a_link_without_a_pose_is_not_drawn():
    """A link behind a joint of unknown position is deleted."""
    box = Shape('box', (0.1, 0.1, 0.1))
    visuals = {'a': [box, box], 'b': [box, box]}
    ghost = Ghost(visuals, 'base', at_least=6)
    ghost.place({'a': np.eye(4), 'b': np.eye(4)}, Colour.GREEN)
    ghost.place({'b': np.eye(4)}, Colour.RED)
    assert [each.action for each in ghost.markers] == 2 * [2] + 2 * [0] + 2 * [2]
    assert [each.id for each in ghost.markers] == list(range(6))


@pytest.mark.parametrize('made', [
    reason_marker('out of reach', np.zeros(3), 'base', 0.1),
    joint_markers('joint_1', np.eye(4), Colour.AMBER, 'base', 0.1)[1],
    text_marker('clearance', 0, 'a and b', np.zeros(3), 'base', 0.03)])
def test_texts_can_be_read_in_rviz(made):
    """RViz takes the width of a blank from scale.x, and halves it: a quarter of the letters."""
    assert made.type == Marker.TEXT_VIEW_FACING and made.scale.z > 0.0
    assert made.scale.x == pytest.approx(0.5 * made.scale.z)


@pytest.mark.parametrize('reach', [0.1, 0.5, 0.9, 1.3, 3.0, 20.0])
def test_the_goal_leaves_the_sphere_of_the_handle_to_the_mouse(monkeypatch, reach):
    """RViz gives a click to what is nearest to the eye: the goal is inside the handle's sphere."""
    monkeypatch.setitem(sys.modules, 'interactive_markers', Mock())
    monkeypatch.delitem(sys.modules, 'ik_node.ui.rviz_handle', raising=False)
    handle = import_module('ik_node.ui.rviz_handle').make_marker(
        next(row.default for row in INTERACTIVE_GOAL if row.name == 'scale'))
    size = np.clip(ARROW_SIZE * reach, *ARROW_SIZE_RANGE_M)
    ball = goal_markers(Goal(np.eye(4)), Colour.GREEN, 'base', size)[-1]
    assert ball.type == Marker.SPHERE
    assert ball.scale.x < handle.controls[0].markers[0].scale.x
    monkeypatch.delitem(sys.modules, 'ik_node.ui.rviz_handle')


def test_links_of_the_ghost_that_coincide_with_the_arm_are_not_drawn(system, eyes):
    """They would flicker: at the tip there is no ghost, after a turn of the wrist only that."""
    eyes.preview('pose', at(joint_1=0.7))
    eyes.see(lambda: eyes.there('ghost'))
    whole = len(eyes.there('ghost'))
    eyes.preview('pose', at())
    eyes.see(lambda: eyes.there('goal') and not eyes.there('ghost'))
    eyes.preview('pose', at(joint_6=0.5))
    eyes.see(lambda: eyes.there('ghost'))
    assert 0 < len(eyes.there('ghost')) < 0.5 * whole


def test_a_plan_says_how_long_it_takes(system, eyes):
    """At the goal, where RViz shows it; its path is a centimetre wide."""
    eyes.preview('pose', at(joint_1=0.5))
    said = eyes.plan()
    eyes.see(lambda: eyes.there('path') and eyes.there('reason'))
    assert text(eyes.there('reason')[0]) == said.message and ' s, ' in said.message
    assert eyes.there('path')[0].scale.x > 0.009


def test_a_late_subscriber_gets_the_current_markers(system):
    """Late subscribers get the last preview, also if it was made without subscribers."""
    publisher = system.publisher(PoseStamped, 'preview_pose')
    message = PoseStamped(pose=FAR_AWAY)
    stamped(system, message)
    early = Eyes(system)
    answer = early.preview('pose', pose(HERE.translation))
    early.see(lambda: early.there('goal'))
    early.close()
    system.wait(lambda: not system.count_subscribers('/ik_node/markers'))
    publisher.publish(message)
    late = Eyes(system)
    late.see(lambda: late.there('reason'))
    assert colour(late.there('goal')[3]) == 'red' != values(answer)['colour']
    system.wait(lambda: late.ghosts)
    later = Eyes(system)
    later.see(lambda: later.there('reason'))
    system.wait(lambda: later.ghosts)
    assert later.scenes[-1] == late.scenes[-1] and later.ghosts[-1] == late.ghosts[-1]
    late.close()
    later.close()


def test_the_path_is_the_motion(system, eyes):
    """The arm moves along the path to the ghost; then both are removed."""
    eyes.preview('pose', FAR_AWAY)
    stamp = system.send(HERE.translation + [0.05, 0.25, -0.1], QUAT)
    eyes.see(lambda: eyes.there('path'))
    points, ghost = line(eyes.there('path')[0]), eyes.there('ghost')
    assert 20 <= len(points) <= 200 and not eyes.there('reason')
    system.wait(lambda: eyes.ghosts and eyes.ghosts[-1].name and np.linalg.norm(
        tip(eyes.ghosts[-1].position).translation - HERE.translation - [0.05, 0.25, -0.1]) < 1e-5)
    end = np.array(eyes.ghosts[-1].position)
    assert system.final(stamp)['state'] == 'reached'
    tips = np.array([tip(positions_of(message)).translation for _, message in system.states])
    near = np.min([off_line(tips, a, b) for a, b in zip(points, points[1:])], axis=0)
    assert near.max() < 5e-4
    # All of the path: between two joint states the arm was near the line between them.
    assert np.min([off_line(points, a, b) for a, b in zip(tips, tips[1:])], axis=0).max() < 0.02
    assert np.linalg.norm(points[0] - HERE.translation) < 1e-4
    assert np.abs(latest(system) - end).max() < 1e-5
    assert np.allclose(place(ghost[len(ghost) - 1]).translation,
                       shapes_at(end)[-1][0].translation, atol=1e-6)
    eyes.see(lambda: not eyes.there('path') and not eyes.there('ghost'))
    assert colour(eyes.there('goal')[3]) == 'green' and len(eyes.there('goal')) == 4
    system.wait(lambda: eyes.ghosts and not eyes.ghosts[-1].name)


def test_a_goal_that_is_refused_is_red(system, eyes):
    """It is shown with the reason of its answer, for poses and lines."""
    answer = system.final(system.send((2.0, 0.0, 0.4)))
    eyes.see(lambda: eyes.there('reason'))
    assert colour(eyes.there('goal')[3]) == 'red'
    assert text(eyes.there('reason')[0]) == ' '.join(answer['message'].split())
    assert not eyes.there('path') and not eyes.there('ghost')
    system.change('/ik_node', motion__straight=True)
    answer = system.final(system.send(HERE.translation + [0.9, 0.0, 0.0]))
    eyes.see(lambda: eyes.there('reason') and text(eyes.there('reason')[0]) == answer['message'])
    assert np.allclose(place(eyes.there('goal')[3]).translation,
                       HERE.translation + [0.9, 0.0, 0.0])
    path = path_of(pose(HERE.translation + [0.0, 0.0, 0.9]))
    stamp = system.send_goal('path', path)
    assert system.final(stamp)['state'] == 'rejected'
    eyes.see(lambda: np.allclose(place(eyes.there('goal')[3]).translation,
                                 HERE.translation + [0.0, 0.0, 0.9]))
    seen = len(eyes.scenes)
    system.final(system.send((math.nan, 0.0, 0.4)))
    system.final(system.send_joints(READY))  # answered after it; the arm is there
    eyes.see(lambda: colour(eyes.there('goal')[3]) == 'green')
    assert len(eyes.scenes) == seen + 1
    assert np.allclose(place(eyes.there('goal')[3]).translation, HERE.translation, atol=1e-6)


def test_a_goal_that_fails_is_red(system, eyes):
    """A goal that a blocked joint prevents is shown in red."""
    system.change('/sim_controller', following__blocked_joints=['joint_1'])
    system.change('/ik_node', watch__settle_timeout=0.3)
    answer = system.final(system.send_joints([0.3, *READY[1:]]))
    assert answer['state'] == 'failed'
    eyes.see(lambda: eyes.there('reason') and text(eyes.there('reason')[0]) == answer['message'])
    assert colour(eyes.there('goal')[3]) == 'red'
    assert not eyes.there('path') and not eyes.there('ghost')
    system.wait(lambda: eyes.ghosts and not eyes.ghosts[-1].name)
    T = tip([0.3, *READY[1:]])
    assert np.allclose(place(eyes.there('goal')[3]).translation, T.translation, atol=1e-6)


def test_a_preview_during_a_motion_stays(system, eyes):
    """Preview and motion do not affect each other; the next goal replaces the preview."""
    stamp = system.send(HERE.translation + [0.0, 0.3, 0.0], QUAT)
    eyes.see(lambda: eyes.there('path'))
    sent = len(system.trajectories)
    eyes.preview('pose', FAR_AWAY)
    eyes.see(lambda: eyes.there('reason') and not eyes.there('path'))
    seen = len(eyes.scenes)
    assert [answer['state'] for answer in system.answers(stamp)] == ['accepted']
    assert system.final(stamp)['state'] == 'reached'
    assert len(system.trajectories) == sent
    system.spin_for(0.2)
    assert len(eyes.scenes) == seen
    assert system.set_parameters('/ik_node', {'motion.velocity_scale': 0.1}).successful
    system.send(HERE.translation, QUAT)
    eyes.see(lambda: eyes.there('path') and not eyes.there('reason'))
    system.call(system.stop)
    eyes.see(lambda: eyes.there('reason'))
    assert 'stopped by request' in text(eyes.there('reason')[0])


def test_the_next_goal_takes_the_place_of_the_last(system, eyes):
    """A superseded goal is not shown as failed."""
    system.send(HERE.translation + [0.0, 0.3, 0.0], QUAT)
    eyes.see(lambda: eyes.there('path'))
    second = system.send(HERE.translation + [0.0, -0.3, 0.0], QUAT)
    assert system.final(second)['state'] == 'reached'
    eyes.see(lambda: not eyes.there('path'))
    assert not any(eyes.there('reason', k) for k in range(len(eyes.scenes)))
    assert {colour(eyes.there('goal', k)[3]) for k in range(len(eyes.scenes))} == {'green'}
    assert np.allclose(place(eyes.there('goal')[3]).translation,
                       HERE.translation + [0.0, -0.3, 0.0])


def test_a_stream_clears_the_preview(system, eyes):
    """A stream has no known goal, so nothing is shown."""
    eyes.preview('pose', pose(HERE.translation + [0.0, 0.1, 0.0]))
    eyes.see(lambda: eyes.there('goal'))
    message = PoseStamped(pose=pose(HERE.translation))

    def cleared():
        system.send_goal('stream', message)  # best effort: one may be lost
        return not eyes.there('goal') and not eyes.there('ghost')

    eyes.see(cleared)
    system.wait(lambda: any(each['reason'] == 'STREAM_ENDED' for each in system.statuses))
    assert not eyes.there('goal')


# ---- path constraints -------------------------------------------------------

UP = HERE.rotation.T @ [0.0, 0.0, 1.0]  # in the tip
TILT = 0.3
KEPT = (Keep(position=(0.2, inf, 0.3), frame='start'),
        Keep(distance=0.4, pose=(*HERE.translation, 0.0, 0.0, 0.0, 1.0)),
        Keep(axis_distance=2.0), Keep(upright=TILT, axis=tuple(UP)))


def judged_cone(marker):
    """Check a cone: its lines begin at the tip, or join points at the tilt from the vertical."""
    assert marker.type == Marker.LINE_LIST
    lines = (line(marker) @ place(marker).rotation.T).reshape(-1, 2, 3)
    from_tip = ~lines[:, 0].any(axis=1)
    assert 4 <= from_tip.sum() < len(lines)
    for points in (lines[:, 1], lines[~from_tip, 0]):
        assert np.allclose(np.arccos(points[:, 2] / np.linalg.norm(points, axis=1)), TILT)
        assert np.allclose(points[:, :2].min(axis=0), -points[:, :2].max(axis=0))  # all around


def test_what_a_motion_keeps_is_shown_until_its_end(system, eyes):
    """Where it is when the motion begins: a box at the tip, a ball, a tube, and a cone."""
    system.change('/ik_node', motion__keep=keeps_text(KEPT), motion__velocity_scale=0.05)
    stamp = system.send(HERE.translation + [0.0, 0.1, 0.0], QUAT)
    eyes.see(lambda: eyes.there('path_constraint'))
    box, ball, tube, cone = (eyes.there('path_constraint')[k] for k in range(4))
    for shown, kind, size, T in (
            (box, Marker.CUBE, (0.4, 2.0, 0.6), HERE),
            (ball, Marker.SPHERE, (0.8, 0.8, 0.8), pin.SE3(np.eye(3), HERE.translation)),
            (tube, Marker.CYLINDER, (4.0, 4.0, 2.0), pin.SE3.Identity())):
        assert shown.type == kind and 0.0 < shown.color.a < 0.5
        assert np.allclose([shown.scale.x, shown.scale.y, shown.scale.z], size)
        assert place(shown).isApprox(T, 1e-4)
    judged_cone(cone)
    assert np.allclose(place(cone).translation, HERE.translation, atol=1e-4)
    system.change('/ik_node', motion__velocity_scale=0.5)
    assert system.final(stamp)['state'] == 'reached'
    eyes.see(lambda: not eyes.there('path'))
    assert [eyes.scenes[-1]['path_constraint', k].action for k in range(4)] == 4 * [Marker.DELETE]


def test_what_a_stream_keeps_is_shown_until_its_end(system, eyes):
    """There is no goal, so nothing else is shown."""
    system.change('/ik_node', motion__keep=keeps_text(KEPT[-1:]))
    message = PoseStamped(pose=pose(HERE.translation, HERE.rotation))

    def kept():
        system.send_goal('stream', message)  # best effort: one may be lost
        return eyes.there('path_constraint')

    eyes.see(kept)
    assert not eyes.there('goal')
    judged_cone(eyes.there('path_constraint')[0])
    eyes.see(lambda: not eyes.there('path_constraint'))
    system.wait(lambda: any(each['reason'] == 'STREAM_ENDED' for each in system.statuses))


def test_a_plan_keeps_what_the_motion_would(system, eyes):
    """It is the motion that the goal would be; what it keeps is shown with it."""
    system.change('/ik_node', motion__keep=keeps_text([Keep(
        position=(inf, inf, 0.01), pose=(*HERE.translation, 0.0, 0.0, 0.0, 1.0))]))
    eyes.preview('pose', pose(HERE.translation + [0.0, -0.4, 0.0], HERE.rotation))
    said = eyes.plan()
    assert said.success, said
    eyes.see(lambda: eyes.there('path'))
    heights = line(eyes.there('path')[0])[:, 2] - HERE.translation[2]
    assert np.abs(heights).max() < 0.01 + 1e-6
    assert list(eyes.there('path_constraint')) == [0]
    system.change('/ik_node', motion__keep='')
    eyes.plan()
    eyes.see(lambda: not eyes.there('path_constraint'))
    heights = line(eyes.there('path')[0])[:, 2] - HERE.translation[2]
    assert np.abs(heights).max() > 0.012  # the direct motion would not


@pytest.mark.parametrize('given, size', [
    ({'position': (0.0, 0.5, inf)}, (0.002, 1.0, 2.0)),
    ({'position': (1e9, 1e9, 0.5)}, (2.0, 2.0, 1.0)), ({'distance': 1e9, 'tilt': 0.1}, None),
    ({'axis_distance': 0.25}, (0.5, 0.5, 2.0)), ({'rotation': (0.1, 0.1, inf)}, None)])
def test_widths_that_cannot_be_drawn(given, size):
    """What is exact can still be seen, and what is free has an end; a free region is no body."""
    made = constraint_markers([PathConstraint(np.eye(4), **given)], np.zeros(3), 'base', 0.1)
    bodies = [each for each in made if each.type != Marker.LINE_LIST]
    assert [(each.scale.x, each.scale.y, each.scale.z) for each in bodies] == \
        ([] if size is None else [size])
    assert len(made) - len(bodies) == ('tilt' in given)
