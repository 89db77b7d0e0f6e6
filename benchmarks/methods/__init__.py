# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The experiment of a paper, for every method; run as ``python -m benchmarks.methods``."""
