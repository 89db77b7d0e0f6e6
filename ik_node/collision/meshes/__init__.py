# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
From the triangles of a mesh to few convex parts.

    collada_shapes  Reduce a COLLADA file (.dae) to its shapes
    convex          Convex hulls that together contain a triangle mesh
    hollows         Cuts of a mesh at its hollows
    hull_cache      Cache of the convex hulls of meshes on the disk
    mesh_cuts       Cuts of triangles by planes, and what tells whether a cut is of use
    mesh_parts      Convex hulls of meshes
    mesh_triangles  Read the triangles of a mesh file
    walls           Walls of a closed mesh
"""
