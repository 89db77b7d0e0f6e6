# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What an allowed collision matrix means; also where moveit_msgs is not installed."""

from types import SimpleNamespace

import pytest

from ik_node.base.errors import ParameterError
from ik_node.collision.distances.model import ADJACENT_REASON, DISABLED_REASON
from ik_node.collision.scene.scene import Scene
from ik_node.node.scene.moveit_scene_messages import apply_matrix, MAX_DEFAULT_PAIRS, SceneTarget

LINKS = 'base', 'upper', 'fore', 'hand'
UNCHECKED = {frozenset(('base', 'upper')): ADJACENT_REASON, frozenset(('base', 'fore')): '',
             frozenset(('base', 'hand')): DISABLED_REASON, frozenset(('upper', 'hand')): ''}


def matrix(names=(), *touching, defaults=(), denied=()):
    """Return a matrix; names of `defaults` may touch all by default, those of `denied` not."""
    rows = [SimpleNamespace(enabled=[{one, other} in [*map(set, touching)] for other in names])
            for one in names]
    return SimpleNamespace(
        entry_names=names, entry_values=rows, default_entry_names=[*defaults, *denied],
        default_entry_values=[True] * len(defaults) + [False] * len(denied))


@pytest.fixture
def target():
    """Return a scene with a cup and a table."""
    scene = Scene('base', LINKS)
    scene.add_box('cup', (0.1, 0.1, 0.1))
    scene.add_box('table', (1.0, 1.0, 0.1))
    return SceneTarget(scene, set(), LINKS, lambda name: name.lstrip('/')
                       if name.lstrip('/') in LINKS else None, None, UNCHECKED)


def touches(target):
    """Return what objects may touch."""
    return {id: {*names} for id, names in target.scene.snapshot.touch_links.items()}


@pytest.mark.parametrize('made, touching, pairs, words', [
    (matrix(['cup', '/hand', 'table'], ('cup', '/hand'), ('cup', 'table')),
     {'cup': {'hand', 'table'}, 'table': {'cup'}}, {}, []),
    (matrix(['cup', 'gone'], ('cup', 'gone')), {}, {}, ["'gone'"]),
    (matrix(['gone', 'cup']), {}, {}, []),
    (matrix(defaults=['cup', '<octomap>']), {'cup': {*LINKS, 'table'}, 'table': {'cup'}}, {}, []),
    (matrix(['cup', 'hand'], defaults=['cup']),
     {'cup': {*LINKS, 'table'} - {'hand'}, 'table': {'cup'}}, {}, []),
    (matrix(defaults=['cup'], denied=['hand', 'table']), {'cup': {*LINKS} - {'hand'}}, {}, []),
    (matrix(defaults=['fore']), {'cup': {'fore'}, 'table': {'fore'}},
     {('base', 'fore'): True}, ['not checked']),
    (matrix(['upper', 'hand'], ('upper', 'hand')), {}, {('upper', 'hand'): True}, ['not checked']),
    (matrix(['base', 'upper', 'hand'], ('upper', 'hand')), {},
     {('upper', 'hand'): True, ('base', 'hand'): False},
     ['one joint', 'are checked', 'not checked']),
    (matrix(['base', '/base', 'hand'], ('base', 'hand'), ('/base', 'hand')), {}, {}, [])])
def test_allowed_collisions(target, made, touching, pairs, words):
    """By entry, by default, and of links only what differs from the robot and its SRDF."""
    apply_matrix(target, made)
    assert touches(target) == touching
    assert target.scene.snapshot.link_pairs == {frozenset(pair): value
                                                for pair, value in pairs.items()}
    notes = '\n'.join(target.notes)
    assert all(word in notes for word in words) and bool(notes) == bool(words), notes
    apply_matrix(target, matrix(['cup', 'hand'], ('cup', 'hand')))  # in place of the one before
    assert touches(target) == {'cup': {'hand'}} and not target.scene.snapshot.link_pairs


def test_matrices_that_are_none(target):
    """They change nothing, with a sentence."""
    lame = matrix(['cup', 'hand'])
    lame.entry_values[0].enabled[1] = True
    short, odd = matrix(['cup', 'hand']), matrix(defaults=['cup'])
    short.entry_values.pop()
    odd.default_entry_values = []
    for k in range(400):
        target.scene.add_sphere(f'ball{k}', 0.1)
    many = matrix(defaults=[f'ball{k}' for k in range(400)])
    assert 400**2 > MAX_DEFAULT_PAIRS
    before = target.scene.snapshot
    for made, words in ((lame, 'not symmetric'), (short, 'a row'), (odd, 'as many'),
                        (matrix(['cup', 'cup']), '1 different'), (many, 'name the pairs')):
        with pytest.raises(ParameterError, match=words):
            apply_matrix(target, made)
    assert target.scene.snapshot is before
