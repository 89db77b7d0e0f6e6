# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arms of robots with two arms, found in their URDFs, and what is said of the others."""

import pytest
import robots

from ik_node.base.errors import ChainError, ParameterError
from ik_node.kinematics.tree.kinematic_tree import make_tree
from ik_node.model.arms import (
    arm_names,
    default_controller,
    GivenArms,
    robot_arms,
    simulated,
)
from ik_node.model.description.urdf import parse_urdf, read_urdf
from ik_node.motion.tree_motion import checked_controllers

BAXTER = 'baxter_description/urdf/baxter.urdf'
PR2 = 'pr2_description/urdf/pr2.urdf'
PR2_JOINTS = ('shoulder_pan', 'shoulder_lift', 'upper_arm_roll', 'elbow_flex', 'forearm_roll',
              'wrist_flex', 'wrist_roll')
TORSO = 'torso_controller', 'torso_lift_joint'


def numbered(pattern, count=7):
    """Return the names of joints that differ by a number and by the side."""
    return [pattern.replace('#', str(k + 1)) for k in range(count)]


def turns(prefix, suffix, *names):
    return [f'{prefix}{name}{suffix}' for name in names]


# By hand from the URDFs: base, tip and joints of one arm; the other one has the other word.
NAO_LIKE = turns('L', '', 'ShoulderPitch', 'ShoulderYaw', 'ElbowRoll', 'ElbowYaw', 'WristRoll',
                 'WristYaw', 'WristPitch')
ALEX = turns('Left', '', 'ShoulderPitch', 'ShoulderRoll', 'ShoulderYaw', 'ElbowPitch', 'WristYaw',
             'WristRoll')
G1 = turns('left_', '_joint', 'shoulder_pitch', 'shoulder_roll', 'shoulder_yaw', 'elbow',
           'wrist_roll', 'wrist_pitch', 'wrist_yaw')
ICUB = turns('l_', '', 'shoulder_pitch', 'shoulder_roll', 'shoulder_yaw', 'elbow', 'wrist_prosup',
             'wrist_pitch', 'wrist_yaw')
HUMANOID = turns('LARM_', '', 'SHOULDER_P', 'SHOULDER_R', 'SHOULDER_Y', 'ELBOW', 'WRIST_Y',
                 'WRIST_P', 'WRIST_R')
PAL = numbered('arm_left_#_joint')
TALOS = 'torso_2_link', 'wrist_left_ft_tool_link', PAL
EXPECTED = {
    BAXTER: ('base', 'left_gripper', turns('left_', '', 's0', 's1', 'e0', 'e1', 'w0', 'w1', 'w2')),
    PR2: ('torso_lift_link', 'l_gripper_tool_frame', turns('l_', '_joint', *PR2_JOINTS)),
    'alex_description/urdf/alex_nub_hands.urdf': ('Torso', 'LeftWristRollLink', ALEX),
    'alex_description/urdf/alex_psyonic_hands.urdf': ('Torso', 'LeftWristRollLink', ALEX),
    'alex_description/urdf/alex_sake_hands.urdf': ('Torso', 'LeftWristRollLink', ALEX),
    'centauro_description/urdf/centauro.urdf': ('torso_2', 'arm1_6', numbered('j_arm1_#', 6)),
    'g1_description/urdf/g1_29dof_rev_1_0.urdf': ('torso_link', 'left_rubber_hand', G1),
    'g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf': (
        'torso_link', 'left_wrist_yaw_link', G1),
    'icub_description/robots/icub.urdf': ('chest', 'l_hand', ICUB),
    'icub_description/robots/icub_reduced.urdf': ('chest', 'l_hand', ICUB),
    'romeo_description/urdf/romeo.urdf': ('torso', 'l_gripper', NAO_LIKE),
    'romeo_description/urdf/romeo_small.urdf': ('torso', 'l_gripper', NAO_LIKE),
    'romeo_description/urdf/romeo_laas_small.urdf': (
        'torso', 'l_wrist', [f'{name}_joint' for name in NAO_LIKE]),
    'simple_humanoid_description/urdf/simple_humanoid.urdf': ('torso', 'l_wrist', HUMANOID),
    'simple_humanoid_description/urdf/simple_humanoid_classical.urdf': (
        'torso', 'l_wrist', HUMANOID),
    'talos_data/robots/talos_full_v2.urdf': TALOS,
    'talos_data/robots/talos_full_v2_box.urdf': TALOS,
    'talos_data/robots/talos_reduced.urdf': TALOS,
    'talos_data/robots/talos_reduced_box.urdf': TALOS,
    'talos_data/robots/talos_reduced_corrected.urdf': TALOS,
    'tiago_description/robots/tiago_dual.urdf': (
        'torso_lift_link', 'hand_left_grasping_frame', PAL),
    'tiago_pro_description/robots/tiago_pro.urdf': (
        'torso_lift_link', 'arm_left_tool_link', PAL)}
OTHER_SIDE = ('left', 'right'), ('Left', 'Right'), ('LARM', 'RARM'), ('arm1', 'arm2')


def mirrored(name):
    """Return the name of the same part of the other arm."""
    for one, other in OTHER_SIDE:
        if one in name:
            return name.replace(one, other)
    return {'l': 'r', 'L': 'R'}[name[0]] + name[1:]


@pytest.mark.parametrize('file', EXPECTED)
def test_the_arms_of_real_robots(file):
    """Base, tips and joints of both arms, and no leg, head or finger; the tree has no other."""
    tree = read_urdf(robots.REAL / file)
    base, tip, joints = EXPECTED[file]
    names = ('arm1', 'arm2') if 'arm1' in tip else ('left', 'right')
    found = robot_arms(tree)
    assert found.base_link == base and found.names == names
    assert found.tip_links == (tip, mirrored(tip))
    assert [*found.controllers.values()] == [tuple(joints), tuple(map(mirrored, joints))]
    assert [*found.supposed.values()] == [*names]
    kinematics = make_tree(tree, found.base_link, found.tip_links)
    assert {*kinematics.joint_names} == {*joints, *map(mirrored, joints)}


def test_each_urdf_that_shows_no_two_arms_is_refused():
    """Not one of the other URDFs: quadrupeds, single arms, hands, and legs."""
    refused = []
    for file in sorted(robots.REAL.rglob('*.urdf')):
        try:
            tree = read_urdf(file)
        except Exception:  # noqa: BLE001 - which URDFs can be read is tested elsewhere
            continue
        if str(file.relative_to(robots.REAL)) not in EXPECTED:
            with pytest.raises(ChainError, match='no two arms of 5 to 7 joints on one link'):
                robot_arms(tree)
            refused.append(file.stem)
    assert {'ur5_robot', 'anymal', 'b1-z1', 'alexander_v1.lowerBodyOnly', 'human'} <= {*refused}


def arm(name, parent, count=6, link='{}_link{}'):
    """Return the text of a series of joints; the link of the last one is NAME_link<count>."""
    text = ''
    for k in range(1, count + 1):
        child = link.format(name, k)
        text += (f'<link name="{child}"/><joint name="{name}_joint{k}" type="revolute">'
                 f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 {k % 2} '
                 f'{1 - k % 2}"/><origin xyz="0.1 0 0"/>'
                 '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>')
        parent = child
    return text


def lift(name, parent, child):
    return (f'<link name="{child}"/><joint name="{name}" type="prismatic">'
            f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/>'
            '<limit lower="0" upper="1" velocity="1" effort="1"/></joint>')


def robot(*parts):
    return parse_urdf(f'<robot name="mine"><link name="world"/><link name="table"/>'
                      '<joint name="stand" type="fixed"><parent link="world"/>'
                      f'<child link="table"/></joint>{"".join(parts)}</robot>')


def test_single_arms_on_a_table():
    """Each has a base link of its own, fixed to the table: the table is the base of both."""
    parts = [f'<link name="{side}_base_link"/><joint name="{side}_mount" type="fixed">'
             f'<parent link="table"/><child link="{side}_base_link"/></joint>'
             + arm(side, f'{side}_base_link') for side in ('left', 'right')]
    found = robot_arms(robot(*parts))
    assert found.base_link == 'table' and found.tip_links == ('left_link6', 'right_link6')


def test_a_lift_of_its_own_is_of_the_arm():
    found = robot_arms(robot(arm('left', 'table'), lift('up', 'table', 'plate'),
                             arm('right', 'plate')))
    assert found.base_link == 'table'
    assert found.controllers['right_arm_controller'][:2] == ('up', 'right_joint1')


def test_what_carries_the_arms_belongs_to_them_if_it_has_a_controller():
    """Else it is where it is measured, and the base is behind it."""
    tree = read_urdf(robots.REAL / PR2)
    free = robot_arms(tree, GivenArms(controllers=[TORSO[0]], controller_joints=[TORSO[1]]))
    assert free.base_link == 'base_link'
    assert free.controllers.keys() == {TORSO[0], 'left_arm_controller', 'right_arm_controller'}
    assert free.supposed.keys() == {'left_arm_controller', 'right_arm_controller'}
    kinematics = make_tree(tree, free.base_link, free.tip_links)
    assert kinematics.n == 15
    assert checked_controllers(kinematics, free.controllers) == free.controllers


def test_what_is_given_wins():
    """Base, tips, names and controllers, each alone."""
    tree = read_urdf(robots.REAL / BAXTER)
    assert robot_arms(tree, GivenArms(base_link='torso')).base_link == 'torso'
    assert robot_arms(tree, GivenArms(names=['l', 'r'])).supposed == {
        'l_arm_controller': 'l', 'r_arm_controller': 'r'}
    tips = robot_arms(tree, GivenArms(tip_links=['right_wrist', 'left_wrist']))
    assert tips.names == ('right', 'left') and tips.tip_links == ('right_wrist', 'left_wrist')
    assert tips.base_link == 'base' and len(tips.controllers['right_arm_controller']) == 6 + 1
    in_turn = robot_arms(tree, GivenArms(controllers=['one/', 'other']))
    assert in_turn.supposed == {} and in_turn.controllers.keys() == {'one', 'other'}
    assert in_turn.controllers['one'][0] == 'left_s0'
    right = robot_arms(tree, GivenArms(controllers=['mine'], controller_joints=[
        ' '.join(in_turn.controllers['other'])]))
    assert right.supposed == {'left_arm_controller': 'left'}


@pytest.mark.parametrize('given, words', [
    (GivenArms(base_link='pelvis'), "the link 'pelvis' is not in the URDF"),
    (GivenArms(tip_links=['left_gripper', 'hand']), "the link 'hand' is not in the URDF"),
    (GivenArms(names=['one']), 'arms has 1 names'),
    (GivenArms(names=['one', 'one']), '1 different'),
    (GivenArms(names=['my arm', 'r']), "the name 'my arm'"),
    (GivenArms(names=['a/b', 'r']), "the name 'a/b'"),
    (GivenArms(names=['1x', 'r']), "the name '1x'"),
    (GivenArms(names=['left__x', 'r']), "the name 'left__x'"),
    (GivenArms(names=['stop', 'r']), "the name 'stop'"),
    (GivenArms(names=['left', 'left_arm']), "'left_arm_controller' would be the controller of"),
    (GivenArms(controllers=['a', 'a']), r'controllers has 2 names \(1 different\)'),
    (GivenArms(controllers=['a']), 'controllers has 1 names .* controller_joints 0 entries')])
def test_what_cannot_be_is_one_sentence(given, words):
    with pytest.raises(ParameterError, match=words):
        robot_arms(read_urdf(robots.REAL / BAXTER), given)


@pytest.mark.parametrize('parts, words', [
    ([arm('left', 'table')], "or move the one arm by ik_node; chains in the URDF: 'table' -> "),
    ([arm('left', 'table', 4), arm('right', 'table', 4)], r"'left_link4' \(4 joints\)"),
    ([lift('up', 'table', 'plate'), *(arm(f'{side}_{row}', link) for side in ('left', 'right')
                                      for row, link in (('upper', 'plate'), ('lower', 'table')))],
     'there are 2 groups of arms; name the tips of the arms by tip_links; chains'),
    ([arm('leg_left', 'table'), arm('leg_right', 'table')], 'no two arms')])
def test_urdfs_without_two_arms_say_what_is_there(parts, words):
    with pytest.raises(ChainError, match=words):
        robot_arms(robot(*parts))


@pytest.mark.parametrize('tips, names', [
    # Tips of descriptions that are not here: Reachy 2, YuMi, NEXTAGE, OpenArm, AgiBot, two UR.
    (('l_arm_tip', 'r_arm_tip'), ('left', 'right')),
    (('yumi_link_7_r', 'yumi_link_7_l'), ('right', 'left')),
    (('RARM_JOINT5_Link', 'LARM_JOINT5_Link'), ('right', 'left')),
    (('openarm_left_hand_tcp', 'openarm_right_hand_tcp'), ('left', 'right')),
    (('gripper_l_center_link', 'gripper_r_center_link'), ('left', 'right')),
    (('left_tool0', 'right_tool0'), ('left', 'right')),
    (('leftPalm', 'rightPalm'), ('left', 'right')),
    (('fl_link6', 'fr_link6'), ('fl', 'fr')),
    (('robot1_tool0', 'robot2_tool0'), ('robot1', 'robot2')),
    (('left_upper_tool', 'left_lower_tool'), ('upper', 'lower')),
    (('tool', 'tool.2'), ('arm_1', 'arm_2')), (('stop_tip', 'go_tip'), ('stop_tip', 'go_tip'))])
def test_names(tips, names):
    """Sides in any spelling, else what differs, as far as that can be a name."""
    parts = [arm(f'chain{k}', 'table').replace(f'"chain{k}_link6"', f'"{tip}"')
             for k, tip in enumerate(tips)]
    assert arm_names(robot(*parts), tips) == names


def test_sides_by_the_joints():
    """Where the tips do not tell them."""
    parts = [arm(f'arm_{side}', 'table', link=f'part{k}' + '{1}') for k, side in enumerate('RL')]
    assert arm_names(robot(*parts), ('part06', 'part16')) == ('right', 'left')


def test_the_usual_names_of_controllers():
    assert default_controller('left') == 'left_arm_controller'
    assert default_controller('arm1') == 'arm1_controller'


def test_a_simulated_controller_for_each():
    """Each is a chain; one of them publishes what none moves."""
    tree = read_urdf(robots.REAL / PR2)
    arms = robot_arms(tree, GivenArms(controllers=[TORSO[0]], controller_joints=[TORSO[1]]))
    found = simulated(tree, arms)
    assert {name: (each['base_link'], each['tip_link']) for name, each in found.items()} == {
        TORSO[0]: ('base_link', 'torso_lift_link'),
        'left_arm_controller': ('torso_lift_link', 'l_gripper_tool_frame'),
        'right_arm_controller': ('torso_lift_link', 'r_gripper_tool_frame')}
    assert [each['fixed_joints'] for each in found.values()] == [True, False, False]
    assert {*found[TORSO[0]]['moved_joints']} == {
        f'{side}_{name}_joint' for side in 'lr' for name in PR2_JOINTS}
    both = {'both': tuple(joint for each in arms.controllers.values() for joint in each)}
    with pytest.raises(ParameterError, match="the joints of 'both' are no chain"):
        simulated(tree, arms._replace(controllers=both))
