# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
URDF and xacro: the text, its elements, and the files that it names.

    elements    The XML elements of a robot description
    file_paths  Files that are named by a path
    inertias    Masses and inertias of the links of a URDF
    mesh_files  Finds the mesh files of a URDF; all programs search by :func:`mesh_search`
    shapes      The visual and collision elements of the links of a URDF
    urdf        Read URDF text into a checked tree of links and joints
    xacro_file  Expand a .xacro file without a ROS installation, by the package xacro from PyPI
"""
