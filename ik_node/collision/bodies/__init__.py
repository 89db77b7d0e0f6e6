# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Links and objects as convex parts.

    ground       The ground: all below a height in the base link is solid
    links        The bodies of all links of a URDF, and which links cannot be checked
    part_checks  Check the parts, poses and numbers of bodies that come from outside
    parts        A body as a set of convex parts
    point_boxes  Few boxes that contain many points, such as a depth camera sends
    shapes       Convex parts as arrays for compiled code, and their support points
"""
