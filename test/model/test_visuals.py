# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a URDF, against Pinocchio; what cannot be drawn is said and left out."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from ik_node.model.urdf import parse_urdf, read_urdf
from ik_node.model.visuals import read_visuals, Shape

URDF = Path(__file__).parents[2] / 'urdf'


@pytest.mark.parametrize('name', ['six_axis_arm', 'parallel_axes_arm'])
def test_every_visual_is_where_pinocchio_has_it(name):
    """With its extent; in the order of the file within each link."""
    path = URDF / f'{name}.urdf'
    visuals, notes = read_visuals(read_urdf(path))
    assert not notes
    model = pin.buildModelFromUrdf(str(path))
    shapes = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.VISUAL).geometryObjects
    by_link = {}
    for visual in visuals:
        by_link.setdefault(visual.link, []).append(visual)
    assert len(shapes) == len(visuals) > 90
    for shape in shapes:
        link, _, number = shape.name.rpartition('_')
        visual = by_link[link][int(number)]
        T = shape.placement.homogeneous
        to_link = model.frames[model.getFrameId(link, pin.FrameType.BODY)].placement
        assert np.allclose(to_link.homogeneous @ visual.T_link_visual, T, atol=1e-12)
        shape.geometry.computeLocalAABB()
        box = shape.geometry.aabb_local
        assert np.allclose(box.max_ - box.min_, visual.size)


def robot(visual):
    return parse_urdf(f'''<robot name="r"><link name="a"><visual>{visual}</visual></link>
        <link name="b"/><joint name="j" type="continuous"><parent link="a"/><child link="b"/>
        <axis xyz="0 0 1"/></joint></robot>''')


def test_a_mesh():
    """Its name is as the URDF has it, its scale 1 if none is given."""
    [visual], _ = read_visuals(robot(
        '<origin xyz="1 2 3" rpy="0 0 1"/><geometry><mesh filename="package://p/a b.dae"/>'
        '</geometry>'))
    assert (visual.shape, visual.mesh) == (Shape.MESH, 'package://p/a b.dae')
    assert np.array_equal(visual.size, [1.0, 1.0, 1.0])
    assert np.allclose(visual.T_link_visual, pin.SE3(
        pin.rpy.rpyToMatrix(0.0, 0.0, 1.0), np.array([1.0, 2.0, 3.0])).homogeneous)
    [visual], _ = read_visuals(robot('<geometry><mesh filename="m" scale="1 -2 3"/></geometry>'))
    assert np.array_equal(visual.size, [1.0, -2.0, 3.0])


@pytest.mark.parametrize('visual, words', [
    ('', 'no geometry'),
    ('<geometry/>', 'no geometry'),
    ('<geometry><capsule radius="1" length="2"/></geometry>', "'capsule'"),
    ('<geometry><box size="1 2"/></geometry>', "size of its <box> is '1 2'"),
    ('<geometry><box size="1 2 nan"/></geometry>', "'1 2 nan'"),
    ('<geometry><box size="1 2 -3"/></geometry>', 'has the size [1.0, 2.0, -3.0]'),
    ('<geometry><sphere/></geometry>', 'radius of its <sphere>'),
    ('<geometry><cylinder radius="0" length="1"/></geometry>', 'has the size'),
    ('<geometry><mesh/></geometry>', 'no filename'),
    ('<origin xyz="a b c"/><geometry><sphere radius="1"/></geometry>', "'a b c'")])
def test_what_cannot_be_drawn(visual, words):
    """One note, no shape."""
    visuals, notes = read_visuals(robot(visual))
    assert not visuals and len(notes) == 1 and words in notes[0] and "link 'a'" in notes[0]
