# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Finding the arm: real robots with one arm, with two, with hands, legs and wheels."""

import pytest
import robots

from ik_node.base.errors import ChainError
from ik_node.kinematics.arm import load_urdf
from ik_node.model.arm_search import candidates, find_arm, MAX_LISTED_ARMS
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf, read_urdf

# File in example-robot-data -> base link, tip link, joints.
ONE_ARM = {
    'anymal_b_simple_description/robots/anymal-kinova.urdf': (
        'base', 'j2s6s200_end_effector', 6),
    'b1_description/urdf/b1-z1.urdf': ('base', 'link06', 6),
    'finger_edu_description/robots/finger_edu.urdf': ('base_link', 'finger_lower_link', 3),
    'hextilt_description/urdf/hextilt_flying_arm_5.urdf': (
        'hextilt__base_link', 'flying_arm_5__gripper', 5),
    'panda_description/urdf/panda_collision.urdf': ('panda_link0', 'panda_hand_tcp', 7),
    'so_arm_description/urdf/so100.urdf': ('base', 'gripper', 5),
    'so_arm_description/urdf/so101.urdf': ('base_link', 'gripper_frame_link', 5),
    'talos_data/robots/talos_left_arm.urdf': ('arm_left_1_link', 'wrist_left_ft_tool_link', 6),
    'tiago_description/robots/tiago.urdf': ('torso_lift_link', 'hand_grasping_frame', 7),
    'tiago_description/robots/tiago_no_hand.urdf': ('torso_lift_link', 'arm_tool_link', 7),
    'ur_description/urdf/ur3_gripper.urdf': ('base_link', 'tool0', 6),
}
# The same, for each chain that can be taken for an arm.
SEVERAL = {
    'baxter_description/urdf/baxter.urdf': [
        ('base', 'right_gripper', 7), ('base', 'left_gripper', 7)],
    'pr2_description/urdf/pr2.urdf': [
        ('torso_lift_link', 'r_gripper_tool_frame', 7),
        ('torso_lift_link', 'l_gripper_tool_frame', 7)],
    'tiago_description/robots/tiago_dual.urdf': [
        ('torso_lift_link', 'hand_left_grasping_frame', 7),
        ('torso_lift_link', 'hand_right_grasping_frame', 7)],
    'tiago_pro_description/robots/tiago_pro.urdf': [
        ('torso_lift_link', 'arm_left_tool_link', 7),
        ('torso_lift_link', 'arm_right_tool_link', 7)],
    'g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf': [
        ('torso_link', 'left_wrist_yaw_link', 7), ('torso_link', 'right_wrist_yaw_link', 7),
        ('pelvis', 'left_ankle_roll_link', 6), ('pelvis', 'right_ankle_roll_link', 6)],
    'a1_description/urdf/a1.urdf': [
        ('base', f'{leg}_calf', 3) for leg in ('FR', 'FL', 'RR', 'RL')],
    'human_description/robots/human.urdf': [
        ('middle_thorax', 'left_hand', 8), ('middle_thorax', 'right_hand', 8),
        ('middle_pelvis', 'left_foot', 6), ('middle_pelvis', 'right_foot', 6)],
}


def robot(*joints):
    """Return the tree of joints given as 'name parent child [type]'; '=leader' is a mimic."""
    links, texts = {}, []
    for joint in joints:
        name, parent, child, *kind = joint.split()
        links.update(dict.fromkeys((parent, child)))
        kind, _, leader = (kind[0] if kind else 'revolute').partition('=')
        texts.append(
            f'<joint name="{name}" type="{"revolute" if leader else kind}">'
            f'<parent link="{parent}"/><child link="{child}"/>'
            '<axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/>'
            + (f'<mimic joint="{leader}"/>' if leader else '') + '</joint>')
    return parse_urdf('<robot name="r">' + ''.join(f'<link name="{link}"/>' for link in links)
                      + ''.join(texts) + '</robot>')


def series(name, start, count, kind=''):
    """Return joints name0, name1, ... from a start link to the links name_1, name_2, ..."""
    links = [start, *(f'{name}_{k + 1}' for k in range(count))]
    return [f'{name}{k} {links[k]} {links[k + 1]} {kind}' for k in range(count)]


def refusal(tree, base_link='', tip_link=''):
    """Return the sentence with which a chain is refused."""
    with pytest.raises(ChainError) as caught:
        make_chain(tree, base_link, tip_link)
    return str(caught.value)


# ---- real robots ------------------------------------------------------------

@pytest.mark.parametrize('file', ONE_ARM)
def test_the_only_arm_is_found(file):
    """Legs, wheels, heads and hands are not taken for the arm."""
    arm = load_urdf(robots.REAL / file)
    assert (arm.base_link, arm.tip_link, arm.n) == ONE_ARM[file]


@pytest.mark.fault('robot description', 'several chains could be the arm, none is chosen',
                   'refused, with base, tip and joint count of each')
@pytest.mark.parametrize('file', SEVERAL)
def test_several_arms_are_all_named(file):
    """Each candidate is listed; what is listed can be loaded."""
    tree = read_urdf(robots.REAL / file)
    sentence = refusal(tree)
    assert 'choose one by base_link and tip_link' in sentence
    for base, tip, n in SEVERAL[file]:
        assert f"'{base}' -> '{tip}' ({n} joints)" in sentence
        assert make_chain(tree, base, tip).n == n
    assert sentence.count('->') == len(SEVERAL[file])


@pytest.mark.parametrize('file', SEVERAL)
def test_a_tip_chooses_the_arm(file):
    """The tip of a candidate is enough: its base is found; another link of its tip is, too."""
    tree = read_urdf(robots.REAL / file)
    for base, tip, n in SEVERAL[file]:
        if n <= 7:
            assert find_arm(tree, '', tip) == (base, tip)
            last = [joint for joint in tree.path_from_root(tip) if joint.moves][-1]
            assert find_arm(tree, '', last.child) == (base, last.child)


def test_a_tip_within_an_arm():
    """Inside an arm or beyond a gripper joint the base is that of the first joint."""
    tree = read_urdf(robots.REAL / 'tiago_description/robots/tiago_no_hand.urdf')
    assert make_chain(tree, '', 'arm_7_link').n == 7
    inside = make_chain(tree, '', 'arm_5_link')
    assert inside.joint_names == ('torso_lift_joint', *(f'arm_{k}_joint' for k in range(1, 6)))


def test_the_other_arm_is_not_offered_below_a_base():
    """With a base link, only chains below it are candidates, from it."""
    tree = read_urdf(robots.REAL / 'baxter_description/urdf/baxter.urdf')
    assert candidates(tree, 'right_arm_mount') == [('right_arm_mount', 'right_gripper', 7)]
    sentence = refusal(tree, 'torso')
    assert "below the base_link 'torso'" in sentence
    assert "'torso' -> 'left_gripper' (7 joints)" in sentence


@pytest.mark.fault('robot description', 'tip link like no other',
                   'refused, with the chains that there are')
@pytest.mark.parametrize('base, tip, words', [
    ('baselink', '', ("base_link 'baselink' is not in the URDF", "did you mean 'base_link'")),
    ('', 'Xqz99', ("tip_link 'Xqz99' is not in the URDF",)),
    ('tool0', 'base_link', ('the tip must be below the base',)),
    ('wrist_3_link', 'tool0', ('no joint moves between',)),
    ('tool0', '', ("below the base_link 'tool0'",))])
def test_wrong_links_get_the_candidates(base, tip, words):
    """Whatever is wrong with the links, the sentence ends with what there is."""
    sentence = refusal(robots.tree('ur5'), base, tip)
    assert sentence.endswith("'base_link' -> 'tool0' (6 joints)")
    for word in words:
        assert word in sentence


# ---- small robots -----------------------------------------------------------

@pytest.mark.parametrize('count', [1, 2, 3, 4, 5, 6, 7, 8])
def test_arms_of_three_to_seven_joints_are_found(count):
    """Shorter and longer chains are listed and can be chosen by name."""
    tree = robot(*series('j', 'base', count))
    if 3 <= count <= 7:
        assert find_arm(tree) == ('base', f'j_{count}')
    else:
        sentence = refusal(tree)
        assert 'no chain of 3 to 7 joints' in sentence
        assert f"'base' -> 'j_{count}' ({count} joint{'s' * (count > 1)})" in sentence
    assert make_chain(tree, 'base', f'j_{count}').n == count


def test_an_arm_with_a_gripper_of_two_fingers():
    """AL5D, OpenManipulator: four axes, two fingers, a fixed frame between the fingers."""
    tree = robot(*series('joint', 'base_link', 4), 'left joint_4 left_part prismatic',
                 'right joint_4 right_part =left', 'ee joint_4 end_effector_link fixed')
    chain = make_chain(tree)
    assert (chain.base_link, chain.tip_link, chain.n) == ('base_link', 'end_effector_link', 4)


@pytest.mark.parametrize('word', ['gripper', 'finger', 'jaw', 'claw', 'thumb', 'Left_Gripper_1'])
@pytest.mark.parametrize('count', [3, 5, 6, 7])
def test_gripper_joints_do_not_count(word, count):
    """Joints at the end that are named as a tool's belong to the tool; so do their mimics."""
    arm = series('j', 'base', count)
    assert find_arm(robot(*arm, f'{word}_joint j_{count} part')) == ('base', f'j_{count}')
    assert find_arm(robot(*arm, f'{word}_joint j_{count} part',
                          f'tilt part other ={word}_joint')) == ('base', f'j_{count}')
    # The same joint under another name counts.
    assert candidates(robot(*arm, f'other j_{count} part')) == [('base', 'part', count + 1)]


def test_long_fingers_are_not_arms():
    """Fingers of up to as many joints as the arm hang on it and are left out."""
    arm = series('j', 'base', 5)
    for fingers in (3, 5):
        tree = robot(*arm, *series('f', 'j_5', fingers), *series('g', 'j_5', fingers))
        assert candidates(tree) == [('base', 'j_5', 5)]


def test_a_torso_is_not_an_arm():
    """A torso of three joints that carries two arms is left out, and both arms are named."""
    tree = robot(*series('waist', 'pelvis', 3), *series('left', 'waist_3', 5),
                 *series('right', 'waist_3', 5))
    assert candidates(tree) == [('waist_3', 'left_5', 5), ('waist_3', 'right_5', 5)]
    sentence = refusal(tree)
    assert "'waist_3' -> 'left_5' (5 joints), 'waist_3' -> 'right_5' (5 joints)" in sentence


def test_a_six_axis_arm_is_preferred_to_short_legs():
    """Four legs of three joints do not hide the arm."""
    legs = [joint for leg in 'abcd' for joint in series(leg, 'trunk', 3)]
    assert find_arm(robot(*legs, *series('arm', 'trunk', 6))) == ('trunk', 'arm_6')
    assert '5 chains could be the arm' in refusal(robot(*legs, *series('arm', 'trunk', 5)))


def test_a_head_on_the_first_link_does_not_cut_the_arm():
    """Sawyer: the first of seven joints carries the screen, too; a lift is no arm joint."""
    sawyer = ['j0 base l0', 'head_pan l0 head', *series('arm', 'l0', 6)]
    assert find_arm(robot(*sawyer)) == ('base', 'arm_6')
    lift = ['lift base l0 prismatic', 'head_pan l0 head', *series('arm', 'l0', 6)]
    assert find_arm(robot(*lift)) == ('l0', 'arm_6')
    assert find_arm(robot('waist base l0', 'head_pan l0 head', *series('arm', 'l0', 7))) \
        == ('l0', 'arm_7')


def test_mimic_joints_are_not_counted():
    """A parallelogram arm of four axes and two mimic joints has four."""
    tree = robot(*series('j', 'base', 3), 'm j_3 m1 =j1', 'n m1 n1 =j2', 'last n1 flange')
    assert candidates(tree) == [('base', 'flange', 4)]
    assert make_chain(tree).n == 4


@pytest.mark.parametrize('kind', ['floating', 'planar'])
def test_an_arm_on_a_floating_base(kind):
    """A floating or planar joint is no joint of the arm; the arm begins behind it."""
    tree = robot(f'float world base_link {kind}', *series('j', 'base_link', 6))
    assert find_arm(tree) == ('base_link', 'j_6')
    sentence = refusal(tree, 'world', 'j_6')
    assert f'is {kind}' in sentence and "'base_link' -> 'j_6' (6 joints)" in sentence


def test_nothing_but_floating_joints():
    """Where no chain can be listed the sentence says why."""
    assert 'no revolute, continuous or prismatic joint' in refusal(
        robot('float world base floating', 'fix base tool fixed'))


def test_long_lists_are_cut():
    """Of many candidates the first are listed, and how many more there are."""
    legs = [joint for k in range(MAX_LISTED_ARMS + 3) for joint in series(f'leg{k}x', 'trunk', 3)]
    sentence = refusal(robot(*legs))
    assert sentence.count('->') == MAX_LISTED_ARMS and sentence.endswith(' and 3 more')


# ---- paths of files ---------------------------------------------------------

def test_a_urdf_in_a_package(tmp_path, monkeypatch):
    """package://NAME/PATH is found in the ament index; file:/// is read, too."""
    folder = tmp_path / 'share/my_robot/urdf'
    folder.mkdir(parents=True)
    file = folder / 'arm.urdf'
    file.write_bytes(robots.text('ur5'))
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/absent:{tmp_path}')
    assert load_urdf('package://my_robot/urdf/arm.urdf').n == 6
    assert load_urdf(f'file://{file}').n == 6
