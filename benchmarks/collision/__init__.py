# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of planning among obstacles; run as ``python -m benchmarks.collision``."""
