# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of planned motions with others'; run as ``python -m benchmarks.motion``."""
