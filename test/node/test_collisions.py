# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The collision model that the parameters of the node ask for."""

import logging

import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.node.robot.collisions import load_collisions
from ik_node.node.robot.settings import start_options
from ik_node.ros.parameters.tables import IK_NODE

ARM = 'six_axis_arm'
POSTURE = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])


def loaded(**given):
    """Return the model with some parameters of the group collision."""
    values = {row.name: row.default for row in IK_NODE}
    values |= {f'collision.{name}': value for name, value in given.items()}
    return load_collisions(robots.tree(ARM), robots.chain(ARM), start_options(values),
                           logging.getLogger())


def test_single_links_have_a_padding_of_their_own():
    """Distances are less by the paddings of both links."""
    bare = loaded()
    model = loaded(padding=0.005, link_padding=('link_5=0.02', ''))
    paddings = {body.name: body.padding for body in model.bodies}
    assert paddings == {body.name: 0.02 if body.name == 'link_5' else 0.005
                        for body in bare.bodies}
    before, after = bare.distances(POSTURE), model.distances(POSTURE)
    apart = before > 0.05
    expected = [sum(paddings[name] for name in bare.names_of(k)) for k in np.flatnonzero(apart)]
    assert np.allclose((before - after)[apart], expected, atol=1e-6) and apart.sum() > 2


def test_a_padding_of_a_frame_is_told(caplog):
    """It changes nothing: there is no body."""
    loaded(padding=0.005)
    assert not caplog.messages
    loaded(link_padding=('tool0=0.01',))
    assert ["'tool0', which has no geometry" in each for each in caplog.messages] == [True]


@pytest.mark.parametrize('text, words', [
    ('link_5', "takes the name of a link and metres, such as 'hand=0.01'"),
    ('link_5=thick', "has 'link_5=thick'"),
    ('link_9=0.01', "'link_9', which is not in the URDF"),
    ('link_5=-0.01', "'link_5'"),
    ('link_5=nan', "'link_5'"),
])
def test_paddings_that_cannot_be(text, words):
    """One sentence says which and why."""
    with pytest.raises(ParameterError, match=words):
        loaded(link_padding=(text,))


@pytest.mark.parametrize('text, what', [
    ('joint_1', "such as 'lid=1.2'"), ('joint_1=x', "such as 'lid=1.2'"),
    ('joint_l=1.0', 'did you mean'), ('joint_1=nan', 'finite positions')])
def test_other_joints_that_cannot_be(text, what):
    """What is given, and what is taken."""
    with pytest.raises(ParameterError, match='collision.other_joints has') as error:
        loaded(other_joints=(text,))
    assert what in str(error.value)
