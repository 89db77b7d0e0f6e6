# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The arms: which file of which package, from which link to which link.

The descriptions come with pip packages, so that nothing is downloaded:
example-robot-data (https://github.com/Gepetto/example-robot-data), rtb-data
(https://github.com/petercorke/robotics-toolbox-python, rtb-data) and pybullet
(https://github.com/bulletphysics/bullet3, pybullet_data), besides our own two.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
import sysconfig

PACKAGES = {
    'example-robot-data':
        Path(sysconfig.get_path('purelib')) / 'cmeel.prefix/share/example-robot-data/robots',
    'rtb-data': Path('rtbdata') / 'xacro',
    'pybullet': Path('pybullet_data'),
    'ik_node': Path(__file__).parents[1] / 'urdf',
}


@dataclass(frozen=True)
class Arm:
    """One arm: the package and the file in it, the links, and what its geometry is."""

    name: str
    package: str
    file: str
    base: str
    tip: str
    axes: int
    geometry: str

    @property
    def path(self) -> Path:
        """
        Return where the URDF lies on this machine.

        Raises
        ------
        FileNotFoundError
            If the package is not installed.

        """
        root = PACKAGES[self.package]
        if not root.is_absolute():
            spec = find_spec(root.parts[0])
            if spec is None or spec.origin is None:
                raise FileNotFoundError(f'the package {self.package} is not installed')
            root = Path(spec.origin).parent.joinpath(*root.parts[1:])
        path = root / self.file
        if not path.is_file():
            raise FileNotFoundError(f'{self.package} has no {self.file}')
        return path


UR = 'ur_description/urdf/'
KUKA = 'kuka_description/'
ERD, RTB, BULLET = 'example-robot-data', 'rtb-data', 'pybullet'
ARMS = (
    Arm('ur3', ERD, UR + 'ur3_robot.urdf', 'base_link', 'tool0', 6,
        'three parallel axes, limits of two turns'),
    Arm('ur5', ERD, UR + 'ur5_robot.urdf', 'base_link', 'tool0', 6,
        'three parallel axes, limits of two turns'),
    Arm('ur10', ERD, UR + 'ur10_robot.urdf', 'base_link', 'tool0', 6,
        'three parallel axes, limits of two turns'),
    Arm('ur5_limited', ERD, UR + 'ur5_joint_limited_robot.urdf', 'base_link', 'tool0', 6,
        'three parallel axes, limits of one turn'),
    Arm('z1', ERD, 'z1_description/urdf/z1.urdf', 'link00', 'link06', 6,
        'three parallel axes, narrow limits'),
    Arm('parallel_axes', 'ik_node', 'parallel_axes_arm.urdf', 'base_link', 'tool0', 6,
        'three parallel axes, our own'),
    Arm('kinova', ERD, 'kinova_description/robots/kinova.urdf', 'j2s6s200_link_base',
        'j2s6s200_end_effector', 6, 'spherical wrist, continuous joints'),
    Arm('puma560', RTB, 'unimation_puma560_description/urdf/puma560_robot.urdf', 'link1',
        'link7', 6, 'spherical wrist with a shoulder offset'),
    Arm('kr210', RTB, KUKA + 'kuka_kr210/urdf/kr210l150.urdf', 'base_link', 'tool0', 6,
        'spherical wrist, 3 m reach'),
    Arm('kr16', RTB, KUKA + 'kuka_kr16/urdf/kr16_2.urdf', 'base_link', 'tool0', 6,
        'spherical wrist'),
    Arm('irb140', RTB, 'abb_irb140_description/urdf/irb140.urdf', 'base_link', 'tool0', 6,
        'offset wrist'),
    Arm('six_axis', 'ik_node', 'six_axis_arm.urdf', 'base_link', 'tool0', 6,
        'spherical wrist, our own'),
    Arm('centauro', ERD, 'centauro_description/urdf/centauro.urdf', 'torso_2', 'arm2_8', 6,
        'humanoid arm'),
    Arm('xarm6', BULLET, 'xarm/xarm6_robot.urdf', 'link_base', 'link6', 6,
        'offset wrist'),
    Arm('panda', ERD, 'panda_description/urdf/panda.urdf', 'panda_link0', 'panda_hand_tcp', 7,
        'spherical shoulder, offset elbow and wrist'),
    Arm('xarm7', ERD, 'xarm_description/urdf/xarm7.urdf', 'link_base', 'link7', 7,
        'offset elbow and wrist'),
    Arm('iiwa14', RTB, KUKA + 'kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf', 'base_link', 'tool0',
        7, 'spherical shoulder and wrist'),
    Arm('iiwa', BULLET, 'kuka_iiwa/model.urdf', 'lbr_iiwa_link_0', 'lbr_iiwa_link_7', 7,
        'spherical shoulder and wrist'),
    Arm('pr2', ERD, 'pr2_description/urdf/pr2.urdf', 'torso_lift_link', 'r_gripper_tool_frame',
        7, 'shoulder offset, two continuous joints'),
    Arm('baxter', ERD, 'baxter_description/urdf/baxter.urdf', 'right_arm_mount',
        'right_gripper', 7,
        'offsets at shoulder, elbow and wrist'),
    Arm('tiago', ERD, 'tiago_description/robots/tiago.urdf', 'torso_lift_link',
        'arm_tool_link', 7, 'shoulder offset, narrow limits'),
    Arm('tiago_pro', ERD, 'tiago_pro_description/robots/tiago_pro.urdf', 'torso_lift_link',
        'arm_right_tool_link', 7, 'skew joint frames'),
    Arm('g1', ERD, 'g1_description/urdf/g1_29dof_rev_1_0.urdf', 'torso_link',
        'right_rubber_hand', 7, 'humanoid arm with offsets'),
    Arm('icub', ERD, 'icub_description/robots/icub.urdf', 'chest', 'r_hand', 7,
        'humanoid arm, narrow limits'),
)
QUICK = ('ur5', 'z1', 'kinova', 'puma560', 'kr210', 'xarm6', 'panda', 'xarm7', 'iiwa14',
         'icub')
