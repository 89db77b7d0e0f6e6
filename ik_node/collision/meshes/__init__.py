# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
From the triangles of a mesh to few convex parts.

    convex          Convex hulls that together contain a triangle mesh
    hollows         Where a mesh is cut so that its hollows stay free
    mesh_cuts       Cuts of triangles by planes
    mesh_parts      The convex hulls of a mesh file, from the cache on the disk or anew
    mesh_triangles  The triangles of a mesh file; of COLLADA its shapes
    walls           The walls of a closed mesh, cut off one by one
"""
