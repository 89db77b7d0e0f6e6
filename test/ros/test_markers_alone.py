# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Markers of nodes that begin for a test: without a robot, with a prefix and another tool."""

from harness import ARM, pose, process, READY, run_system, tip
import numpy as np
import pinocchio as pin
from scenes import colour, Eyes, HERE, numbers, place, values

TOOL = '''
  <link name="tool0">
    <visual><origin xyz="0.01 0 0.02" rpy="0 0 1.5"/>
      <geometry><mesh filename="package://tools/hand.stl" scale="0.001 0.002 0.003"/></geometry>
      <material name="steel"/></visual>
    <visual><geometry><box size="0.1 -1 0.1"/></geometry></visual>
  </link>
  <link name="wheel"><visual><geometry><sphere radius="0.0123"/></geometry></visual></link>
  <joint name="wheel_joint" type="revolute"><parent link="tool0"/><child link="wheel"/>
    <origin xyz="0.05 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-9" upper="9" effort="1" velocity="20"/>
    <mimic joint="joint_6" multiplier="0.5" offset="0.1"/></joint>
  <link name="finger"><visual><geometry><cylinder radius="0.0234" length="0.05"/></geometry>
  </visual></link>
  <joint name="finger_joint" type="prismatic"><parent link="tool0"/><child link="finger"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="0.1" effort="1" velocity="1"/></joint>
'''


def test_before_there_is_a_robot(tmp_path, probe):
    """A preview is answered, with what is missing: the description, the joint states."""
    eyes = Eyes(probe)
    with process('ik_node', tmp_path):
        probe.wait_for_node()
        answer = eyes.preview('pose', pose((0.4, 0.0, 0.4)))
        assert values(answer)['reason'] == 'MODEL_MISSING'
        assert 'no robot description' in answer.message
        response = eyes.plan()
        assert not response.success
    with process('ik_node', tmp_path, {'urdf_file': ARM}):
        probe.wait(lambda: not probe.count_publishers('/ik_node/preview') > 1)
        probe.wait_for_node()
        answer = eyes.preview('pose', pose((0.4, 0.0, 0.4)))
        assert values(answer)['reason'] == 'STATE_MISSING'
        eyes.see(lambda: eyes.there('goal'))
        assert colour(eyes.there('goal')[3]) == 'red' and not eyes.there('ghost')


def test_a_plan_before_any_preview(tmp_path, probe):
    """Says what to do first."""
    with run_system(tmp_path, probe):
        response = Eyes(probe).plan()
        assert not response.success and '/ik_node/preview_pose' in response.message


def test_prefix_meshes_and_other_joints(tmp_path, probe):
    """A mesh by the URDF's name for it, a wheel that follows, a finger that stays."""
    source = ARM.read_text().replace('<link name="tool0"/>', TOOL)
    urdf = tmp_path / 'arm.urdf'
    urdf.write_text(source)
    model = pin.buildModelFromXML(source)
    with run_system(tmp_path, probe, {
            'urdf_file': urdf, 'tip_link': 'tool0', 'frame_prefix': 'left/'}, {
            'urdf_file': urdf, 'tip_link': 'tool0'}):
        eyes = Eyes(probe, frame='left/base_link', look=False)
        R = tip(READY).rotation
        answer = eyes.preview('pose', pose(HERE.translation + [0.0, 0.1, 0.0], R),
                              'left/base_link')
        q = numbers(answer)
        eyes.look()  # nobody has looked so far
        eyes.see(lambda: eyes.there('ghost'))
        ghost = eyes.there('ghost')
        data, at = model.createData(), {f'joint_{k + 1}': q[k] for k in range(6)}
        heard = dict(zip(probe.states[-1][1].name, probe.states[-1][1].position))
        at |= {'wheel_joint': 0.5 * q[5] + 0.1, 'finger_joint': heard['finger_joint']}
        pin.framesForwardKinematics(model, data, np.array([at[name] for name in model.names[1:]]))

        def of(link):
            return data.oMf[model.getFrameId(link, pin.FrameType.BODY)]

        mesh = next(each for each in ghost.values() if each.mesh_resource)
        assert mesh.type == 10 and mesh.mesh_resource == 'package://tools/hand.stl'
        assert not mesh.mesh_use_embedded_materials
        assert (mesh.scale.x, mesh.scale.y, mesh.scale.z) == (0.001, 0.002, 0.003)
        expected = of('tool0') * pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 1.5),
                                         np.array([0.01, 0.0, 0.02]))
        assert np.allclose(place(mesh).homogeneous, expected.homogeneous, atol=1e-7)
        wheel = next(each for each in ghost.values() if each.scale.x == 0.0246)
        assert np.allclose(place(wheel).homogeneous, of('wheel').homogeneous, atol=1e-7)

        finger = next(each for each in ghost.values() if each.scale.x == 0.0468)
        assert np.allclose(place(finger).homogeneous, of('finger').homogeneous, atol=1e-7)
        probe.wait(lambda: "visual of the link 'tool0' is not drawn" in probe.node.output)
