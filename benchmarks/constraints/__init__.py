# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of motions within path constraints; run as ``python -m benchmarks.constraints``."""
