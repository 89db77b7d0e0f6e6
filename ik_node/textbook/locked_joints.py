# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Chains with locked joints."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from ik_node.base.se3 import pose, rotation_about
from ik_node.kinematics.kernels import pose_matrix, pose_row
from ik_node.model.chain import Bounds, Chain


def hold(chain: Chain, q: np.ndarray, free: np.ndarray) -> Chain:
    """
    Return the chain of the free joints; the locked joints become part of the links.

    Parameters
    ----------
    q : (n,) array
        Positions of the locked joints, rad or m; other entries are ignored.
    free : (n,) array of bool

    """
    z = np.array([0.0, 0.0, 1.0])
    new_index = np.cumsum(free) - 1
    offsets, joints, factors = [], [], []
    T = np.eye(4)
    for k, (prismatic, index) in enumerate(chain.joints):
        T = T @ pose_matrix(chain.offsets[k])
        if free[index]:
            offsets.append(pose_row(T))
            joints.append((prismatic, new_index[index]))
            factors.append(chain.factors[k])
            T = np.eye(4)
            continue
        value = chain.factors[k, 0] * q[index] + chain.factors[k, 1]
        T = T @ (pose(np.eye(3), value * z) if prismatic
                 else pose(rotation_about(z, value), np.zeros(3)))
    offsets.append(pose_row(T @ pose_matrix(chain.offsets[-1])))
    values = {field.name: getattr(chain, field.name) for field in fields(Chain)}
    for name in (*Bounds._fields, 'continuous', 'revolute'):
        values[name] = values[name][free]
    values |= {'joint_names': tuple(np.array(chain.joint_names)[free]),
               'offsets': np.array(offsets), 'joints': np.array(joints, dtype=np.int64),
               'factors': np.array(factors)}
    return Chain(**values)
