# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What is drawn in the scene of the page.

    ground        The ground under the robot: a grid, and a soft shadow
    link_markers  Markers in the frames of links, with which they move
    link_meshes   The links of a robot as meshes, one trimesh.Scene for each link
    marker_view   The markers of an ik_node in the scene, without the ghost
    point_cloud   Points and colours of a sensor_msgs/PointCloud2
    robot_view    A robot in the scene: opaque, or as a ghost
    scene         The scene of the page: robot, ghost, markers, workspace, ground
"""
