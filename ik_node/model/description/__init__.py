# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
URDF and xacro: the text, its elements, and the files that it names.

    elements    The XML elements, with what the versions of URDF say of them
    file_paths  file://, package:// and relative paths, and folders with packages
    inertias    Masses and inertias of the links of a URDF
    mesh_files  Where the mesh files of a URDF are; all programs search by it
    shapes      <visual> and <collision>: shapes and their placement
    urdf        URDF text becomes a checked tree of links and joints
    xacro_file  Expand a .xacro file without a ROS installation, by the package xacro from PyPI
"""
