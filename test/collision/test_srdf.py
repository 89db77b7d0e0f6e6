# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that an SRDF leaves out."""

from xml.etree import ElementTree

from hypothesis import given, settings, strategies as st
import pytest
import robots

from ik_node.base.errors import UrdfError
from ik_node.collision.scene.srdf import parse_group_states, read_group_states, read_srdf

SRDF = '''<?xml version="1.0"?><robot name="r"><group name="arm"><chain base_link="a"/></group>
<passive_joint name="wheel"/>
<disable_collisions link1="a" link2="b" reason="Adjacent"/>
<disable_collisions link1="c" link2="b"/></robot>'''


def test_pairs(tmp_path):
    """Text or file give the same pairs, in either order, with their reasons."""
    (tmp_path / 'r.srdf').write_text(SRDF)
    for source in (SRDF, '\ufeff\n' + SRDF, tmp_path / 'r.srdf', str(tmp_path / 'r.srdf')):
        pairs = read_srdf(source)
        assert len(pairs) == 2 and pairs.notes == ()
        assert ('a', 'b') in pairs and ('b', 'a') in pairs and ('b', 'c') in pairs
        assert ('a', 'c') not in pairs
        assert pairs.reasons[frozenset('ab')] == 'Adjacent' and not pairs.reasons[frozenset('bc')]


@pytest.mark.parametrize('name', [
    'panda_description/srdf/panda.srdf', 'ur_description/srdf/ur5.srdf',
    'pr2_description/srdf/pr2.srdf'])
def test_real_files(name):
    """All pairs of a real file are read, as another parser counts them."""
    path = robots.REAL / name
    expected = {frozenset((entry.get('link1'), entry.get('link2')))
                for entry in ElementTree.parse(path).getroot().iter('disable_collisions')}
    assert set(read_srdf(path).reasons) == {pair for pair in expected if len(pair) == 2}
    assert len(expected) > 5


@pytest.mark.parametrize('name', ['panda_description/srdf/panda.srdf',
                                  'pr2_description/srdf/pr2.srdf'])
def test_named_poses_of_real_files(name):
    """All group states, as another parser counts them, with all numbers of their joints."""
    path = robots.REAL / name
    expected = [*ElementTree.parse(path).getroot().iter('group_state')]
    states = read_group_states(path)
    assert [(state.name, state.group) for state in states] == [
        (each.get('name'), each.get('group')) for each in expected] and states
    for state, each in zip(states, expected):
        assert state.positions == {joint.get('name'): float(joint.get('value'))
                                   for joint in each.iter('joint')}
    assert path.read_text().splitlines()[states[0].line - 1].strip().startswith('<group_state')


def test_odd_named_poses():
    """What is no number stays a text, and what lacks an attribute is empty."""
    text = ('<robot><group_state name=" a "><joint name="j" value="1 2"/><joint name="k"/>'
            '<other name="x"/></group_state><group_state group="g"/></robot>')
    first, second = parse_group_states(text)
    assert (first.name, first.group, first.positions) == ('a', '', {'j': '1 2', 'k': ''})
    assert (second.name, second.group, second.positions) == ('', 'g', {})
    assert parse_group_states(SRDF) == ()


def test_entries_without_effect():
    """A link that is not there, a link with itself, and rules that are not read: each is noted."""
    text = SRDF.replace('<passive', '<disable_default_collisions link="a"/>\n<disable_collisions '
                        'link1="a" link2="a"/>\n<passive')
    pairs = read_srdf(text, ('a', 'b'))
    assert set(pairs.reasons) == {frozenset('ab')}
    default, twice, unknown = pairs.notes
    assert 'disable_default_collisions' in default and 'line 2' in default
    assert "'a' twice" in twice and 'line 3' in twice
    assert "'c'" in unknown and 'not in the URDF' in unknown


@pytest.mark.parametrize(('text', 'words'), [
    ('', 'Is a directory|cannot read'), ('/none/a.srdf', 'cannot read .*No such file'),
    ('a\0b', 'cannot read'), ('<robot', 'not an SRDF'), ('<sdf/>', "<sdf>, expected <robot>"),
    ('<!DOCTYPE a><robot/>', 'the SRDF has a document type'),
    ('<robot xmlns:xacro="x"><xacro:include/></robot>', 'xacro, not an SRDF'),
    ('<robot name="r"><link name="a"/></robot>', 'this is a URDF'),
    ('<robot><disable_collisions link1="a"/></robot>', "names 'a' and ''; it needs two links"),
    ('<robot>' * 80, 'the SRDF nests'),
])
@pytest.mark.fault('collision', 'an SRDF that cannot be read',
                   'one sentence that says what is wrong')
def test_invalid_srdf_is_refused(text, words):
    with pytest.raises(UrdfError, match=words) as error:
        read_srdf(text)
    assert '\n' not in str(error.value)


def test_an_empty_file(tmp_path):
    (tmp_path / 'a.srdf').write_bytes(b' \n')
    with pytest.raises(UrdfError, match='the SRDF is empty'):
        read_srdf(tmp_path / 'a.srdf')


@given(st.text(alphabet='<>/="ab \n&;:', max_size=60).map(lambda text: '<robot>' + text))
@settings(deadline=None)
def test_any_text(text):
    """Any text is read, or refused by one sentence."""
    try:
        read_srdf(text)
    except UrdfError as error:
        assert '\n' not in str(error)
