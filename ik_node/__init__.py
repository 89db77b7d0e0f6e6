# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics for serial arms, from the URDF to the joint trajectory."""
