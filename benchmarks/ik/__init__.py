# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of inverse kinematics solvers; run as ``python -m benchmarks.ik``."""

import os

# One thread for everybody.  The libraries read this when they are loaded.
for _name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS',
              'RAYON_NUM_THREADS'):
    os.environ[_name] = '1'
