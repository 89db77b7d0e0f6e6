# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""An arm with rods on the base and on itself that follow its joints, and how they follow."""

BAR = ("<collision><origin xyz='0.25 0 0'/><geometry><box size='0.5 0.02 0.02'/></geometry>"
       "</collision><inertial><origin xyz='0.2 0.01 0.02' rpy='0.1 0.2 0.3'/><mass value='3'/>"
       "<inertia ixx='0.01' ixy='0' ixz='0.001' iyy='0.08' iyz='0' izz='0.07'/></inertial>")
LIMIT = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'


def joint(name, parent, child, origin, axis='0 0 1', kind='revolute', mimic=''):
    """Return a joint of a URDF."""
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin {origin}/><axis xyz="{axis}"/>{LIMIT}{mimic}</joint>')


# A palletiser: rods on the base and on the arm follow its joints, one of them a rod that follows.
PALLETISER = ('<robot name="palletiser"><link name="base"/><link name="tool"/>' + ''.join(
    f'<link name="{name}">{BAR}</link>' for name in ('l1', 'l2', 'rod', 'slider', 'hung', 'last'))
    + joint('a', 'base', 'l1', 'xyz="0 0 0.1"')
    + joint('b', 'l1', 'l2', 'xyz="0.5 0 0.1"', '0 1 0')
    + joint('c', 'l2', 'tool', 'xyz="0.5 0 0"')
    + joint('m', 'base', 'rod', 'xyz="0 0 0.4" rpy="0.1 0 0.2"', '0 0.6 0.8',
            mimic='<mimic joint="a" multiplier="-1.5" offset="0.3"/>')
    + joint('s', 'rod', 'slider', 'xyz="0.5 0 0.1"', '1 0 0', 'prismatic',
            '<mimic joint="b" multiplier="0.1"/>')
    + joint('h', 'l1', 'hung', 'xyz="0.2 0 0.3"', '0 1 0', mimic='<mimic joint="c"/>')
    + joint('f', 'hung', 'last', 'xyz="0.5 0 0"', mimic='<mimic joint="m"/>') + '</robot>')


def following(q):
    """Return the positions of the joints that mimic, by the sentence of the URDF format."""
    m = -1.5 * q[0] + 0.3
    return {'m': m, 's': 0.1 * q[1], 'h': q[2], 'f': m}
