# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a URDF, against Pinocchio; what cannot be drawn is said and left out."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from ik_node.model.description.shapes import link_shapes
from ik_node.model.description.urdf import parse_urdf, read_urdf

URDF = Path(__file__).parents[2] / 'urdf'


@pytest.mark.parametrize('name', ['six_axis_arm', 'parallel_axes_arm'])
def test_visuals_agree_with_pinocchio(name):
    """Pose and size agree, in the order of the file within each link."""
    path = URDF / f'{name}.urdf'
    by_link = link_shapes(read_urdf(path), 'visual')
    model = pin.buildModelFromUrdf(str(path))
    shapes = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.VISUAL).geometryObjects
    assert len(shapes) == sum(map(len, by_link.values())) > 90
    for shape in shapes:
        link, _, number = shape.name.rpartition('_')
        visual = by_link[link][int(number)]
        T = shape.placement.homogeneous
        to_link = model.frames[model.getFrameId(link, pin.FrameType.BODY)].placement
        assert np.allclose(to_link.homogeneous @ visual.T_link_shape, T, atol=1e-12)
        shape.geometry.computeLocalAABB()
        box = shape.geometry.aabb_local
        assert np.allclose(box.max_ - box.min_, visual.extent)


def drawn(visual):
    return link_shapes(parse_urdf(f'''<robot name="r"><link name="a"><visual>{visual}</visual>
        </link><link name="b"/><joint name="j" type="continuous"><parent link="a"/>
        <child link="b"/>
        <axis xyz="0 0 1"/></joint></robot>'''), 'visual')['a']


def test_a_mesh():
    """The file name is that of the URDF; the default scale is 1."""
    [visual] = drawn(
        '<origin xyz="1 2 3" rpy="0 0 1"/><geometry><mesh filename="package://p/a b.dae"/>'
        '</geometry>')
    assert (visual.kind, visual.uri) == ('mesh', 'package://p/a b.dae')
    assert visual.extent == (1.0, 1.0, 1.0)
    assert np.allclose(visual.T_link_shape, pin.SE3(
        pin.rpy.rpyToMatrix(0.0, 0.0, 1.0), np.array([1.0, 2.0, 3.0])).homogeneous)
    [visual] = drawn('<geometry><mesh filename="m" scale="1 -2 3"/></geometry>')
    assert visual.extent == (1.0, -2.0, 3.0)


@pytest.mark.parametrize('visual, words', [
    ('', "'nothing'"),
    ('<geometry/>', "'nothing'"),
    ('<geometry><capsule radius="1" length="2"/></geometry>', "'capsule'"),
    ('<geometry><box size="1 2"/></geometry>', "box size needs 3 finite numbers, got '1 2'"),
    ('<geometry><box size="1 2 nan"/></geometry>', "'1 2 nan'"),
    ('<geometry><box size="1 2 -3"/></geometry>', 'has the size 1.0 2.0 -3.0'),
    ('<geometry><sphere/></geometry>', 'sphere radius'),
    ('<geometry><cylinder radius="0" length="1"/></geometry>', 'has the size'),
    ('<geometry><mesh/></geometry>', 'no filename'),
    ('<origin xyz="a b c"/><geometry><sphere radius="1"/></geometry>', "'a b c'")])
def test_invalid_shapes(visual, words):
    """Each has a sentence that says why it cannot be drawn."""
    [shape] = drawn(visual)
    assert not shape.kind and words in shape.fault
